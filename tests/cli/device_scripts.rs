//! `scripts/build-device` and `scripts/device-check`, as far as they go without a device: what they offer, refuse, look
//! for and would run. Their real work is told in `docs/devices.md`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;

use crate::harness::{PROGRAM, scratch};

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
    for (wrong, option) in [
        (&["pack", "--check", "--dry-run"][..], "--check"),
        (&["cpu", "--out", "x", "--check"], "--out"),
        (&["backend", "cpu", "--vocab", "x", "--check"], "--vocab"),
    ] {
        let said = stderr(&script("build-device", wrong).code(2));
        assert!(
            said.contains(&format!("{option} is no option of")),
            "{said}"
        );
    }
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
fn a_dry_run_prints_what_sets_the_build_apart() {
    let given = ["rocm", "--arch", "gfx1151,gfx1100", "--native", "--dry-run"];
    let ended = script("build-device", &given).code(0);
    let commands = stdout(&ended);
    for part in [
        "/device/rocm-gfx1151-gfx1100-native",
        "CMAKE_HIP_ARCHITECTURES=gfx1151",
        "target-cpu=native",
        "cargo build --release --locked --features rocm",
    ] {
        assert!(commands.contains(part), "{part}: {commands}");
    }
    let said = stderr(&ended);
    assert!(!said.contains("built from"), "nothing was built: {said}");
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

fn python() -> bool {
    let there = std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_ok();
    if !there {
        println!("skipped: no python3 here");
    }
    there
}

/// Is ready, and dies of its first question.
#[cfg(unix)]
const DYING_SERVER: &str = r#"#!/usr/bin/env python3
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")
    def do_POST(self):
        print("the last words", flush=True)
        os._exit(7)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"#;

#[test]
#[cfg(unix)]
fn a_server_that_dies_is_a_failed_side_and_no_difference() {
    use std::os::unix::fs::PermissionsExt;
    if !python() {
        return;
    }
    let dir = scratch();
    let server = dir.path().join("llama-server");
    fs::write(&server, DYING_SERVER).expect("a file");
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("executable");
    let server = server.display().to_string();
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/assets/sample_conversations.jsonl"
    );
    // The model is opened by neither side: the server is a fake, and ours does not begin.
    let given = [
        "--peer",
        &server,
        "--binary",
        PROGRAM,
        "--model",
        data,
        "--dataset",
        data,
    ];
    for more in [&["--latency"][..], &[]] {
        let arguments: Vec<&str> = given.iter().chain(more).copied().collect();
        let said = stderr(&script("compare-server", &arguments).code(4));
        for part in ["gave no answer", "had ended with 7", "the last words"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

#[test]
fn mtp_check_says_what_is_missing_and_ends_as_documented() {
    if !python() {
        return;
    }
    let end = |arguments: &[&str], code: i32, said: &str| {
        let found = stderr(&script("mtp-check", arguments).code(code));
        assert!(
            found.starts_with("mtp-check: ") && found.contains(said),
            "{found}"
        );
    };
    let model = ["--model", "nowhere.gguf", "--program"];
    let with = |more: &[&'static str]| [&model[..], more].concat();
    end(&with(&["/nowhere"]), 3, "not built");
    end(
        &with(&[PROGRAM, "--dataset", "nowhere.jsonl"]),
        2,
        "nowhere.jsonl",
    );
    end(&with(&[PROGRAM]), 4, "nowhere.gguf");
}

/// Runs device-check with a side that fails in its second row; everything that takes a device is left out.
const FAILING_SIDE: &str = r#"
import importlib.machinery, importlib.util, pathlib, sys
path = sys.argv.pop(1)
sys.path.insert(0, str(pathlib.Path(path).parent))
loader = importlib.machinery.SourceFileLoader("device_check", path)
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("device_check", loader))
sys.dont_write_bytecode = True
loader.exec_module(check)
side = dict(prefill_ts=10, decode_ts=5, share=None, accepted=0, latency=7, tokens=3)
def all_cells(*given):
    given[-1].append({"depth": 4096, "mode": "plain", "server": side, "ours": side, "turns": []})
    raise check.Stop(check.FAILED, "the second row's server died")
check.prepare = lambda args, *_: pathlib.Path("model")
check.programs = lambda args: (None, None)
check.of_device = lambda runner: (["CPU"], None)
check.all_cells = all_cells
sys.exit(check.main())
"#;

#[test]
fn what_was_measured_before_a_side_failed_is_shown_and_kept() {
    if !python() {
        return;
    }
    let dir = scratch();
    let work = dir.path().display().to_string();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/device-check");
    let ended = Command::new("python3")
        .args(["-c", FAILING_SIDE, path, "--work", &work])
        .assert()
        .code(4);
    let said = stderr(&ended);
    assert!(said.contains("the second row's server died"), "{said}");
    let table = stdout(&ended);
    assert!(table.contains("| 4096 | plain | 5.0 |"), "{table}");
    assert!(table.contains("1 of 9 rows were measured"), "{table}");
    let kept = fs::read_to_string(dir.path().join("device-check.json")).expect("the figures");
    assert!(kept.contains("\"complete\": false"), "{kept}");
}

#[test]
fn device_check_names_what_is_missing() {
    if !python() {
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
    for (option, value) in [
        ("--turns", "1"),
        ("--budget", "15"),
        ("--budget", "nan"),
        ("--mtp", "0"),
        ("--acceptance", "0.6,1.2"),
    ] {
        let said = stderr(&script("device-check", &[option, value]).code(2));
        assert!(said.contains(option), "{said}");
    }
    let said = stderr(&script("compare-bench", &["-m", "nowhere", "--rounds", "0"]).code(2));
    assert!(
        said.contains("--rounds"),
        "nothing measured is no pass: {said}"
    );
    let said = stderr(&script("compare-bench", &["-m", "nowhere", "-n", "0"]).code(2));
    assert!(said.contains("--n-gen"), "nor is no generation: {said}");
}
