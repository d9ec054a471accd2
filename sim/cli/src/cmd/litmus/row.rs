//! What is told about one test.

use super::source::Unread;
use crate::failure::{Outcome, say};
use serde::Serialize;

/// A verdict by enumeration.
#[derive(Serialize)]
pub struct Judged {
    pub model: String,
    pub found: &'static str,
    pub stated: Option<&'static str>,
    /// Whether the condition holds; nothing of `exists`, which only asks.
    pub holds: Option<bool>,
    /// An end that shows that it does not.
    pub broken_by: Option<String>,
    /// Different ends.
    pub ends: usize,
}

/// An end and how often it was seen.
#[derive(Serialize)]
pub struct End {
    pub placement: &'static str,
    pub layout: &'static str,
    pub end: String,
    pub times: u32,
}

/// What a test showed on the fabric.
#[derive(Serialize)]
pub struct OnFabric {
    pub promised: &'static str,
    pub runs: u64,
    /// Runs whose end met the condition.
    pub met: u64,
    /// Runs that ended as no sequentially consistent machine does.
    pub weak: u64,
    pub ends: Vec<End>,
    pub forbidden: Vec<End>,
    /// Ends that the condition says there are none of.
    pub broken: Vec<End>,
    pub never_seen: Vec<String>,
}

/// All about one test.
#[derive(Serialize)]
pub struct Row {
    pub test: String,
    /// The file that it is from; tests of the library have none.
    pub file: Option<String>,
    pub verdicts: Vec<Judged>,
    pub fabric: Option<OnFabric>,
    /// Why it was not judged.
    pub unread: Option<Unread>,
}

impl Judged {
    fn words(&self) -> String {
        let model = &self.model;
        let verdict = match (self.holds, &self.broken_by) {
            (Some(true), _) => format!("{model}: the condition holds"),
            (Some(false), Some(end)) => format!("{model}: the condition does not hold: {end}"),
            _ => format!("{model} {}", self.found),
        };
        let none = if self.ends == 0 { ", for no run comes to an end" } else { "" };
        match self.stated {
            // What a condition states needs no repeating.
            Some(stated) if stated != self.found && self.holds != Some(false) => {
                format!("{verdict}{none} ({stated} stated)")
            }
            _ => format!("{verdict}{none}"),
        }
    }

    fn complaint(&self, test: &str) -> Option<String> {
        let stated = self.stated.filter(|stated| *stated != self.found)?;
        let (found, model) = (self.found, &self.model);
        Some(match (self.holds, &self.broken_by) {
            (Some(false), Some(end)) => {
                format!("{test}: the condition does not hold under {model}: {end}")
            }
            _ => format!("{test} is {found} under {model}, and {stated} is stated"),
        })
    }
}

impl Row {
    /// The row of a test that was not judged.
    pub fn unread(unread: Unread) -> Row {
        let file = Some(unread.file.clone());
        Row { test: unread.file.clone(), file, verdicts: Vec::new(), fabric: None, unread: Some(unread) }
    }

    /// Whether some verdict is stated.
    pub fn states(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.stated.is_some())
    }

    /// What is not as it is stated, or as a model says.
    pub fn complaint(&self) -> Option<String> {
        if let Some(complaint) = self.verdicts.iter().find_map(|v| v.complaint(&self.test)) {
            return Some(complaint);
        }
        let shown = self.fabric.as_ref()?;
        let said = |bad: &End, how: &str| {
            format!(
                "{} ended {} times {how}, --placement {} --layout {}: {}",
                self.test, bad.times, bad.placement, bad.layout, bad.end
            )
        };
        let forbidden = shown.forbidden.first().map(|bad| said(bad, "in a forbidden way"));
        forbidden.or_else(|| shown.broken.first().map(|bad| said(bad, "against its condition")))
    }

    /// Prints it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn print(&self) -> Outcome {
        let verdicts = self.verdicts.iter().map(Judged::words).collect::<Vec<_>>().join(", ");
        let Some(f) = &self.fabric else { return say(format!("{:<28} {verdicts}", self.test)) };
        let never = match f.never_seen.len() {
            0 => String::new(),
            n => format!(", {n} allowed ends never seen"),
        };
        say(format!(
            "{:<28} {verdicts}; here {}, met by {} of {} runs, {} ends weak{never}",
            self.test, f.promised, f.met, f.runs, f.weak
        ))?;
        for (word, ends) in [("forbidden", &f.forbidden), ("against the condition", &f.broken)] {
            for end in ends {
                let (placement, layout, times) = (end.placement, end.layout, end.times);
                say(format!("    {word}, {times} times, {placement}, {layout}: {}", end.end))?;
            }
        }
        Ok(())
    }
}
