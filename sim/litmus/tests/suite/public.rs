//! Every public test, by the model of its own format: the verdict of `expected.csv`.

use std::path::Path;
use weft_litmus::model::Model;
use weft_litmus::paths::Bounds;
use weft_litmus::read::read;

#[test]
fn verdicts_are_those_of_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/public");
    let list = std::fs::read_to_string(folder.join("expected.csv")).expect("the list of tests");
    let mut wrong = Vec::new();
    for row in list.lines().skip(1) {
        let (file, rest) = row.split_once(',').expect("a row");
        let verdict =
            ["forbidden", "allowed", "always"].into_iter().find(|v| rest.contains(&format!(",{v},")));
        let text = std::fs::read_to_string(folder.join(file)).expect(file);
        let test = read(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
        let model = Model::of(test.dialect).expect("a model of the format");
        let found = model.verdict(&test, Bounds::default()).unwrap_or_else(|e| panic!("{file}: {e}"));
        if Some(found.name()) != verdict {
            wrong.push(format!("{file}: {found}, {verdict:?} expected"));
        }
    }
    assert_eq!(list.lines().count(), 1 + 68, "rows of the list");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
