# Sourced by the other scripts: where things are, and how the build is set up. Sets `root` and `target`.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# A relative CARGO_TARGET_DIR means relative to where the user stands, as it does for cargo.
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
export CARGO_TARGET_DIR=$target

# llama.cpp is most of a cold build. The launchers are cmake's own, so a build without them reuses the same objects.
if command -v ccache >/dev/null 2>&1; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

say() { printf '\n==> %s\n' "$*" >&2; }

fail() { # CODE MESSAGE…
    local code=$1
    shift
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit "$code"
}
