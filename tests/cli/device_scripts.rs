//! `scripts/build-device` and `scripts/device-check`, as far as they go without a device: what they offer, refuse, look
//! for and would run. Their real work is told in `docs/devices.md`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;

use crate::harness::scratch;

fn script(name: &str, arguments: &[&str]) -> Assert {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts")
        .join(name);
    Command::new(path).args(arguments).assert()
}

fn stdout(ended: &Assert) -> String {
    String::from_utf8_lossy(&ended.get_output().stdout).into_owned()
}

fn stderr(ended: &Assert) -> String {
    String::from_utf8_lossy(&ended.get_output().stderr).into_owned()
}

#[test]
fn build_device_says_what_it_offers_and_refuses_the_rest() {
    let help = stdout(&script("build-device", &["--help"]).code(0));
    for kind in ["cpu", "cuda", "metal", "vulkan", "rocm", "pack", "backend"] {
        assert!(help.contains(kind), "{kind}: {help}");
    }
    for wrong in [
        &["npu"][..],
        &["cuda", "--arhc", "87"],
        &["cuda", "--arch"],
        &[],
    ] {
        let said = stderr(&script("build-device", wrong).code(2));
        assert!(
            said.contains("--help") || said.contains("needs a value"),
            "{said}"
        );
    }
    script("build-device", &["backend", "metal"]).code(2);
}

#[test]
fn a_backend_is_built_as_the_crate_builds_its_own() {
    let dir = scratch();
    let sources = dir.path().join("llama.cpp");
    fs::create_dir_all(sources.join("ggml")).expect("a directory");
    fs::write(sources.join("ggml/CMakeLists.txt"), "").expect("a file");
    let sources = sources.display().to_string();
    let out = dir.path().join("out").display().to_string();
    let given = [
        "backend",
        "vulkan",
        "--dry-run",
        "--sources",
        &sources,
        "--out",
        &out,
    ];
    let commands = stdout(&script("build-device", &given).code(0));
    for part in [
        "-DGGML_BACKEND_DL=ON",
        "-DGGML_NATIVE=OFF",
        "-DGGML_VULKAN=ON",
    ] {
        assert!(commands.contains(part), "{part}: {commands}");
    }
    assert!(
        commands.contains(&format!("{out}/libggml-vulkan.so")),
        "{commands}"
    );
    assert!(!Path::new(&out).exists(), "a dry run makes nothing");
    let nowhere = dir.path().display().to_string();
    let given = [
        "backend",
        "cpu",
        "--dry-run",
        "--sources",
        &nowhere,
        "--out",
        &out,
    ];
    let said = stderr(&script("build-device", &given).code(2));
    assert!(said.contains("--sources"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_device_needs_is_looked_for_first() {
    let said = stderr(&script("build-device", &["metal", "--check"]).code(3));
    assert!(
        said.contains("missing for metal") && said.contains("macOS"),
        "{said}"
    );
}

#[test]
fn device_check_names_what_is_missing() {
    if std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: no python3 here");
        return;
    }
    script("device-check", &["--help"]).code(0);
    let nowhere = [
        "--peer",
        "nowhere",
        "--model",
        "nowhere",
        "--backend",
        "cpu",
    ];
    let said = stderr(&script("device-check", &nowhere).code(3));
    assert!(said.contains("pack"), "{said}");
    let said = stderr(&script("device-check", &nowhere[..4]).code(3));
    assert!(said.contains("nowhere"), "{said}");
}
