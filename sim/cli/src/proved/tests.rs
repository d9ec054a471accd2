//! Tables of small records.

use super::*;
use std::collections::BTreeSet;
use std::fs;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("mutants")).expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn filled(folder: &tempfile::TempDir, mark: &str) -> String {
    let text = format!("# Page\n\n<!-- weft: {mark} -->\n<!-- weft: end -->\n");
    page(folder.path(), &text).unwrap_or_else(|e| panic!("{e:#}"))
}

fn page_error(folder: &tempfile::TempDir, mark: &str) -> String {
    let text = format!("<!-- weft: {mark} -->\n<!-- weft: end -->\n");
    page(folder.path(), &text).expect_err("no table").to_string()
}

#[test]
fn operations_are_summed_by_fabric_and_protocol() {
    let head = "fabric,keys,seed,hardware,groups,rounds,operations,judged,cycles\n";
    let rows =
        "a,protocol=p model=m,1,00,1,8,1000,5,7\na,protocol=p model=n,2,00,1,8,234,1,1\nb,,1,00,1,8,1,1,1\n";
    let folder = folder(&[("stress.csv", &format!("{head}{rows}"))]);
    let page = filled(&folder, "stress");
    assert!(page.contains("| `a protocol=p` | 16 | 1 234 | 6 | 8 |"), "{page}");
    assert!(page.contains("| `b` | 8 | 1 | 1 | 1 |"), "{page}");
    assert!(page.contains("| all | 24 | 1 235 | 7 | 9 |"), "{page}");
}

#[test]
fn every_controller_that_is_mutated_belongs_to_a_protocol() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/mutants");
    let made = std::process::Command::new(script).arg("--list").output().expect("the script");
    let list = String::from_utf8(made.stdout).expect("text");
    let listed: BTreeSet<&str> = list.lines().collect();
    let known: BTreeSet<&str> = mutants::PROTOCOLS.iter().flat_map(|(_, blocks)| *blocks).copied().collect();
    assert_eq!(listed, known);
}

#[test]
fn of_each_block_the_first_mutant_that_most_means_see() {
    let row = |line: u32, program: &str| {
        let mutant = format!("a@f.rs:{line}#0:stale");
        format!(
            r#"{{"mutant":"{mutant}","kind":"stale","place":"x","verdict":"different","about":"","assertion":"","caught":{{"assertion":"passed","bench":"caught","program":"{program}"}}}}"#
        )
    };
    let head = r#"{"block":"b","cycles":5000,"catchers":{"bench":"true","program":"true"}}"#;
    let rows = [head.to_string(), row(1, "passed"), row(2, "caught"), row(3, "caught")].join("\n") + "\n";
    let page = filled(&folder(&[("mutants/b.jsonl", &rows)]), "mutants twice");
    assert!(page.contains("| `b` | `a@f.rs:2#0:stale` | bench, program |"), "{page}");
}

#[test]
fn a_fault_says_which_protocols_it_was_found_on() {
    let rows = "a,p,inject=x,900,value check\na,q,inject=x,1000000,NOT FOUND\na,r,inject=x,1200,watchdog\n";
    let head = "fabric,protocol,fault,operations,shown\n";
    let folder = folder(&[("stress-faults.csv", &format!("{head}{rows}"))]);
    let page = filled(&folder, "stress faults");
    assert!(page.contains("| `a inject=x` | 2 of 3 | 1 200 | value check, watchdog | `q` |"), "{page}");
}

#[test]
fn a_fault_has_one_line_for_explorations_and_random_programs() {
    let explored = "command,hardware,end,states,depth,reached,rows\n\
        spandex --mix a --inject spandex-llc:early-ack,00,a wrong value,9,31,1,2\n\
        spandex --mix b --inject spandex-llc:early-ack,00,a wrong value,9,29,1,2\n\
        spandex --mix b --inject gpu-l1:no-stale,00,all,9,29,1,2\n";
    let asked = "fabric,protocol,fault,operations,shown\n\
        flat-gpu-small,s-flex,inject=llc-early-ack,1200,check\n\
        spandex-soc-small,s-mesi-gpu,inject=llc-early-ack,1000000,NOT FOUND\n\
        flat-gpu-small,h-mesi-gpu,inject=l3-early-put,5,check\n";
    let folder = folder(&[("explored.csv", explored), ("stress-faults.csv", asked)]);
    let page = filled(&folder, "faults");
    for line in [
        "| spandex | `llc-early-ack` | 29 | 1 of 2 | 1 200 |",
        "| spandex | `gpu-l1-no-stale` | not found | 0 of 0 | - |",
        "| hmesi | `l3-early-put` | - | 1 of 1 | 5 |",
    ] {
        assert!(page.contains(line), "{page}");
    }
}

#[test]
fn mutants_are_counted_by_catcher_and_survivors_are_argued() {
    let row = |mutant: &str, verdict: &str, bench: &str| {
        format!(
            r#"{{"mutant":"{mutant}","kind":"stale","place":"x","verdict":"{verdict}","about":"","assertion":"","caught":{{"assertion":"passed"{bench}}}}}"#
        )
    };
    let rows = [
        r#"{"block":"tsu --param sets=2","cycles":5000,"catchers":{"bench":"true"}}"#.to_string(),
        row("a@f.rs:1#0:stale", "different", r#","bench":"caught""#),
        row("a@f.rs:2#0:stale", "undecided", r#","bench":"passed""#),
        row("a@f.rs:3#0:stale", "equivalent", ""),
        row("a@f.rs:4#0:stale", "different", r#","bench":"timeout""#),
        row("a@f.rs:5#0:stale", "different", r#","bench":"passed""#),
    ];
    let why = "mutant,why\na@f.rs:2#0:stale,never both\n";
    let rows = rows.join("\n") + "\n";
    let folder = folder(&[("mutants/tsu.jsonl", &rows), ("mutants/exceptions.csv", why)]);
    let page = filled(&folder, "mutants");
    assert!(
        page.contains(
            "| block | mutants | equivalent | argued | undecided | assertion % | bench % | any % |"
        ),
        "{page}"
    );
    assert!(page.contains("| `tsu` | 5 | 1 | 1 | 0 | 0.0 | 66.7 | 66.7 |"), "{page}");
    assert!(filled(&folder, "mutants kinds").contains("| `stale` | 5 | 1 | 1 | 0 | 0.0 | 66.7 | 66.7 |"));
    let page = filled(&folder, "mutants protocols");
    assert!(page.contains("| MGCC | 1 of 3 | 3 | 66.7 | 0 | - |"), "{page}");
    let page = filled(&folder, "mutants survivors");
    assert!(page.contains("| `a@f.rs:2#0:stale` | no difference found | never both |"), "{page}");
    assert!(page.contains("| `a@f.rs:5#0:stale` | no difference found | not argued |"), "{page}");
    assert!(!page.contains("f.rs:1#"), "{page}");
    assert!(filled(&folder, "mutants twice").contains("Nothing is recorded."));
}

#[test]
fn programs_see_what_one_of_their_kinds_sees_where_all_were_asked() {
    let of = |line: u32, ends: &str| {
        format!(
            r#"{{"mutant":"a@f.rs:{line}#0:stale","kind":"stale","place":"x","verdict":"different","about":"","assertion":"","caught":{{{ends}}}}}"#
        )
    };
    let row = |line, more: &str| of(line, &format!(r#""litmus":"passed","program":"passed"{more}"#));
    let head =
        r#"{"block":"tsu","cycles":5000,"catchers":{"litmus":"true","program":"true","digest":"true"}}"#;
    let rows = [
        head.to_string(),
        row(1, r#","digest":"caught""#),
        row(2, r#","digest":"passed""#),
        row(3, r#","digest":"passed","bench":"caught""#),
        row(4, ""),
        of(5, r#""litmus":"absent","program":"absent","digest":"absent""#),
    ];
    let page = filled(&folder(&[("mutants/tsu.jsonl", &(rows.join("\n") + "\n"))]), "mutants protocols");
    assert!(page.contains("| MGCC | 1 of 3 | 5 | 100.0 | 3 | 33.3 |"), "{page}");
}

#[test]
fn an_exploration_takes_the_place_of_an_older_one() {
    let folder = folder(&[]);
    let file = folder.path().join("explored.csv");
    let row = |command: &str, end: &str, states| explored::Row {
        command: command.into(),
        hardware: "00".into(),
        end: end.into(),
        states,
        depth: 3,
        reached: 1,
        rows: 2,
    };
    let long = "a load returns 1, and what is wrong with it is told in so many words that no cell of a table has room for all of them";
    let faulty = "srsp --protocol brsp --set broadcast_order=token --inject x --in-order --ops \"LD X,ST X\" --ops REL";
    let mix = "spandex --mix mesi+gpu:evicting --live";
    for row in [row("mgcc", "limit", 5), row(faulty, long, 4), row("mgcc", "all", 1234), row(mix, "all", 7)] {
        explored::add(&file, row).expect("written");
    }
    let page = filled(&folder, "explored");
    assert!(page.contains("| `mgcc` |  |  | 1 234 | 3 | 1 of 2 | all |"), "{page}");
    assert!(page.contains("| `spandex mesi+gpu:evicting` | `--live` |  | 7 | 3 | 1 of 2 | all |"), "{page}");
    assert!(!page.contains("limit") && !page.contains("inject"), "{page}");
    let page = filled(&folder, "explored faults");
    let of = "`srsp brsp broadcast_order=token` | `x` | `--in-order` | `LD X,ST X`; `REL`";
    assert!(page.contains(&format!("| {of} | 3 | a load returns 1, and")), "{page}");
    assert!(page.contains("no cell of a table has r …"), "{page}");
}

#[test]
fn assertions_are_counted_by_block() {
    let head = "block,parameters,assertion,result,cycles,depth,solver\n";
    let rows = "fifo,depth=3,a,proved,2,20,yices\nfifo,depth=3,b,bounded,20,20,yices\nfifo,depth=3,c,proved,1,20,z3\n";
    let folder = folder(&[("prove.csv", &format!("{head}{rows}"))]);
    let page = filled(&folder, "formal");
    assert!(page.contains("| `fifo` | depth=3 | 3 | 2 | 2 | 1 | 20 | 0 | 0 | yices, z3 |"), "{page}");
    assert!(page.contains("| all |  | 3 | 2 |  | 1 |  | 0 | 0 |  |"), "{page}");
}

#[test]
fn a_record_shows_some_of_its_columns() {
    let rows = "seed,cycles,with,sources,circuits\n1,50,interpreter iverilog,00,100000\n";
    let page = filled(&folder(&[("circuits.csv", rows)]), "circuits");
    assert!(page.contains("| 1 | interpreter iverilog | 50 | 100 000 |"), "{page}");
    let folder = folder(&[("circuits.csv", "seed,cycles\n1,50\n")]);
    let error = page_error(&folder, "circuits");
    assert!(error.contains("has no column with"), "{error}");
}

#[test]
fn a_folder_without_records_says_so_and_a_wrong_mark_is_told() {
    let folder = folder(&[]);
    assert_eq!(filled(&folder, "mutants").matches("Nothing is recorded.").count(), 1);
    let error = page_error(&folder, "nothing");
    assert!(error.contains("line 1") && error.contains("explored faults"), "{error}");
}

/// `weft proved --page docs/proved.md` makes them anew.
#[test]
fn the_page_is_what_the_records_give() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let text = fs::read_to_string(root.join("docs/proved.md")).expect("a page");
    let made = page(&root.join("records"), &text).unwrap_or_else(|e| panic!("{e:#}"));
    let differs = text.lines().zip(made.lines()).find(|(old, new)| old != new);
    assert!(made == text, "docs/proved.md is not what the records give: {differs:?}");
    for part in &PARTS {
        assert!(text.contains(&format!("<!-- weft: {} -->", part.mark)), "{} has a place", part.mark);
    }
}
