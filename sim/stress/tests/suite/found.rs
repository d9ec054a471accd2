//! What campaigns have found, made small: each passes now. `tests/found` has a trace for each, whose first comments name fabric and keys.

use std::path::Path;
use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions};
use weft_workload::trace::{self, program::TraceProgram};

#[test]
fn what_was_found_is_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    assert!(files.len() >= 3);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text");
        let said = |what: &str| text.lines().find_map(|line| line.strip_prefix(what)).unwrap_or("").trim();
        let mut config = FabricConfig::load(said("; fabric ")).expect("a fabric");
        let keys = said("; set ").split_whitespace().chain(["cta_schedule=contiguous"]);
        keys.for_each(|key| config.set(key).expect("a key"));
        let program = TraceProgram::new("found", trace::read(&file).expect("a trace")).expect("a program");
        let mut run = FabricRun::new(&config, Arc::new(program), &RunOptions::default()).expect("hardware");
        let name = file.display();
        assert!(run.run_to(10_000_000).unwrap_or_else(|e| panic!("{name}: {e}")), "{name} ends");
        let report = run.finish().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(report.verified, "{name}: {:?}", report.difference);
    }
}
