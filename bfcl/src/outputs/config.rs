//! The sampling of a reference run, from the `config.yaml` in its report directory.
//!
//! The reference writes that file itself, always in YAML's block style, so this reads just that: the
//! `generate_params` of the data set. Whatever it does not know is refused, for a guess would
//! attach outputs to the wrong samples.

use std::collections::BTreeMap;

use crate::sampling::Sampling;
use crate::subset::{Category, Subset};

/// A line of the block: its indentation and what it says.
#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn entry(self) -> Option<(&'a str, &'a str)> {
        let (key, value) = self.text.split_once(':')?;
        Some((key.trim(), value.trim()))
    }
}

/// The sampling of the named data set; everything where the data set has no `generate_params`.
///
/// # Errors
/// Says what was found and what was expected.
pub(super) fn sampling(config: &str, dataset: &str) -> Result<Sampling, String> {
    let lines: Vec<Line> = config
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .map(|line| Line {
            indent: line.len() - line.trim_start().len(),
            text: line.trim(),
        })
        .collect();
    let item = dataset_item(&lines, dataset)
        .ok_or_else(|| format!("expected a data set named {dataset}"))?;
    let mut sampling = Sampling::everything();
    let Some(params) = item
        .iter()
        .position(|line| line.text.starts_with("generate_params:"))
    else {
        return Ok(sampling);
    };
    let level = item[params].indent;
    let body = item[params + 1..]
        .iter()
        .take_while(|line| line.indent > level)
        .copied();
    read_params(&body.collect::<Vec<_>>(), &mut sampling)?;
    Ok(sampling)
}

/// The lines of the list item whose `name` is the data set's.
fn dataset_item<'l, 'a>(lines: &'l [Line<'a>], dataset: &str) -> Option<&'l [Line<'a>]> {
    let starts: Vec<usize> = (0..lines.len())
        .filter(|&at| lines[at].text.starts_with("- "))
        .collect();
    starts.iter().find_map(|&start| {
        let level = lines[start].indent;
        let len = lines[start + 1..]
            .iter()
            .take_while(|line| line.indent > level)
            .count();
        let item = &lines[start..=start + len];
        let named = item.iter().any(|line| {
            let line = Line {
                text: line.text.trim_start_matches("- "),
                ..*line
            };
            line.text.strip_prefix("name:").map(unquoted) == Some(dataset)
        });
        named.then_some(item)
    })
}

fn read_params(lines: &[Line<'_>], sampling: &mut Sampling) -> Result<(), String> {
    let mut rest = lines;
    let mut subsets: Option<Vec<Subset>> = None;
    while let Some((first, after)) = rest.split_first() {
        let (key, value) = first
            .entry()
            .ok_or_else(|| format!("expected `key: value`, found {:?}", first.text))?;
        let is_inner = |line: &&Line| {
            line.indent > first.indent
                || (line.indent == first.indent && line.text.starts_with("- "))
        };
        let inner = &after[..after.iter().take_while(is_inner).count()];
        rest = &after[inner.len()..];
        match key {
            _ if inner.is_empty() && matches!(value, "null" | "~") => {}
            "categories" => {
                // The explicit list of subsets wins over the categories.
                subsets.get_or_insert(of_categories(inner)?);
            }
            "subsets" => subsets = Some(names(inner, Subset::from_name)?),
            "category_sample_pct" => sampling.percent = rates(inner)?,
            "sample_pct" => sampling.other_percent = Some(rate(value)?),
            "subset_floor" => sampling.whole_up_to = Some(count(value)?),
            "max_samples" => sampling.max_samples = Some(count(value)?),
            "force" => {}
            _ => return Err(format!("generate_params: unknown key {key:?}")),
        }
    }
    if let Some(subsets) = subsets {
        sampling.subsets = subsets;
    }
    Ok(())
}

fn of_categories(lines: &[Line<'_>]) -> Result<Vec<Subset>, String> {
    let categories = names(lines, Category::from_name)?;
    Ok(categories.into_iter().flat_map(Category::subsets).collect())
}

fn names<T>(lines: &[Line<'_>], parse: fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    if lines.is_empty() {
        return Err("generate_params: expected a list, one item a line".to_owned());
    }
    let name = |line: &Line| {
        let name = line.text.strip_prefix("- ").map(unquoted);
        name.and_then(parse)
            .ok_or_else(|| format!("generate_params: unknown name {:?}", line.text))
    };
    lines.iter().map(name).collect()
}

fn rates(lines: &[Line<'_>]) -> Result<BTreeMap<Category, f64>, String> {
    let one = |line: &Line| {
        let (name, value) = line.entry().unwrap_or((line.text, ""));
        let category = Category::from_name(unquoted(name))
            .ok_or_else(|| format!("category_sample_pct: unknown category {name:?}"))?;
        Ok((category, rate(value)?))
    };
    lines.iter().map(one).collect()
}

fn rate(value: &str) -> Result<f64, String> {
    let rate = value
        .parse()
        .ok()
        .filter(|rate| *rate > 0.0 && *rate <= 100.0);
    rate.ok_or_else(|| format!("expected a percentage above 0 and at most 100, found {value:?}"))
}

fn count(value: &str) -> Result<usize, String> {
    value
        .parse()
        .map_err(|_| format!("expected a number of samples, found {value:?}"))
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "\
name: run
datasets:
- name: performance
  type: performance
- name: bfcl_v4::function_calling
  type: accuracy
  generate_params:
    categories:
    - non_live
    - live
    category_sample_pct:
      non_live: 62
      live: 0.3
    subset_floor: 25
  accuracy_config:
    num_repeats: 1
settings:
  runtime: {}
";

    #[test]
    fn the_block_of_the_data_set_is_read() {
        let found = sampling(CONFIG, "bfcl_v4::function_calling").expect("reads");
        assert_eq!(found.subsets.len(), 10);
        assert_eq!(found.percent[&Category::NonLive], 62.0);
        assert_eq!(found.percent[&Category::Live], 0.3);
        assert_eq!(found.whole_up_to, Some(25));
        assert_eq!(sampling(CONFIG, "performance"), Ok(Sampling::everything()));
    }

    #[test]
    fn guesses_are_refused() {
        assert!(sampling(CONFIG, "other").is_err());
        for (from, to) in [
            ("subset_floor: 25", "shuffle: true"),
            ("live: 0.3", "live: 0"),
            ("    - live", "    - dead"),
            ("subset_floor: 25", "subset_floor: many"),
        ] {
            let changed = CONFIG.replacen(from, to, 1);
            assert!(
                sampling(&changed, "bfcl_v4::function_calling").is_err(),
                "{to}"
            );
        }
    }
}
