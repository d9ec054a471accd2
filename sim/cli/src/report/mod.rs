//! `weft report`: results as one page that needs nothing else.
//!
//! | file | holds |
//! | --- | --- |
//! | `input` | telling results of runs, tables of sweeps and event logs apart, and refusing the rest |
//! | `plausible` | refusing numbers that no run has measured |
//! | `log` | what the page shows of an event log |
//! | `setup` | in what runs of one program on one fabric differ, in words |
//! | `page/` | the page: its text, style and scripts, written by hand |
//!
//! The data lie in the page as JSON; scripts turn them into tables and pictures, and never into markup.

mod input;
mod log;
mod meaning;
mod plausible;
mod setup;

pub use input::Input;

use crate::setup::VERSION;
use serde_json::{Value, json};

/// What limits the page's size.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Lines whose life is shown, those asked for not counted.
    pub lines: usize,
    /// Moments of each.
    pub moments: usize,
    /// Lines asked for, by address.
    pub wanted: Vec<String>,
    /// Last cycle shown of a life.
    pub at: u64,
}

/// Rows of a sweep's table on the page.
const SWEEP_ROWS: usize = 2000;

/// The page.
///
/// # Errors
/// A line asked for that no log knows.
pub fn page(inputs: &[(String, Input)], limits: &Limits) -> Result<String, anyhow::Error> {
    let (mut runs, mut sweeps, mut logs) = (Vec::new(), Vec::new(), Vec::new());
    for (file, input) in inputs {
        match input {
            Input::Run(run) => runs.push(of_run(file, run)),
            Input::Sweep { columns, rows } => sweeps.push(of_sweep(file, columns, rows)),
            Input::Log(log) => logs.push(log::data(file, log, limits)?),
        }
    }
    let files: Vec<&str> = inputs.iter().map(|(file, _)| file.as_str()).collect();
    let about = format!("made by weft {VERSION} from {}", files.join(", "));
    let title = title(&runs, &sweeps, &logs);
    let data = json!({"about": about, "runs": runs, "sweeps": sweeps, "logs": logs});
    Ok(fill(&title, &data))
}

/// Puts everything into the page's frame.
fn fill(title: &str, data: &Value) -> String {
    let scripts = [
        include_str!("page/base.js"),
        include_str!("page/charts.js"),
        include_str!("page/life.js"),
        include_str!("page/config.js"),
    ];
    // Whatever a file holds, no end of an element can come of it.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = [
        ("@TITLE@", escaped(title)),
        ("@STYLE@", include_str!("page/page.css").to_string()),
        ("@SCRIPT@", scripts.concat()),
        ("@DATA@", data),
    ];
    let mut out = String::new();
    let mut rest = include_str!("page/page.html");
    // In one pass, so that a mark in a file's text stays text.
    while let Some((at, (mark, text))) =
        parts.iter().filter_map(|part| Some((rest.find(part.0)?, part))).min_by_key(|(at, _)| *at)
    {
        out.push_str(&rest[..at]);
        out.push_str(text);
        rest = &rest[at + mark.len()..];
    }
    out.push_str(rest);
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn title(runs: &[Value], sweeps: &[Value], logs: &[Value]) -> String {
    let mut names = setup::names(&runs.iter().chain(logs).collect::<Vec<_>>());
    names.extend(sweeps.iter().map(|sweep| format!("sweep {}", sweep["file"].as_str().unwrap_or("?"))));
    names.sort();
    names.dedup();
    match &names[..] {
        [] => "nothing".into(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// What keeps caches coherent, or, where no key says so, the family.
fn protocol(config: &Value) -> &str {
    config["protocol"].as_str().or(config["family"].as_str()).unwrap_or("")
}

fn of_run(file: &str, run: &Value) -> Value {
    let covers = run["covers"].as_object().into_iter().flatten();
    let covers: Vec<Value> = covers.map(|(name, count)| json!([name, count])).collect();
    json!({
        "file": file, "fabric": run["fabric"], "workload": run["workload"], "protocol": protocol(&run["config"]),
        "seed": run["seed"], "setup": setup::of_run(run), "told": setup::told(run), "config": run["config"], "cycles": run["cycles"], "verified": run["verified"],
        "stale": run["stale"], "difference": run["difference"], "wall_seconds": run["wall_seconds"],
        "summary": run["summary"], "metrics": run["metrics"], "meanings": meaning::of_figures(&run["metrics"]), "kernels": run["kernels"], "stalls": run["stalls"], "covers": covers,
    })
}

fn of_sweep(file: &str, columns: &[String], rows: &[Vec<String>]) -> Value {
    // Columns that say nothing are most of a table over several kinds of hardware.
    let some = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let kept: Vec<usize> = (0..columns.len()).filter(some).collect();
    let pick = |row: &[String]| -> Vec<String> { kept.iter().map(|column| row[*column].clone()).collect() };
    let status = columns.iter().position(|name| name == "status");
    let ok = rows.iter().filter(|row| status.is_some_and(|at| row[at] == "ok")).count();
    let cut = (rows.len() > SWEEP_ROWS)
        .then(|| format!("The page holds the first {SWEEP_ROWS} of {} runs.", rows.len()));
    let shown: Vec<Vec<String>> = rows.iter().take(SWEEP_ROWS).map(|row| pick(row)).collect();
    json!({"file": file, "columns": pick(columns), "rows": shown, "total": rows.len(), "ok": ok, "cut": cut})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_file_becomes_markup() {
        let evil = "</script><script>alert(1)</script>@DATA@ & \"";
        let page = fill(evil, &json!({"about": evil}));
        assert_eq!(page.matches("<script").count(), 2, "only the page's own elements");
        assert!(page.contains("&lt;/script&gt;"), "the title is escaped");
        let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
        let read: Value = serde_json::from_str(data.expect("an element")).expect("JSON");
        assert_eq!(read["about"], evil);
    }
}
