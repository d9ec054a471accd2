//! The pages beside the code: lines and table cells that can be read, links that lead somewhere, names that exist.

use crate::program::{stdout, weft};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Most characters of a line of prose, and of a cell of a table.
const LINE: usize = 120;
const CELL: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page: its path from the root, and its text.
fn pages() -> Vec<(PathBuf, String)> {
    let of = |folder: &str| {
        fs::read_dir(root().join(folder)).expect("a folder").map(|e| e.expect("an entry").path())
    };
    let mut paths: Vec<PathBuf> =
        of(".").chain(of("docs")).filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("a page"))).collect()
}

/// The lines that are neither of a fenced nor of an indented block, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence && !line.starts_with("    ")).then_some((number + 1, line))
    })
}

#[test]
fn lines_and_cells_can_be_read() {
    let mut long = Vec::new();
    for (path, text) in pages() {
        for (number, line) in prose(&text) {
            let cells = line.strip_prefix('|').into_iter().flat_map(|row| row.split('|'));
            let widest = cells.map(|cell| cell.trim().chars().count()).max();
            let (found, most) = match widest {
                Some(widest) => (widest, CELL),
                None => (line.chars().count(), LINE),
            };
            if found > most {
                long.push(format!("{}:{number}: {found} characters, at most {most}", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The anchor that a heading has.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut seen = 0;
    for (path, text) in pages() {
        for (number, line) in prose(&text) {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if target.starts_with("http") {
                    continue;
                }
                seen += 1;
                let (file, section) = target.split_once('#').unwrap_or((target, ""));
                let there = match file {
                    "" => path.clone(),
                    file => path.parent().expect("a folder").join(file),
                };
                assert!(there.exists(), "{}:{number}: nothing is at {target}", path.display());
                if !section.is_empty() {
                    let text = fs::read_to_string(&there).expect("a page");
                    let has = prose(&text)
                        .filter_map(|(_, l)| l.strip_prefix('#'))
                        .any(|h| anchor(h.trim_start_matches('#').trim()) == section);
                    assert!(has, "{}:{number}: {} has no section {section}", path.display(), there.display());
                }
            }
        }
    }
    assert!(seen > 20, "{seen} links");
}

/// The names that a list prints.
fn names(what: &str) -> BTreeSet<String> {
    let list: serde_json::Value = serde_json::from_str(&stdout(&["list", what, "--json"])).expect("JSON");
    let items = list.as_array().expect("a list");
    items.iter().map(|item| item["name"].as_str().expect("a name").to_string()).collect()
}

/// Sweeps, fabrics and programs of all commands are there.
#[test]
fn commands_name_what_there_is() {
    let [fabrics, sweeps, workloads, blocks] = ["fabrics", "sweeps", "workloads", "blocks"].map(names);
    let mut seen = 0;
    for (path, text) in pages() {
        for line in text.lines() {
            let command = line.trim_start().trim_start_matches("cargo run --release --quiet -- ");
            let command = command.trim_start_matches("cargo run --release -- ").trim_start_matches("weft ");
            if command.len() == line.trim_start().len() {
                continue;
            }
            let words: Vec<&str> = command.split_whitespace().take_while(|word| *word != "#").collect();
            let known = match words.first().copied() {
                Some("run") => &fabrics,
                Some("sweep") => &sweeps,
                Some("area" | "export" | "sim" | "host") => &blocks,
                _ => continue,
            };
            let own = |word: &str| word.contains('.') || word.contains('/');
            if let Some(name) = words.get(1).filter(|word| !own(word) && !word.starts_with('-')) {
                assert!(known.contains(*name), "{}: {line}: there is no {name}", path.display());
                seen += 1;
            }
            let after =
                |option: &str| words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1));
            if let Some(name) = after("--workload").filter(|word| !own(word)) {
                assert!(workloads.contains(*name), "{}: {line}: there is no {name}", path.display());
            }
        }
    }
    assert!(seen > 40, "{seen} commands");
}

/// A section that begins with a sweep says how many runs it has.
#[test]
fn runs_of_a_sweep_are_as_many_as_its_section_says() {
    let list: serde_json::Value = serde_json::from_str(&stdout(&["list", "sweeps", "--json"])).expect("JSON");
    let runs: std::collections::BTreeMap<&str, u64> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|sweep| (sweep["name"].as_str().expect("a name"), sweep["runs"].as_u64().expect("a number")))
        .collect();
    let text = fs::read_to_string(root().join("RESULTS.md")).expect("a page");
    let mut seen = Vec::new();
    for section in text.split("\n```sh\ncargo run --release -- sweep ").skip(1) {
        // With options, or beside other commands, it is a part of the runs.
        let Some((name, rest)) =
            section.split_once("\n```\n").filter(|(name, _)| !name.contains([' ', '\n']))
        else {
            continue;
        };
        // What stands before the first table.
        let told = rest.split("\n|").next().unwrap_or_default().replace('\n', " ");
        let words: Vec<&str> = told.split(' ').map(|word| word.trim_matches([',', ';', '.'])).collect();
        let number = words.windows(2).find(|pair| pair[1] == "runs").and_then(|pair| pair[0].parse().ok());
        if let Some(number) = number {
            assert_eq!(runs.get(name), Some(&number), "{name}: {told}");
            seen.push(name);
        }
    }
    assert!(seen.contains(&"hmg-protocols"), "{seen:?}");
}

/// What the first screen compares is what comes out.
#[test]
fn the_first_comparison_is_what_comes_out() {
    let text = fs::read_to_string(root().join("README.md")).expect("a page");
    let rows: Vec<Vec<u64>> = text
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("protocol="))
        .map(|line| {
            let cells = line.split('|').skip(2).map(|cell| cell.replace(' ', ""));
            cells.filter_map(|cell| cell.parse().ok()).collect()
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let measured = ["baseline", "rec"].map(|protocol| {
        let file = folder.path().join(protocol);
        let file = file.to_str().expect("a path");
        let set = format!("protocol={protocol}");
        let out = weft(&["run", "rec-4gpu-small", "--workload", "pagerank", "--set", &set, "--json", file]);
        assert!(out.status.success());
        let record: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(file).expect("a record")).expect("JSON");
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        vec![number(&record["cycles"]), number(&record["metrics"]["evict_invalidations"])]
    });
    assert_eq!(rows, measured, "the first screen of README.md");
}
