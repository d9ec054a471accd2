//! The library's tests by enumeration: verdicts under Weft's models, races of their programs.

use std::collections::BTreeSet;
use weft_litmus::execution::for_each;
use weft_litmus::library::{library, texts};
use weft_litmus::model::Model;
use weft_litmus::model::drf::{Axiom, Drf, Level};
use weft_litmus::paths::Bounds;
use weft_litmus::race::{Hrf, races};
use weft_litmus::read::read;

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
        let models: BTreeSet<&str> = test.races.iter().map(|(name, _)| name.as_str()).collect();
        for name in models {
            let found = races(&test, model(name), Hrf::Indirect, Bounds::default()).expect("small");
            let kinds: BTreeSet<&str> =
                found.iter().filter(|f| f.race.illegal()).map(|f| f.race.name()).collect();
            let of = test.races.iter().filter(|(model, race)| model == name && race != "none");
            let stated: BTreeSet<&str> = of.map(|(_, race)| race.as_str()).collect();
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

/// The tables of section 6, row by row: a name each, with the classes that it is there in.
const ROWS: &[(&str, &str)] = &[
    ("MP SB LB 2+2W R S WRC ISA2 IRIW LB+data LB+ctrl CoRR CoWW CoWR CoRW", "D P U C N S Q"),
    ("lost", "P U C N S Q"),
    ("MPg", "DP PP UP CP NP SP QP UU DU DN NU NN CU SU QU PN"),
    ("SB", "UP D+rmw"),
    ("ISA2g", "P U"),
    ("IRIW", "PU PN"),
    ("mutex", "PP UP PU"),
    ("queue", "U N D"),
    ("queue-unchecked", "U P"),
    ("events", "CC CD"),
    ("events-plain events-old.C events-early.C events-exch.C", ""),
    ("flags", "N U"),
    ("flags-unjoined", "N"),
    ("split-counter", "Q N U"),
    ("references", "Q C CP P"),
    ("references-shared", "Q"),
    ("seqlock", "SP NP DP SU"),
    ("seqlock-first", "SU"),
    ("MPs", "cu-same cu-other gpu-same gpu-other sys sys-cu"),
    ("ISA2s", "cu-gpu gpu-cu"),
    ("IRIWs", "gpu-same sys gpu-other"),
    ("SBs", "cu-same cu-other"),
    ("pops", "cu-gpu"),
    ("MPs", "dirty fences PN PN-owned"),
    ("losts", "cu-gpu"),
    ("MPr", "thief owner dirty overflow again both owed back beside fetched"),
    ("ISA2r", "cu-rem rem-cu rem-rem"),
    ("SBr 2+2Wr IRIWr", "each"),
    ("SBr", "one"),
    ("lostr", "two three moves store"),
    ("popsr", "cas exch"),
];

#[test]
fn every_row_of_the_tables_is_a_test() {
    let tests = library().expect("the library reads");
    let named = |name: &str| tests.iter().find(|test| test.name == name);
    for (names, classes) in ROWS {
        for name in names.split(' ') {
            let all = classes.split(' ').map(|class| match class {
                "" => name.to_string(),
                class => format!("{name}.{class}"),
            });
            for name in all {
                let test = named(&name).unwrap_or_else(|| panic!("{name} is missing"));
                assert!(
                    test.expect.len() == 3 || test.expect[0].0 == "drf0+scopes",
                    "{name} states too little"
                );
            }
        }
    }
}

/// Where data is not coherent, A1 says nothing of it, and A2 alone is left: an older value may be read after a newer one (CoRR), and a write may be put before the one that its thread has read (CoRW). The
/// table of section 6 lists CoWR in the place of CoRW; but a thread that reads what its own write has overwritten contradicts A2 as section 5.2 states it, so the axioms are followed.
#[test]
fn without_coherence_of_data_two_shapes_of_one_location_are_allowed() {
    let mut allowed = Vec::new();
    for test in library().expect("the library reads").iter().filter(|test| test.name.starts_with("Co")) {
        let drf = Drf { data_coherent: false, ..model("drf0") };
        let verdict = Model::Drf(drf).verdict(test, Bounds::default()).expect("small");
        if verdict.name() == "allowed" {
            allowed.push(test.name.clone());
        }
    }
    assert_eq!(allowed, ["CoRR.D", "CoRW.D"]);
}

/// Scopes that differ along a chain order it only if happens-before goes on from one to the next.
#[test]
fn chains_of_scopes_race_where_only_one_scope_counts() {
    for test in library().expect("the library reads").iter().filter(|test| test.name.starts_with("ISA2s")) {
        let found = |hrf| races(test, model("drf0+scopes"), hrf, Bounds::default()).expect("small");
        assert!(!found(Hrf::Indirect).iter().any(|f| f.race.illegal()), "{}", test.name);
        assert!(found(Hrf::Direct).iter().any(|f| f.race.illegal()), "{}", test.name);
    }
}

/// A remote operation and what it promotes have one scope; a chain through the owner's CU and out of it has two.
#[test]
fn promoted_accesses_have_the_scope_of_the_remote_one() {
    let direct = |name: &str| {
        let tests = library().expect("the library reads");
        let test = tests.into_iter().find(|test| test.name == name).expect(name);
        let found = races(&test, model("drf0+scopes"), Hrf::Direct, Bounds::default()).expect("small");
        found.iter().any(|f| f.race.illegal())
    };
    assert!(["MPr.thief", "MPr.owner", "ISA2r.rem-rem"].into_iter().all(|name| !direct(name)));
    assert!(["ISA2r.cu-rem", "ISA2r.rem-cu"].into_iter().all(direct));
}

/// Without promotion the messages of remote operations may get lost, and their programs race.
#[test]
fn remote_operations_are_needed() {
    let plain = |(name, text): (String, String)| (name.starts_with("MPr.")).then(|| text.replace(".rem", ""));
    let texts: Vec<String> = texts().into_iter().filter_map(plain).collect();
    assert!(texts.len() > 6, "{} messages", texts.len());
    for text in texts {
        let test = read(&text).expect("a test");
        let drf = model("drf0+scopes");
        let verdict = Model::Drf(drf).verdict(&test, Bounds::default()).expect("small");
        assert_eq!(verdict.name(), "allowed", "{}", test.name);
        let found = races(&test, drf, Hrf::Indirect, Bounds::default()).expect("small");
        assert!(found.iter().any(|f| f.race.name() == "heterogeneous"), "{}", test.name);
    }
}
