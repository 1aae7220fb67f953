//! What llama.cpp sets aside for the graph of a micro-batch. It asserts that it got that, which ends the process; so it
//! is asked for here first. That catches what a system never gives in one piece; where all of a process's memory is
//! limited (`ulimit -v`), what is loaded afterwards can still leave too little.

use std::mem::size_of;

use super::context::ContextSettings;
use super::model::LoadError;

/// Graph nodes per token of a micro-batch (`llama_context::graph_max_nodes`, b11434).
const NODES_PER_TOKEN: u64 = 40;

/// Of the architectures whose graphs grow with the micro-batch, those of the benchmark model's family.
const GROWING: [&str; 3] = ["qwen35", "qwen35moe", "qwen3next"];

/// Tensors that the scheduler keeps room for per node: 30 inputs of a split, twice (`ggml_backend_sched_new`, b11434).
const TENSORS_PER_NODE: u64 = 60;

/// Bytes per node of what lies beside these: at most.
const BESIDE: u64 = 64;

/// Bytes that llama.cpp asks for in one piece per context: address space, most of it never touched.
fn bytes(settings: &ContextSettings, architecture: &str) -> u64 {
    if !GROWING.contains(&architecture) {
        return 0;
    }
    // llama.cpp makes neither larger than the context.
    let tokens = u64::from(settings.ubatch_size.min(settings.ctx_size));
    let tensor = size_of::<llama_cpp_sys_2::ggml_tensor>() as u64;
    tokens * NODES_PER_TOKEN * (TENSORS_PER_NODE * tensor + BESIDE)
}

impl ContextSettings {
    /// Refuses a micro-batch whose graph this system has no room for in each of `contexts`.
    ///
    /// # Errors
    /// [`LoadError::Graph`].
    pub fn check_graphs(&self, architecture: &str, contexts: u32) -> Result<(), LoadError> {
        let bytes = bytes(self, architecture);
        let refused = || LoadError::Graph {
            ubatch: self.ubatch_size,
            gib: bytes.div_ceil(1 << 30),
        };
        let wanted = usize::try_from(bytes).map_err(|_| refused())?;
        let mut held: Vec<Vec<u8>> = Vec::new();
        for _ in 0..contexts {
            let mut one = Vec::new();
            one.try_reserve_exact(wanted).map_err(|_| refused())?;
            held.push(one);
        }
        // What nobody reads need not be allocated.
        std::hint::black_box(&held);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::llama::{FlashAttention, KvType};

    fn settings(ctx_size: u32, ubatch_size: u32) -> ContextSettings {
        ContextSettings {
            ctx_size,
            batch_size: ubatch_size,
            ubatch_size,
            threads: 1,
            flash_attn: FlashAttention::On,
            cache_type_k: KvType::F16,
            cache_type_v: KvType::F16,
        }
    }

    #[test]
    fn room_grows_with_the_micro_batch_up_to_the_context() {
        let of = |ctx, ubatch| bytes(&settings(ctx, ubatch), "qwen35");
        assert_eq!(of(32_768, 1024), 2 * of(32_768, 512));
        assert_eq!(of(4096, 65_536), of(4096, 4096));
        assert!(of(32_768, 512) < 1 << 29);
        assert!(of(32_768, 32_768) > 24 << 30);
        assert_eq!(bytes(&settings(32_768, 65_536), "llama"), 0);
    }

    #[test]
    fn the_defaults_fit_everywhere() {
        settings(32_768, 512)
            .check_graphs("qwen35", 2)
            .expect("half a gigabyte of address space");
    }
}
