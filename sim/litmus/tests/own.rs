//! The library's tests by enumeration: verdicts under Weft's models, races of their programs.

use std::collections::BTreeSet;
use weft_litmus::execution::for_each;
use weft_litmus::library::library;
use weft_litmus::model::Model;
use weft_litmus::model::drf::{Axiom, Drf, Level};
use weft_litmus::paths::Bounds;
use weft_litmus::race::{Hrf, races};

fn model(name: &str) -> Drf {
    let (level, scopes) = name.split_once('+').map_or((name, false), |(level, _)| (level, true));
    let level = match level {
        "drf0" => Level::Drf0,
        "drf1" => Level::Drf1,
        "drfrlx" => Level::DrfRlx,
        other => panic!("{other} is no model"),
    };
    Drf { level, scopes, data_coherent: true }
}

#[test]
fn verdicts_are_those_stated() {
    let mut wrong = Vec::new();
    for test in library().expect("the library reads") {
        for (name, verdict) in &test.expect {
            let found = Model::Drf(model(name)).verdict(&test, Bounds::default()).expect("small");
            if found != *verdict {
                wrong.push(format!("{} {name}: {found}, {verdict} stated", test.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn races_are_those_stated() {
    let mut wrong = Vec::new();
    for test in library().expect("the library reads") {
        for (name, race) in &test.races {
            let found = races(&test, model(name), Hrf::Indirect, Bounds::default()).expect("small");
            let kinds: BTreeSet<&str> =
                found.iter().filter(|f| f.race.illegal()).map(|f| f.race.name()).collect();
            let stated: BTreeSet<&str> = [race.as_str()].into_iter().filter(|r| *r != "none").collect();
            if kinds != stated {
                wrong.push(format!("{} {name}: {kinds:?}, {stated:?} stated", test.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a test's condition can be met when an axiom is left out.
fn met_without(test: &weft_litmus::test::Test, drf: Drf, out: Axiom) -> bool {
    let mut met = false;
    let rest = Axiom::WEAK.into_iter().filter(|axiom| *axiom != out);
    let rest: Vec<Axiom> = rest.collect();
    for_each(test, Bounds::default(), &mut |x| {
        met = met || (test.condition.holds(&x.end) && rest.iter().all(|axiom| drf.holds(*axiom, x)));
    })
    .expect("small");
    met
}

#[test]
fn every_axiom_forbids_something_that_the_others_do_not() {
    let tests = library().expect("the library reads");
    for axiom in Axiom::WEAK {
        let needed = tests
            .iter()
            .flat_map(|test| test.expect.iter().map(move |(name, verdict)| (test, name, verdict)));
        let mut forbidden = needed.filter(|(_, _, verdict)| verdict.name() == "forbidden");
        let found = forbidden.find(|(test, name, _)| met_without(test, model(name), axiom));
        let (test, name, _) = found.unwrap_or_else(|| panic!("no test needs {axiom:?}"));
        println!("{axiom:?}: {} under {name}", test.name);
    }
}
