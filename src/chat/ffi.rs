//! The boundary to `shim.cpp`: owned handles and texts, nothing else. All of the project's chat `unsafe` is here.
#![allow(unsafe_code)] // the C ABI of our own shim; each block states why it is sound

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use super::ChatError;

#[repr(C)]
struct RawText {
    data: *mut c_char,
    size: usize,
}

#[repr(C)]
struct RawTemplates {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawParser {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawRequest {
    messages: *const c_char,
    messages_size: usize,
    tools: *const c_char,
    tools_size: usize,
    enable_thinking: bool,
    add_generation_prompt: bool,
}

unsafe extern "C" {
    fn ea_text_free(text: RawText);
    fn ea_templates_new(
        source: *const c_char,
        bos: *const c_char,
        eos: *const c_char,
        error: *mut RawText,
    ) -> *mut RawTemplates;
    fn ea_templates_free(templates: *mut RawTemplates);
    fn ea_render(
        templates: *const RawTemplates,
        request: RawRequest,
        error: *mut RawText,
    ) -> RawText;
    fn ea_format(
        templates: *const RawTemplates,
        request: RawRequest,
        error: *mut RawText,
    ) -> RawText;
    fn ea_capabilities(templates: *const RawTemplates, error: *mut RawText) -> RawText;
    fn ea_parser_new(
        format: c_int,
        generation_prompt: *const c_char,
        parser: *const c_char,
        error: *mut RawText,
    ) -> *mut RawParser;
    fn ea_parser_free(parser: *mut RawParser);
    fn ea_parse(
        parser: *const RawParser,
        text: *const c_char,
        size: usize,
        partial: bool,
        error: *mut RawText,
    ) -> RawText;
}

/// What one rendering needs; `messages` and `tools` are JSON texts in OpenAI's form.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// JSON array of messages.
    pub messages: &'a str,
    /// JSON array of tools, if any.
    pub tools: Option<&'a str>,
    /// Whether the generation prompt invites reasoning.
    pub enable_thinking: bool,
    /// Whether the prompt ends with the start of the assistant's turn.
    pub add_generation_prompt: bool,
}

impl Request<'_> {
    fn raw(&self) -> RawRequest {
        let (tools, tools_size) = self
            .tools
            .map_or((ptr::null(), 0), |t| (t.as_ptr().cast(), t.len()));
        RawRequest {
            messages: self.messages.as_ptr().cast(),
            messages_size: self.messages.len(),
            tools,
            tools_size,
            enable_thinking: self.enable_thinking,
            add_generation_prompt: self.add_generation_prompt,
        }
    }
}

/// A parsed chat template.
#[derive(Debug)]
pub struct Templates(*mut RawTemplates);

/// A reply parser for one format.
#[derive(Debug)]
pub struct Parser(*mut RawParser);

const NO_TEXT: RawText = RawText {
    data: ptr::null_mut(),
    size: 0,
};

/// Takes ownership of a text the shim allocated; `None` where it is null.
fn take(text: RawText) -> Option<String> {
    if text.data.is_null() {
        return None;
    }
    // SAFETY: the shim hands out `size` initialised bytes at `data`, which stay valid until ea_text_free below.
    let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.size) };
    let owned = String::from_utf8_lossy(bytes).into_owned();
    // SAFETY: `text` came from the shim's allocator and is not used again.
    unsafe { ea_text_free(text) };
    Some(owned)
}

fn result(text: RawText, error: RawText) -> Result<String, ChatError> {
    let failure = take(error);
    take(text).ok_or_else(|| ChatError::Llama(explained(failure)))
}

/// llama.cpp logs what a template raised and throws on a bare `std::exception`.
fn explained(failure: Option<String>) -> String {
    match failure.as_deref() {
        None => "out of memory".to_owned(),
        Some("std::exception") => "the chat template raised an error on these messages (llama.cpp gives no text); it \
                                   may demand another order of roles, or use something that llama.cpp does not know"
            .to_owned(),
        Some(text) => text.to_owned(),
    }
}

fn c_string(what: &'static str, text: &str) -> Result<CString, ChatError> {
    CString::new(text).map_err(|e| ChatError::NulByte {
        what,
        position: e.nul_position(),
    })
}

impl Templates {
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self, ChatError> {
        let source = c_string("chat template", source)?;
        let (bos, eos) = (c_string("BOS token", bos)?, c_string("EOS token", eos)?);
        let mut error = NO_TEXT;
        // SAFETY: three NUL-terminated strings and a place for the error, all alive during the call.
        let raw =
            unsafe { ea_templates_new(source.as_ptr(), bos.as_ptr(), eos.as_ptr(), &mut error) };
        let failure = take(error);
        if raw.is_null() {
            return Err(ChatError::Llama(failure.unwrap_or_default()));
        }
        Ok(Self(raw))
    }

    /// The prompt text of a request.
    pub fn render(&self, request: &Request<'_>) -> Result<String, ChatError> {
        let mut error = NO_TEXT;
        // SAFETY: `self.0` is live until drop; the request borrows its texts beyond the call.
        let text = unsafe { ea_render(self.0, request.raw(), &mut error) };
        result(text, error)
    }

    /// Grammar, triggers, parser and delimiters of a request, as JSON.
    pub fn format(&self, request: &Request<'_>) -> Result<String, ChatError> {
        let mut error = NO_TEXT;
        // SAFETY: as in `render`.
        let text = unsafe { ea_format(self.0, request.raw(), &mut error) };
        result(text, error)
    }

    /// What the template supports, as a JSON object of booleans.
    pub fn capabilities(&self) -> Result<String, ChatError> {
        let mut error = NO_TEXT;
        // SAFETY: `self.0` is live until drop.
        let text = unsafe { ea_capabilities(self.0, &mut error) };
        result(text, error)
    }
}

impl Drop for Templates {
    fn drop(&mut self) {
        // SAFETY: made by ea_templates_new, freed once.
        unsafe { ea_templates_free(self.0) }
    }
}

impl Parser {
    pub fn new(format: i32, generation_prompt: &str, parser: &str) -> Result<Self, ChatError> {
        let generation_prompt = c_string("generation prompt", generation_prompt)?;
        let parser = c_string("serialized parser", parser)?;
        let mut error = NO_TEXT;
        // SAFETY: two NUL-terminated strings and a place for the error, all alive during the call.
        let raw = unsafe {
            ea_parser_new(
                format,
                generation_prompt.as_ptr(),
                parser.as_ptr(),
                &mut error,
            )
        };
        let failure = take(error);
        if raw.is_null() {
            return Err(ChatError::Llama(failure.unwrap_or_default()));
        }
        Ok(Self(raw))
    }

    /// The reply as an OpenAI message, JSON.
    pub fn parse(&self, text: &str, partial: bool) -> Result<String, ChatError> {
        let mut error = NO_TEXT;
        // SAFETY: `self.0` is live until drop; `text` is `len` bytes and outlives the call.
        let out = unsafe {
            ea_parse(
                self.0,
                text.as_ptr().cast(),
                text.len(),
                partial,
                &mut error,
            )
        };
        result(out, error)
    }
}

impl Drop for Parser {
    fn drop(&mut self) {
        // SAFETY: made by ea_parser_new, freed once.
        unsafe { ea_parser_free(self.0) }
    }
}
