//! llama.cpp's backends: compiled in, or libraries that a `dynamic-backends` build loads before anything else.
//!
//! Such a build computes nothing by itself, not even on the processor. Where a library is there that does not load,
//! it is refused: a run that went on without its GPU would measure something else than what was asked for.
#![allow(unsafe_code)] // ggml's loader and registry, which llama-cpp-2 does not wrap; every call is stated below

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::machine::{Device, Known, offload_targets};

/// The environment variable that names the directory with the backend libraries.
pub const VARIABLE: &str = "EDGE_AGENTIC_BACKENDS";

/// Why there is no backend to compute on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BackendError {
    /// No library, or none for the processor, which llama.cpp needs beside every other.
    #[error(
        "no backend library of the processor ({}) in {}; this program was built with `dynamic-backends`: put the \
         libraries beside it, or name their directory in {VARIABLE}. `scripts/build-device backend cpu` builds one",
        file_name("cpu*"),
        list(looked)
    )]
    NoProcessor {
        /// Where they were looked for.
        looked: Vec<PathBuf>,
    },
    /// The directory that was named cannot be read.
    #[error("{VARIABLE}={}: cannot be read as a directory: {cause}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The operating system's answer.
        cause: String,
    },
    /// A library that is there does not load.
    #[error(
        "{}: this backend library does not load: {cause}; install what it needs, or remove it where another device is \
         to compute", library.display()
    )]
    Refused {
        /// The library.
        library: PathBuf,
        /// llama.cpp's words.
        cause: String,
    },
    /// Built for a GPU that is not there.
    #[error(
        "built with {built_with}, but llama.cpp sees no device that takes layers, and the processor would compute all \
         of them: see `edge-agentic doctor` for drivers and devices, or give --n-gpu-layers 0 to run on the processor"
    )]
    NoDevice {
        /// Features or libraries that are for GPUs.
        built_with: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().map(|p| p.display().to_string()).collect();
    shown.join(" and ")
}

/// What a backend library is called, as ggml's loader looks for it.
fn file_name(backend: &str) -> String {
    let (prefix, suffix) = (prefix(), suffix());
    format!("{prefix}{backend}{suffix}")
}

const fn prefix() -> &'static str {
    if cfg!(windows) { "ggml-" } else { "libggml-" }
}

/// ggml builds them as modules, which end in `.so` on macOS too.
const fn suffix() -> &'static str {
    if cfg!(windows) { ".dll" } else { ".so" }
}

/// The backend that a library holds, by its name: `cpu` of `libggml-cpu-haswell.so`; none where it is no backend.
#[must_use]
pub fn backend_of(library: &Path) -> Option<&str> {
    let name = library.file_name()?.to_str()?;
    let stem = name.strip_prefix(prefix())?.strip_suffix(suffix())?;
    let backend = stem.split('-').next()?;
    // What all backends share.
    (backend != "base").then_some(backend)
}

/// The backend libraries in a directory, by name.
///
/// # Errors
/// Where it cannot be read.
pub fn libraries_in(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if backend_of(&path).is_some() && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The first of `directories` that holds a library of the processor's, and all libraries in it.
///
/// # Errors
/// [`BackendError::NoProcessor`] where none does.
pub fn first_with_libraries(directories: &[PathBuf]) -> Result<Vec<PathBuf>, BackendError> {
    directories
        .iter()
        .filter_map(|directory| libraries_in(directory).ok())
        .find(|found| found.iter().any(|l| backend_of(l) == Some("cpu")))
        .ok_or_else(|| BackendError::NoProcessor {
            looked: directories.to_vec(),
        })
}

/// For each backend of which no library was loaded, its first library.
#[must_use]
pub fn not_loaded<'a>(there: &'a [PathBuf], loaded: &[String]) -> Vec<&'a Path> {
    let mut missing: Vec<&Path> = Vec::new();
    for library in there {
        let backend = backend_of(library);
        let same = |other: &Path| backend_of(other) == backend;
        let is_loaded = loaded.iter().any(|name| same(Path::new(name)));
        if !is_loaded && !missing.iter().any(|other| same(other)) {
            missing.push(library);
        }
    }
    missing
}

/// Names of the backend libraries among a process's mapped files (`/proc/self/maps`), each once.
#[must_use]
pub fn mapped(maps: &str) -> Vec<String> {
    let mut names: Vec<String> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])))
        .filter(|path| backend_of(path).is_some())
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Libraries that this process has loaded, without their directory: results are published.
#[must_use]
pub fn loaded() -> Known<Vec<String>> {
    if !cfg!(feature = "dynamic-backends") {
        return Known::unknown("the backends are compiled in");
    }
    match std::fs::read_to_string("/proc/self/maps") {
        Ok(maps) => Known::new(mapped(&maps)),
        Err(_) => Known::unknown("this system does not list the files that a process has loaded"),
    }
}

/// The Cargo features for devices that this program was built with.
#[must_use]
pub fn features() -> Vec<&'static str> {
    let features = [
        ("cuda", cfg!(feature = "cuda")),
        ("metal", cfg!(feature = "metal")),
        ("vulkan", cfg!(feature = "vulkan")),
        ("rocm", cfg!(feature = "rocm")),
        ("dynamic-backends", cfg!(feature = "dynamic-backends")),
    ];
    let on = features.into_iter().filter(|(_, on)| *on);
    on.map(|(name, _)| name).collect()
}

/// What of a build's features and loaded libraries is for GPUs.
#[must_use]
pub fn for_gpus(features: &[&str], libraries: &Known<Vec<String>>) -> Vec<String> {
    const GPUS: [&str; 8] = [
        "cuda", "hip", "musa", "metal", "vulkan", "opencl", "sycl", "cann",
    ];
    let is_gpu = |name: &&String| backend_of(Path::new(name)).is_some_and(|b| GPUS.contains(&b));
    let compiled = features.iter().filter(|name| **name != "dynamic-backends");
    let loaded = libraries.get().into_iter().flatten().filter(is_gpu);
    let compiled = compiled.map(ToString::to_string);
    compiled.chain(loaded.cloned()).collect()
}

/// Refuses to offload layers where `built_with`, from [`for_gpus`], names a backend and there is none of its devices.
///
/// # Errors
/// [`BackendError::NoDevice`].
pub fn demand_device(built_with: &[String], devices: &[Device]) -> Result<(), BackendError> {
    if built_with.is_empty() || !offload_targets(devices, &[]).is_empty() {
        return Ok(());
    }
    Err(BackendError::NoDevice {
        built_with: built_with.join(", "),
    })
}

/// Loads the libraries of a `dynamic-backends` build; before llama.cpp is initialised, once.
#[cfg(feature = "dynamic-backends")]
pub(super) fn load() -> Result<(), BackendError> {
    let there = first_with_libraries(&directories()?)?;
    let directory = there[0].parent().unwrap_or(Path::new("."));
    llama_cpp_2::llama_backend::load_backends_from_path(directory);
    // SAFETY: counts the registered backends; no arguments.
    if unsafe { llama_cpp_sys_2::ggml_backend_reg_count() } == 0 {
        return Err(refusal(&there[0]));
    }
    match loaded().get() {
        Some(loaded) => not_loaded(&there, loaded)
            .first()
            .map_or(Ok(()), |library| Err(refusal(library))),
        None => Ok(()),
    }
}

/// The directory that was named; else the program's own, then where cargo built the libraries.
#[cfg(feature = "dynamic-backends")]
fn directories() -> Result<Vec<PathBuf>, BackendError> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(named);
        return match std::fs::read_dir(&path) {
            Ok(_) => Ok(vec![path]),
            Err(e) => Err(BackendError::Directory {
                path,
                cause: e.to_string(),
            }),
        };
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let beside = program.ok().and_then(|p| p.parent().map(Path::to_owned));
    let built = llama_cpp_sys_2::BACKENDS_DIR.map(PathBuf::from);
    Ok(beside.into_iter().chain(built).collect())
}

/// Loads a library once more, this time for llama.cpp to say why it does not.
#[cfg(feature = "dynamic-backends")]
fn refusal(library: &Path) -> BackendError {
    super::log::take_tail();
    let path = library
        .to_str()
        .and_then(|path| std::ffi::CString::new(path).ok());
    if let Some(path) = path {
        // SAFETY: a NUL-terminated path that outlives the call; a library that does not load leaves nothing behind.
        unsafe { llama_cpp_sys_2::ggml_backend_load(path.as_ptr()) };
    }
    BackendError::Refused {
        library: library.to_owned(),
        cause: super::model::explanation("it gave no reason"),
    }
}

#[cfg(test)]
#[cfg(not(windows))]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_its_name() {
        let of = |name: &'static str| backend_of(Path::new(name));
        assert_eq!(of("/x/libggml-cpu-haswell.so"), Some("cpu"));
        assert_eq!(of("libggml-cuda.so"), Some("cuda"));
        for other in [
            "libggml-base.so",
            "libggml.so",
            "libggml-cpu.so.0",
            "libllama.so",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn the_first_directory_with_the_processors_library_counts() {
        let root = tempfile::tempdir().expect("a directory");
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        for (directory, name) in [(&a, "libggml-cuda.so"), (&b, "libggml-cpu-x64.so")] {
            std::fs::create_dir(directory).expect("a directory");
            std::fs::write(directory.join(name), "").expect("a file");
        }
        let nowhere = root.path().join("nowhere");
        let found = first_with_libraries(&[nowhere, a.clone(), b.clone()]);
        assert_eq!(found, Ok(vec![b.join("libggml-cpu-x64.so")]));
        let error = first_with_libraries(std::slice::from_ref(&a)).expect_err("no processor");
        let text = error.to_string();
        assert!(text.contains("libggml-cpu*.so"), "{text}");
        assert!(text.contains(&a.display().to_string()) && text.contains(VARIABLE));
    }

    #[test]
    fn of_each_backend_one_library_must_be_loaded() {
        let there = ["libggml-cpu-a.so", "libggml-cpu-b.so", "libggml-cuda.so"].map(PathBuf::from);
        let missing = |loaded: &[&str]| {
            let loaded: Vec<String> = loaded.iter().map(ToString::to_string).collect();
            let missing = not_loaded(&there, &loaded);
            missing
                .iter()
                .map(|p| p.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(missing(&["libggml-cpu-b.so"]), ["libggml-cuda.so"]);
        assert_eq!(missing(&[]), ["libggml-cpu-a.so", "libggml-cuda.so"]);
        assert!(missing(&["libggml-cpu-a.so", "libggml-cuda.so"]).is_empty());
    }

    #[test]
    fn mapped_libraries_are_named_once_and_without_directory() {
        let maps = "7f0 r-xp 00000000 08:01 12 /opt/with space/libggml-cpu-haswell.so\n\
                    7f1 r--p 00000000 08:01 12 /opt/with space/libggml-cpu-haswell.so\n\
                    7f2 r-xp 00000000 08:01 13 /opt/x/libggml-base.so.0\n7f3 rw-p 00000000 00:00 0 [heap]\n";
        assert_eq!(mapped(maps), ["libggml-cpu-haswell.so"]);
    }

    #[test]
    fn a_build_for_a_gpu_demands_one() {
        let libraries = Known::new(vec!["libggml-cpu-x64.so".into(), "libggml-cuda.so".into()]);
        let none = Known::unknown("compiled in");
        assert_eq!(
            for_gpus(&["dynamic-backends"], &libraries),
            ["libggml-cuda.so"]
        );
        assert_eq!(for_gpus(&["vulkan"], &none), ["vulkan"]);
        assert!(for_gpus(&[], &none).is_empty());
        let gpu = || Device::new("CUDA0", "a card", "CUDA", "gpu", 1 << 30, 1 << 29);
        let cpu = || Device::new("CPU", "", "CPU", "cpu", 1 << 30, 1 << 29);
        let cuda = ["cuda".to_owned()];
        assert_eq!(demand_device(&cuda, &[cpu(), gpu()]), Ok(()));
        assert_eq!(demand_device(&[], &[cpu()]), Ok(()));
        let error = demand_device(&cuda, &[cpu()]).expect_err("no GPU");
        assert!(error.to_string().contains("--n-gpu-layers 0"), "{error}");
    }
}
