//! Reading the keys of one architecture: the ranges and shapes llama.cpp accepts.

use super::{PerBlock, Ssm};
use crate::metadata::{Metadata, MetadataError};
use crate::value::{Array, Value};

/// The keys of one architecture.
pub(super) struct Keys<'a> {
    pub(super) metadata: &'a Metadata,
    pub(super) architecture: &'a str,
}

impl Keys<'_> {
    pub(super) fn full(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, MetadataError> {
        self.at_most(name, u32::MAX.into(), "a 32-bit number")
    }

    pub(super) fn at_most(
        &self,
        name: &str,
        limit: u64,
        expected: &'static str,
    ) -> Result<Option<u64>, MetadataError> {
        let key = self.full(name);
        match self.metadata.u64(&key)? {
            Some(n) if n > limit => Err(MetadataError {
                key,
                found: n.to_string(),
                expected,
            }),
            found => Ok(found),
        }
    }

    /// A number, or an array with one number per block.
    pub(super) fn per_block(
        &self,
        name: &str,
        blocks: Option<u64>,
    ) -> Result<Option<PerBlock>, MetadataError> {
        let key = self.full(name);
        let Some(Value::Array(array)) = self.metadata.get(&key) else {
            return Ok(self.number(name)?.map(PerBlock::Same));
        };
        let list = array
            .to_u64s()
            .filter(|list| list.iter().all(|&n| n <= u32::MAX.into()));
        match list {
            Some(list) if blocks.is_none_or(|n| n == list.len() as u64) => {
                Ok(Some(PerBlock::Each(list)))
            }
            _ => Err(MetadataError {
                key,
                found: format!("{} x {}", array.len(), array.value_type()),
                expected: "one 32-bit number per block",
            }),
        }
    }

    /// The five sizes, or none of them.
    pub(super) fn ssm(&self) -> Result<Option<Ssm>, MetadataError> {
        let names = [
            "conv_kernel",
            "state_size",
            "group_count",
            "time_step_rank",
            "inner_size",
        ];
        let mut sizes = [None; 5];
        for (size, name) in sizes.iter_mut().zip(names) {
            *size = self.number(&format!("ssm.{name}"))?;
        }
        if let [
            Some(conv_kernel),
            Some(state_size),
            group_count,
            Some(rank),
            Some(inner),
        ] = sizes
        {
            // Mamba files have no groups.
            let group_count = group_count.unwrap_or(0);
            return Ok(Some(Ssm {
                conv_kernel,
                state_size,
                group_count,
                time_step_rank: rank,
                inner_size: inner,
            }));
        }
        match names.iter().zip(sizes).find(|(_, size)| size.is_none()) {
            Some((name, _)) if sizes.iter().any(Option::is_some) => Err(MetadataError {
                key: self.full(&format!("ssm.{name}")),
                found: "nothing".to_owned(),
                expected: "a 32-bit number, as other ssm keys are there",
            }),
            _ => Ok(None),
        }
    }

    pub(super) fn interval(&self) -> Result<Option<u64>, MetadataError> {
        match self.number("full_attention_interval")? {
            // llama.cpp divides by it.
            Some(0) => Err(MetadataError {
                key: self.full("full_attention_interval"),
                found: "0".to_owned(),
                expected: "at least 1",
            }),
            found => Ok(found),
        }
    }

    /// `attention.recurrent_layers`: one truth value per block.
    pub(super) fn recurrent_list(&self, blocks: usize) -> Result<Option<Vec<bool>>, MetadataError> {
        let key = self.full("attention.recurrent_layers");
        let list = match self.metadata.get(&key) {
            None => return Ok(None),
            Some(Value::Array(Array::Bool(list))) => list.clone(),
            Some(Value::Array(array)) => array
                .to_u64s()
                .map(|list| list.iter().map(|&n| n != 0).collect())
                .unwrap_or_default(),
            Some(_) => Vec::new(),
        };
        if list.len() != blocks {
            return Err(MetadataError {
                key,
                found: format!("{} truth values", list.len()),
                expected: "one truth value per block",
            });
        }
        Ok(Some(list))
    }
}
