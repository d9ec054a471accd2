//! The races of spandex.md section 5, by hand: every message in every state at every kind of device, crossed write-backs, use-once, upgrades, starvation.

use weft_spandex_bench::golden::cover::Mark;
use weft_spandex_bench::golden::device::access::Hint;
use weft_spandex_bench::golden::device::{Kind, StoreHow};
use weft_spandex_bench::golden::llc::Choice;
use weft_spandex_bench::golden::msg::{AmoOp, Mask};
use weft_spandex_bench::golden::system::SystemParams;
use weft_spandex_bench::golden::system::program::{Instr, Sem, add, amo, get, ld, put, st};
use weft_spandex_bench::golden::system::schedule::Schedule;

fn schedule(kinds: &[Kind]) -> Schedule {
    let devices: Vec<u8> = (0..kinds.len() as u8).collect();
    Schedule::new(SystemParams::tiny(kinds), &devices)
}
fn hint(store: StoreHow, direct: Option<u8>) -> Hint {
    Hint { store: Some(store), direct, ..Hint::default() }
}
fn word(s: &Schedule, word: usize) -> u32 {
    s.system.value(0).0[word]
}
fn marked(s: &Schedule, mark: Mark) -> bool {
    s.system.cover.has(mark)
}

/// What the word is at device 0 when the message comes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum At {
    O,
    Po,
    Pd,
    Wb,
    Gone,
}

/// {message, kind of device that causes it, its instruction, answers in O, PO, PD, WB, else}; `-`: no answer yet; an empty one: cannot be.
type Row = (&'static str, Kind, fn() -> Instr, [&'static str; 5]);

const ROWS: [Row; 9] = [
    ("FwdReqV", Kind::Gpu, || ld(0), ["RspV", "RspV", "-", "RspV", "NackV"]),
    ("FwdReqO", Kind::DeNovo, || st(0, 300), ["RspO ", "RspO ", "RspO ", "RspO ", ""]),
    ("FwdReqO", Kind::Gpu, || st(0, 300), ["RspWt", "RspWt", "RspWt", "RspWt", ""]),
    ("FwdReqOData", Kind::DeNovo, || add(0, 1), ["RspOData", "RspOData", "-", "RspOData", ""]),
    ("RvkO", Kind::Gpu, || add(0, 1), ["nodata: false", "nodata: false", "-", "nodata: true", ""]),
    ("FwdReqS", Kind::Mesi, || ld(0), ["RspS", "RspS", "-", "RspS", ""]),
    (
        "FwdReqWt",
        Kind::Flex,
        || st(0, 300).how(hint(StoreHow::WtFwd, None)),
        ["RspWt", "NackWt", "NackWt", "NackWt", "NackWt"],
    ),
    (
        "FwdReqV",
        Kind::Flex,
        || ld(0).how(Hint { direct: Some(0), ..Hint::default() }),
        ["RspV", "NackV", "NackV", "NackV", "NackV"],
    ),
    (
        "FwdReqWt",
        Kind::Flex,
        || st(0, 300).how(hint(StoreHow::Wt, Some(0))),
        ["RspWt", "NackWt", "NackWt", "NackWt", "NackWt"],
    ),
];

/// Takes device 0 there; for `Gone` with the message already sent.
fn enter(s: &mut Schedule, at: At, message: &str, cause: Instr, direct: bool) {
    match at {
        At::O => s.run(0, st(0, 200)),
        At::Po => s.hold("Dev(0) gets RspO ").run(0, st(0, 200)),
        At::Pd => s.hold("Dev(0) gets RspOData").run(0, add(0, 1)),
        At::Wb => s.run(0, st(0, 200)).hold("gets ReqWb").evict(0, 0),
        At::Gone if direct => s.go(),
        At::Gone => {
            let forward = format!("Dev(0) gets {message}");
            s.run(0, st(0, 200)).hold(&forward).run(1, cause);
            assert!(s.waits(&forward));
            s.evict(0, 0).hold("from Dev(0)").release(&forward)
        }
    };
    if at != At::Gone || direct {
        s.hold("from Dev(0)").run(1, cause);
    }
}

fn case(kind: Kind, at: At, row: &Row) {
    let (message, other, cause, answers) = row;
    // A device that asks for lines waits for the data, so that its former owner has lost the word.
    let waits = *message == "FwdReqO" && at == At::Pd && kind != Kind::DeNovo;
    let answer = if waits { "-" } else { answers[at as usize] };
    let what = format!("{kind:?} in {at:?}: {message} from {other:?}");
    let direct = matches!(cause(), Instr::Ld { hint, .. } | Instr::St { hint, .. } if hint.direct.is_some());
    let policy = (*message == "FwdReqS").then_some(Choice::One);
    let mut s = Schedule::new(SystemParams { policy, ..SystemParams::tiny(&[kind, *other]) }, &[0, 1]);
    enter(&mut s, at, message, cause(), direct);
    if answer == "-" {
        assert!(!s.waits("from Dev(0)"), "{what}: answered too early");
    } else {
        assert!(s.waits(&format!("{answer} & from Dev(0)")), "{what}: no {answer}");
    }
    s.end();
    let base = match at {
        At::Pd => 101,
        At::Gone if direct => 100,
        _ => 200,
    };
    let wanted = match cause() {
        Instr::St { .. } => 300,
        Instr::Amo { .. } => base + 1,
        _ => base,
    };
    assert_eq!(word(&s, 0), wanted, "{what}");
    if let Instr::Ld { .. } = cause() {
        assert_eq!(s.got(1).last(), Some(&base), "{what}");
    }
}

#[test]
fn every_message_in_every_state_at_every_kind() {
    for kind in [Kind::DeNovo, Kind::Mesi, Kind::Flex] {
        for row in &ROWS {
            for at in [At::O, At::Po, At::Pd, At::Wb, At::Gone] {
                let possible = !row.3[at as usize].is_empty() && (kind != Kind::Mesi || at != At::Po);
                if possible {
                    case(kind, at, row);
                }
            }
        }
    }
}

/// A GPU coherence L1 owns nothing: only a wrong prediction reaches it.
#[test]
fn a_gpu_nacks_direct_requests() {
    for row in &ROWS[7..] {
        case(Kind::Gpu, At::Gone, row);
    }
}

/// Race 2: RspWB overtakes the forward that it crosses; the word closes with the forward, and is not asked for before.
#[test]
fn a_response_overtakes_the_forward_it_crosses() {
    let causes: [(Kind, fn() -> Instr, &str); 4] = [
        (Kind::DeNovo, || st(0, 300), "FwdReqO"),
        (Kind::DeNovo, || add(0, 100), "FwdReqOData"),
        (Kind::Gpu, || add(0, 100), "RvkO"),
        (Kind::Mesi, || ld(0), "FwdReqS"),
    ];
    for kind in [Kind::DeNovo, Kind::Mesi, Kind::Flex] {
        for (other, cause, forward) in &causes {
            let policy = (*forward == "FwdReqS").then_some(Choice::One);
            let mut s =
                Schedule::new(SystemParams { policy, ..SystemParams::tiny(&[kind, *other]) }, &[0, 1]);
            let late = format!("Dev(0) gets {forward}");
            s.run(0, st(0, 200)).hold(&late).run(1, cause());
            s.evict(0, 0);
            assert!(marked(&s, Mark::RspWbBeforeForward), "{kind:?} {forward}");
            s.run(0, add(0, 1));
            assert!(s.got(0).is_empty(), "{kind:?} {forward}: the word is still open");
            s.end();
            let expected = if *forward == "FwdReqS" { 201 } else { 301 };
            assert_eq!(word(&s, 0), expected, "{kind:?} {forward}");
        }
    }
}

/// The other order: the forward is answered from the buffer, then RspWB closes the word.
#[test]
fn a_forward_comes_before_the_response() {
    for kind in [Kind::DeNovo, Kind::Mesi, Kind::Flex] {
        let mut s = schedule(&[kind, Kind::DeNovo]);
        s.run(0, st(0, 200)).hold("gets ReqWb").evict(0, 0).run(1, add(0, 100));
        assert!(marked(&s, Mark::ForwardBeforeRspWb));
        assert_eq!(s.got(1), [200]);
        s.run(0, ld(0));
        assert!(s.got(0).is_empty(), "{kind:?}: asked during the write-back");
        s.end();
        assert!(marked(&s, Mark::DroppedWriteBack));
        assert_eq!((s.got(0), word(&s, 0)), (&[300][..], 300));
    }
}

/// Race 2: Inv during S -> O. Device 0 acknowledges and its upgrade goes on.
#[test]
fn inv_during_an_upgrade() {
    let mut s = schedule(&[Kind::Mesi, Kind::Gpu, Kind::Mesi]);
    share(&mut s);
    s.hold("gets ReqOData from Dev(0)").run(0, st(0, 300)).run(1, st(1, 301));
    assert!(marked(&s, Mark::InvDuringUpgrade));
    s.end();
    assert_eq!((word(&s, 0), word(&s, 1)), (300, 301));
}

/// Devices 0 and 2 get S copies: the line is dirty in one, which another reads.
fn share(s: &mut Schedule) {
    s.run(2, st(0, 200)).run(0, ld(0));
    assert_eq!(s.system.devices[0].copy(0).0, 0b11, "no S copy");
    assert_eq!(s.system.devices[2].copy(0).0, 0b11, "the old owner keeps S");
}

/// Race 3: Inv finds no copy any more.
#[test]
fn inv_after_a_silent_eviction() {
    for writer in [Kind::Gpu, Kind::DeNovo, Kind::Flex, Kind::Mesi] {
        let mut s = schedule(&[Kind::Mesi, writer, Kind::Flex]);
        s.run(0, st(0, 200)).run(0, st(1, 201));
        s.run(
            2,
            ld(0)
                .over(0b11)
                .how(Hint { load: Some(weft_spandex_bench::golden::device::LoadHow::S), ..Hint::default() }),
        );
        s.evict(0, 0).run(1, st(0, 300));
        assert!(marked(&s, Mark::InvWithoutCopy), "{writer:?}");
        s.end();
        assert_eq!(word(&s, 0), 300);
    }
}

/// Inv while RspS is on its way: the load gets the old value, nothing is kept, a later load asks again.
#[test]
fn use_once() {
    let mut s = schedule(&[Kind::Mesi, Kind::DeNovo, Kind::Mesi]);
    s.run(2, st(0, 200)).hold("Dev(0) gets RspS").run(0, ld(0)).run(1, st(0, 300));
    assert_eq!(s.system.devices[1].copy(0).1, 1, "the store is complete");
    s.release("Dev(0) gets RspS");
    assert_eq!(s.got(0), [200]);
    assert!(marked(&s, Mark::UseOnce));
    s.run(0, ld(0)).end();
    assert_eq!(s.got(0), [200, 300]);
}

/// Section 6, case 1: a word is taken from a MESI line, the others are written back in place; the core waits for that.
#[test]
fn triggered_write_back() {
    for (other, cause) in [(Kind::DeNovo, st(0, 300)), (Kind::Gpu, add(0, 100)), (Kind::Gpu, st(0, 300))] {
        let p = SystemParams { revoke_lines: false, ..SystemParams::tiny(&[Kind::Mesi, other]) };
        let mut s = Schedule::new(p, &[0, 1]);
        s.run(0, st(0, 200)).run(0, st(1, 201)).hold("gets ReqWb").run(1, cause);
        assert!(s.waits("gets ReqWb & words 10,"), "{other:?}");
        s.run(0, ld(1));
        assert!(s.got(0).is_empty(), "the line is in WBP");
        s.end();
        assert_eq!((word(&s, 0), word(&s, 1), s.got(0)), (300, 201, &[201][..]));
    }
}

/// Section 6, case 2: a removal of one word is recorded while the line is on its way.
#[test]
fn triggered_write_back_of_a_line_that_has_just_come() {
    for (other, cause) in [(Kind::DeNovo, st(0, 300)), (Kind::DeNovo, add(0, 100)), (Kind::Gpu, st(0, 300))] {
        let mut s = schedule(&[Kind::Mesi, other]);
        s.hold("Dev(0) gets RspOData").run(0, st(1, 201)).run(1, cause).hold("gets ReqWb");
        s.release("Dev(0) gets RspOData");
        assert!(s.waits("gets ReqWb & words 10,"), "{other:?}");
        s.end();
        assert_eq!(word(&s, 1), 201);
    }
}

/// The data of the whole line first: a delayed ReqV and a delayed removal come after the core operation.
#[test]
fn pending_operations_first() {
    let mut s = schedule(&[Kind::DeNovo, Kind::Gpu, Kind::DeNovo]);
    s.hold("Dev(0) gets RspOData").run(0, add(0, 1)).run(1, ld(0)).run(2, add(0, 1));
    assert!(marked(&s, Mark::DelayedReqV) && marked(&s, Mark::DelayedRemoval));
    s.end();
    assert_eq!((s.got(0), s.got(1), s.got(2), word(&s, 0)), (&[100][..], &[101][..], &[101][..], 102));
}

/// A second ReqV finds the slot taken.
#[test]
fn one_delayed_read_per_entry() {
    let mut s = schedule(&[Kind::DeNovo, Kind::Gpu, Kind::Gpu]);
    s.hold("Dev(0) gets RspOData").run(0, add(0, 1)).run(1, ld(0)).run(2, ld(0));
    assert!(marked(&s, Mark::NackedInPd));
    s.end();
    assert_eq!((s.got(1), s.got(2)), (&[101][..], &[101][..]));
}

/// Two owners take a word from each other for ever; each time the forward of a reader's ReqV comes too late. After N_FAIL Nacks the read is done at the LLC.
fn starve(reader: Kind, fails: u8) {
    let p = SystemParams { fails, ..SystemParams::tiny(&[Kind::DeNovo, Kind::DeNovo, reader]) };
    let mut s = Schedule::new(p, &[0, 1, 2]);
    s.run(0, add(0, 1)).hold("gets FwdReqV").run(2, ld(0));
    for round in 0..fails {
        let (owner, next) = (usize::from(round % 2), usize::from((round + 1) % 2));
        let forward = format!("Dev({owner}) gets FwdReqV");
        assert!(s.waits(&forward) && s.got(2).is_empty(), "{reader:?}: no forward in round {round}");
        s.run(next, add(0, 1)).pass(&forward);
    }
    assert!(marked(&s, Mark::Escalation), "{reader:?}, N_FAIL {fails}");
    assert_eq!(s.got(2), [101 + u32::from(fails)]);
    s.end();
}

#[test]
fn a_read_does_not_starve() {
    for reader in [Kind::Gpu, Kind::DeNovo, Kind::Flex] {
        for fails in [1, 2, 4, 7] {
            starve(reader, fails);
        }
    }
}

/// Section 2: a forward that meets several states is split into one response per kind.
#[test]
fn a_forward_is_split() {
    let mut s = schedule(&[Kind::DeNovo, Kind::Gpu]);
    s.run(0, st(0, 200)).run(0, st(1, 201)).hold("gets FwdReqV").run(1, ld(0).over(0b11));
    s.run(1, ld(0)).hold("Dev(1) gets");
    s.evict(0, 0).run(0, st(1, 202)).release("gets FwdReqV");
    assert!(s.waits("Dev(1) gets RspV & words 10,") && s.waits("Dev(1) gets NackV & words 1,"));
    s.end();
    assert_eq!(s.got(1)[0], 200);
}

/// Owner prediction: right, wrong, and the Nack that follows does not count.
#[test]
fn owner_prediction() {
    let direct = |dev| Hint { direct: Some(dev), ..Hint::default() };
    let mut s = schedule(&[Kind::DeNovo, Kind::Flex, Kind::Gpu]);
    s.run(0, st(0, 200)).hold("gets ReqV").run(1, ld(0).how(direct(0)));
    assert_eq!(s.got(1), [200], "without the LLC");
    s.release("gets ReqV").run(1, Instr::Acquire).run(1, ld(0).how(direct(2)));
    assert!(marked(&s, Mark::DirectMiss) && marked(&s, Mark::Retry) && !marked(&s, Mark::Escalation));
    s.run(1, st(0, 300).how(hint(StoreHow::Wt, Some(2)))).run(1, st(1, 301).how(hint(StoreHow::Wt, Some(0))));
    s.end();
    assert_eq!((s.got(1), word(&s, 0), word(&s, 1)), (&[200, 200][..], 300, 301));
    let o: Mask = s.system.devices[0].copy(0).1;
    assert_eq!(o, 1, "the write-through was forwarded to the owner, which stays it");
}

/// Two words owned by different devices, one at the LLC: all answers make one load.
#[test]
fn partial_responses_are_gathered() {
    let p =
        SystemParams { words: 3, ..SystemParams::tiny(&[Kind::DeNovo, Kind::Flex, Kind::Gpu, Kind::Mesi]) };
    let mut s = Schedule::new(p, &[0, 1, 2, 3]);
    s.run(0, st(0, 200)).run(1, st(1, 201)).run(2, ld(0).over(0b111));
    assert_eq!(s.got(2), [200, 201, 102]);
    s.run(3, ld(0).over(0b111)).end();
    assert_eq!(s.got(3), [200, 201, 102]);
    s.run(2, amo(AmoOp::Exch, 1, 300, Sem::Both)).run(3, get(1)).run(0, put(1, 301)).end();
    assert_eq!((s.got(2)[3], s.got(3)[3], word(&s, 1)), (201, 300, 301));
}
