//! The plan for people: a table, and sentences where it does not fit.

use super::MemoryKind;
use super::plan::MemoryPlan;
use super::pool::{Fit, Pool};
use super::settings::mib;
use crate::output::{Align, Column, Table, decimal};

impl MemoryPlan {
    /// The parts and the sum of every pool, in MiB. `~` marks estimates.
    #[must_use]
    pub fn table(&self) -> Table {
        let text = |heading: &str| Column {
            heading: heading.to_owned(),
            align: Align::Left,
        };
        let number = |heading: &str| Column {
            align: Align::Right,
            ..text(heading)
        };
        let columns = vec![
            text("pool"),
            text("part"),
            number("mapped MiB"),
            number("in use"),
            number("allocated MiB"),
            text("of free MiB"),
        ];
        let mut table = Table {
            columns,
            rows: Vec::new(),
        };
        for pool in &self.pools {
            for share in self.shares.iter().filter(|s| s.pool == pool.name) {
                let mark = if share.estimate { "~" } else { "" };
                let size = format!("{mark}{}", whole(share.bytes));
                let (mapped, in_use, allocated) = match share.kind {
                    MemoryKind::Mapped => (size, whole(share.in_use_bytes), String::new()),
                    MemoryKind::Anonymous => (String::new(), String::new(), size),
                };
                let part = share.part.label().to_owned();
                table.push(vec![
                    pool.name.clone(),
                    part,
                    mapped,
                    in_use,
                    allocated,
                    String::new(),
                ]);
            }
            table.push(sum_row(pool));
        }
        table
    }

    /// The plan as aligned lines, for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let table = self.table();
        let width = |n: usize| {
            let cells = table.rows.iter().map(|row| row[n].chars().count());
            cells.fold(table.columns[n].heading.chars().count(), usize::max)
        };
        let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
        let headings = table.columns.iter().map(|c| c.heading.clone()).collect();
        let rows = std::iter::once(&headings).chain(&table.rows);
        let lines = rows.map(|row| {
            let cells = row.iter().zip(&table.columns).zip(&widths);
            let cells = cells.map(|((cell, column), &width)| match column.align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            format!("{}\n", line.trim_end())
        });
        lines.collect()
    }

    /// Why the model should not be loaded, with numbers and what helps; `None` where it fits.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let short = self.pools.iter().filter(|pool| pool.fit == Fit::Short);
        let reasons: Vec<String> = short.map(|pool| self.reason(pool)).collect();
        if reasons.is_empty() {
            return None;
        }
        let helps = match self.remedies.as_slice() {
            [] => {
                "no setting spares enough: close other programs, or use a machine with more memory"
                    .to_owned()
            }
            remedies => {
                let each = remedies.iter().map(|r| {
                    let enough = if r.suffices {
                        "enough"
                    } else {
                        "not enough alone"
                    };
                    format!(
                        "{} (spares {} MiB, {enough})",
                        r.option,
                        whole(r.saves_bytes)
                    )
                });
                format!("what helps: {}", each.collect::<Vec<_>>().join("; "))
            }
        };
        Some(format!(
            "not enough memory: {}; {helps}",
            reasons.join("; ")
        ))
    }

    /// What a user should know though the model can be loaded.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warning = |pool: &Pool| match pool.fit {
            Fit::Fits | Fit::Short => None,
            Fit::Pages => Some(format!(
                "{}: {} MiB of mapped weights do not all stay in memory beside {} MiB allocated ({} MiB free): they \
                 are read from disk again at every token, so times measure the disk",
                pool.name,
                whole(pool.mapped_in_use_bytes),
                whole(pool.anonymous_bytes),
                free(pool),
            )),
            Fit::Unknown => Some(format!(
                "{}: nobody knows how much memory is free ({}); {} MiB are needed",
                pool.name,
                pool.free_bytes.reason().unwrap_or("no reason given"),
                whole(pool.needed_bytes()),
            )),
        };
        self.pools.iter().filter_map(warning).collect()
    }

    fn reason(&self, pool: &Pool) -> String {
        let own = self.shares.iter().filter(|share| {
            let lends = |p: &Pool| p.shares_host && p.name == share.pool;
            let is_host = self.pools.first().is_some_and(|host| host == pool);
            share.kind == MemoryKind::Anonymous
                && (share.pool == pool.name || is_host && self.pools.iter().any(lends))
        });
        let mut parts: Vec<_> = own.map(|s| (s.bytes, s.part.label())).collect();
        parts.sort_unstable_by(|a, b| b.cmp(a));
        let listed = parts.iter().take(4);
        let listed = listed.map(|(bytes, label)| format!("{label} {}", whole(*bytes)));
        format!(
            "{} needs {} MiB ({}), {} MiB are free, {} MiB are missing",
            pool.name,
            whole(pool.anonymous_bytes),
            listed.collect::<Vec<_>>().join(", "),
            free(pool),
            whole(pool.missing_bytes()),
        )
    }
}

fn sum_row(pool: &Pool) -> Vec<String> {
    let verdict = match pool.fit {
        Fit::Fits => "fits",
        Fit::Pages => "fits, but weights are re-read from disk",
        Fit::Short => "DOES NOT FIT",
        Fit::Unknown => "unknown",
    };
    let shared = if pool.shares_host {
        ", in the host's memory"
    } else {
        ""
    };
    vec![
        pool.name.clone(),
        format!("sum{shared}"),
        whole(pool.mapped_bytes),
        whole(pool.mapped_in_use_bytes),
        whole(pool.anonymous_bytes),
        format!("{}: {verdict}", free(pool)),
    ]
}

fn free(pool: &Pool) -> String {
    pool.free_bytes
        .get()
        .map_or_else(|| "?".to_owned(), |&bytes| whole(bytes))
}

/// Whole MiB, the nearest.
pub(super) fn whole(bytes: u64) -> String {
    decimal(Some(mib(bytes)), 0)
}
