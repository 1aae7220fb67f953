//! The prediction block (MTP) beside its model: a second context over the same weights that drafts tokens.
//!
//! It sees every token that the model evaluates, with the model's hidden state of the token before it. Its memory
//! is cells of attention alone, so it can be cut anywhere, and nothing of it is kept between turns: what a kept state
//! of the model covers is still in its cells. Drafts decide how fast a reply comes, never which: the model verifies
//! each. (One cell per turn, the first after a return to an earlier place, is computed with a hidden state from
//! elsewhere, as in llama-server; that can cost a draft.)

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::speculative::{MtpSpeculative, MtpSpeculativeError, MtpSpeculativeParams};
use llama_cpp_2::token::LlamaToken;

use super::super::speculation::Mtp;
use super::super::{EngineError, Token};
use super::context::ContextSettings;
use super::model::{LoadError, LoadedModel};

/// Probability, as the block itself gives it, below which `auto` ends a draft.
const UNSURE: f32 = 0.3;

/// A model's context with the one that drafts for it.
pub struct Drafter<'m> {
    pair: MtpSpeculative<'m>,
    /// Tokens in the drafting context.
    cells: usize,
    /// Tokens it drafts at once.
    most: usize,
    size: usize,
}

impl<'m> Drafter<'m> {
    /// Puts a drafting context beside `target`.
    pub fn new(
        model: &'m LoadedModel,
        settings: &ContextSettings,
        target: LlamaContext<'m>,
        mtp: Mtp,
    ) -> Result<Self, LoadError> {
        let draft = settings.create_draft(model)?;
        let size = target.n_ctx() as usize;
        let params = MtpSpeculativeParams {
            n_max: mtp.depth().cast_signed(),
            n_min: 0,
            p_min: if mtp == Mtp::Auto { UNSURE } else { 0.0 },
        };
        let pair = MtpSpeculative::new(target, draft, params).map_err(|e| LoadError::Context {
            context: settings.ctx_size,
            cause: e.to_string(),
        })?;
        Ok(Self {
            pair,
            cells: 0,
            most: mtp.depth() as usize,
            size,
        })
    }

    /// The model's own context.
    pub fn target(&self) -> &LlamaContext<'m> {
        self.pair.target_context()
    }

    /// The model's own context.
    pub fn target_mut(&mut self) -> &mut LlamaContext<'m> {
        self.pair.target_context_mut()
    }

    /// A new turn: a draft that was never judged is forgotten.
    pub fn begin(&mut self) -> Result<(), EngineError> {
        self.pair.begin(&[]).map_err(|e| failed("beginning", &e))
    }

    /// Takes in `batch`, which the model has just evaluated: `count` tokens from `position` on.
    pub fn process(
        &mut self,
        batch: &LlamaBatch<'_>,
        position: usize,
        count: usize,
    ) -> Result<(), EngineError> {
        self.cut(position)?;
        self.pair
            .process(batch)
            .map_err(|e| failed("taking in tokens", &e))?;
        self.cells = position + count;
        Ok(())
    }

    /// At most `most` tokens that may follow `last` at `position`; none where the context is too short to draft.
    pub fn draft(
        &mut self,
        position: usize,
        last: Token,
        most: usize,
    ) -> Result<Vec<LlamaToken>, EngineError> {
        // The block drafts its whole depth whatever is asked for, and each draft takes a cell.
        if most == 0 || position + self.most > self.size {
            return Ok(Vec::new());
        }
        self.cut(position)?;
        let at = i32::try_from(position).expect("the context is smaller than 2^31 tokens");
        let mut drafts = self
            .pair
            .draft(at, LlamaToken(last), &[])
            .map_err(|e| failed("drafting", &e))?;
        self.cells = position + self.most;
        drafts.truncate(most);
        Ok(drafts)
    }

    /// `kept` of the last draft's tokens were the model's own choice.
    pub fn judged(&mut self, kept: usize) -> Result<(), EngineError> {
        self.pair
            .accept(u16::try_from(kept).unwrap_or(u16::MAX))
            .map_err(|e| failed("taking in a judgement", &e))
    }

    /// Forgets every token from `position` on.
    pub fn cut(&mut self, position: usize) -> Result<(), EngineError> {
        if position >= self.cells {
            return Ok(());
        }
        let from = u32::try_from(position).expect("the context is smaller than 2^31 tokens");
        match self
            .pair
            .draft_context_mut()
            .clear_kv_cache_seq(Some(0), Some(from), None)
        {
            Ok(true) => {
                self.cells = position;
                Ok(())
            }
            Ok(false) => Err(EngineError::Draft(format!(
                "its cache refused to be cut at token {position}"
            ))),
            Err(e) => Err(EngineError::Draft(format!(
                "cutting at token {position}: {e}"
            ))),
        }
    }
}

fn failed(what: &str, error: &MtpSpeculativeError) -> EngineError {
    EngineError::Draft(format!("{what}: {error}"))
}
