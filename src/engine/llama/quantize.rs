//! Quantizing a GGUF with llama.cpp's own quantizer: the tiny synthetic model gets its real block formats this way.
#![allow(unsafe_code)] // llama-cpp-2 does not wrap the quantizer; one call, stated below

use std::ffi::CString;
use std::path::Path;

use super::model::{LoadError, backend, explanation};
use crate::engine::llama::log;

/// `LLAMA_FTYPE_MOSTLY_Q4_K_M`.
const Q4_K_M: llama_cpp_sys_2::llama_ftype = 15;

/// Writes `from`, an F16 GGUF, to `to` as Q4_K_M, with `threads` threads.
///
/// # Errors
/// Where llama.cpp refuses; `to` may then hold a partial file, so give it a temporary path.
pub fn to_q4_k_m(from: &Path, to: &Path, threads: u32) -> Result<(), LoadError> {
    backend()?;
    log::take_tail();
    let failed = |cause: String| LoadError::Model {
        path: from.to_owned(),
        cause,
    };
    let c_path = |p: &Path| {
        p.to_str()
            .and_then(|s| CString::new(s).ok())
            .ok_or_else(|| {
                failed(format!(
                    "{}: the path is not UTF-8 or holds a NUL byte",
                    p.display()
                ))
            })
    };
    let (input, output) = (c_path(from)?, c_path(to)?);
    // SAFETY: returns a plain struct by value.
    let mut params = unsafe { llama_cpp_sys_2::llama_model_quantize_default_params() };
    params.ftype = Q4_K_M;
    params.nthread = threads.cast_signed();
    // SAFETY: two NUL-terminated paths and a parameter block whose pointers are all null or defaults, alive during
    // the call; the backend is initialised above.
    let status = unsafe {
        llama_cpp_sys_2::llama_model_quantize(input.as_ptr(), output.as_ptr(), &raw const params)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(failed(format!(
            "quantizing failed: {}",
            explanation("it gave no reason")
        )))
    }
}
