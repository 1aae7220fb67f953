//! Field faults of the devices' conditions, on trees of files as their kernels show them.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::clock::ManualClock;
use crate::machine::Board;
use crate::machine::source::Platform;

/// A directory with these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("a file");
    }
    root
}

fn linux(root: &Path) -> Source {
    Source::fake(root, Platform::Linux, |name, _| {
        Err(format!("no program {name}"))
    })
}

fn conditions(files: &[(&str, &str)]) -> Conditions {
    Conditions::read(&linux(tree(files).path()))
}

/// Channels of an INA3221: label, mV, mA.
fn monitor(hwmon: &str, channels: [(&str, u32, u32); 3]) -> Vec<(String, String)> {
    let dir = format!("sys/class/hwmon/{hwmon}");
    let mut files = vec![
        (format!("{dir}/name"), "ina3221\n".to_owned()),
        (
            format!("{dir}/in7_label"),
            "sum of shunt voltages\n".to_owned(),
        ),
    ];
    for (n, (label, millivolts, milliamperes)) in (1..).zip(channels) {
        files.push((format!("{dir}/in{n}_label"), format!("{label}\n")));
        files.push((format!("{dir}/in{n}_input"), format!("{millivolts}\n")));
        files.push((format!("{dir}/curr{n}_input"), format!("{milliamperes}\n")));
    }
    files
}

/// A Jetson: the device tree's names, and its monitors.
fn jetson(compatible: &str, monitors: &[(String, String)]) -> TempDir {
    let mut files = vec![("proc/device-tree/compatible", compatible)];
    files.extend(
        monitors
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    );
    tree(&files)
}

const AGX_ORIN: &str = "nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0";
const ORIN_NX: &str = "nvidia,p3768-0000+p3767-0000\0nvidia,p3767-0000\0nvidia,tegra234\0";
const THOR: &str = "nvidia,p3971-0089+p3834-0008\0nvidia,p3834-0008\0nvidia,tegra264\0";

fn agx_orin_rails() -> Vec<(String, String)> {
    let mut files = monitor(
        "hwmon3",
        [
            ("VDD_GPU_SOC", 19_000, 400),
            ("VDD_CPU_CV", 19_000, 100),
            ("VIN_SYS_5V0", 5_000, 900),
        ],
    );
    files.extend(monitor(
        "hwmon4",
        [("NC", 0, 0), ("VDDQ_VDD2_1V8AO", 5_000, 300), ("NC", 0, 0)],
    ));
    files
}

#[test]
fn t8_04_a_jetson_agx_orin_says_its_mode_clocks_and_heat() {
    let root = tree(&[
        (
            "proc/device-tree/model",
            "NVIDIA Jetson AGX Orin Developer Kit\0",
        ),
        ("proc/device-tree/compatible", AGX_ORIN),
        ("proc/device-tree/serial-number", "1421000000000\0"),
        ("var/lib/nvpmodel/status", "pmode:0002\n"),
        (
            "etc/nvpmodel.conf",
            "< PM_CONFIG DEFAULT=2 >\n< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=2 NAME=MODE_30W >\n",
        ),
        (
            "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
            "schedutil\n",
        ),
        (
            "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq",
            "729600\n",
        ),
        (
            "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
            "1728000\n",
        ),
        (
            "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
            "2201600\n",
        ),
        (
            "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
            "1113600\n",
        ),
        (
            "sys/devices/system/cpu/cpufreq/policy4/scaling_cur_freq",
            "1728000\n",
        ),
        ("sys/class/devfreq/17000000.gpu/min_freq", "306000000\n"),
        ("sys/class/devfreq/17000000.gpu/max_freq", "612000000\n"),
        ("sys/class/devfreq/17000000.gpu/cur_freq", "306000000\n"),
        ("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n"),
        ("sys/class/thermal/thermal_zone0/temp", "48218\n"),
        ("sys/class/thermal/thermal_zone2/type", "cv0-thermal\n"),
        ("sys/class/thermal/thermal_zone2/temp", "-256000\n"),
        ("sys/class/thermal/thermal_zone8/type", "tj-thermal\n"),
        ("sys/class/thermal/thermal_zone8/temp", "50343\n"),
        ("sys/class/hwmon/hwmon5/name", "soctherm_oc\n"),
        ("sys/class/hwmon/hwmon5/oc1_event_cnt", "0\n"),
        ("sys/class/hwmon/hwmon5/oc3_event_cnt", "4\n"),
        // A USB-C port without a charger is no battery.
        (
            "sys/class/power_supply/ucsi-source-psy-1-00081/type",
            "USB\n",
        ),
        (
            "sys/class/power_supply/ucsi-source-psy-1-00081/online",
            "0\n",
        ),
    ]);
    let source = linux(root.path());
    let (board, now) = (Board::read(&source), Conditions::read(&source));
    assert_eq!(
        board.name().get().map(String::as_str),
        Some("NVIDIA Jetson AGX Orin Developer Kit")
    );
    let compatible = board.compatible.get().expect("a device tree");
    assert_eq!(
        (compatible.len(), compatible[1].as_str()),
        (3, "nvidia,p3701-0005")
    );
    assert_eq!(now.power.mode().get().map(String::as_str), Some("MODE_30W"));
    assert_eq!(
        now.power.governor.get().map(String::as_str),
        Some("schedutil")
    );
    assert_eq!(now.power.source.get(), None);
    assert_eq!(now.clocks.cpu_max_mhz.get(), Some(&1728));
    assert_eq!(now.clocks.cpu_hardware_max_mhz.get(), Some(&2201));
    assert_eq!(now.clocks.cpu_slowest_mhz.get(), Some(&1113));
    assert_eq!(now.clocks.devices[0].max_mhz.get(), Some(&612));
    assert_eq!(now.throttling.events().get(), Some(&4));
    let sensors = now.temperatures.get().expect("zones");
    assert_eq!(
        sensors.len(),
        2,
        "a zone without power is left out: {sensors:?}"
    );
    assert_eq!(
        now.hottest().get().map(|t| t.sensor.as_str()),
        Some("tj-thermal")
    );
    let json = serde_json::to_string(&board).expect("plain data");
    assert!(!json.contains("1421"), "serial numbers are not published");
}

#[test]
fn t8_04_a_laptop_on_battery_in_low_power_mode() {
    let cpufreq = "sys/devices/system/cpu/cpufreq";
    let now = conditions(&[
        ("sys/firmware/acpi/platform_profile", "low-power\n"),
        (
            &format!("{cpufreq}/policy0/scaling_governor"),
            "powersave\n",
        ),
        (
            &format!("{cpufreq}/policy1/scaling_governor"),
            "powersave\n",
        ),
        (
            &format!("{cpufreq}/policy0/energy_performance_preference"),
            "power\n",
        ),
        (
            &format!("{cpufreq}/policy1/energy_performance_preference"),
            "balance_power\n",
        ),
        ("sys/class/power_supply/AC/type", "Mains\n"),
        ("sys/class/power_supply/AC/online", "0\n"),
        ("sys/class/power_supply/BAT0/type", "Battery\n"),
        ("sys/class/power_supply/BAT0/status", "Discharging\n"),
        ("sys/class/power_supply/BAT0/capacity", "73\n"),
        ("sys/class/power_supply/BAT0/power_now", "14250000\n"),
        ("sys/class/power_supply/hidpp_battery_0/type", "Battery\n"),
        ("sys/class/power_supply/hidpp_battery_0/scope", "Device\n"),
        ("sys/class/power_supply/hidpp_battery_0/status", "Full\n"),
        ("sys/class/power_supply/hidpp_battery_0/capacity", "5\n"),
        (
            "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
            "11\n",
        ),
        (
            "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
            "2\n",
        ),
        (
            "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count",
            "30\n",
        ),
        (
            "sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count",
            "30\n",
        ),
        ("sys/class/hwmon/hwmon0/name", "coretemp\n"),
        ("sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n"),
        ("sys/class/hwmon/hwmon0/temp1_input", "91000\n"),
    ]);
    assert_eq!(
        now.power.mode().get().map(String::as_str),
        Some("low-power")
    );
    assert_eq!(
        now.power
            .energy_performance_preference
            .get()
            .map(String::as_str),
        Some("balance_power, power")
    );
    assert_eq!(now.power.source.get(), Some(&PowerSource::Battery));
    assert_eq!(now.power.battery_percent.get(), Some(&73));
    assert_eq!(now.consumption.battery_milliwatts.get(), Some(&14_250));
    assert_eq!(now.throttling.core_events.get(), Some(&13));
    assert_eq!(now.throttling.package_events.get(), Some(&30));
    let hottest = now.hottest();
    assert_eq!(
        hottest.get().map(|t| t.sensor.as_str()),
        Some("coretemp Package id 0")
    );
}

#[test]
fn t8_04_a_desktop_with_nvidia_and_amd_cards() {
    let card = "sys/class/drm/card1/device";
    let root = tree(&[
        ("sys/class/dmi/id/sys_vendor", "ACME\n"),
        ("sys/class/dmi/id/product_name", "Tower 9\n"),
        ("sys/class/dmi/id/product_serial", "SECRET\n"),
        ("sys/class/dmi/id/bios_version", "F20\n"),
        ("proc/driver/nvidia/version", "NVRM version: 550.54.14\n"),
        (
            "proc/cpuinfo",
            "cpu MHz\t\t: 2999.998\n\ncpu MHz\t\t: 3600.1\n",
        ),
        ("sys/class/drm/card1-DP-1/status", "connected\n"),
        (&format!("{card}/vendor"), "0x1002\n"),
        (
            &format!("{card}/power_dpm_force_performance_level"),
            "auto\n",
        ),
        (&format!("{card}/mem_info_vram_total"), "17179869184\n"),
        (&format!("{card}/pp_dpm_sclk"), "0: 600Mhz *\n1: 2900Mhz\n"),
        (&format!("{card}/hwmon/hwmon7/power1_average"), "9000000\n"),
        (&format!("{card}/hwmon/hwmon7/temp1_input"), "39000\n"),
        ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
        ("sys/class/powercap/intel-rapl:0/energy_uj", "123456\n"),
        (
            "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
            "262143328850\n",
        ),
        ("sys/class/powercap/intel-rapl:0:0/energy_uj", "23456\n"),
    ]);
    let source = Source::fake(root.path(), Platform::Linux, |program, arguments| {
        assert_eq!(program, "nvidia-smi");
        assert!(arguments[0].starts_with("--query-gpu=name,driver_version,"));
        Ok(
            "NVIDIA H200, 550.54.14, P0, 143771, 0, 1980, 1980, 3201, 77.02, 700.00, 29\n"
                .to_owned(),
        )
    });
    let now = Conditions::read(&source);
    let gpus = now.gpus.get().expect("two cards");
    assert_eq!(gpus.len(), 2);
    assert_eq!(gpus[0].driver.get().map(String::as_str), Some("550.54.14"));
    assert_eq!(gpus[1].memory_mib.get(), Some(&16_384));
    assert_eq!(gpus[1].clock_mhz.get(), Some(&600));
    assert_eq!(gpus[1].clock_max_mhz.get(), Some(&2900));
    assert_eq!(gpus[1].power_watts.get(), Some(&9.0));
    assert_eq!(gpus[1].celsius.get(), Some(&39.0));
    assert_eq!(now.clocks.cpu_slowest_mhz.get(), Some(&3000));
    assert_eq!(now.clocks.cpu_fastest_mhz.get(), Some(&3600));
    let energy = now.consumption.energy.get().expect("one package");
    assert_eq!((energy.len(), energy[0].microjoules), (1, 123_456));
    let board = Board::read(&source);
    assert_eq!(board.name().get().map(String::as_str), Some("ACME Tower 9"));
    assert!(
        !serde_json::to_string(&board)
            .expect("plain data")
            .contains("SECRET")
    );
}

/// Every leaf `{"value": null}` with its reason.
fn unknowns(value: &Value, found: &mut Vec<(bool, bool)>) {
    match value {
        Value::Object(object) => match object.get("value") {
            Some(inner) => {
                let reason = object.get("reason").and_then(Value::as_str);
                found.push((inner.is_null(), reason.is_some_and(|r| !r.is_empty())));
            }
            None => object.values().for_each(|v| unknowns(v, found)),
        },
        Value::Array(list) => list.iter().for_each(|v| unknowns(v, found)),
        _ => {}
    }
}

#[test]
fn t8_04_in_a_container_with_nothing_all_is_null_with_the_reason() {
    for platform in [Platform::Linux, Platform::Mac, Platform::Other] {
        let root = tree(&[]);
        let source = Source::fake(root.path(), platform, |name, _| {
            Err(format!("no program {name}"))
        });
        let clock = ManualClock::new();
        let moment = Moment::read(&source, &clock, 0, 0, Occasion::Start);
        let json = serde_json::to_value((&moment, Board::read(&source))).expect("plain data");
        let mut found = Vec::new();
        unknowns(&json, &mut found);
        assert!(found.len() > 30, "{platform:?}: {json}");
        let known = |(null, reason): &&(bool, bool)| !(*null && *reason);
        // On other systems the process's own memory and free memory are asked of the system, not of the tree.
        assert_eq!(
            found.iter().filter(known).count(),
            0,
            "{platform:?}: {json:#}"
        );
        let path = root.path().display().to_string();
        assert!(
            !json.to_string().contains(&path),
            "reasons name the real files"
        );
        let back: Moment = serde_json::from_value(json[0].clone()).expect("our own JSON");
        assert_eq!(back, moment);
    }
}

#[test]
fn t8_05_the_total_is_that_of_the_documented_rails() {
    let total = |compatible: &str, monitors: &[(String, String)]| {
        let root = jetson(compatible, monitors);
        Consumption::read(&linux(root.path()))
    };
    // 7.6 + 1.9 + 4.5 W; the DDR rail's 1.5 W are contained in the last.
    let orin = total(AGX_ORIN, &agx_orin_rails());
    assert_eq!(orin.total_milliwatts.get(), Some(&14_000));
    let names: Vec<&str> = orin
        .rails
        .get()
        .expect("rails")
        .iter()
        .map(|r| r.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "VDD_GPU_SOC",
            "VDD_CPU_CV",
            "VIN_SYS_5V0",
            "VDDQ_VDD2_1V8AO"
        ]
    );

    // The input contains the other two.
    let nx = monitor(
        "hwmon1",
        [
            ("VDD_IN", 5_000, 2_000),
            ("VDD_CPU_GPU_CV", 5_000, 700),
            ("VDD_SOC", 5_000, 500),
        ],
    );
    assert_eq!(total(ORIN_NX, &nx).total_milliwatts.get(), Some(&10_000));

    let mut thor = monitor(
        "hwmon2",
        [
            ("VDD_GPU", 12_000, 3_000),
            ("VDD_CPU_SOC_MSS", 12_000, 1_000),
            ("VIN_SYS_5V0", 5_000, 1_000),
        ],
    );
    let without_input = total(THOR, &thor);
    assert_eq!(without_input.total_milliwatts.get(), None);
    assert_eq!(
        without_input.total_milliwatts.reason(),
        Some("rail VIN has no reading")
    );
    let input = "sys/class/hwmon/hwmon6";
    thor.push((format!("{input}/name"), "ina238\n".to_owned()));
    thor.push((format!("{input}/power1_input"), "61500000\n".to_owned()));
    assert_eq!(total(THOR, &thor).total_milliwatts.get(), Some(&61_500));
}

#[test]
fn t8_05_an_unknown_board_has_rails_and_no_total() {
    let root = jetson("acme,board-1\0nvidia,tegra999\0", &agx_orin_rails());
    let found = Consumption::read(&linux(root.path()));
    assert_eq!(found.rails.get().map(Vec::len), Some(4));
    assert_eq!(found.total_milliwatts.get(), None);
    let reason = found.total_milliwatts.reason().expect("a reason");
    assert!(reason.contains("acme,board-1"), "{reason}");
}

#[test]
fn t8_08_after_a_conversation_only_memory_is_read() {
    let root = tree(&[
        (
            "proc/self/status",
            "Name:\tx\nVmHWM:\t  4096 kB\nVmRSS:\t  2048 kB\nRssAnon:\t  1024 kB\n",
        ),
        ("proc/meminfo", "MemTotal: 1 kB\nMemAvailable:   8192 kB\n"),
        ("proc/uptime", "350735.47 234388.90\n"),
        // With its driver loaded, asking about a card starts a program.
        ("proc/driver/nvidia/version", "NVRM version: 550.54.14\n"),
    ]);
    let source = Source::fake(root.path(), Platform::Linux, |program, _| {
        panic!("{program} is started between turns")
    });
    let clock = ManualClock::new();
    clock.set(7);
    let moment = Moment::read(&source, &clock, 1, 50, Occasion::Conversation);
    assert_eq!(moment.conditions, None);
    assert_eq!((moment.at_ns, moment.took_ns, moment.rows), (7, 0, 50));
    assert_eq!(moment.memory.growing_bytes(), Some(1024 << 10));
    assert_eq!(moment.memory.peak_rss_bytes.get(), Some(&(4096 << 10)));
    assert_eq!(moment.memory.available_bytes.get(), Some(&(8192 << 10)));
    assert_eq!(moment.memory.swapped_bytes.get(), None);
    assert_eq!(moment.uptime_s.get(), Some(&350_735.47));
}

#[test]
fn a_mac_is_asked_with_pmset() {
    let root = tree(&[]);
    let source = Source::fake(root.path(), Platform::Mac, |program, arguments| {
        assert_eq!(program, "pmset");
        Ok(match arguments {
            ["-g"] => " lowpowermode 1\n",
            _ => "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=9)\t52%; discharging\n",
        }
        .to_owned())
    });
    let power = Power::read(&source);
    assert_eq!(power.mode().get().map(String::as_str), Some("low power"));
    assert_eq!(power.source.get(), Some(&PowerSource::Battery));
    assert_eq!(power.battery_percent.get(), Some(&52));
    assert!(power.governor.reason().is_some());
}

#[test]
fn files_that_are_not_what_they_should_be_are_reasons() {
    let now = conditions(&[
        ("var/lib/nvpmodel/status", "nothing\n"),
        ("sys/class/powercap/intel-rapl:0/energy_uj", "many\n"),
        ("sys/class/thermal/thermal_zone0/temp", "65261850\n"),
        ("proc/driver/nvidia/version", "NVRM\n"),
    ]);
    let reason = |known: &Known<String>| known.reason().unwrap_or_default().to_owned();
    assert!(reason(&now.power.nvpmodel).contains("expected pmode:NUMBER"));
    let energy = now.consumption.energy.reason().unwrap_or_default();
    assert!(energy.contains("expected a number"), "{energy}");
    assert!(now.temperatures.reason().is_some());
    assert_eq!(now.gpus.reason(), Some("no program nvidia-smi"));
}
