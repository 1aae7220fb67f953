//! The exact bytes of the data: `bfcl-eval` 2026.3.23 (Apache-2.0), the release that the MLPerf
//! reference calls. Answers change between releases, so scores of other bytes are not comparable.

use crate::subset::Subset;

/// The release of `bfcl-eval` whose files are pinned.
pub const RELEASE: &str = "2026.3.23";

/// The pinned sha256 of a subset's files, in lower-case hex.
pub(super) struct Pin {
    pub subset: Subset,
    /// `BFCL_v4_<subset>.json`
    pub data: &'static str,
    /// `possible_answer/BFCL_v4_<subset>.json`
    pub answers: Option<&'static str>,
    /// Samples in the file.
    pub samples: usize,
}

const fn pin(
    subset: Subset,
    samples: usize,
    data: &'static str,
    answers: Option<&'static str>,
) -> Pin {
    Pin {
        subset,
        data,
        answers,
        samples,
    }
}

/// All 13 single-turn subsets, in the reference's order.
pub(super) const PINS: [Pin; 13] = [
    pin(
        Subset::SimplePython,
        400,
        "82dd63ba502eb2520c6b5d1d9a5c4b590e03ff261565175561f6228a367d1991",
        Some("90cd5bc653690ee8e459b5b3f3fc9458606f7f3fcbf795bb51b7dc581f8c86dc"),
    ),
    pin(
        Subset::SimpleJava,
        100,
        "13d2303a125b08754f0e41995b9273b5005fa8ed8ebfaa24ef53b4d83c4b5c6e",
        Some("78f25616084044fa05bbfcee68e03f6ececb222bdd5cb3b7783a675fb3366e35"),
    ),
    pin(
        Subset::SimpleJavascript,
        50,
        "329e67fedf79a6243d93dbda4b388d12bd2d31f1f2163d92cb6ef676d1764f44",
        Some("e2f9f2e51d88e0c8056ffbf1a3dd3d02eb032532d2b5d98c9cc9003385bdd56b"),
    ),
    pin(
        Subset::Multiple,
        200,
        "aef168155ebd74b7ac2401198b201343bc7d16d7a3d7e0d4e6d8ee82c6969b2a",
        Some("244e00ce9395df948bcafc7bee64e8f9c87ef70887587d83cae45b13699f3047"),
    ),
    pin(
        Subset::Parallel,
        200,
        "19f51a82eff42e5d62541aa500115a056eb78f437c2ba1f10415fd7c8e5dda84",
        Some("8a6aa19c1adddc6a5a2f7e40f9dbf30cc7e95815e7b830c90589ab318229e0f0"),
    ),
    pin(
        Subset::ParallelMultiple,
        200,
        "8863ea8433239f55c5f016154cf0830853c89f693c6ea270396a2fa121960579",
        Some("5ebf24f458c1f16300c05505d83d6f0a1b68b79be273a033febd0d4f840507e3"),
    ),
    pin(
        Subset::LiveSimple,
        258,
        "1af2ac87dca47556db7b7e37e51e28b459a38b594e3c7b3c792b4903598ca0c4",
        Some("fec9cfa9744a936f9126981e85a2023da1e63e273eafebc81923a1162fad70ce"),
    ),
    pin(
        Subset::LiveMultiple,
        1053,
        "fd8ccfad4d911420d0e3341dbe2fff77d1d341da934248b9bb2bda24ab3a10c8",
        Some("97e90d59c5bd76c55a2920ce93e5566e9046307d3f558578f085f9d3a56c3084"),
    ),
    pin(
        Subset::LiveParallel,
        16,
        "6c26e9fdc3350cf596e6d1ea9c179cbff834761bccf562f4141ed29a839ca421",
        Some("8a9f189ff0e832ebbbbdade1fd95a7dbcc67406e9177df3f0aad76f59ab00350"),
    ),
    pin(
        Subset::LiveParallelMultiple,
        24,
        "21d4b9319c1faac431e22757b367ea28917fe467364c3a4b17f16ec06d4f6e79",
        Some("f5b5f360556c5feb51db46fb9f56ee4b304f4b45b161599bbb14161c98a2873f"),
    ),
    pin(
        Subset::Irrelevance,
        240,
        "2b6ed4c2e992cdcf5f1678a701851f944bef7550ee026ed1ddb89efed5be01a6",
        None,
    ),
    pin(
        Subset::LiveIrrelevance,
        884,
        "6559fda2beaceb609a2cd2e504c65b4a56cb448e1ef88fddfd199e163d163349",
        None,
    ),
    pin(
        Subset::LiveRelevance,
        16,
        "e03f9e241657a137cba48a89ee12f47bf3fcb7e4f6274263e9c699a0c974203a",
        None,
    ),
];

/// The data file of a subset, relative to the data directory.
pub fn data_file(subset: Subset) -> String {
    format!("BFCL_v4_{subset}.json")
}

/// The answers of a subset, relative to the data directory.
pub fn answer_file(subset: Subset) -> String {
    format!("possible_answer/BFCL_v4_{subset}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_cover_every_subset_and_its_answers() {
        assert_eq!(PINS.each_ref().map(|pin| pin.subset), Subset::ALL);
        for pin in &PINS {
            assert_eq!(pin.answers.is_some(), pin.subset.has_answers());
            assert!(
                [Some(pin.data), pin.answers]
                    .iter()
                    .flatten()
                    .all(|sha| sha.len() == 64)
            );
        }
        assert_eq!(PINS.iter().map(|pin| pin.samples).sum::<usize>(), 3641);
    }

    #[test]
    fn fetch_data_pins_the_same_bytes() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/fetch-data");
        let Ok(script) = std::fs::read_to_string(script) else {
            println!("skipped: no scripts/fetch-data beside this crate");
            return;
        };
        for pin in &PINS {
            let data = format!("{}  {}", pin.data, data_file(pin.subset));
            let answers = pin
                .answers
                .map(|sha256| format!("{sha256}  {}", answer_file(pin.subset)));
            for line in [Some(data), answers].iter().flatten() {
                assert!(script.contains(line.as_str()), "{line}");
            }
        }
        assert!(script.contains(RELEASE));
    }
}
