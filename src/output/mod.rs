//! Result files and tables: one atomic writer, one output directory, and one
//! renderer per format. Rendering is a pure function from data to text.

mod accuracy;
mod atomic;
mod conditions;
mod csv;
mod dir;
mod document;
mod format;
mod json;
mod markdown;
mod number;
mod page;
mod report;
mod text;

pub use self::accuracy::accuracy_page;
pub use self::atomic::{
    WriteError, partial_beside, write_atomic, write_bytes_atomic, write_json_atomic,
};
pub use self::dir::{OutDirError, create_out_dir, probe_writable};
pub use self::document::{Align, Block, Column, Document, Table};
pub use self::format::{Format, UnknownFormat};
pub use self::number::{count, decimal, milliseconds, percent, seconds};
pub use self::page::render_page;
pub use self::report::{RenderError, RunResult, Settings, render, verdict_line};
