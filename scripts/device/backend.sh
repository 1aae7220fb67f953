# Sourced by build-device: one backend library from llama.cpp's sources, with cmake alone.
# shellcheck shell=bash

# What llama-cpp-sys-2 gives cmake for its own libraries, as far as it changes what is compiled.
backend_options() { # KIND
    local kind=$1 list
    printf '%s\n' -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_BACKEND_DL=ON -DGGML_OPENMP=ON \
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TOOLS=OFF \
        -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_CURL=OFF
    if $native; then echo -DGGML_NATIVE=ON; else echo -DGGML_NATIVE=OFF; fi
    case $kind in
        cuda)
            list=$(cuda_architectures) || return
            printf '%s\n' -DGGML_CUDA=ON -DGGML_CUDA_NCCL=OFF "-DCMAKE_CUDA_ARCHITECTURES=$list" "-DCMAKE_CUDA_COMPILER=$(find_nvcc)"
            ;;
        vulkan) echo -DGGML_VULKAN=ON ;;
        rocm)
            echo -DGGML_HIP=ON
            [ -z "$arch" ] || echo "-DCMAKE_HIP_ARCHITECTURES=${arch//,/;}"
            ;;
    esac
    if has_tool ninja; then printf '%s\n' -G Ninja; fi
}

# ggml's name of a kind's library.
library_of() { # KIND
    case $1 in rocm) echo ggml-hip ;; *) echo "ggml-$1" ;; esac
}

# The pack in which this script lies, if it lies in one.
in_pack() { [ -f "$root/SHA256SUMS" ] && [ -d "$root/llama.cpp" ]; }

check_sources() {
    [ -f "$sources/ggml/CMakeLists.txt" ] || fail 2 "$sources: no llama.cpp sources; --sources names them"
    in_pack && [ "$sources" = "$root/llama.cpp" ] || return 0
    (cd "$root" && grep ' llama.cpp/' SHA256SUMS | sha256sum --check --quiet) >&2 ||
        fail 2 "$sources: not the packed sources; unpack the archive again"
    say "sources: llama.cpp $(cat "$root/LLAMA_CPP"), every file as packed"
}

build_backend() { # KIND
    local kind=$1 library options list build
    library=$(library_of "$kind")
    demand_tools "$kind" cmake
    if $check; then nothing_missing "$kind"; fi
    if in_pack; then sources=${sources:-$root/llama.cpp} out=${out:-$root/bin}; fi
    [ -n "$sources" ] && [ -n "$out" ] || fail 2 "backend needs --sources and --out: this is no unpacked pack"
    check_sources
    if [ "$kind" = rocm ] && ! $dry_run; then export_device rocm; fi
    list=$(backend_options "$kind") || exit $?
    mapfile -t options <<<"$list"
    build=$out/build-$kind
    run mkdir -p "$out"
    say "building lib$library.so"
    run cmake -S "$sources" -B "$build" "${options[@]}" || fail 4 "cmake could not configure $build"
    run cmake --build "$build" --target "$library" -j "${jobs:-$(getconf _NPROCESSORS_ONLN)}" || fail 4 "$build: the build failed"
    run cp "$build/bin/lib$library.so" "$out/"
    echo "$out/lib$library.so"
}
