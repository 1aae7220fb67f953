//! The reader on files built by hand: sound ones, broken ones, hostile ones.

mod bad_files;
mod build;
mod directory;
mod fields;
mod model;
mod qwen35;
mod random;
mod split;
