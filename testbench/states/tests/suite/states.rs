//! The two protocols hold, under every set of options; the search, the reduction and the tables are what they say.

use std::collections::{BTreeSet, HashSet};
use weft_explore::search::{self, Limits, Space};
use weft_states::report::{Run, SETS, explore, protocols, ratios, table, unused};
use weft_states::space::{Config, Model};
use weft_states::table::{Protocol, Tables, When, split};

fn all(config: Config) -> Vec<Run> {
    let mut runs = Vec::new();
    for set in SETS {
        for protocol in protocols() {
            runs.push(explore(protocol, *set, config, None, usize::MAX, &mut |_| {}));
        }
    }
    runs
}

fn hold(runs: &[Run]) {
    for run in runs {
        let text = run.trace.as_deref().unwrap_or("no limit was set");
        assert!(run.found.complete, "{}, {}:\n{text}", run.protocol, run.set.name);
        assert!(run.found.finished > 1 && run.found.transitions > run.found.states, "{}", table(runs));
    }
}

const TWO: Config = Config {
    devices: 2,
    wtfwd: false,
    opred: weft_states::space::Opred::Off,
    values: false,
    evict: false,
    symmetry: false,
};

#[test]
fn two_devices_hold_with_values_and_evictions_and_use_every_row() {
    let mut runs = all(Config { values: true, evict: true, ..TWO });
    hold(&runs);
    let two = unused(&runs);
    // A second fwd ReqV at a device that delays one, an InvAck that leaves others to come.
    assert_eq!(two.len(), 2, "not with two devices:\n{}", two.join("\n"));
    for set in [SETS[0], SETS[2]] {
        for protocol in protocols() {
            let config = Config { symmetry: true, devices: 3, ..TWO };
            runs.push(explore(protocol, set, config, None, usize::MAX, &mut |_| {}));
        }
    }
    hold(&runs);
    assert!(unused(&runs).is_empty(), "never carried out:\n{}", unused(&runs).join("\n"));
}

#[test]
fn counts_are_those_of_before() {
    let runs = all(TWO);
    hold(&runs);
    let counts: Vec<_> = runs.iter().map(|run| (run.found.states, run.found.transitions)).collect();
    let before = [
        (1535, 4340),
        (3220, 9076),
        (1583, 4438),
        (3460, 9664),
        (2753, 8748),
        (5876, 17482),
        (2233, 6354),
        (4768, 13258),
        (2697, 8628),
        (5564, 16714),
    ];
    assert_eq!(counts, before, "\n{}", table(&runs));
    let text = ratios(&runs);
    assert!(text.contains("base                       0.48  slightly < 1"), "{text}");
}

/// A device that writes through keeps the copy that it has: whether it has one is what most of Spandex's states beyond
/// those of other models tell apart, and what turns the order of growth with prediction round.
#[test]
fn copies_kept_through_a_write_through_are_a_fifth_of_the_states() {
    let config = Config { symmetry: true, ..TWO };
    let mut counts = Vec::new();
    for set in &SETS[..4] {
        for protocol in protocols() {
            let mut one = protocol;
            one.device.iter_mut().filter(|row| row.to == "WV").for_each(|row| row.to = "WI");
            let run = explore(one, *set, config, None, usize::MAX, &mut |_| {});
            assert!(run.found.complete && run.trace.is_none(), "{}: {:?}", set.name, run.trace);
            counts.push(run.found.states);
        }
    }
    assert_eq!(counts, [777, 1298, 801, 1352, 1390, 2076, 1126, 1728]);
    let kept = all(config);
    let kept: Vec<_> = kept.iter().take(8).map(|run| run.found.states).collect();
    assert_eq!(kept, [777, 1623, 801, 1743, 1390, 2957, 1126, 2397]);
}

/// Every state, without the search's hashing.
fn forms(protocol: Protocol, config: Config) -> HashSet<Box<[u32]>> {
    let mut model = Model::new(protocol, config);
    let start = model.start().expect("the first state holds");
    let (mut seen, mut open) = (HashSet::from([start.clone()]), vec![start]);
    let mut actions = Vec::new();
    while let Some(state) = open.pop() {
        model.actions(&state, &mut actions);
        for action in &actions {
            let next = model.next(&state, *action).expect("every state holds");
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

#[test]
fn symmetry_leaves_exactly_one_state_of_each_kind() {
    for protocol in protocols() {
        let config = Config { values: true, ..TWO };
        let reduced = forms(protocol.clone(), Config { symmetry: true, ..config });
        let whole = forms(protocol.clone(), config);
        let model = Model::new(protocol.clone(), Config { symmetry: true, ..config });
        let kinds: HashSet<_> =
            whole.iter().map(|state| model.form(&model.unpack(state)).expect("it fits").0).collect();
        assert_eq!(reduced, kinds, "{}", protocol.name);
        assert!(whole.len() > kinds.len() && whole.len() <= 2 * kinds.len());
        let mut searched = Model::new(protocol, config);
        assert_eq!(search::explore(&mut searched, Limits::default(), &mut |_| {}).states, whole.len());
    }
}

/// Each state of a lone device, as device, LLC and what is under way.
#[test]
fn one_device_alone_is_counted_by_hand() {
    let states = |protocol: Protocol| {
        explore(protocol, SETS[0], Config { devices: 1, ..TWO }, None, usize::MAX, &mut |_| {}).found.states
    };
    let chi = [
        "I C, V C, E MT, M MT",
        "IS GetS, IS DataE, IM GetM, IM DataM, NR ReadNS, NR DataNS, NW WriteNS, NW AckNS",
        "E UnblockX, M UnblockX, MI UnblockX PutM, MI PutM, MI WBAck",
    ];
    let spandex = [
        "I V, V V, O O",
        "RV ReqV, RV RspV, PDs ReqS, PDs RspO+data, WI ReqWT, WI RspWT, WV ReqWT, WV RspWT",
        "PO ReqO, PO RspO, AT ReqWT+data, AT RspWT+data, PD ReqO+data, PD RspO+data, WB ReqWB, WB RspWB",
    ];
    let count = |all: [&'static str; 3]| all.into_iter().flat_map(split).count();
    assert_eq!(protocols().map(states), [count(chi), count(spandex)]);
}

/// For every state and message at most one row that does not say when, and no name that the protocol does not declare.
#[test]
fn tables_are_well_formed() {
    for protocol in protocols() {
        let tables = Tables::new(&protocol, &|_| None);
        let names: BTreeSet<_> = protocol.messages.iter().map(|message| message.name).collect();
        assert_eq!(names.len(), protocol.messages.len(), "{}: a message has two entries", protocol.name);
        let sides = [(&tables.device, protocol.device_states), (&tables.llc, protocol.llc_states)];
        for (side, states) in sides {
            for (state, name) in (0..).zip(states) {
                for message in &protocol.messages {
                    let steps = side.steps(state, tables.event(message.name));
                    let plain =
                        steps.iter().filter(|step| step.when.is_empty() && step.owes.is_none()).count();
                    assert!(plain == 0 || steps.len() == 1, "{} {name} {}", protocol.name, message.name);
                }
            }
        }
        let used: BTreeSet<_> =
            [&protocol.device, &protocol.llc].into_iter().flatten().flat_map(|row| split(row.on)).collect();
        let idle: Vec<_> = names.difference(&used).collect();
        assert!(idle.is_empty(), "{}: no row for {idle:?}", protocol.name);
        assert!(protocol.device.iter().all(|row| !row.when.contains(&When::ByOwner)));
    }
}
