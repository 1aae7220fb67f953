use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::build::BuildFacts;
use super::data::{DataFacts, Item, Presence, REPLAY};
use super::diagnosis::{Diagnosis, RunChoice};
use super::findings::{Finding, Standing};
use super::page;
use crate::commands::inspect::{self, Inspection};
use crate::machine::memory::{Host, Repack};
use crate::machine::{Conditions, Device, Known, Machine, Platform, Software, Source, describe};
use crate::output::{Format, render_page};
use crate::plan::locked;

/// A machine with two cores and these devices, everything else as here.
fn machine(devices: Vec<Device>) -> Machine {
    let software = Software::this_program("b1", "llama-cpp-2 0", Known::unknown("compiled in"));
    let mut machine = describe(Path::new("."), devices, software);
    machine.cpu.physical_cores = Known::new(2);
    machine.cpu.available_cores = Known::new(2);
    machine
}

fn processor() -> Device {
    Device::new("CPU", "a processor", "CPU", "cpu", 1 << 30, 1 << 29)
}

fn build(features: &[&'static str]) -> BuildFacts {
    BuildFacts {
        features: features.to_vec(),
        optimized: true,
        repack: Repack::None,
        backend_fault: None,
    }
}

fn data(replay: Presence, bfcl: Presence) -> DataFacts {
    let item = |state| Item {
        state,
        detail: "looked".to_owned(),
    };
    DataFacts {
        directory: Known::new(PathBuf::from("data")),
        replay: item(replay),
        bfcl: item(bfcl),
    }
}

fn everything() -> DataFacts {
    data(Presence::Right, Presence::Right)
}

fn diagnose(build: BuildFacts, machine: Machine, data: DataFacts) -> Diagnosis {
    Diagnosis::new(build, machine, data, None)
}

#[track_caller]
fn finding<'a>(diagnosis: &'a Diagnosis, name: &str) -> &'a Finding {
    let found = diagnosis.findings.iter().find(|f| f.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", diagnosis.findings))
}

#[test]
fn a_machine_with_the_data_is_ready_and_shown_in_all_formats() {
    let diagnosis = diagnose(build(&[]), machine(vec![processor()]), everything());
    assert!(diagnosis.ready, "{:?}", diagnosis.findings);
    let document = page::document(&diagnosis);
    for format in Format::ALL {
        let text = render_page(format, &document, &diagnosis).expect("a rendering");
        for part in ["a processor", "32", "replay data set", "synth --shape tiny"] {
            assert!(text.contains(part), "{format}: no {part:?} in\n{text}");
        }
    }
}

#[test]
fn run_uses_the_locked_context_and_one_thread_per_physical_core() {
    let choice = RunChoice::on(&machine(vec![processor()]));
    assert_eq!((choice.threads, choice.ctx_size), (2, locked::CTX_SIZE));
    assert!(choice.devices.is_empty());
}

#[test]
fn only_what_run_needs_makes_a_machine_unready() {
    let at = |replay, bfcl| diagnose(build(&[]), machine(vec![processor()]), data(replay, bfcl));
    let without = at(Presence::Absent, Presence::Right);
    assert!(!without.ready);
    let replay = finding(&without, "replay data set");
    assert_eq!(replay.standing, Standing::Missing);
    assert_eq!(
        replay.command.as_deref(),
        Some("scripts/fetch-data --replay")
    );
    assert!(!at(Presence::Wrong, Presence::Right).ready);

    let unscored = at(Presence::Right, Presence::Absent);
    assert!(unscored.ready);
    let bfcl = finding(&unscored, "BFCL data");
    assert_eq!(bfcl.standing, Standing::Note);
    assert_eq!(bfcl.command.as_deref(), Some("scripts/fetch-data --bfcl"));
    // `run` without options asks the BFCL samples, and refuses without their files.
    let verdict = |diagnosis: &Diagnosis| {
        render_page(Format::Table, &page::document(diagnosis), diagnosis).expect("a rendering")
    };
    assert!(verdict(&unscored).contains("nothing is missing that `run --performance-only` needs"));
    let all = at(Presence::Right, Presence::Right);
    assert!(verdict(&all).contains("nothing is missing that `run` needs"));
}

#[test]
fn devices_are_judged_with_the_build() {
    let gpu = Device::new("CUDA0", "a card", "CUDA", "gpu", 1 << 30, 1 << 29);
    let standing = |features: &[&'static str], devices: Vec<Device>| {
        let diagnosis = diagnose(build(features), machine(devices), everything());
        let found = finding(&diagnosis, "devices");
        (found.standing, found.detail.clone())
    };
    let (ok, text) = standing(&["cuda"], vec![processor(), gpu]);
    assert_eq!((ok, text.as_str()), (Standing::Ok, "layers go to CUDA0"));
    let (missing, text) = standing(&["cuda"], vec![processor()]);
    assert!(
        missing == Standing::Missing && text.contains("built with cuda"),
        "{text}"
    );
    let (missing, text) = standing(&["vulkan"], vec![processor()]);
    assert!(
        missing == Standing::Missing && text.contains("GGML_VK_VISIBLE_DEVICES"),
        "{text}"
    );
    let (note, text) = standing(&[], vec![processor()]);
    assert!(
        note == Standing::Note && text.contains("no backend for another device"),
        "{text}"
    );
    let (note, _) = standing(&["dynamic-backends"], vec![processor()]);
    assert_eq!(note, Standing::Note);
    let mut broken = build(&["dynamic-backends"]);
    broken.backend_fault = Some("libggml-cuda.so: does not load".to_owned());
    let diagnosis = diagnose(broken, machine(vec![]), everything());
    let found = finding(&diagnosis, "devices");
    assert_eq!(found.standing, Standing::Missing);
    assert!(found.detail.contains("libggml-cuda.so"), "{}", found.detail);
}

#[test]
fn fewer_cores_than_the_machine_has_are_said() {
    let mut two_of_eight = machine(vec![processor()]);
    two_of_eight.cpu.physical_cores = Known::new(8);
    let diagnosis = diagnose(build(&[]), two_of_eight, everything());
    let threads = finding(&diagnosis, "threads");
    assert_eq!(threads.standing, Standing::Note);
    let command = threads.command.as_deref().expect("a remedy");
    assert!(command.contains("--threads 2"), "{command}");
}

/// A machine whose files are these.
fn machine_of(files: &[(&str, &str)]) -> Machine {
    let root = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("a file");
    }
    let source = Source::fake(root.path(), Platform::Linux, |name, _| {
        Err(format!("no program {name}"))
    });
    let mut machine = machine(vec![processor()]);
    machine.conditions = Conditions::read(&source);
    machine
}

#[test]
fn t8_04_what_to_change_before_measuring_is_said_with_its_command() {
    let cpufreq = "sys/devices/system/cpu/cpufreq/policy0";
    let battery = "sys/class/power_supply/BAT0";
    let laptop = machine_of(&[
        ("sys/firmware/acpi/platform_profile", "low-power\n"),
        (&format!("{cpufreq}/scaling_governor"), "powersave\n"),
        (&format!("{battery}/type"), "Battery\n"),
        (&format!("{battery}/status"), "Discharging\n"),
        (&format!("{battery}/capacity"), "41\n"),
        ("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n"),
        ("sys/class/thermal/thermal_zone0/temp", "93000\n"),
    ]);
    let diagnosis = diagnose(build(&[]), laptop, everything());
    assert!(diagnosis.ready, "nothing of it is needed to run");
    for (name, detail, command) in [
        (
            "power mode",
            "low-power",
            Some("powerprofilesctl set performance"),
        ),
        (
            "frequency governor",
            "powersave",
            Some("cpupower frequency-set -g performance"),
        ),
        ("power source", "battery (41 %)", None),
        ("temperature", "93.0 °C (x86_pkg_temp)", None),
    ] {
        let found = finding(&diagnosis, name);
        assert_eq!(found.standing, Standing::Note, "{found:?}");
        assert!(found.detail.contains(detail), "{found:?}");
        assert_eq!(found.command.as_deref(), command);
    }
    let document = page::document(&diagnosis);
    let text = render_page(Format::Table, &document, &diagnosis).expect("a rendering");
    for part in ["low-power", "powersave", "battery", "93.0 °C"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn t8_04_a_machine_that_is_set_up_has_nothing_to_change() {
    let cpufreq = "sys/devices/system/cpu/cpufreq/policy0";
    let set_up = machine_of(&[
        ("var/lib/nvpmodel/status", "pmode:0000\n"),
        ("etc/nvpmodel.conf", "< POWER_MODEL ID=0 NAME=MAXN >\n"),
        (&format!("{cpufreq}/scaling_governor"), "performance\n"),
        ("sys/class/power_supply/AC/type", "Mains\n"),
        ("sys/class/power_supply/AC/online", "1\n"),
        ("sys/class/thermal/thermal_zone0/temp", "45000\n"),
    ]);
    let diagnosis = diagnose(build(&[]), set_up, everything());
    for name in [
        "power mode",
        "frequency governor",
        "power source",
        "temperature",
    ] {
        assert_eq!(finding(&diagnosis, name).standing, Standing::Ok);
    }
    let container = diagnose(build(&[]), machine_of(&[]), everything());
    for name in [
        "power mode",
        "frequency governor",
        "power source",
        "temperature",
    ] {
        assert!(
            container.findings.iter().all(|f| f.name != name),
            "{name} is unknown"
        );
    }
}

#[test]
fn data_is_recognised_by_its_bytes() {
    let dir = tempfile::tempdir().expect("a directory");
    let look = || DataFacts::of(Some(dir.path().to_owned()));
    let empty = look();
    assert_eq!(
        (empty.replay.state, empty.bfcl.state),
        (Presence::Absent, Presence::Absent)
    );
    assert!(
        empty.bfcl.detail.starts_with("0 of 23 files"),
        "{}",
        empty.bfcl.detail
    );

    fs::write(dir.path().join(REPLAY), "abc").expect("written");
    let other = look().replay;
    assert_eq!(other.state, Presence::Wrong);
    assert!(
        other.detail.contains("found sha256 ba7816bf"),
        "{}",
        other.detail
    );

    let nowhere = DataFacts::of(None);
    assert!(
        nowhere
            .directory
            .reason()
            .is_some_and(|r| r.contains("EDGE_AGENTIC_DATA"))
    );

    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    if !shared.join(REPLAY).is_file() {
        println!("skipped: ../shared/data/{REPLAY} is not there");
        return;
    }
    assert_eq!(DataFacts::of(Some(shared)).replay.state, Presence::Right);
}

/// The tiny model on a host with this much memory, MiB.
fn inspected(mib: u64) -> Inspection {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("tiny.gguf");
    let spec = gguf::synth::Spec::builtin(gguf::synth::Shape::Tiny).expect("a vocabulary");
    let file = File::create(&path).expect("a file");
    gguf::synth::write(&spec, file, |_, _| ()).expect("a model");
    let host = Host {
        available_bytes: Some(mib << 20),
        repack: Repack::None,
    };
    inspect::report(&path, &[processor()], host).expect("a report")
}

#[test]
fn a_model_is_judged_with_its_memory() {
    let with = |inspection| {
        let machine = machine(vec![processor()]);
        Diagnosis::new(build(&[]), machine, everything(), Some(inspection))
    };
    let fits = with(inspected(8192));
    assert!(fits.ready, "{:?}", fits.findings);
    assert_eq!(finding(&fits, "memory").standing, Standing::Ok);
    let short = with(inspected(16));
    assert!(!short.ready);
    let detail = &finding(&short, "memory").detail;
    assert!(detail.contains("MiB"), "{detail}");

    let mut unsound = inspected(8192);
    unsound.problems.push("a marker is broken".to_owned());
    let unsound = with(unsound);
    assert!(!unsound.ready && finding(&unsound, "model").detail.contains("a marker"));
    let mut other = inspected(8192);
    other.model.supported = false;
    let other = with(other);
    let command = finding(&other, "model").command.as_deref();
    assert!(other.ready && command.is_some_and(|c| c.contains("--profile none")));
}
