# Sourced by build-device: which tools a device's backend needs, and what brings them.
# shellcheck shell=bash

has_tool() { command -v "$1" >/dev/null 2>&1; }

find_nvcc() {
    local place
    for place in "$(command -v nvcc || true)" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc; do
        [ -n "$place" ] && [ -x "$place" ] && echo "$place" && return 0
    done
    return 1
}

# Where a header lies, of the usual places.
find_header() { # FILE
    local dir
    for dir in "${VULKAN_SDK:-/nowhere}/include" /usr/include /usr/local/include /opt/rocm/include "${ROCM_PATH:-/nowhere}/include"; do
        [ -e "$dir/$1" ] && echo "$dir/$1" && return 0
    done
    return 1
}

has_header() { find_header "$1" >/dev/null; } # FILE

# The patch number of Vulkan's headers, 239 of 1.3.239; 0 where there are none.
vulkan_headers() {
    local header
    header=$(find_header vulkan/vulkan_core.h) || { echo 0 && return; }
    sed -n 's/^#define VK_HEADER_VERSION \([0-9]*\)$/\1/p' "$header"
}

has_library() { # NAME
    compgen -G "${VULKAN_SDK:-/nowhere}/lib/lib$1.so" >/dev/null || compgen -G "/usr/lib*/lib$1.so" >/dev/null ||
        compgen -G "/usr/lib/*/lib$1.so" >/dev/null || compgen -G "/usr/local/lib/lib$1.so" >/dev/null
}

# One line for each thing that is missing: what, and what brings it.
missing_for() { # KIND
    case $1 in
        cuda)
            find_nvcc >/dev/null || echo "nvcc: NVIDIA's CUDA toolkit. On a Jetson: apt-get install -y nvidia-jetpack; \
elsewhere the package cuda-toolkit of NVIDIA's repository; CUDA_PATH names another place"
            ;;
        vulkan)
            has_tool glslc || echo "glslc: apt-get install -y glslc; dnf install -y glslc; or the LunarG Vulkan SDK"
            has_header vulkan/vulkan.hpp || echo "vulkan/vulkan.hpp: apt-get install -y libvulkan-dev; dnf install -y vulkan-headers"
            # VK_EXT_layer_settings, which b11434 uses unasked. Debian 12 has 239, Ubuntu 24.04 275, Debian 13 309.
            ! has_header vulkan/vulkan.hpp || [ "$(vulkan_headers)" -ge 272 ] ||
                echo "Vulkan headers 1.3.272 or newer, here $(vulkan_headers): a newer system, or the LunarG Vulkan SDK (VULKAN_SDK)"
            has_library vulkan || echo "libvulkan.so: apt-get install -y libvulkan-dev; dnf install -y vulkan-loader-devel"
            has_header spirv/unified1/spirv.hpp || echo "spirv/unified1/spirv.hpp: apt-get install -y spirv-headers; dnf install -y spirv-headers-devel"
            ;;
        rocm)
            has_tool hipconfig || echo "hipconfig: ROCm 6.1 or newer (the package rocm of AMD's repository), /opt/rocm/bin on PATH"
            has_header hipblas/hipblas.h || echo "hipblas/hipblas.h: the package hipblas-dev of AMD's repository"
            has_header rocblas/rocblas.h || echo "rocblas/rocblas.h: the package rocblas-dev of AMD's repository"
            ;;
        metal)
            [ "$(uname -s)" = Darwin ] || echo "macOS: Metal is built on the Mac itself"
            has_tool xcrun || echo "xcrun: xcode-select --install"
            ;;
    esac
}

# What a machine without Rust needs to build one library.
missing_for_cmake() {
    has_tool cmake || echo "cmake: apt-get install -y cmake; dnf install -y cmake"
    has_tool make || has_tool ninja || echo "make or ninja: apt-get install -y make; dnf install -y make"
    has_tool c++ || has_tool g++ || has_tool clang++ || echo "a C++ compiler: apt-get install -y g++; dnf install -y gcc-c++"
}

# Stops where something is missing. `rust`: the whole program is built, and scripts/setup names the rest.
demand_tools() { # KIND rust|cmake
    local missing
    missing=$(missing_for "$1")
    if [ "$2" = cmake ]; then
        missing=$(printf '%s\n%s' "$missing" "$(missing_for_cmake)" | grep . || true)
    else
        "$here/setup" --check || missing=$(printf '%s\n%s' "$missing" "what scripts/setup names above" | grep . || true)
    fi
    [ -z "$missing" ] && return 0
    printf 'missing for %s:\n' "$1" >&2
    printf '%s\n' "$missing" | sed 's/^/  /' >&2
    $dry_run || exit 3
}

# What --check ends with. Drivers are not looked for: a build needs none.
nothing_missing() { # KIND
    echo "nothing is missing to build for $1" >&2
    exit 0
}

# As cmake wants them. The oldest toolkit that knows each: nvcc's release notes, and ggml-cuda/CMakeLists.txt of b11434.
cuda_architectures() {
    local list=${arch//,/;} one release needed
    if [ -z "$list" ]; then
        list=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' | sort -u | paste -sd';' - || true)
        [ -n "$list" ] || fail 2 "nvidia-smi names no GPU here: give --arch (87 Orin, 90 H100, 110 Thor, 120 RTX 50, 121 Spark)"
    fi
    release=$("$(find_nvcc)" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    for one in ${list//;/ }; do
        case ${one%%-*} in
            87) needed=11.4 ;;
            89 | 90 | 90a) needed=11.8 ;;
            110 | 110a) needed=13.0 ;;
            120 | 120a) needed=12.8 ;;
            121 | 121a) needed=12.9 ;;
            *) needed=0 ;;
        esac
        [ "$(printf '%s\n%s\n' "$needed" "$release" | sort -V | head -n1)" = "$needed" ] ||
            fail 3 "architecture $one needs CUDA $needed or newer, and $(find_nvcc) is of $release"
    done
    echo "$list"
}
