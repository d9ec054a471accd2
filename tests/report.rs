//! `weft report`: one page from results, tables and logs; what it refuses; and a browser that clicks through it.

use crate::program::{refusal_in as refused, stdout_in as done};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const KARATE: [&str; 6] = ["--workload", "pagerank", "--param", "source=karate", "--param", "iterations=2"];

/// A sweep of four runs.
const SWEEP: &str = r#"
name = "two-by-two"
about = "Two programs under two protocols"
fabric = "rec-4gpu-small"
workloads = [{ workload = "stencil", n = 16, iterations = 1 }, { workload = "atax", rows = 32, columns = 32 }]

[[axis]]
key = "protocol"
values = ["baseline", "rec"]
"#;

/// Two runs, the log of one of them, and the table of a sweep.
fn results() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let run =
        |words: &[&str]| done(folder.path(), &[&["run", "rec-4gpu-small"], &KARATE[..], words].concat());
    run(&["--json", "rec.json", "--events", "rec.wev"]);
    run(&["--set", "protocol=baseline", "--json", "baseline.json"]);
    std::fs::write(folder.path().join("two.toml"), SWEEP).expect("written");
    done(folder.path(), &["sweep", "two.toml"]);
    folder
}

/// The data in a page.
fn data(page: &str) -> Value {
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    serde_json::from_str(data.expect("an element")).expect("JSON")
}

const INPUTS: [&str; 4] = ["baseline.json", "rec.json", "rec.wev", "sweep_out/two-by-two.csv"];

#[test]
fn chromium_clicks_through_the_report() {
    let folder = results();
    let said = done(folder.path(), &[&["report"], &INPUTS[..], &["--out", "page.html"]].concat());
    assert!(said.starts_with("report: page.html, "), "{said}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("written");
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    for outside in ["http://", "https://", "<link", "<img", "@import", "url("] {
        let found = page
            .match_indices(outside)
            .find(|(at, _)| !page[*at..].starts_with("http://www.w3.org/2000/svg"));
        assert_eq!(found, None, "the page asks for something outside");
    }
    let again = done(folder.path(), &[&["report"], &INPUTS[..], &["--out", "again.html"]].concat());
    assert_eq!(again.replace("again", "page"), said);
    assert!(
        std::fs::read_to_string(folder.path().join("again.html")).expect("written") == page,
        "the same bytes"
    );

    let seen = clicked(folder.path(), &page, CLICKS);
    assert_eq!(seen["errors"], serde_json::json!([]), "{seen}");
    let text = |view: &str| seen["views"][view].as_str().unwrap_or_default().to_string();
    let data = data(&page);
    for (view, wanted) in [
        ("Summary", "verified"),
        ("Summary", "bytes of invalidations per second on these links"),
        ("Comparison", "geometric mean of cycles over that of baseline"),
        ("Comparison", "stencil"),
        ("Stalls", "memory data"),
        ("Stalls", "of it l2"),
        ("Summary", "In short"),
        ("Links", "mean bytes/cycle"),
        ("Invalidations", "inv for WRITE from dir, row rec.WR_REM.hit_slot_set"),
        ("Lines", "Read and written by"),
        ("Lines", "decided by row"),
        ("Lines", "Solid arrows ask"),
        ("Configuration", "protocol"),
    ] {
        assert!(text(view).contains(wanted), "{view} lacks {wanted:?}: {}", text(view));
    }
    adds_up(&seen["stalls"]);
    let place = |words: &str| text("Summary").find(words).unwrap_or_else(|| panic!("{}", text("Summary")));
    assert!(place("In short") < place("All figures"), "what matters comes first");
    // What the page draws is what it holds.
    let moments = data["logs"][0]["lines"][0]["moments"].as_array().expect("a list").len();
    assert_eq!(seen["moments"].as_u64(), Some(moments as u64));
    let rows = data["logs"][0]["lines"][0]["moments"].as_array().expect("a list");
    let rows = rows.iter().filter(|m| m["kind"] != "message").count();
    assert_eq!(
        seen["messages"].as_u64(),
        Some((moments - rows) as u64),
        "rows and races are hidden when asked"
    );
    assert!(
        seen["detail"].as_str().is_some_and(|d| d.contains("from") && d.contains("Waveform around it")),
        "{seen}"
    );
    assert!(seen["boxes"].as_u64() > Some(1), "{seen}");
    assert_eq!(seen["focus"], "tab-comparison", "arrow keys move between views");
    assert_eq!(seen["shown"], 1, "one view at a time");
    let bars = seen["metric"].as_str().unwrap_or_default();
    assert!(bars.contains("l2 accesses") || bars.contains("l2 misses"), "another figure is chosen: {bars}");
}

/// Shares of ticks, each row with as many wide spaces before it as it is deep: what stands side by side adds up
/// to what it is a part of.
fn adds_up(rows: &Value) {
    let rows = rows.as_array().expect("a list").iter().map(|row| {
        let [name, share] = [0, 1].map(|cell| row[cell].as_str().expect("text"));
        let plain = name.trim_start_matches('\u{2003}');
        let number = share.split('\u{202f}').next().and_then(|number| number.parse().ok());
        (name.chars().count() - plain.chars().count(), plain, number.unwrap_or_else(|| panic!("{share}")))
    });
    let rows: Vec<(usize, &str, f64)> = rows.collect();
    let sum = |rows: &[(usize, &str, f64)], depth| -> f64 {
        let below = rows.iter().take_while(|row| row.0 >= depth);
        below.filter(|row| row.0 == depth).map(|row| row.2).sum()
    };
    assert!((sum(&rows, 0) - 100.0).abs() < 0.5, "the classes are all ticks: {rows:?}");
    for (n, (depth, name, share)) in rows.iter().enumerate() {
        assert!(sum(&rows[n + 1..], depth + 1) < share + 0.5, "parts of {name}: {rows:?}");
    }
    let inside = |name: &str, depth| rows.iter().any(|row| row.1 == name && row.0 == depth);
    assert!(inside("of it between kernels", 1) && inside("of it far l2", 2), "{rows:?}");
}

/// Notes every error from the page's first line on.
const BEFORE: &str = "<script>window.wrong = [];\
    addEventListener('error', e => wrong.push(String(e.message)));\
    addEventListener('unhandledrejection', e => wrong.push(String(e.reason)));\
    addEventListener('securitypolicyviolation', e => wrong.push(e.blockedURI));\
    for (const kind of ['error', 'warn']) console[kind] = (...all) => wrong.push(all.join(' '));</script>";

/// Goes through all views.
const VIEWS: &str = r##"<script>
const seen = {views: {}}, tabs = [...document.querySelectorAll('[role=tab]')], one = q => document.querySelector(q), all = q => [...document.querySelectorAll(q)];
try {
for (const tab of tabs) { tab.click(); seen.views[tab.textContent] = one('.view.shown').textContent; }
seen.stalls = [...(one('#view-stalls table')?.rows ?? [])].slice(1).map(r => [...r.cells].map(c => c.textContent));
"##;

/// Clicks as a person would on a page with runs, a sweep and a log.
const CLICKS: &str = r##"
tabs[0].focus(); tabs[0].click();
tabs[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
seen.focus = document.activeElement.id; seen.shown = all('.view.shown').length;
const figure = all('#view-comparison select')[0], other = [...figure.options].find(o => /^l2_(accesses|misses)$/.test(o.value));
figure.value = other.value; figure.dispatchEvent(new Event('change')); seen.metric = one('#view-comparison').textContent;
tabs.find(t => t.textContent === 'Lines').click();
seen.moments = all('.moment').length;
const message = all('.moment').find(m => m.querySelector('.arrow'));
message.dispatchEvent(new MouseEvent('click', {bubbles: true}));
seen.detail = one('.detail').textContent; seen.boxes = all('.waves rect').length;
for (const box of all('#view-lines input[type=checkbox]').slice(1)) box.click();
seen.messages = all('.moment').length;
const lines = one('#view-lines select'); lines.value = '1'; lines.dispatchEvent(new Event('change'));
for (const m of all('.moment').slice(0, 20)) m.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
for (const d of all('details')) d.open = true;
dispatchEvent(new Event('beforeprint'));
"##;

/// Leaves what was seen in the page.
const SEEN: &str = r##"
} catch (e) { wrong.push(e.stack); }
seen.errors = wrong;
const out = document.createElement('pre'); out.id = 'seen'; out.textContent = JSON.stringify(seen); document.body.replaceChildren(out);
</script>"##;

/// What a browser saw that went through the page and did these clicks.
fn clicked(folder: &Path, page: &str, clicks: &str) -> Value {
    let driven = page.replacen("<head>", &format!("<head>{BEFORE}"), 1);
    let driven = driven.replacen("</body>", &format!("{VIEWS}{clicks}{SEEN}</body>"), 1);
    std::fs::write(folder.join("driven.html"), driven).expect("written");
    let user = format!("--user-data-dir={}", folder.join("chromium").display());
    let page = format!("file://{}", folder.join("driven.html").display());
    let out = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args([&user, "--dump-dom", &page])
        .output()
        .expect("chromium is installed (scripts/setup)");
    let dom = String::from_utf8_lossy(&out.stdout);
    let seen = dom.split("<pre id=\"seen\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let seen = seen.unwrap_or_else(|| {
        panic!("the page did not come to its end: {dom} {}", String::from_utf8_lossy(&out.stderr))
    });
    let plain =
        seen.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    serde_json::from_str(&plain).expect("JSON")
}

#[test]
fn runs_of_other_graphs_and_roots_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    put("a.txt", "0 1\n1 2\n");
    put("b.txt", "# Directed graph\n0 1\n1 2\n");
    let bfs = ["run", "rec-4gpu-small", "--workload", "bfs", "--set", "range=512", "--graph"];
    let run = |file: &str, more: &[&str]| done(folder, &[&bfs[..], &[file], more].concat());
    run("a.txt", &["--json", "a0.json", "--events", "a0.wev"]);
    run("a.txt", &["--param", "root=2", "--param", "nodes=9", "--json", "a2.json"]);
    run("b.txt", &["--json", "b0.json"]);
    let page = |inputs: &[&str]| {
        done(folder, &[&["report", "--out", "page.html"], inputs].concat());
        std::fs::read_to_string(folder.join("page.html")).expect("written")
    };
    let title = |page: &str| {
        page.split("<title>").nth(1).and_then(|t| t.split("</title>").next()).map(str::to_string)
    };
    assert_eq!(title(&page(&["a0.json"])).as_deref(), Some("bfs (a.txt) on rec-4gpu-small"));
    assert_eq!(title(&page(&["a0.wev"])).as_deref(), Some("bfs (a.txt) on rec-4gpu-small"));
    assert_eq!(title(&page(&["a2.json"])).as_deref(), Some("bfs (a.txt, root=2) on rec-4gpu-small"));
    let all = page(&["a0.json", "a2.json", "b0.json"]);
    assert_eq!(title(&all).as_deref(), Some("bfs (a.txt) on rec-4gpu-small and 2 more"));
    let runs = data(&all)["runs"].as_array().expect("a list").clone();
    let of = |run: usize, name: &str| runs[run]["setup"][name].clone();
    assert_eq!([of(0, "params")["root"].clone(), of(1, "params")["root"].clone()], [0, 2]);
    assert_eq!(of(1, "params_given"), serde_json::json!(["nodes", "root"]));
    assert_eq!(of(1, "params_unused"), serde_json::json!(["edges", "nodes", "seed", "source"]));
    assert_eq!([of(0, "graph")["arcs"].clone(), of(2, "graph")["arcs"].clone()], [4, 2]);
    assert_ne!(of(0, "graph")["digest"], of(2, "graph")["digest"]);
    assert_eq!(of(0, "changed"), serde_json::json!({"range": {"file": 1024, "run": 512}}));

    let seen = clicked(folder, &all, "");
    assert_eq!(seen["errors"], serde_json::json!([]), "{seen}");
    let view = |name: &str| seen["views"][name].as_str().unwrap_or_default().to_string();
    for wanted in
        ["parameter root", "2 (given)", "9 (given, not used)", "graph digest", "512 (file: 1024)", "made by"]
    {
        assert!(view("Configuration").contains(wanted), "lacks {wanted:?}: {}", view("Configuration"));
    }
    assert!(view("Summary").contains("a.txt, root=2"), "{}", view("Summary"));

    // Results of the version before do not tell.
    let old: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("a2.json")).expect("there")).expect("JSON");
    let mut old = old.as_object().expect("an object").clone();
    old.insert("schema".into(), "weft-run-1".into());
    for member in ["weft", "params", "params_given", "params_followed", "params_unused", "graph", "changed"] {
        assert!(old.remove(member).is_some(), "{member}");
    }
    put("old.json", &serde_json::to_string(&old).expect("JSON"));
    assert_eq!(title(&page(&["old.json"])).as_deref(), Some("bfs on rec-4gpu-small"));
}

#[test]
fn a_line_that_is_asked_for_is_on_the_page() {
    let folder = results();
    done(
        folder.path(),
        &[
            "report", "rec.wev", "--out", "p.html", "--line", "0x0", "--most", "2", "--last", "7", "--at",
            "2500",
        ],
    );
    let data = data(&std::fs::read_to_string(folder.path().join("p.html")).expect("written"));
    let lines = data["logs"][0]["lines"].as_array().expect("a list");
    assert_eq!((lines.len(), lines[0]["address"].as_str()), (3, Some("0x0")));
    for line in lines {
        let moments = line["moments"].as_array().expect("a list");
        assert!(!moments.is_empty() && moments.iter().all(|m| m["cycle"].as_u64() <= Some(2500)), "{line}");
        // Beside the newest ones there are only those that have led to one of them.
        let reasons: Vec<Option<u64>> =
            line["reasons"].as_array().expect("a list").iter().map(Value::as_u64).collect();
        let older = 0..moments.len().saturating_sub(7) as u64;
        assert!(older.into_iter().all(|n| reasons.contains(&Some(n))), "{line}");
    }
    let cut = data["logs"][0]["cut"].as_str().unwrap_or_default();
    assert!(cut.starts_with("The page holds 3 of ") && cut.contains("those asked for"), "{cut}");

    let wrong = |words: &[&str]| refused(folder.path(), &[&["report"], words].concat());
    assert!(
        wrong(&["rec.json", "--line", "0x0"]).contains("--line 0x0 needs an event log, and none is given")
    );
    assert!(wrong(&["rec.wev", "--line", "nope[0]"]).contains("the program has no array nope"));
    assert!(wrong(&["rec.json", "--out", "no/page.html"]).contains("give a file in a folder that exists"));
    assert!(wrong(&["rec.json", "--out", "rec.json"]).contains("give the page a file of its own"));
}

#[test]
fn what_is_no_result_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let says = |contents: &str| {
        std::fs::write(folder.path().join("x"), contents).expect("written");
        let text = refused(folder.path(), &["report", "x"]);
        assert!(!folder.path().join("report.html").exists(), "nothing is written");
        text
    };
    assert!(says("hello\n").starts_with(
        "weft: x is neither results of weft run --json, nor a table of weft sweep, nor a log of"
    ));
    assert!(says("a,b\n1,2\n").starts_with("weft: x is neither results"));
    assert_eq!(
        says(r#"{"schema": "weft-run-7"}"#),
        "weft: x has schema weft-run-7 and this program reads weft-run-1 and weft-run-2; make it anew by weft run --json"
    );
    assert!(says(r#"{"a": 1}"#).starts_with("weft: x is JSON without the schema of results"));
    assert!(says(r#"{"schema": "weft-run-1", "fabric": "f""#).starts_with("weft: x is damaged: EOF"));
    assert!(
        says(r#"{"schema": "weft-run-1", "fabric": "f"}"#)
            .contains("its workload is missing or of another kind")
    );
    assert!(says("run,status,workload,cycles\n1,ok\n").starts_with("weft: the table x is damaged: "));
    assert!(says("\u{1f}\u{8b}").starts_with("weft: x is neither results"));
    let gone = refused(folder.path(), &["report", "gone"]);
    assert!(gone.starts_with("weft: cannot read gone: "), "{gone}");
    assert!(
        refused(folder.path(), &["report", "."])
            .starts_with("weft: cannot read .: it is a folder; give results")
    );
}

#[test]
fn results_with_numbers_that_nothing_has_measured_are_refused_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    done(folder.path(), &[&["run", "rec-4gpu-small"], &KARATE[..], &["--json", "run.json"]].concat());
    let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let counter = record["counters"].as_object().expect("an object").keys().next().expect("one").clone();
    let says = |change: &dyn Fn(&mut Value)| {
        let mut changed = record.clone();
        change(&mut changed);
        std::fs::write(folder.path().join("x.json"), changed.to_string()).expect("written");
        refused(folder.path(), &["report", "x.json"])
    };
    let said = says(&|record| record["counters"][&counter]["value"] = (-5).into());
    let place = format!("x.json is damaged or was changed: counters.{counter}.value is -5");
    assert!(said.starts_with(&format!("weft: {place}")), "{said}");
    let said = says(&|record| record["counters"][&counter]["value"] = 0.5.into());
    assert!(said.contains(&format!("counters.{counter} is 0.5, which is no count")), "{said}");
    let said = says(&|record| record["kernels"][0]["end"] = 99_999_999.into());
    assert!(said.contains("kernels[0] goes from cycle "), "{said}");
    let said = says(&|record| record["wall_seconds"] = (-0.5).into());
    assert!(said.contains("wall_seconds is -0.5"), "{said}");
    assert!(
        says(&|record| record["cycles"] = (-5).into()).contains("its cycles is missing or of another kind")
    );
    let changed = text.replacen("\"cycles\": ", "\"cycles\": nan", 1);
    std::fs::write(folder.path().join("x.json"), changed).expect("written");
    assert!(refused(folder.path(), &["report", "x.json"]).starts_with("weft: x.json is damaged: "));
}
