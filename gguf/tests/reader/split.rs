//! Models in several files: T6-03.

use std::path::{Path, PathBuf};

use gguf::{Gguf, TensorType};

use crate::build::{Build, says};

/// Part `number` (from 0) of three, with one tensor.
fn part(number: u16, tensors: i32) -> Build {
    let build = Build::new()
        .entry("split.no", 2, &number.to_le_bytes())
        .entry("split.count", 2, &3_u16.to_le_bytes())
        .entry("split.tensors.count", 5, &tensors.to_le_bytes());
    let build = match number {
        0 => build.text("general.architecture", "test"),
        _ => build,
    };
    build.tensor(
        &format!("blk.{number}.ffn_up.weight"),
        &[8 + u64::from(number)],
        TensorType::F32,
    )
}

fn path(dir: &Path, number: u16) -> PathBuf {
    dir.join(format!("m-{:05}-of-00003.gguf", number + 1))
}

fn three() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..3 {
        part(number, 3).write(&path(dir.path(), number));
    }
    dir
}

#[test]
fn t6_03_all_parts_are_opened_and_listed_in_order() {
    let dir = three();
    let model = Gguf::open(path(dir.path(), 0)).unwrap();
    let paths: Vec<_> = model.parts().iter().map(|part| part.path.clone()).collect();
    assert_eq!(paths, [0, 1, 2].map(|n| path(dir.path(), n)));
    assert_eq!(model.tensors().len(), 3);
    assert_eq!(model.tensor("blk.2.ffn_up.weight").unwrap().part, 2);
    let sizes: u64 = paths
        .iter()
        .map(|p| std::fs::metadata(p).unwrap().len())
        .sum();
    assert_eq!(model.file_bytes(), sizes);
}

#[test]
fn t6_03_a_later_part_names_part_one() {
    let dir = three();
    let fault = Gguf::open(path(dir.path(), 1)).unwrap_err();
    let first = format!("give {}", path(dir.path(), 0).display());
    says(fault, &["m-00002-of-00003.gguf: ", "part 2 of 3", &first]);
}

#[test]
fn t6_03_missing_parts_are_named() {
    let dir = three();
    std::fs::remove_file(path(dir.path(), 2)).unwrap();
    let fault = Gguf::open(path(dir.path(), 0)).unwrap_err();
    says(
        fault,
        &[
            "1 of 3 parts missing, first part 3",
            "m-00003-of-00003.gguf",
        ],
    );
}

#[test]
fn t6_03_parts_joined_with_cat_are_recognized() {
    let dir = three();
    let joined: Vec<u8> = (0..3)
        .flat_map(|n| std::fs::read(path(dir.path(), n)).unwrap())
        .collect();
    let end = std::fs::metadata(path(dir.path(), 0)).unwrap().len();
    let target = dir.path().join("joined.gguf");
    std::fs::write(&target, joined).unwrap();
    let fault = Gguf::open(&target).unwrap_err();
    says(
        fault,
        &[
            &format!("begins at byte {end}"),
            "joined with cat",
            "--merge",
        ],
    );
}

#[test]
fn a_damaged_part_is_refused_by_its_own_name() {
    let dir = three();
    let second = path(dir.path(), 1);
    let bytes = std::fs::read(&second).unwrap();
    std::fs::write(&second, &bytes[..bytes.len() - 1]).unwrap();
    says(
        Gguf::open(path(dir.path(), 0)).unwrap_err(),
        &["m-00002-of-00003.gguf: truncated"],
    );
    std::fs::write(&second, "<html>").unwrap();
    says(
        Gguf::open(path(dir.path(), 0)).unwrap_err(),
        &["m-00002-of-00003.gguf: ", "web page"],
    );
}

#[test]
fn parts_of_another_model_are_refused() {
    let dir = three();
    std::fs::copy(path(dir.path(), 2), path(dir.path(), 1)).unwrap();
    let fault = Gguf::open(path(dir.path(), 0)).unwrap_err();
    says(
        fault,
        &["m-00002-of-00003.gguf", "'split.no': found 2, expected 1"],
    );

    let dir = three();
    part(0, 7).write(&path(dir.path(), 0));
    says(
        Gguf::open(path(dir.path(), 0)).unwrap_err(),
        &["hold 3 tensors, expected 7"],
    );

    let dir = three();
    let twin = part(1, 3).tensor("blk.0.ffn_up.weight", &[8], TensorType::F32);
    twin.write(&path(dir.path(), 1));
    part(0, 4).write(&path(dir.path(), 0));
    says(
        Gguf::open(path(dir.path(), 0)).unwrap_err(),
        &["'blk.0.ffn_up.weight' appears twice"],
    );
}

#[test]
fn a_renamed_or_impossible_part_is_refused() {
    let dir = three();
    let renamed = dir.path().join("model.gguf");
    std::fs::rename(path(dir.path(), 0), &renamed).unwrap();
    says(
        Gguf::open(&renamed).unwrap_err(),
        &["\"model.gguf\"", "-00001-of-00003.gguf"],
    );
    let beyond = part(3, 3).write(&path(dir.path(), 3));
    says(
        Gguf::open(beyond).unwrap_err(),
        &["'split.no' is 3 of 'split.count' 3"],
    );
}
