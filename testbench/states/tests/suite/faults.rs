//! Every planted fault is found, by the shortest way.

use weft_states::fault::Fault;
use weft_states::report::{Run, SETS, explore, protocols};
use weft_states::space::Config;

/// What is found and after how many steps, with two devices, values, forwarded write-throughs and direct requests.
const FOUND: &[(Fault, usize, &str)] = &[
    (Fault::NackLost, 9, "from here on not everything can be answered"),
    (Fault::NoCross, 9, "device 0 in WB does not expect RspWB"),
    (Fault::CrossIgnored, 9, "device 0 in I does not expect fwd ReqS"),
    (Fault::DirectReadFromBuffer, 11, "the read returns what was overwritten"),
    (Fault::DirectWriteIntoBuffer, 7, "stale data is stored in the LLC"),
    (Fault::SharerForgotten, 11, "at rest device 1 shares the line and is not recorded"),
    (Fault::UseOnceForgotten, 12, "device 1 shares stale data"),
    (Fault::StaleWriteBack, 7, "stale data is stored in the LLC"),
    (Fault::RevokeUnanswered, 10, "nothing can happen any more"),
    (Fault::NoInvalidation, 10, "device 1 shares stale data"),
    (Fault::NoUnblock, 10, "nothing can happen any more"),
    (Fault::ChiSharerForgotten, 16, "at rest device 0 shares the line and is not recorded"),
    (Fault::InvForgotten, 19, "one device owns the line, another shares it"),
    (Fault::PutUnanswered, 11, "from here on not everything can be answered"),
    (Fault::WriteLost, 7, "from here on not everything can be answered"),
    (Fault::ChiNoInvalidation, 12, "device 1 shares stale data"),
];

const CONFIG: Config = Config {
    devices: 2,
    wtfwd: true,
    opred: weft_states::space::Opred::Any,
    values: true,
    evict: false,
    symmetry: false,
};

/// Explores the protocol that the fault is one of.
fn planted(fault: Fault, config: Config) -> Run {
    let changed = protocols().into_iter().find(|protocol| {
        let mut other = protocol.clone();
        fault.plant(&mut other);
        (&other.device, &other.llc) != (&protocol.device, &protocol.llc)
    });
    let protocol = changed.unwrap_or_else(|| panic!("{fault:?} changes no table"));
    explore(protocol, SETS[2], config, Some(fault), usize::MAX, &mut |_| {})
}

#[test]
fn each_fault_is_found_by_its_shortest_trace() {
    assert_eq!(FOUND.len(), Fault::WORDS.len());
    for ((fault, steps, text), (listed, word)) in FOUND.iter().zip(Fault::WORDS) {
        assert_eq!(fault, listed);
        let run = planted(*fault, CONFIG);
        let trace = run.trace.unwrap_or_else(|| panic!("{word} is not found"));
        let found = run.found.violation.expect("there is a trace").path.len();
        assert_eq!(found, *steps, "{word}:\n{trace}");
        assert!(trace.trim_end().lines().last().is_some_and(|line| line.contains(text)), "{word}:\n{trace}");
        assert!(!run.found.complete);
    }
}

#[test]
fn a_trace_is_as_long_under_symmetry_and_each_step_starts_where_the_last_one_ended() {
    for (fault, steps, text) in FOUND {
        let trace = planted(*fault, Config { symmetry: true, ..CONFIG }).trace.expect("it is found");
        let numbered = trace.lines().filter(|line| line[..4].trim().parse::<usize>().is_ok());
        // The LLC's entry and both devices, as they are after each step.
        let after: Vec<Vec<&str>> = numbered
            .map(|line| line.rsplit(" | ").next().expect("states").split([',', ';']).map(str::trim).collect())
            .collect();
        assert_eq!(after.len(), *steps, "{fault:?}:\n{trace}");
        for pair in after.windows(2) {
            let changed = (0..2).filter(|i| pair[0][*i] != pair[1][*i]).count();
            assert!(pair[0].len() == 3 && changed <= 1, "{fault:?}: one device at a time:\n{trace}");
        }
        let anonymous = |text: &str| text.replace(['0', '1'], "?");
        assert!(anonymous(&trace).contains(&anonymous(text)), "{fault:?}:\n{trace}");
    }
}

#[test]
fn the_text_of_a_trace() {
    let trace =
        planted(Fault::StaleWriteBack, Config { values: false, ..CONFIG }).trace.expect("it is found");
    let expected = [
        "   1  device 0, load ReqS: ReqS to the LLC                                         | 0 PDs, 1 I; LLC V",
        "   2  the LLC takes ReqS of device 0: RspO+data to device 0                        | 0 PDs, 1 I; LLC O of 0",
        "   3  device 0 takes RspO+data                                                     | 0 O, 1 I; LLC O of 0",
        "   4  device 0, replace: ReqWB to the LLC                                          | 0 WB, 1 I; LLC O of 0",
    ];
    let expected = expected.join("\n");
    assert!(trace.starts_with(&expected), "{trace}");
}
