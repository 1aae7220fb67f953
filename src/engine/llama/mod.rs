//! llama.cpp in this process. The only module tree that names `llama_cpp_2`.

pub mod backends;
mod candidates;
mod context;
mod device;
mod drafter;
mod generate;
mod grammar;
mod graphs;
mod log;
mod model;
pub mod quantize;
mod ranking;
mod sampler;
mod session;
mod state;
mod turn;

pub use candidates::Candidates;
pub use context::{ContextSettings, FlashAttention, KvType};
pub use device::devices;
pub use log::show as show_log;
pub use model::{LoadError, LoadedModel, ModelSettings};
pub use sampler::Sampler;
pub use turn::{EngineSettings, LlamaEngine};

/// The llama.cpp build linked into this program, e.g. `b11434`.
pub const LLAMA_BUILD: &str = env!("EDGE_AGENTIC_LLAMA_BUILD");

/// The crate versions that carry it.
pub const LLAMA_CRATES: &str = "llama-cpp-2 0.1.160, llama-cpp-sys-2 0.1.161";
