//! Compiles the chat shim against the very llama.cpp sources that llama-cpp-sys-2 built and links.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    find_libraries_beside_the_program();
    println!("cargo:rerun-if-changed=src/chat/shim.cpp");
    let build = llama_build_dir();
    let source = llama_source_dir(&build);
    println!(
        "cargo:rustc-env=EDGE_AGENTIC_LLAMA_BUILD={}",
        build_number(&source)
    );
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("src/chat/shim.cpp")
        .include(source.join("common"))
        .include(source.join("include"))
        .include(source.join("ggml/include"))
        .include(source.join("vendor"))
        .warnings(false)
        .compile("edge_agentic_chat_shim");
}

/// A `dynamic-backends` build is put on other machines together with llama.cpp's shared libraries. An RPATH serves these
/// among themselves too; a RUNPATH, the linkers' default, only the program.
fn find_libraries_beside_the_program() {
    if env::var_os("CARGO_FEATURE_DYNAMIC_BACKENDS").is_none() {
        return;
    }
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => println!("cargo:rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,$ORIGIN"),
        Ok("macos") => println!("cargo:rustc-link-arg-bins=-Wl,-rpath,@executable_path"),
        _ => {}
    }
}

/// `links = "llama"` publishes `<OUT_DIR>/lib/cmake`; the CMake build tree lies beside it.
fn llama_build_dir() -> PathBuf {
    let cmake = env::var("DEP_LLAMA_GGML_CMAKE_DIR")
        .expect("llama-cpp-sys-2 publishes DEP_LLAMA_GGML_CMAKE_DIR to its direct dependents");
    Path::new(&cmake)
        .ancestors()
        .nth(2)
        .expect("<OUT_DIR>/lib/cmake has two parents")
        .join("build")
}

fn llama_source_dir(build: &Path) -> PathBuf {
    let cache = build.join("CMakeCache.txt");
    let text = fs::read_to_string(&cache).unwrap_or_else(|e| {
        panic!(
            "{}: {e} (llama-cpp-sys-2 has not built llama.cpp)",
            cache.display()
        )
    });
    text.lines()
        .find_map(|l| l.strip_prefix("CMAKE_HOME_DIRECTORY:INTERNAL="))
        .map(PathBuf::from)
        .unwrap_or_else(|| panic!("{}: no CMAKE_HOME_DIRECTORY", cache.display()))
}

/// llama.cpp's own build number is lost in the crate's packaging; it is known per crate version, and a version
/// whose sources nobody compared with an upstream build must not claim one.
fn build_number(source: &Path) -> &'static str {
    let manifest = source
        .parent()
        .map(|p| p.join("Cargo.toml"))
        .expect("llama.cpp lies inside the llama-cpp-sys-2 package");
    let text =
        fs::read_to_string(&manifest).unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
    let version = text
        .lines()
        .find_map(|l| l.strip_prefix("version = "))
        .map(|v| v.trim_matches('"'))
        .unwrap_or_else(|| panic!("{}: no version", manifest.display()));
    match version {
        "0.1.161" => "b11434",
        other => panic!(
            "llama-cpp-sys-2 {other}: which llama.cpp build its sources are is not recorded; compare its src/ and \
             common/ with an upstream build and add it to build.rs"
        ),
    }
}
