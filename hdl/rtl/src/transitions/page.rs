//! A table as text.

use super::*;
use std::fmt::Write;

impl<C: Columns, S: HwEnum, A: HwEnum> Transitions<C, S, A> {
    /// The table as Markdown: its rows, then what never happens and why.
    pub fn to_markdown(&self) -> String {
        let moves = self.rows.iter().any(|row| !row.next.is_empty());
        let acts = self.rows.iter().any(|row| !row.actions.is_empty());
        let mut heads = vec!["row"];
        heads.extend(self.columns.iter().map(|column| column.name));
        heads.extend(moves.then_some("next"));
        heads.extend(acts.then_some("actions"));
        heads.push("meaning");
        let mut out = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
        let patterns = |when: &[Vec<u64>]| {
            let mut cells = String::new();
            for (pattern, column) in when.iter().zip(&self.columns) {
                let words = column.words(pattern).join(", ");
                let _ = write!(cells, " {} |", if pattern.is_empty() { "any" } else { &words });
            }
            cells
        };
        for row in &self.rows {
            let _ = write!(out, "| `{}` |{}", row.id, patterns(&row.when));
            if moves {
                let label =
                    |code: &u64| S::VARIANTS.iter().find(|s| s.encoding() == *code).map(|s| s.label());
                let next: Vec<&str> = row.next.iter().filter_map(label).collect();
                let _ = write!(out, " {} |", next.join(" or "));
            }
            if acts {
                let actions: Vec<&str> = row.actions.iter().map(|action| action.label()).collect();
                let _ = write!(out, " {} |", actions.join(", "));
            }
            let _ = writeln!(out, " {} |", row.why);
        }
        for gap in &self.gaps {
            let word = if gap.idle { "idle" } else { "never" };
            let (moves, acts) = (if moves { " |" } else { "" }, if acts { " |" } else { "" });
            let _ = writeln!(out, "| {word} |{}{moves}{acts} {} |", patterns(&gap.when), gap.why);
        }
        out
    }
}
