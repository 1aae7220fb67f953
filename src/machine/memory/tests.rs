//! The plan of the 27B model against what llama.cpp reported when it loaded that model on a processor (MiB, from
//! `ENGINE.md`): 16,012 mapped, 10,337 repacked, 2,048 KV, 150 recurrent (449 with two drafts), 184 compute, 128
//! draft KV, 130 draft compute.

use super::settings::mib;
use super::testing::Model;
use super::*;
use crate::machine::Device;
use gguf::TensorType;

const GIB: u64 = 1 << 30;

fn plan_with(
    settings: Settings,
    available_bytes: Option<u64>,
    devices: &[Device],
    change: impl FnOnce(&mut Model),
) -> MemoryPlan {
    let mut model = Model::qwen27b();
    change(&mut model);
    let request = Request {
        facts: &model.facts,
        tensors: &model.tensors,
        settings,
        host: Host {
            available_bytes,
            repack: Repack::Avx2,
        },
        devices,
        device_names: &[],
    };
    MemoryPlan::new(&request).expect("the file says everything")
}

fn plan(settings: Settings, gib: u64, devices: &[Device]) -> MemoryPlan {
    plan_with(settings, Some(gib * GIB), devices, |_| ())
}

/// As llama.cpp was run for its report: nothing rolled back but drafts.
fn with_mtp() -> Settings {
    Settings {
        mtp_depth: 2,
        rollback_tokens: 0,
        ..Settings::default()
    }
}

fn gpu(name: &str, free: u64) -> Device {
    Device::new(name, "", "CUDA", "gpu", free * GIB, free * GIB)
}

/// The size of one part in one pool, MiB.
fn size(plan: &MemoryPlan, pool: &str, part: Part) -> f64 {
    let shares = plan
        .shares
        .iter()
        .filter(|s| s.pool == pool && s.part == part);
    mib(shares.map(|s| s.bytes).sum())
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, expected {expected} ± {tolerance}"
    );
}

#[test]
fn the_27b_on_a_processor_is_what_llama_cpp_reported() {
    let plan = plan(with_mtp(), 64, &[]);
    let host = |part| size(&plan, "host", part);
    // Exact parts: to the rounding of the log.
    near(host(Part::Weights), 16_012.0, 0.5);
    near(host(Part::RepackedWeights), 10_337.0, 0.5);
    near(host(Part::KvCache), 2048.0, 0.0);
    near(host(Part::RecurrentState), 448.9, 0.1);
    near(host(Part::Snapshots), 149.6, 0.1);
    near(host(Part::DraftKvCache), 128.0, 0.0);
    // Estimates: 10 %.
    near(host(Part::ComputeBuffer), 184.0, 18.4);
    near(host(Part::DraftComputeBuffer), 130.0, 13.0);
    // What is not repacked stays in use, 16,012 less 10,337, but for the embedding.
    near(mib(plan.pools[0].mapped_in_use_bytes), 4992.6, 1.0);
    assert_eq!(plan.pools[0].fit, Fit::Fits);
    assert!(plan.remedies.is_empty() && plan.refusal().is_none() && plan.warnings().is_empty());
}

#[test]
fn without_mtp_its_block_is_not_loaded() {
    let plan = plan(Settings::default(), 64, &[]);
    // 10,337.34 less the block's 177.19.
    near(size(&plan, "host", Part::RepackedWeights), 10_160.16, 0.01);
    near(size(&plan, "host", Part::RecurrentState), 4.0 * 149.6, 0.5);
    assert_eq!(plan.bytes_of(Part::DraftKvCache), 0);
    assert_eq!(plan.bytes_of(Part::DraftComputeBuffer), 0);
    near(size(&plan, "host", Part::OutputRows), 0.95, 0.01);
}

#[test]
fn settings_scale_their_parts() {
    let plan = plan(
        Settings {
            ctx_size: 8000,
            cache_type_k: TensorType::Q8_0,
            rollback_tokens: 3,
            snapshots: 2,
            ..Settings::default()
        },
        64,
        &[],
    );
    // 8,000 is rounded up to 8,192; K takes 34 bytes for 32 elements, V 64.
    near(
        size(&plan, "host", Part::KvCache),
        512.0 / 128.0 * 98.0,
        0.01,
    );
    near(size(&plan, "host", Part::RecurrentState), 4.0 * 149.6, 0.5);
    near(size(&plan, "host", Part::Snapshots), 2.0 * 149.6, 0.5);
}

#[test]
fn everything_but_the_embedding_goes_to_a_device() {
    let plan = plan(Settings::default(), 64, &[gpu("CUDA0", 24)]);
    // 248,320 x 5,120 at 4.5 bits.
    near(size(&plan, "host", Part::Weights), 682.0, 0.1);
    assert_eq!(size(&plan, "host", Part::RepackedWeights), 0.0);
    // All that the processor mapped with the prediction block, less that block's 251.1 and the embedding.
    near(
        size(&plan, "CUDA0", Part::Weights),
        16_011.8 - 251.1 - 682.0,
        0.5,
    );
    near(size(&plan, "CUDA0", Part::KvCache), 2048.0, 0.0);
    assert_eq!(size(&plan, "host", Part::KvCache), 0.0);
    near(size(&plan, "CUDA0", Part::Snapshots), 149.6, 0.1);
    assert_eq!(size(&plan, "host", Part::Snapshots), 0.0);
    assert!(plan.fits());
}

#[test]
fn the_second_snapshot_goes_to_the_host() {
    let two = Settings {
        snapshots: 2,
        ..Settings::default()
    };
    let plan = plan(two, 64, &[gpu("CUDA0", 24)]);
    near(size(&plan, "CUDA0", Part::Snapshots), 149.6, 0.1);
    near(size(&plan, "host", Part::Snapshots), 149.6, 0.1);
}

#[test]
fn a_small_device_is_refused_with_the_layers_that_fit() {
    let plan = plan(Settings::default(), 64, &[gpu("CUDA0", 12)]);
    assert_eq!(plan.pools[1].fit, Fit::Short);
    let layers = plan
        .remedies
        .iter()
        .find(|r| r.option.starts_with("--n-gpu-layers "));
    let layers = layers.expect("fewer layers fit");
    assert!(layers.suffices);
    let said = plan.refusal().expect("refused");
    for part in [
        "CUDA0 needs ",
        "12,288 MiB are free",
        "--n-gpu-layers ",
        "--ctx-size 2048",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let n: u32 = layers.option["--n-gpu-layers ".len()..]
        .parse()
        .expect("a number");
    let settings = |n_gpu_layers| Settings {
        n_gpu_layers,
        ..Settings::default()
    };
    assert!(self::plan(settings(n), 64, &[gpu("CUDA0", 12)]).fits());
    assert!(!self::plan(settings(n + 1), 64, &[gpu("CUDA0", 12)]).fits());
}

#[test]
fn layers_are_spread_by_free_memory() {
    let plan = plan(
        Settings::default(),
        64,
        &[gpu("CUDA0", 30), gpu("CUDA1", 10)],
    );
    // 66 layers, ¾ of them on the first: blocks 0 to 49, of which 12 have attention.
    near(size(&plan, "CUDA0", Part::KvCache), 12.0 * 128.0, 0.0);
    near(size(&plan, "CUDA1", Part::KvCache), 4.0 * 128.0, 0.0);
    near(
        size(&plan, "CUDA0", Part::RecurrentState),
        4.0 * 38.0 * 149.625 / 48.0,
        0.1,
    );
}

#[test]
fn layers_that_stay_are_not_repacked_beside_a_gpu() {
    let none = Settings {
        n_gpu_layers: 0,
        ..Settings::default()
    };
    let plan = plan(none, 64, &[gpu("CUDA0", 24)]);
    assert_eq!(plan.bytes_of(Part::RepackedWeights), 0);
    near(size(&plan, "host", Part::KvCache), 2048.0, 0.0);
    assert_eq!(size(&plan, "CUDA0", Part::Weights), 0.0);
}

#[test]
fn integrated_devices_use_the_hosts_memory() {
    let tegra = Device::new(
        "CUDA0",
        "Orin",
        "CUDA",
        "integrated_gpu",
        61 * GIB,
        20 * GIB,
    );
    let plan = plan(Settings::default(), 20, &[tegra]);
    assert!(plan.pools[1].shares_host);
    // Nothing is mapped there, so everything counts once, in the host's pool.
    assert_eq!(plan.pools[0].mapped_bytes, 0);
    let all: u64 = plan.shares.iter().map(|s| s.bytes).sum();
    assert_eq!(plan.pools[0].anonymous_bytes, all);
    assert!(plan.pools[0].anonymous_bytes > plan.pools[1].anonymous_bytes);
}

#[test]
fn metal_maps_weights_without_a_copy() {
    let metal = Device::new("Metal", "M4", "Metal", "gpu", 48 * GIB, 40 * GIB);
    let plan = plan(Settings::default(), 40, &[metal]);
    near(mib(plan.pools[1].mapped_in_use_bytes), 15_078.7, 0.5);
    near(mib(plan.pools[0].mapped_in_use_bytes), 15_078.7, 0.5);
    assert!(mib(plan.pools[0].anonymous_bytes) < 3400.0);
    assert!(plan.fits());
}

#[test]
fn mapped_weights_beyond_memory_are_a_warning() {
    // 12.8 GiB allocated, 5.5 GiB mapped and in use.
    let plan = plan(Settings::default(), 15, &[]);
    assert_eq!(plan.pools[0].fit, Fit::Pages);
    assert!(plan.fits() && plan.refusal().is_none());
    let said = plan.warnings().join(" ");
    assert!(said.contains("read from disk again"), "{said}");
}

#[test]
fn a_host_that_is_too_small_is_refused_with_numbers() {
    let plan = plan(Settings::default(), 12, &[]);
    assert_eq!(plan.pools[0].fit, Fit::Short);
    let said = plan.refusal().expect("refused");
    for part in [
        "not enough memory: host needs ",
        "repacked weights 10,160, KV cache 2,048",
        "12,288 MiB are free",
        "MiB are missing",
        "--ctx-size ",
        "enough",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let hopeless = self::plan(Settings::default(), 4, &[])
        .refusal()
        .expect("refused");
    assert!(hopeless.contains("not enough alone"), "{hopeless}");
}

#[test]
fn unknown_memory_is_said_and_not_refused() {
    let plan = plan_with(Settings::default(), None, &[], |_| ());
    assert_eq!(plan.pools[0].fit, Fit::Unknown);
    assert!(plan.fits());
    assert!(plan.warnings()[0].contains("nobody knows"));
}

#[test]
fn a_tied_output_is_repacked_beside_the_embedding() {
    let tied = |model: &mut Model| model.tensors.retain(|t| t.name != "output.weight");
    let plan = plan_with(Settings::default(), Some(64 * GIB), &[], tied);
    near(
        size(&plan, "host", Part::RepackedWeights),
        10_160.16 + 682.03,
        0.1,
    );
    let device = plan_with(
        Settings::default(),
        Some(64 * GIB),
        &[gpu("CUDA0", 24)],
        tied,
    );
    near(size(&device, "host", Part::Weights), 682.0, 0.1);
}

#[test]
fn parts_of_a_split_model_are_mapped_each_from_its_own_start() {
    let split = |model: &mut Model| {
        // The second part begins where its first tensor did.
        let half = model.tensors.len() / 2;
        let start = model.tensors[half].offset;
        for tensor in &mut model.tensors[half..] {
            tensor.part = 1;
            tensor.offset -= start;
        }
    };
    let whole = plan(Settings::default(), 64, &[]).bytes_of(Part::Weights);
    let plan = plan_with(Settings::default(), Some(64 * GIB), &[], split);
    let parts = plan.bytes_of(Part::Weights);
    // Only the repacked weights between the parts' ranges are left out.
    assert!(parts <= whole && mib(whole - parts) < 500.0);
}

#[test]
fn a_file_without_heads_says_what_is_absent() {
    let mut model = Model::qwen27b();
    model.facts.head_count = None;
    let request = Request {
        facts: &model.facts,
        tensors: &model.tensors,
        settings: Settings::default(),
        host: Host {
            available_bytes: None,
            repack: Repack::None,
        },
        devices: &[],
        device_names: &[],
    };
    let said = MemoryPlan::new(&request).expect_err("no heads");
    assert!(said.to_string().contains("head_count"), "{said}");
}

#[test]
fn text_has_a_row_per_part_and_a_sum() {
    let text = plan(Settings::default(), 64, &[]).to_text();
    let sum = text
        .lines()
        .find(|line| line.contains("sum"))
        .expect("a sum");
    assert!(sum.ends_with("65,536: fits"), "{text}");
    assert!(text.contains("~188"), "{text}");
    assert_eq!(text.lines().count(), 1 + 8 + 1, "{text}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

    /// Whatever sizes a file claims, the plan is a plan or a named fault.
    #[test]
    fn no_sizes_overflow(
        widths in proptest::array::uniform9(0_u64..=u32::MAX.into()),
        ctx_size: u32,
        ubatch_size: u32,
        n_gpu_layers: u32,
        mtp_depth: u32,
        flash_attention: bool,
        bytes: u64,
        offset: u64,
    ) {
        let mut model = Model::qwen27b();
        let facts = &mut model.facts;
        let each = |n: usize| Some(gguf::PerBlock::Same(widths[n]));
        (facts.embedding_length, facts.key_length) = (Some(widths[0]), Some(widths[1]));
        (facts.feed_forward_length, facts.head_count) = (each(2), each(3));
        facts.head_count_kv = each(4);
        if let Some(ssm) = &mut facts.ssm {
            (ssm.conv_kernel, ssm.state_size) = (widths[5], widths[6]);
            (ssm.group_count, ssm.inner_size) = (widths[7], widths[8]);
        }
        for tensor in &mut model.tensors {
            (tensor.bytes, tensor.offset) = (bytes, offset);
        }
        let request = Request {
            facts: &model.facts,
            tensors: &model.tensors,
            settings: Settings {
                ctx_size,
                ubatch_size,
                n_gpu_layers,
                mtp_depth,
                flash_attention,
                ..Settings::default()
            },
            host: Host {
                available_bytes: Some(GIB),
                repack: Repack::Avx2,
            },
            devices: &[gpu("CUDA0", 1)],
            device_names: &[],
        };
        if let Ok(plan) = MemoryPlan::new(&request) {
            let _ = (plan.to_text(), plan.refusal(), plan.warnings());
        }
    }
}

#[test]
fn t8_01_a_refused_allocation_is_explained_with_bytes_and_two_settings() {
    let model = Model::qwen27b();
    let shared = [Device::new(
        "CUDA0",
        "an Orin",
        "CUDA",
        "integrated_gpu",
        64 * GIB,
        40 * GIB,
    )];
    let request = Request {
        facts: &model.facts,
        tensors: &model.tensors,
        settings: Settings::default(),
        host: Host {
            available_bytes: Some(48 * GIB),
            repack: Repack::None,
        },
        devices: &shared,
        device_names: &[],
    };
    assert!(MemoryPlan::new(&request).expect("sizes").fits());
    let text = MemoryPlan::refused(&request).expect("sizes");
    for part in [
        "CUDA0: ",
        "bytes) to allocate",
        "42949672960 bytes) free",
        "--ctx-size ",
        "--cache-type-k q8_0 --cache-type-v q8_0 (spares ",
        "shares the host's memory",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
