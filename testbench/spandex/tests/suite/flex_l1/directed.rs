//! Each hint on each state, and each race of spandex.md section 5 that random work hardly meets.

use crate::flex_l1::random::{all_flex, mixed};
use crate::flex_l1::world::{Oracle, Sent, Shape, World};
use crate::waves::{Ask, DATA};
use crate::words::LINE;
use weft_spandex::flex_l1::Inject;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::llc::{LlcParams, ReqsPolicy};
use weft_spandex::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_spandex::tu_flex::Opred;

/// Hints: a request, and one for the line.
const REQ_V: u64 = 1;
const REQ_S: u64 = 2;
const REQ_O: u64 = 3;
const REQ_O_DATA: u64 = 4;
const REQ_WT: u64 = 5;
const REQ_WT_FWD: u64 = 6;
const WHOLE: u64 = 8;

fn quiet(inject: Inject) -> World {
    quiet_of(Shape { inject, ..all_flex(SbDrain::Eager, Opred::Off) })
}

fn quiet_of(p: Shape) -> World {
    let mut w = World::new(&p, 1);
    w.net.slow = 2;
    w.oracle = Oracle::Nobody;
    w.stop();
    w.run(60);
    w
}

/// A system in which reads bring what they ask for only, and ReqS shares.
fn plain() -> Shape {
    let p = all_flex(SbDrain::Eager, Opred::Off);
    Shape { llc: LlcParams { reqs: ReqsPolicy::Opt1, flex: false, ..p.llc.clone() }, ..p }
}

/// The same system after a reset.
fn anew(w: World, p: &Shape) -> World {
    let mut w = w.again(p);
    w.net.slow = 2;
    w.oracle = Oracle::Nobody;
    w.stop();
    w.run(60);
    w
}

/// All bytes of some words of the first line.
fn words(mask: u64) -> u64 {
    (0..8).filter(|w| mask >> w & 1 == 1).map(|w| 0xf << (4 * w)).sum()
}

fn load(mask: u64) -> Ask {
    Ask::Load(DATA.start, words(mask))
}

fn store(mask: u64, byte: u8) -> Ask {
    Ask::Store(DATA.start, words(mask), vec![byte; LINE as usize], true)
}

fn add(word: u64, n: u32) -> Ask {
    Ask::Sync(WordOp::Add, DATA.start, words(1 << word), n, 0, 0)
}

/// A device does something with a hint; what it has asked.
fn does(w: &mut World, dev: usize, hint: u64, ask: Ask) -> Vec<Sent> {
    w.hint = hint;
    w.sent.clear();
    w.does(dev, ask);
    w.sent
        .iter()
        .copied()
        .filter(|s| matches!(s, Sent::Req(d, ..) | Sent::Direct(d, ..) if *d == dev as u64))
        .collect()
}

/// The same, and does not wait.
fn asks(w: &mut World, dev: usize, hint: u64, ask: Ask) {
    w.hint = hint;
    w.asks(dev, ask);
    w.run(60);
}

/// The low byte of a word of the last load.
fn seen(w: &World, word: u64) -> u8 {
    w.last[&(DATA.start * LINE + 4 * word)]
}

fn req(op: ReqOp, mask: u64) -> Sent {
    Sent::Req(0, op as u64, mask, false)
}

/// Brings word 0 of the first line into a state at device 0; every other word is I.
fn prepare(w: &mut World, state: char) {
    match state {
        'V' => drop(does(w, 0, REQ_V, load(1))),
        'S' => drop(does(w, 0, REQ_S, load(1))),
        'O' => drop(does(w, 0, REQ_O_DATA, load(1))),
        _ => {}
    }
    let expected = match state {
        'V' => [1, 0, 0],
        'S' => [0, 1, 0],
        'O' => [0, 0, 1],
        _ => [0, 0, 0],
    };
    assert_eq!(w.states(0), expected, "{state}");
}

/// What a load asks by its hint, and what it leaves, by the state of its word.
#[test]
fn hints_of_loads() {
    let mut kept = Some(quiet_of(plain()));
    for state in ['I', 'V', 'S', 'O'] {
        let mut first = |hint: u64| {
            let mut w = anew(kept.take().expect("kept"), &plain());
            prepare(&mut w, state);
            let sent = does(&mut w, 0, hint, load(1));
            let after = w.states(0);
            kept = Some(w);
            (sent, after)
        };
        if state != 'I' {
            // A word that is here is used, whatever the hint says.
            let here = first(0).1;
            for hint in 0..16 {
                assert_eq!(first(hint), (vec![], here), "{state} {hint}");
            }
            continue;
        }
        for hint in [0, 8, 3, 5, 6, 7, 13, REQ_V] {
            assert_eq!(first(hint), (vec![req(ReqOp::ReqV, 1)], [1, 0, 0]), "{hint}");
        }
        assert_eq!(first(REQ_V | WHOLE), (vec![req(ReqOp::ReqV, 0xff)], [8, 0, 0]));
        assert_eq!(first(REQ_S), (vec![req(ReqOp::ReqS, 1)], [0, 1, 0]));
        assert_eq!(first(REQ_S | WHOLE), (vec![req(ReqOp::ReqS, 0xff)], [0, 8, 0]));
        assert_eq!(first(REQ_O_DATA), (vec![req(ReqOp::ReqOData, 1)], [0, 0, 1]));
        assert_eq!(first(REQ_O_DATA | WHOLE), (vec![req(ReqOp::ReqOData, 0xff)], [0, 0, 8]));
    }
}

/// What a store asks by its hint, and what it leaves, by the state of its word.
#[test]
fn hints_of_stores() {
    let mut kept = Some(quiet_of(plain()));
    for state in ['I', 'V', 'S', 'O'] {
        let mut first = |hint: u64, mask: u64| {
            let mut w = anew(kept.take().expect("kept"), &plain());
            prepare(&mut w, state);
            let sent = does(&mut w, 0, hint, store(mask, 7));
            let after = w.states(0);
            does(&mut w, 0, 0, load(1));
            assert_eq!(seen(&w, 0), 7);
            does(&mut w, 1, 0, load(1));
            assert_eq!(seen(&w, 0), 7, "others see it too");
            kept = Some(w);
            (sent, after)
        };
        if state == 'O' {
            for hint in 0..16 {
                assert_eq!(first(hint, 1), (vec![], [0, 0, 1]), "{hint}");
            }
            continue;
        }
        let copies = if state == 'I' { 0 } else { 1 };
        for hint in [0, 8, REQ_O, 1, 2, 7] {
            assert_eq!(first(hint, 1), (vec![req(ReqOp::ReqO, 1)], [0, 0, 1]), "{state} {hint}");
        }
        assert_eq!(first(REQ_O | WHOLE, 0xff), (vec![req(ReqOp::ReqO, 0xff)], [0, 0, 8]), "{state}");
        for hint in [REQ_O | WHOLE, REQ_O_DATA | WHOLE] {
            assert_eq!(first(hint, 1), (vec![req(ReqOp::ReqOData, 0xff)], [0, 0, 8]), "{state}");
        }
        assert_eq!(first(REQ_O_DATA, 1), (vec![req(ReqOp::ReqOData, 1)], [0, 0, 1]), "{state}");
        for hint in [REQ_WT, REQ_WT | WHOLE] {
            let after = [copies, 0, 0];
            // The copy becomes V, and the LLC invalidates no V.
            assert_eq!(first(hint, 1), (vec![req(ReqOp::ReqWt, 1)], after), "{state}");
        }
        let to_owner = Sent::Req(0, ReqOp::ReqWt as u64, 1, true);
        assert_eq!(first(REQ_WT_FWD, 1), (vec![to_owner], [copies, 0, 0]), "{state}");
    }
}

/// What an atomic, and a store of bytes, asks by its hint, and what it leaves.
#[test]
fn hints_of_atomics() {
    let mut kept = Some(quiet_of(plain()));
    let bytes = Ask::Store(DATA.start, 0x6, vec![7; LINE as usize], true);
    for (ask, state) in
        [add(0, 7), bytes].into_iter().flat_map(|a| ['I', 'V', 'S', 'O'].map(|s| (a.clone(), s)))
    {
        let stores = matches!(ask, Ask::Store(..));
        let mut first = |hint: u64| {
            let mut w = anew(kept.take().expect("kept"), &plain());
            prepare(&mut w, state);
            let sent = does(&mut w, 0, hint, ask.clone());
            let after = w.states(0);
            for dev in [0, 1] {
                does(&mut w, dev, 0, load(1));
                assert_eq!(w.last[&(DATA.start * LINE + u64::from(stores))], 7);
            }
            kept = Some(w);
            (sent, after)
        };
        if state == 'O' {
            for hint in 0..16 {
                assert_eq!(first(hint), (vec![], [0, 0, 1]), "{hint}");
            }
            continue;
        }
        for hint in [0, REQ_O_DATA, 8, 1] {
            assert_eq!(first(hint), (vec![req(ReqOp::ReqOData, 1)], [0, 0, 1]), "{state} {hint}");
        }
        assert_eq!(first(REQ_O_DATA | WHOLE), (vec![req(ReqOp::ReqOData, 0xff)], [0, 0, 8]), "{state}");
        for hint in [REQ_WT, REQ_WT | WHOLE] {
            assert_eq!(first(hint), (vec![req(ReqOp::ReqWtData, 1)], [0, 0, 0]), "{state}");
        }
        let op = if stores { ReqOp::ReqWtData } else { ReqOp::ReqOData };
        assert_eq!(first(REQ_WT_FWD).0, vec![req(op, 1)], "{state}");
    }
}

/// Line requests skip words that are O or asked for already, and stores of different hints do not merge.
#[test]
fn requests_for_a_line_skip_what_is_here_or_coming() {
    let mut w = quiet(Inject::None);
    does(&mut w, 0, REQ_O_DATA, load(1));
    w.net.hold = vec![
        ("d0_rsp", RspOp::RspOData as u64),
        ("d0_rsp", RspOp::RspV as u64),
        ("d0_rsp", RspOp::RspO as u64),
    ];
    asks(&mut w, 0, REQ_O_DATA, load(2));
    asks(&mut w, 0, REQ_V, load(4));
    asks(&mut w, 0, REQ_O, Ask::Store(DATA.start, words(8), vec![3; LINE as usize], false));
    w.sent.clear();
    asks(&mut w, 0, REQ_O_DATA | WHOLE, load(0x10));
    assert_eq!(w.sent, [req(ReqOp::ReqOData, 0xf0)]);
    // A load of a word of that request joins it, whatever its hint.
    asks(&mut w, 0, REQ_S, load(0xa0));
    assert_eq!(w.sent.len(), 1);
    w.net.hold.clear();
    w.run(200);
    assert_eq!(w.b.counted("spandex.flex_l1.LdS.coming"), 1);
    assert_eq!(w.states(0)[2], 7, "all but the word read");
}

#[test]
fn stores_of_different_hints_do_not_merge() {
    let mut w = quiet_of(all_flex(SbDrain::Full, Opred::Off));
    for (mask, hint) in [(1, REQ_O), (2, REQ_O), (4, REQ_WT), (8, REQ_WT_FWD)] {
        w.hint = hint;
        w.asks(0, Ask::Store(DATA.start, words(mask), vec![1; LINE as usize], false));
        w.run(100);
    }
    w.does(0, Ask::Release);
    let to_owner = Sent::Req(0, ReqOp::ReqWt as u64, 8, true);
    assert_eq!(w.sent, [req(ReqOp::ReqO, 3), req(ReqOp::ReqWt, 4), to_owner]);
}

/// A read is under way while another device writes and this one acquires: what it brings is not kept. Without the mark it is. The flag that tells is in another line.
#[test]
fn a_stale_read_installs_nothing() {
    for (inject, value) in [(Inject::None, 7), (Inject::NoStale, 0)] {
        let mut w = quiet(inject);
        w.net.hold = vec![("d0_rsp", RspOp::RspV as u64)];
        asks(&mut w, 0, REQ_V, load(1));
        does(&mut w, 1, REQ_WT, store(1, 7));
        does(&mut w, 1, 0, Ask::Sync(WordOp::Exch, DATA.start + 1, 0xf, 1, 0, 0));
        does(&mut w, 0, REQ_WT, Ask::Sync(WordOp::Exch, DATA.start + 1, 0xf, 2, 0, 1));
        w.net.hold.clear();
        w.run(100);
        assert_eq!(seen(&w, 0), 0, "the load came before");
        does(&mut w, 0, REQ_V, load(1));
        assert_eq!(seen(&w, 0), value, "{inject:?}");
    }
}

/// An acquire drops the words that are valid here, so that what others have written since is seen.
#[test]
fn an_acquire_leaves_no_valid_word() {
    for (inject, value) in [(Inject::None, 7), (Inject::KeepsValid, 0)] {
        let mut w = quiet(inject);
        does(&mut w, 0, REQ_V, load(1));
        does(&mut w, 1, REQ_WT, store(1, 7));
        does(&mut w, 1, 0, Ask::Sync(WordOp::Exch, DATA.start + 1, 0xf, 1, 0, 0));
        does(&mut w, 0, REQ_WT, Ask::Sync(WordOp::Exch, DATA.start + 1, 0xf, 2, 0, 1));
        does(&mut w, 0, REQ_V, load(1));
        assert_eq!(seen(&w, 0), value, "{inject:?}");
    }
}

/// An acquire drops the valid words of its own line too, and keeps shared and owned ones.
#[test]
fn an_acquire_drops_the_copies_of_its_own_line() {
    let p = all_flex(SbDrain::Eager, Opred::Off);
    let mut w = quiet_of(Shape { llc: LlcParams { reqs: ReqsPolicy::Opt1, ..p.llc.clone() }, ..p });
    does(&mut w, 0, REQ_V | WHOLE, load(0x0f));
    does(&mut w, 0, REQ_O, store(0x80, 1));
    does(&mut w, 1, REQ_WT, store(1, 7));
    assert_eq!(w.states(0), [7, 0, 1]);
    does(&mut w, 0, 0, Ask::Sync(WordOp::Add, DATA.start, words(0x10), 1, 0, 1));
    assert_eq!(w.states(0), [0, 0, 2]);
    does(&mut w, 0, REQ_S | WHOLE, load(1));
    assert_eq!(seen(&w, 0), 7);
    does(&mut w, 0, 0, Ask::Acquire);
    assert_eq!(w.states(0), [0, 6, 2]);
}

/// A writer invalidates shared words; without it an acquire would leave an old one.
#[test]
fn a_writer_invalidates_shared_words() {
    for (inject, value) in [(Inject::None, 7), (Inject::KeepsShared, 0)] {
        let p = all_flex(SbDrain::Eager, Opred::Off);
        let llc = LlcParams { reqs: ReqsPolicy::Opt1, ..p.llc.clone() };
        let mut w = quiet_of(Shape { llc, inject, ..p });
        for dev in [0, 2] {
            does(&mut w, dev, REQ_S | WHOLE, load(1));
        }
        does(&mut w, 1, REQ_WT, store(1, 7));
        does(&mut w, 0, 0, Ask::Acquire);
        does(&mut w, 0, REQ_S, load(1));
        assert_eq!(seen(&w, 0), value, "{inject:?}");
        assert!(w.b.counted("spandex.flex_l1.Inv") >= 2);
    }
}

/// Inv comes before the shared words that it is meant for: they serve the load, and are not kept; loads that come later do not join.
#[test]
fn inv_overtakes_the_shared_words() {
    for (inject, value) in [(Inject::None, 7), (Inject::KeepsOnce, 0)] {
        let p = all_flex(SbDrain::Eager, Opred::Off);
        let llc = LlcParams { reqs: ReqsPolicy::Opt1, ..p.llc.clone() };
        let mut w = quiet_of(Shape { llc, inject, ..p });
        w.net.hold = vec![("d0_rsp", RspOp::RspS as u64)];
        asks(&mut w, 0, REQ_S | WHOLE, load(1));
        does(&mut w, 1, REQ_WT, store(1, 7));
        does(&mut w, 0, 0, Ask::Acquire);
        w.net.hold.clear();
        w.run(100);
        assert_eq!(seen(&w, 0), 0, "the load came before");
        does(&mut w, 0, REQ_S, load(1));
        assert_eq!(seen(&w, 0), value, "{inject:?}");
    }
}

/// Option 2 brings words that nobody invalidates: after an acquire no load joins them.
#[test]
fn words_to_use_once_are_not_for_loads_after_an_acquire() {
    let p = all_flex(SbDrain::Eager, Opred::Off);
    let mut w = quiet_of(Shape { llc: LlcParams { reqs: ReqsPolicy::Opt2, ..p.llc.clone() }, ..p });
    w.net.hold = vec![("d0_rsp", RspOp::RspV as u64)];
    asks(&mut w, 0, REQ_S, load(1));
    does(&mut w, 1, REQ_WT, store(1, 7));
    does(&mut w, 0, 0, Ask::Acquire);
    asks(&mut w, 0, REQ_S, load(1));
    w.net.hold.clear();
    w.run(200);
    assert_eq!(seen(&w, 0), 7);
    assert_eq!(w.states(0), [0, 0, 0]);
}

/// An owner that is asked for shared words keeps them as S, and the LLC knows: a writer invalidates them.
#[test]
fn an_owner_becomes_a_sharer() {
    let mut w = quiet(Inject::None);
    does(&mut w, 0, REQ_O, store(3, 5));
    does(&mut w, 1, REQ_S, load(1));
    assert_eq!(seen(&w, 0), 5);
    assert_eq!((w.states(0), w.states(1)), ([0, 2, 0], [0, 1, 0]), "all words of the owner");
    does(&mut w, 2, REQ_WT, store(3, 9));
    assert_eq!((w.states(0), w.states(1)), ([0, 0, 0], [0, 0, 0]));
    does(&mut w, 0, REQ_S, load(2));
    assert_eq!(seen(&w, 1), 9);
}

/// The words of a request whose data is late: their removal follows the own load, word by word as they come.
#[test]
fn a_removal_waits_for_the_own_operation_word_by_word() {
    let mut w = quiet(Inject::None);
    // Words 0 and 1 of different owners, one of whom is slow to answer.
    does(&mut w, 2, REQ_O, store(1, 5));
    does(&mut w, 3, REQ_O, store(2, 6));
    w.net.hold = vec![("d3_fwd", FwdOp::ReqOData as u64)];
    asks(&mut w, 0, REQ_O_DATA, load(3));
    // Word 0 has come; another device takes it, and gets it although word 1 is outstanding.
    does(&mut w, 1, REQ_O_DATA, add(0, 1));
    assert_eq!(w.b.counted("spandex.race.flex_word_by_word"), 1);
    does(&mut w, 1, 0, load(1));
    assert_eq!(seen(&w, 0), 6);
    // A removal of word 1 is recorded: a load that comes now must not join.
    asks(&mut w, 1, REQ_O_DATA, load(2));
    w.sent.clear();
    asks(&mut w, 0, REQ_V, load(2));
    assert_eq!(w.sent, [], "it waits");
    w.net.hold.clear();
    w.run(300);
    assert_eq!((w.states(0)[2], w.states(1)[2]), (0, 2));
    assert!(w.b.counted("spandex.flex_l1.ReqOdata.PD") >= 1);
}

/// A line is asked for because of its word 2; its owner has not heard of that when another device writes word 0. The writer is answered only when the line has come, which says that it
/// has left that owner: until then the old word is read there.
#[test]
fn a_writer_waits_until_the_line_has_left_its_former_owner() {
    for hint in [REQ_O, REQ_WT] {
        let mut w = quiet(Inject::None);
        does(&mut w, 1, REQ_O_DATA | WHOLE, load(1));
        assert_eq!(w.states(1)[2], 8);
        w.net.hold = vec![("d1_fwd", FwdOp::ReqOData as u64)];
        asks(&mut w, 0, REQ_O_DATA | WHOLE, add(2, 1));
        let before = w.waves.replies;
        asks(&mut w, 2, hint, store(1, 7));
        w.run(300);
        does(&mut w, 1, 0, load(1));
        assert_eq!((seen(&w, 0), w.waves.replies), (0, before + 1), "the writer has no answer");
        assert_eq!(w.b.counted("spandex.flex_l1.ReqO.PD"), 1);
        w.net.hold.clear();
        w.run(300);
        assert_eq!(w.waves.replies, before + 3, "the atomic and the store are done");
        does(&mut w, 1, 0, Ask::Acquire);
        does(&mut w, 1, 0, load(1));
        assert_eq!(seen(&w, 0), 7);
        does(&mut w, 1, 0, load(4));
        assert_eq!(seen(&w, 2), 1);
    }
}

/// One forward meets words that are owned, asked for without and with data, written back, and absent: each kind has its answer.
#[test]
fn a_forward_meets_words_of_every_state() {
    let mut w = quiet(Inject::None);
    // Device 0 owns words 0..3 of the line; the LLC forwards a read of all of them.
    does(&mut w, 0, REQ_O, store(0x0f, 5));
    w.net.hold = vec![("d0_fwd", FwdOp::ReqV as u64)];
    asks(&mut w, 1, REQ_V, load(0x0f));
    // Meanwhile word 1 goes to device 2, is asked for again without data (word 1) and with data (word 2).
    does(&mut w, 2, REQ_O, store(0x06, 6));
    w.net.hold.extend([("d0_rsp", RspOp::RspO as u64), ("d0_rsp", RspOp::RspOData as u64)]);
    asks(&mut w, 0, REQ_O, store(0x02, 7));
    asks(&mut w, 0, REQ_O_DATA, load(0x04));
    // Word 3 goes to another device.
    does(&mut w, 3, REQ_O, store(0x08, 8));
    w.net.hold.retain(|h| h.0 != "d0_fwd");
    w.run(60);
    let count = |w: &World, row: &str| w.b.counted(&format!("spandex.flex_l1.{row}"));
    let met = ["ReqV.O", "ReqV.PO", "ReqV.PD", "ReqV.other"].map(|row| count(&w, row));
    assert_eq!(met, [2, 1, 1, 1], "the refused word is read at its new owner");
    assert!(w.b.counted("spandex.race.flex_split_ReqV") >= 3);
    w.net.hold.clear();
    w.run(400);
    assert_eq!([0, 1, 2, 3].map(|word| seen(&w, word)), [5, 7, 6, 8]);
}

/// Words of one write are owned and asked for at their owner: the former change there, the latter too where they are taken, and are refused where they are to be written.
#[test]
fn a_write_meets_words_that_are_owned_and_asked_for() {
    for (hint, race, owned) in [(REQ_WT, "split_ReqO", 0), (REQ_WT_FWD, "split_ReqWT", 1)] {
        let mut w = quiet(Inject::None);
        does(&mut w, 0, REQ_O, store(1, 5));
        w.net.hold = vec![("d0_rsp", RspOp::RspO as u64)];
        asks(&mut w, 0, REQ_O, store(2, 6));
        asks(&mut w, 1, hint, store(3, 9));
        assert_eq!(w.b.counted(&format!("spandex.race.flex_{race}")), 1);
        w.net.hold.clear();
        w.run(200);
        assert_eq!(w.states(0), [0, 0, owned], "{race}");
        does(&mut w, 2, REQ_V, load(3));
        assert_eq!((seen(&w, 0), seen(&w, 1)), (9, 9), "{race}");
    }
}

/// Ends the ownership of a line's words by filling its set with owned words of other lines.
fn evict(w: &mut World, dev: usize) {
    let sets = 2;
    for i in 1..=2 {
        does(w, dev, REQ_O, Ask::Store(DATA.start + i * sets, 0xf, vec![1; LINE as usize], true));
    }
}

/// A direct request is served by an owned word; one that is asked for, written back or gone is refused. From the write-back buffer the reader would get what is old: the word was written elsewhere since.
#[test]
fn direct_requests_are_served_in_stable_ownership_only() {
    let p = all_flex(SbDrain::Eager, Opred::Oracle);
    let mut w = quiet_of(p.clone());
    does(&mut w, 1, REQ_O, store(3, 5));
    w.oracle = Oracle::Device(1);
    assert_eq!(does(&mut w, 0, REQ_V, load(1)), [Sent::Direct(0, FwdOp::ReqV as u64, 1, 1)]);
    assert_eq!((seen(&w, 0), w.states(0)), (5, [2, 0, 0]), "with the other word that it owns");
    // A word that it has not got, and one that it asks for.
    does(&mut w, 0, 0, Ask::Acquire);
    assert_eq!(
        does(&mut w, 0, REQ_V, load(8)),
        [Sent::Direct(0, FwdOp::ReqV as u64, 8, 1), req(ReqOp::ReqV, 8)]
    );
    w.net.hold = vec![("d1_rsp", RspOp::RspO as u64), ("d1_rsp", RspOp::RspOData as u64)];
    w.oracle = Oracle::Nobody;
    asks(&mut w, 1, REQ_O, store(0x10, 6));
    asks(&mut w, 1, REQ_O_DATA, load(0x20));
    w.oracle = Oracle::Device(1);
    does(&mut w, 0, 0, Ask::Acquire);
    w.sent.clear();
    asks(&mut w, 0, REQ_V, load(0x30));
    assert_eq!(w.sent[0], Sent::Direct(0, FwdOp::ReqV as u64, 0x30, 1));
    let again = w.sent[1..].iter().map(|s| if let Sent::Req(0, _, mask, false) = s { *mask } else { 0 });
    assert_eq!(again.sum::<u64>(), 0x30);
    w.net.hold.clear();
    w.run(200);
    assert_eq!(seen(&w, 4), 6);
    // In the write-back buffer.
    for (inject, value) in [(Inject::None, 9), (Inject::ServesBuffer, 5)] {
        let mut w = quiet_of(Shape { inject, ..p.clone() });
        does(&mut w, 1, REQ_O, store(1, 5));
        w.net.hold = vec![("d1_rsp", RspOp::RspWb as u64)];
        evict(&mut w, 1);
        does(&mut w, 2, REQ_WT, store(1, 9));
        w.oracle = Oracle::Device(1);
        does(&mut w, 0, REQ_V, load(1));
        assert_eq!(seen(&w, 0), value, "{inject:?}");
    }
}

/// A word written through with `fwd` is written at its owner, who stays owner.
#[test]
fn a_write_through_is_forwarded_to_the_owner() {
    let mut w = quiet(Inject::None);
    does(&mut w, 1, REQ_O, store(3, 5));
    does(&mut w, 0, REQ_WT_FWD, store(1, 9));
    assert_eq!(w.states(1), [0, 0, 2]);
    does(&mut w, 1, 0, load(3));
    assert_eq!((seen(&w, 0), seen(&w, 1)), (9, 5));
    // Without it the LLC takes the word.
    does(&mut w, 0, REQ_WT, store(2, 8));
    assert_eq!(w.states(1), [0, 0, 1]);
    does(&mut w, 1, 0, load(2));
    assert_eq!(seen(&w, 1), 8);
}

/// The owner has lost the word when the forwarded write comes (and, second, asks for it again): it refuses, and the LLC takes the write.
#[test]
fn a_forwarded_write_misses_the_owner() {
    for (inject, again, value) in
        [(Inject::None, false, 9), (Inject::None, true, 9), (Inject::DropsRefused, false, 7)]
    {
        let mut w = quiet(inject);
        does(&mut w, 1, REQ_O, store(1, 5));
        w.net.hold = vec![("d1_fwd", FwdOp::ReqWt as u64)];
        w.sent.clear();
        asks(&mut w, 0, REQ_WT_FWD, store(1, 9));
        // The word goes to another device while the write is on its way.
        does(&mut w, 2, REQ_O, store(1, 7));
        if again {
            w.net.hold.push(("d1_rsp", RspOp::RspOData as u64));
            asks(&mut w, 1, REQ_O_DATA, load(1));
        }
        w.sent.clear();
        w.net.hold.retain(|h| h.0 != "d1_fwd");
        w.run(100);
        let asked = if inject == Inject::None { vec![req(ReqOp::ReqWt, 1)] } else { vec![] };
        assert_eq!(w.sent, asked);
        w.net.hold.clear();
        w.run(200);
        does(&mut w, 3, REQ_V, load(1));
        assert_eq!(seen(&w, 0), value, "{inject:?}");
    }
}

/// A direct write: at the owner; elsewhere it is refused and goes to the owner that the LLC knows; refused there too, to the LLC.
#[test]
fn direct_writes() {
    let mut w = quiet_of(all_flex(SbDrain::Eager, Opred::Oracle));
    let direct = |to| Sent::Direct(0, FwdOp::ReqWt as u64, 1, to);
    does(&mut w, 1, REQ_O, store(1, 5));
    w.oracle = Oracle::Device(1);
    assert_eq!(does(&mut w, 0, REQ_WT, store(1, 6)), [direct(1)]);
    does(&mut w, 1, 0, load(1));
    assert_eq!((seen(&w, 0), w.states(1)), (6, [0, 0, 1]));
    // Device 2 is guessed wrongly; the LLC knows device 1.
    w.oracle = Oracle::Device(2);
    let to_owner = Sent::Req(0, ReqOp::ReqWt as u64, 1, true);
    assert_eq!(does(&mut w, 0, REQ_WT, store(1, 7)), [direct(2), to_owner]);
    does(&mut w, 1, 0, load(1));
    assert_eq!((seen(&w, 0), w.states(1)), (7, [0, 0, 1]));
    // Device 1 has lost the word when that comes.
    w.net.hold = vec![("d1_fwd", FwdOp::ReqWt as u64)];
    w.sent.clear();
    asks(&mut w, 0, REQ_WT, store(1, 8));
    assert_eq!(w.sent, [direct(2), to_owner]);
    w.oracle = Oracle::Nobody;
    does(&mut w, 3, REQ_O, store(1, 4));
    w.sent.clear();
    w.net.hold.clear();
    w.run(200);
    assert_eq!(w.sent, [req(ReqOp::ReqWt, 1)]);
    does(&mut w, 1, REQ_V, load(1));
    assert_eq!(seen(&w, 0), 8);
}

/// Whoever is guessed, and however often the owner has lost the word, a read ends.
#[test]
fn a_read_that_is_always_refused_ends() {
    for n_fail in [1, 3] {
        let p = all_flex(SbDrain::Eager, Opred::Oracle);
        let mut w = quiet_of(Shape { n_fail, ..p });
        w.oracle = Oracle::Device(3);
        for round in 0..20 {
            // The word goes round between devices 1 and 2 all the time.
            w.net.hold = vec![("d1_fwd", FwdOp::ReqV as u64), ("d2_fwd", FwdOp::ReqV as u64)];
            w.hint = REQ_O;
            w.asks(1 + round % 2, store(1, round as u8));
            asks(&mut w, 0, REQ_V, load(1));
            w.hint = REQ_O;
            w.asks(2 - round % 2, store(1, round as u8));
            w.run(60);
            w.net.hold.clear();
            does(&mut w, 0, 0, Ask::Acquire);
        }
        w.run(300);
        assert!(w.b.counted("spandex_tu_direct_refused") > 0 && w.b.counted("spandex_tu_nacks") > 0);
        assert!(n_fail > 1 || w.b.counted("spandex_tu_escalations") > 0);
    }
}

/// A reset in the middle of everything leaves no word, entry or message.
#[test]
fn a_reset_in_flight_leaves_nothing() {
    let p = mixed(SbDrain::Eager, Opred::Table);
    let mut w = World::new(&p, 7);
    for cycles in [70, 500, 1_111, 3_000] {
        w = w.again(&p);
        w.run(cycles);
        w = w.again(&p);
        w.stop();
        w.run(60);
        assert_eq!(w.states(0), [0, 0, 0]);
        does(&mut w, 1, REQ_O, store(1, 5));
        does(&mut w, 0, REQ_V, load(0xff));
        assert_eq!(seen(&w, 0), 5);
        assert_eq!(w.owner(DATA.start, 0), Some(1));
        assert_eq!(w.owner(DATA.start, 1), None);
    }
}

/// Without work nothing changes, nor while everything waits: the engine skips the blocks.
#[test]
fn devices_in_which_nothing_can_happen_sleep() {
    let mut w = quiet(Inject::None);
    does(&mut w, 0, REQ_WT, store(1, 3));
    does(&mut w, 1, REQ_S, load(1));
    w.b.falls_asleep(60);
    w.net.hold =
        [RspOp::RspV, RspOp::RspO, RspOp::RspWt, RspOp::RspOData].map(|op| ("d0_rsp", op as u64)).to_vec();
    asks(&mut w, 0, REQ_V, Ask::Load(DATA.start + 1, 0xf));
    asks(&mut w, 0, REQ_WT, Ask::Store(DATA.start + 2, 0xf, vec![1; LINE as usize], true));
    asks(&mut w, 0, REQ_O_DATA, Ask::Load(DATA.start + 3, 0xf));
    w.b.falls_asleep(60);
}
