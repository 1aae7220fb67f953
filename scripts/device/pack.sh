# Sourced by build-device: the first part of a two-part build, as one archive for a machine without Rust and network.
# shellcheck shell=bash

vendored_version() { sed -n '/^name = "llama-cpp-sys-2"$/{n;s/^version = "\(.*\)"$/\1/p;}' "$root/Cargo.lock"; }

# Where cargo keeps the vendored llama.cpp.
vendored_sources() {
    local manifest
    manifest=$(cd "$root" && cargo metadata --locked --format-version 1 | grep -o '"[^"]*/llama-cpp-sys-2-[^"/]*/Cargo.toml"' | head -n1 | tr -d '"')
    [ -n "$manifest" ] || fail 3 "cargo knows no llama-cpp-sys-2"
    echo "$(dirname "$manifest")/llama.cpp"
}

# Builds the program with shared libraries and prints llama-cpp-sys-2's output directory.
build_dynamic() {
    local messages=$CARGO_TARGET_DIR/messages.json
    mkdir -p "$CARGO_TARGET_DIR"
    (cd "$root" && cargo build --release --locked --features dynamic-backends --message-format=json-render-diagnostics) >"$messages" ||
        fail 4 "cargo build failed"
    grep '"reason":"build-script-executed"' "$messages" | grep 'llama-cpp-sys-2' | sed 's/.*"out_dir":"\([^"]*\)".*/\1/'
}

# Copies the libraries of llama.cpp's that a file needs, and those that these need, each under its soname.
copy_needed() { # FILE LIBRARIES BIN
    local soname found
    for soname in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(lib\(ggml\|llama\|mtmd\)[^]]*\)\]/\1/p'); do
        [ -e "$3/$soname" ] && continue
        found=$(find "$2" -name "$soname" | head -n1)
        [ -n "$found" ] || fail 4 "$soname, which $1 needs, is not in $2"
        cp -L "$found" "$3/$soname"
        copy_needed "$3/$soname" "$2" "$3"
    done
}

# The peer must be built from the same sources, or a comparison says nothing.
check_peer() { # PEER VENDORED
    local part
    for part in CMakeLists.txt cmake common ggml include src vendor; do
        # The crate leaves files of the Hexagon backend out, which is not built here.
        diff -rq -x 'ggml-hexagon' "$1/$part" "$2/$part" >&2 || fail 2 "$1/$part is not what llama-cpp-sys-2 vendors"
    done
}

# llama-server and llama-bench, which load the same backend libraries as the program.
build_peer() { # BIN
    local build=$CARGO_TARGET_DIR/peer options tool
    mapfile -t options < <(printf '%s\n' -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_BACKEND_DL=ON -DGGML_NATIVE=OFF \
        -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
        -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_APP=OFF -DGGML_CCACHE=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN')
    say "building llama-server and llama-bench of the same sources"
    cmake -S "$peer_sources" -B "$build" "${options[@]}" >&2 || fail 4 "cmake could not configure $build"
    cmake --build "$build" --target llama-server llama-bench -j "$(getconf _NPROCESSORS_ONLN)" >&2 || fail 4 "$build: the build failed"
    for tool in llama-server llama-bench; do
        cp "$build/bin/$tool" "$1/"
        copy_needed "$1/$tool" "$build/bin" "$1"
    done
}

# The newest C library that the binaries ask for: an older system does not start them.
newest_glibc() { # BIN
    local file
    for file in "$1"/*; do readelf -V "$file" 2>/dev/null; done | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n1
}

stage_pack() { # VENDORED LIBRARIES STAGE
    local bin=$3/bin
    rm -rf "$3"
    mkdir -p "$bin" "$3/data"
    cp "$CARGO_TARGET_DIR/release/edge-agentic" "$bin/"
    copy_needed "$bin/edge-agentic" "$2" "$bin"
    cp "$2"/backends/libggml-*.so "$bin/"
    if [ -n "$peer_sources" ]; then build_peer "$bin"; fi
    # What cmake needs for a backend; no tools.
    mkdir "$3/llama.cpp"
    (cd "$1" && cp -R CMakeLists.txt LICENSE cmake ggml include src common vendor "$3/llama.cpp/")
    if [ -n "$vocab" ]; then cp "$vocab" "$3/data/vocab.json.gz"; fi
    if [ -n "$template" ]; then cp "$template" "$3/data/chat_template.jinja"; fi
    cp -R "$root/scripts" "$3/scripts"
    find "$3/scripts" -name __pycache__ -prune -exec rm -rf {} +
    cp "$root/LICENSE" "$3/"
    echo "b11434 (llama-cpp-sys-2 $(vendored_version))" >"$3/LLAMA_CPP"
    (cd "$3" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum) >"$3/SHA256SUMS.new"
    mv "$3/SHA256SUMS.new" "$3/SHA256SUMS"
}

build_pack() {
    local vendored libraries stage=$target/device/edge-agentic-pack
    out=${out:-$target/device/edge-agentic-pack.tar.gz}
    CARGO_TARGET_DIR=$target/device/dynamic
    export CARGO_TARGET_DIR
    [ "$(uname -s)" = Linux ] || fail 2 "pack is made on Linux, for Linux machines of the same processor architecture"
    demand_tools pack rust
    has_tool readelf || fail 3 "readelf is missing: apt-get install -y binutils"
    if $dry_run; then
        run cargo build --release --locked --features dynamic-backends
        echo "archive: $out"
        return
    fi
    vendored=$(vendored_sources)
    if [ -n "$peer_sources" ]; then check_peer "$peer_sources" "$vendored"; fi
    say "building the program with loadable backends"
    libraries=$(build_dynamic)
    stage_pack "$vendored" "$libraries" "$stage"
    tar -C "$target/device" -czf "$out" edge-agentic-pack
    say "llama.cpp $(cat "$stage/LLAMA_CPP"), $(uname -m); the programs need $(newest_glibc "$stage/bin") or newer"
    sha256sum "$out"
}
