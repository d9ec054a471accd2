//! Each row of the tables and each race by itself.

use super::{WORDS, small};
use crate::spandex_llc::world::{To, World, base, release, world_of};
use weft_spandex::bank::Bank;
use weft_spandex::llc::{LlcParams, ReqsPolicy, RvkoGran, SharerMode};
use weft_spandex::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_spandex_bench::devices::Kind;

/// Lines of set 0, by number; `DATA` has no counters.
const A: u64 = 2 * 14 + 1;
const B: u64 = 2 * 16 + 1;
const C: u64 = 2 * 20 + 1;
const DATA: u64 = 2 * 12 + 1;
const ALL: u64 = 0xf;

/// A bank whose networks and memory are fast, and which is clear by now.
fn with(p: &LlcParams, kinds: &[Kind]) -> World {
    let mut w = world_of(p, kinds, 1, 1);
    w.lines = vec![A, B, C, DATA];
    (w.delay, w.below.delay) = (0, 0);
    w.b.run(20);
    w
}

fn world() -> World {
    with(&small(), &WORDS)
}

fn policy(reqs: ReqsPolicy) -> World {
    with(&LlcParams { reqs, ..small() }, &WORDS)
}

/// Everything ends well; what is sent from now on is looked at.
fn settle(w: &mut World) {
    w.finish();
    w.check();
    w.log.clear();
}

fn end(w: &mut World) {
    w.finish();
    w.check();
}

fn add(w: &mut World, d: usize, line: u64, mask: u64) {
    assert!(w.ask_for(d, (ReqOp::ReqWtData, WordOp::Add), line, mask, (false, false)));
}

fn ask(w: &mut World, d: usize, op: ReqOp, line: u64, mask: u64) {
    assert!(w.ask(d, op, line, mask));
}

fn through(w: &mut World, d: usize, line: u64, mask: u64, fwd: bool) {
    assert!(w.ask_for(d, (ReqOp::ReqWt, WordOp::Read), line, mask, (false, fwd)));
}

fn own(w: &mut World, d: usize, line: u64, mask: u64) {
    ask(w, d, ReqOp::ReqOData, line, mask);
    settle(w);
    assert_eq!(w.devs[d].held(line, true) & mask, mask);
}

/// Words in S at 0 and 1, and the line in S.
fn shared(w: &mut World, line: u64, mask: u64) {
    own(w, 0, line, mask);
    ask(w, 1, ReqOp::ReqS, line, mask);
    settle(w);
    let there = w.line(line).expect("here");
    assert_eq!((there.state, there.sharers), (2, 0b11));
}

fn saw(w: &World, name: &str) {
    assert!(w.b.counted(&format!("spandex.{name}")) > 0, "{name} was not seen");
}

/// Messages sent of a kind: who got them, words asked for, words lost.
fn forwards(w: &World, op: FwdOp) -> Vec<(u64, u64, u64)> {
    let mut all: Vec<_> = w.sent(op).iter().map(|m| (m.get("dst"), m.get("mask"), m.get("own"))).collect();
    all.sort_unstable();
    all
}

/// Answers sent of a kind: to whom, words, extras or crossed ones.
fn answers(w: &World, op: RspOp) -> Vec<(u64, u64, u64)> {
    w.answers(op).iter().map(|m| (m.get("dst"), m.get("mask"), m.get("extra"))).collect()
}

/// (state, owned, sharers) of a line.
fn line(w: &World, line: u64) -> (u64, u64, u64) {
    let l = w.line(line).expect("here");
    (l.state, l.owned, l.sharers)
}

#[test]
fn reads_of_words_that_nobody_owns() {
    for flex_rsp in [true, false] {
        let mut w = with(&LlcParams { flex: flex_rsp, ..small() }, &WORDS);
        own(&mut w, 3, A, 0b1000);
        for flex in [true, false] {
            w.ask_for(5, (ReqOp::ReqV, WordOp::Read), A, 0b0001, (flex, false));
            end(&mut w);
            let extra = if flex && flex_rsp { 0b0110 } else { 0 };
            assert_eq!(answers(&w, RspOp::RspV), [(5, 1, extra)]);
            w.log.clear();
        }
        saw(&w, "llc.ReqV.V");
        assert_eq!(line(&w, A), (1, 0b1000, 0));
    }
}

#[test]
fn reads_of_words_that_somebody_owns() {
    let mut w = world();
    own(&mut w, 3, A, 0b0011);
    own(&mut w, 4, A, 0b0100);
    w.work(3, A, 1);
    w.ask_for(5, (ReqOp::ReqV, WordOp::Read), A, ALL, (true, false));
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqV), [(3, 0b0011, 0), (4, 0b0100, 0)]);
    assert!(w.sent(FwdOp::ReqV).iter().all(|m| m.get("flex") == 1 && m.get("req") == 5));
    assert_eq!(answers(&w, RspOp::RspV), [(5, 0b1000, 0)]);
    saw(&w, "llc.ReqV.O");
    saw(&w, "race.llc_several_owners");
    assert_eq!(line(&w, A), (1, 0b0111, 0), "nothing has changed");
}

/// ReqS of words that devices which may hold S own: the owners answer, keep S, and nothing is left for the bank to say.
#[test]
fn a_shared_read_asks_owners_that_may_share() {
    let mut w = world();
    own(&mut w, 0, A, 0b0111);
    ask(&mut w, 1, ReqOp::ReqS, A, 0b1011);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqS), [(0, 0b0011, 0b0111)], "all its words of the line");
    assert_eq!(answers(&w, RspOp::RspS), [(1, 0b1000, 0)], "the owner has answered the others");
    assert_eq!(line(&w, A), (2, 0, 0b11), "the owner is a sharer, too");
    for name in ["llc.phase1.ReqS1.O", "llc.ReqS1.V", "llc.blocked.PHASE1.Kept", "race.llc_policy_latched"] {
        saw(&w, name);
    }
    w.log.clear();
    ask(&mut w, 2, ReqOp::ReqS, A, ALL);
    end(&mut w);
    assert_eq!(answers(&w, RspOp::RspS), [(2, ALL, 0)]);
    saw(&w, "llc.ReqS1.S");
    assert_eq!(line(&w, A), (2, 0, 0b111));
    w.log.clear();
    w.ask_for(5, (ReqOp::ReqV, WordOp::Read), A, 1, (true, false));
    end(&mut w);
    assert_eq!(answers(&w, RspOp::RspV), [(5, 1, 0b1110)]);
    saw(&w, "llc.ReqV.S");
}

#[test]
fn a_shared_read_takes_ownership_of_the_others_words() {
    let mut w = world();
    own(&mut w, 3, A, 0b0011);
    ask(&mut w, 1, ReqOp::ReqS, A, 0b0110);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqOData), [(3, 0b0010, 0)]);
    assert_eq!(answers(&w, RspOp::RspOData), [(1, 0b0100, 0)]);
    assert_eq!(line(&w, A), (1, 0b0111, 0));
    assert_eq!(w.devs[1].held(A, true), 0b0110);
    for name in ["llc.ReqS3.V", "llc.ReqS3.O", "race.llc_mixed_words"] {
        saw(&w, name);
    }
}

/// One policy for all words: a word of a sharer among others decides.
#[test]
fn a_shared_read_of_words_of_all_kinds_of_owners() {
    let mut w = world();
    own(&mut w, 0, A, 0b0001);
    own(&mut w, 3, A, 0b0110);
    ask(&mut w, 1, ReqOp::ReqS, A, 0b1011);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqS), [(0, 0b0001, 0b0001), (3, 0b0010, 0b0110)]);
    assert_eq!(answers(&w, RspOp::RspS), [(1, 0b1000, 0)]);
    assert_eq!((w.devs[1].held(A, false), w.devs[3].held(A, true)), (0b1011, 0), "DeNovo keeps nothing");
    assert_eq!(line(&w, A), (2, 0, 0b11));
}

#[test]
fn fixed_policies() {
    let mut w = policy(ReqsPolicy::Opt1);
    own(&mut w, 3, A, 0b0011);
    ask(&mut w, 1, ReqOp::ReqS, A, ALL);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqS), [(3, 0b0011, 0b0011)]);
    assert_eq!(line(&w, A), (2, 0, 0b10));
    let mut w = policy(ReqsPolicy::Opt2);
    own(&mut w, 0, A, 0b0011);
    ask(&mut w, 1, ReqOp::ReqS, A, ALL);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqV), [(0, 0b0011, 0)]);
    assert_eq!(answers(&w, RspOp::RspV), [(1, 0b1100, 0)]);
    assert_eq!((line(&w, A), w.devs[1].held(A, false)), ((1, 0b0011, 0), 0), "used once");
    saw(&w, "llc.ReqS2.V");
    saw(&w, "llc.ReqS2.O");
    let mut w = policy(ReqsPolicy::Opt3);
    own(&mut w, 0, A, 0b0011);
    ask(&mut w, 1, ReqOp::ReqS, A, ALL);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqOData), [(0, 0b0011, 0)]);
    assert_eq!(line(&w, A), (1, ALL, 0));
}

#[test]
fn write_through() {
    let mut w = world();
    own(&mut w, 3, DATA, 0b0110);
    w.work(3, DATA, 1);
    through(&mut w, 5, DATA, 0b0011, false);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqO), [(3, 0b0010, 0)]);
    assert_eq!(w.sent(FwdOp::ReqO)[0].get("for_wt"), 1, "the old owner answers the writer");
    assert_eq!(answers(&w, RspOp::RspWt), [(5, 0b0001, 0)]);
    let l = w.line(DATA).expect("here");
    assert_eq!((l.owned, l.dirty, l.words[1]), (0b0100, true, base(DATA, 1) + 2));
    saw(&w, "llc.ReqWT.V");
    saw(&w, "llc.ReqWT.O");
}

#[test]
fn write_through_to_the_owner() {
    let mut w = world();
    own(&mut w, 3, DATA, 0b0110);
    through(&mut w, 5, DATA, 0b0011, true);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqWt), [(3, 0b0010, 0)]);
    assert_eq!(answers(&w, RspOp::RspWt), [(5, 0b0001, 0)]);
    assert_eq!(line(&w, DATA), (1, 0b0110, 0), "the owner stays");
    assert_eq!(w.devs[3].copies[&(DATA, 1)].value, base(DATA, 1) + 1);
    saw(&w, "llc.ReqWTfwd.V");
    saw(&w, "llc.ReqWTfwd.O");
    // It may have given the word back meanwhile: then the LLC writes it.
    w.log.clear();
    w.devs[3].hold_fwd = true;
    through(&mut w, 5, DATA, 0b0010, true);
    w.rest(40);
    w.give_back(3, DATA, 0b0010);
    w.rest(40);
    end(&mut w);
    assert_eq!(w.done["NackWT"], 1);
    assert_eq!(line(&w, DATA), (1, 0b0100, 0));
}

#[test]
fn ownership_without_data() {
    let mut w = world();
    own(&mut w, 3, DATA, 0b0110);
    ask(&mut w, 4, ReqOp::ReqO, DATA, 0b0011);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::ReqO), [(3, 0b0010, 0)]);
    assert_eq!(w.sent(FwdOp::ReqO)[0].get("for_wt"), 0);
    assert_eq!(answers(&w, RspOp::RspO), [(4, 0b0001, 0)]);
    let l = w.line(DATA).expect("here");
    assert_eq!((l.owned, &l.words[..3]), (0b0111, &[4, 4, 3][..]), "the data field holds the owner");
    saw(&w, "llc.ReqO.V");
    saw(&w, "llc.ReqO.O");
}

/// Every write-type request of a word of a shared line asks all sharers first.
#[test]
fn writes_to_a_shared_line() {
    let requests: [(&str, ReqOp, WordOp, bool); 5] = [
        ("ReqWT", ReqOp::ReqWt, WordOp::Read, false),
        ("ReqWTfwd", ReqOp::ReqWt, WordOp::Read, true),
        ("ReqO", ReqOp::ReqO, WordOp::Read, false),
        ("ReqWTdata", ReqOp::ReqWtData, WordOp::Read, false),
        ("ReqOdata", ReqOp::ReqOData, WordOp::Read, false),
    ];
    for (name, op, amo, fwd) in requests {
        for sharers in [SharerMode::Exact, SharerMode::Broadcast] {
            let mut w = with(&LlcParams { sharers, ..small() }, &WORDS);
            own(&mut w, 0, DATA, ALL);
            ask(&mut w, 1, ReqOp::ReqS, DATA, ALL);
            settle(&mut w);
            // The answer must not come before the last Ack.
            w.devs[1].hold_fwd = true;
            assert!(w.ask_for(3, (op, amo), DATA, 1, (false, fwd)));
            w.rest(60);
            assert!(w.log.iter().all(|(_, to, _)| matches!(to, To::Fwd(_))), "{name} is answered too early");
            end(&mut w);
            let all: &[u64] = if sharers == SharerMode::Exact { &[0, 1] } else { &[0, 1, 2] };
            let got: Vec<u64> = forwards(&w, FwdOp::Inv).iter().map(|f| f.0).collect();
            assert_eq!(got, all);
            assert_eq!((line(&w, DATA).0, line(&w, DATA).2), (1, 0));
            saw(&w, &format!("llc.phase1.{name}.S"));
            saw(&w, &format!("llc.{name}.S"));
            saw(&w, "llc.blocked.PHASE1.Ack");
        }
    }
}

/// Some words of a request are owned, the others V or S: each goes by its own row, in one message to the bank.
#[test]
fn words_of_one_request_in_different_states() {
    // Who asks, what the owner of word 1 gets, what the bank answers itself and for which words, who owns words afterwards.
    let requests = [
        ("ReqV", 5, ReqOp::ReqV, FwdOp::ReqV, (RspOp::RspV, 0b01), 0b10),
        ("ReqWT", 5, ReqOp::ReqWt, FwdOp::ReqO, (RspOp::RspWt, 0b01), 0),
        ("ReqWTfwd", 5, ReqOp::ReqWt, FwdOp::ReqWt, (RspOp::RspWt, 0b01), 0b10),
        ("ReqO", 4, ReqOp::ReqO, FwdOp::ReqO, (RspOp::RspO, 0b01), 0b11),
        ("ReqWTdata", 5, ReqOp::ReqWtData, FwdOp::RvkO, (RspOp::RspWtData, 0b11), 0),
        ("ReqOdata", 4, ReqOp::ReqOData, FwdOp::ReqOData, (RspOp::RspOData, 0b01), 0b11),
    ];
    for (name, asker, op, to_owner, (answer, words), owned) in requests {
        for shared in [false, true] {
            let mut w = policy(ReqsPolicy::Opt1);
            own(&mut w, 3, DATA, 0b10);
            if shared {
                ask(&mut w, 1, ReqOp::ReqS, DATA, 0b100);
                settle(&mut w);
                assert_eq!(line(&w, DATA), (2, 0b10, 0b10));
            }
            assert!(w.ask_for(asker, (op, WordOp::Read), DATA, 0b11, (false, name == "ReqWTfwd")));
            end(&mut w);
            let asked: Vec<_> = forwards(&w, to_owner).iter().map(|f| (f.0, f.1 | f.2)).collect();
            assert_eq!(asked, [(3, 0b10)], "{name}");
            let got: Vec<_> = answers(&w, answer).iter().map(|a| (a.0, a.1)).collect();
            assert_eq!(got, [(asker as u64, words)], "{name}");
            let stays = shared && op == ReqOp::ReqV;
            let invalidated = forwards(&w, FwdOp::Inv).iter().map(|f| f.0).collect::<Vec<_>>();
            assert_eq!(invalidated, if shared && !stays { vec![1] } else { vec![] }, "{name}");
            assert_eq!(line(&w, DATA), if stays { (2, owned, 0b10) } else { (1, owned, 0) }, "{name}");
            saw(&w, &format!("race.llc_mixed_{name}_{}", if shared { "S" } else { "V" }));
        }
    }
}

/// The same of a ReqS under each policy.
#[test]
fn words_of_one_shared_read_in_different_states() {
    let policies = [
        (ReqsPolicy::Opt1, false, "ReqS1_V", FwdOp::ReqS, RspOp::RspS, (2, 0, 0b100)),
        (ReqsPolicy::Opt1, true, "ReqS1_S", FwdOp::ReqS, RspOp::RspS, (2, 0, 0b110)),
        (ReqsPolicy::Opt2, false, "ReqS2_V", FwdOp::ReqV, RspOp::RspV, (1, 0b10, 0)),
        (ReqsPolicy::Opt3, false, "ReqS3_V", FwdOp::ReqOData, RspOp::RspOData, (1, 0b11, 0)),
    ];
    for (reqs, shared, name, to_owner, answer, after) in policies {
        let mut w = policy(reqs);
        own(&mut w, 3, DATA, 0b10);
        if shared {
            ask(&mut w, 1, ReqOp::ReqS, DATA, 0b100);
            settle(&mut w);
        }
        ask(&mut w, 2, ReqOp::ReqS, DATA, 0b11);
        end(&mut w);
        let asked: Vec<_> = forwards(&w, to_owner).iter().map(|f| (f.0, f.1)).collect();
        assert_eq!(asked, [(3, 0b10)], "{name}");
        let got: Vec<_> = answers(&w, answer).iter().map(|a| (a.0, a.1)).collect();
        assert_eq!((got, line(&w, DATA)), (vec![(2, 0b01)], after), "{name}");
        saw(&w, &format!("race.llc_mixed_{name}"));
    }
}

/// A requestor of the whole line gets no Inv; the others do. Alone it does not wait at all.
#[test]
fn an_upgrade() {
    let mut w = world();
    shared(&mut w, A, ALL);
    ask(&mut w, 1, ReqOp::ReqOData, A, ALL);
    end(&mut w);
    assert_eq!(forwards(&w, FwdOp::Inv).iter().map(|f| f.0).collect::<Vec<_>>(), [0]);
    assert_eq!(line(&w, A), (1, ALL, 0));
    saw(&w, "race.llc_upgrade");
    let mut w = policy(ReqsPolicy::Opt1);
    ask(&mut w, 1, ReqOp::ReqS, A, ALL);
    settle(&mut w);
    ask(&mut w, 1, ReqOp::ReqOData, A, ALL);
    end(&mut w);
    assert_eq!((forwards(&w, FwdOp::Inv).len(), line(&w, A)), (0, (1, ALL, 0)));
    // Of single words it gets one, like everybody.
    w.give_back(1, A, ALL);
    settle(&mut w);
    ask(&mut w, 1, ReqOp::ReqS, A, ALL);
    settle(&mut w);
    ask(&mut w, 1, ReqOp::ReqOData, A, 1);
    end(&mut w);
    assert_eq!((forwards(&w, FwdOp::Inv).len(), line(&w, A)), (1, (1, 1, 0)));
    saw(&w, "race.llc_inv_to_requestor");
}

#[test]
fn updates_revoke_lines_or_words() {
    for (rvko, lost) in [(RvkoGran::Line, [0b0011, 0b1100]), (RvkoGran::Word, [0b0010, 0b1000])] {
        let mut w = with(&LlcParams { rvko, ..small() }, &WORDS);
        own(&mut w, 3, A, 0b0011);
        own(&mut w, 4, A, 0b1100);
        w.work(4, A, 3);
        add(&mut w, 5, A, 0b1010);
        end(&mut w);
        assert_eq!(forwards(&w, FwdOp::RvkO), [(3, 0, lost[0]), (4, 0, lost[1])]);
        assert_eq!(answers(&w, RspOp::RspWtData), [(5, 0b1010, 0)]);
        let l = w.line(A).expect("here");
        assert_eq!((l.owned, l.dirty), (ALL & !lost[0] & !lost[1], true));
        assert_eq!(
            (l.words[1], l.words[3]),
            (base(A, 1) + 2, base(A, 3) + 3),
            "owners add 1 when they get it"
        );
        for name in [
            "llc.phase1.ReqWTdata.O",
            "llc.ReqWTdata.V",
            "llc.blocked.PHASE1.RvkO",
            "llc.blocked.PHASE1.Done",
        ] {
            saw(&w, name);
        }
    }
}

/// Acks and words may come in any order; all must have come.
#[test]
fn phase_1_waits_for_sharers_and_owners() {
    for last in [0, 1, 3] {
        let mut w = world();
        own(&mut w, 3, A, 0b0010);
        shared(&mut w, A, 0b0001);
        assert_eq!(line(&w, A), (2, 0b0010, 0b11), "a shared line with an owned word");
        w.devs[last].hold_fwd = true;
        assert!(w.ask(5, ReqOp::ReqWtData, A, ALL));
        w.rest(80);
        assert_eq!(answers(&w, RspOp::RspWtData), [], "{last} has not answered");
        assert_eq!((forwards(&w, FwdOp::Inv).len(), forwards(&w, FwdOp::RvkO).len()), (2, 1));
        end(&mut w);
        assert_eq!(line(&w, A), (1, 0, 0));
        saw(&w, "race.llc_inv_and_rvko");
    }
}

/// Owned words that no sharer has are revoked alone; the sharers stay.
#[test]
fn an_update_of_an_owned_word_of_a_shared_line() {
    let mut w = world();
    own(&mut w, 3, A, 0b0010);
    shared(&mut w, A, 0b0001);
    add(&mut w, 5, A, 0b0010);
    end(&mut w);
    assert_eq!((forwards(&w, FwdOp::Inv).len(), forwards(&w, FwdOp::RvkO).len()), (0, 1));
    assert_eq!(line(&w, A), (2, 0, 0b11));
    saw(&w, "llc.ReqWTdata.S");
}

#[test]
fn a_write_to_a_shared_line_with_owned_words() {
    let mut w = world();
    own(&mut w, 3, A, 0b0010);
    shared(&mut w, A, 0b0001);
    ask(&mut w, 4, ReqOp::ReqOData, A, 0b0011);
    end(&mut w);
    assert_eq!((forwards(&w, FwdOp::Inv).len(), forwards(&w, FwdOp::ReqOData).len()), (2, 1));
    assert_eq!(line(&w, A), (1, 0b0011, 0));
    saw(&w, "race.llc_owned_in_shared");
}

/// Words owned by two devices, and words that nobody owns, change hands in one cycle.
#[test]
fn all_words_of_a_request_change_at_once() {
    for op in [ReqOp::ReqOData, ReqOp::ReqO, ReqOp::ReqWt] {
        let mut w = world();
        own(&mut w, 3, DATA, 0b0010);
        own(&mut w, 4, DATA, 0b0100);
        let before = w.line(DATA).expect("here");
        let before = (before.owned, before.words);
        // Nothing leaves while the words change: forwards follow one by one.
        w.b.sink_mut("fwd").chance = 0.0;
        assert!(w.ask(2, op, DATA, ALL));
        let mut seen = vec![before];
        for _ in 0..60 {
            w.step(false);
            let l = w.line(DATA).expect("here");
            if seen.last() != Some(&(l.owned, l.words.clone())) {
                seen.push((l.owned, l.words));
            }
        }
        assert_eq!(seen.len(), 2, "{op:?}: one step: {seen:x?}");
        let owner = if op == ReqOp::ReqWt { (0, false) } else { (ALL, true) };
        assert_eq!((seen[1].0, seen[1].1.iter().all(|word| *word == 2)), owner);
        w.b.sink_mut("fwd").chance = 1.0;
        end(&mut w);
        let kind = if op == ReqOp::ReqOData { FwdOp::ReqOData } else { FwdOp::ReqO };
        assert_eq!(forwards(&w, kind), [(3, 0b0010, 0), (4, 0b0100, 0)]);
        saw(&w, "race.llc_mixed_words");
        saw(&w, "race.llc_several_owners");
    }
}

/// Whole-line devices that want the same words do not hold them against each other.
#[test]
fn two_lines_wanted_by_everybody() {
    let kinds = [Kind::Mesi, Kind::Mesi, Kind::Mesi, Kind::DeNovo, Kind::DeNovo, Kind::Gpu];
    let mut w = with(&small(), &kinds);
    w.delay = 30;
    for round in 0..200 {
        for d in 0..5 {
            w.ask(d, ReqOp::ReqOData, [A, B][round % 2], ALL);
        }
        w.rest(round as u64 % 30);
        for d in 0..5 {
            w.give_back(d, A, ALL);
        }
    }
    end(&mut w);
    assert!(w.done["removal in PD"] > 50, "{:?}", w.done);
}

#[test]
fn a_write_back_crosses_a_revocation() {
    // The device's answer comes first.
    let mut w = world();
    own(&mut w, 3, A, 0b0011);
    w.b.source_mut("wb").chance = 0.0;
    w.give_back(3, A, 0b0011);
    add(&mut w, 5, A, 0b0010);
    w.rest(60);
    assert_eq!(answers(&w, RspOp::RspWtData), []);
    for name in ["race.llc_nodata_before_wb", "llc.blocked.PHASE1.NoData"] {
        saw(&w, name);
    }
    end(&mut w);
    assert_eq!(answers(&w, RspOp::RspWb), [(3, 0b0011, 0b0011)], "crossed");
    for name in ["race.llc_wb_crosses_rvko", "race.llc_wb_last", "llc.blocked.PHASE1.ReqWB", "llc.ReqWB.mine"]
    {
        saw(&w, name);
    }
    // The write-back comes first.
    let mut w = world();
    own(&mut w, 3, A, 0b0011);
    w.devs[3].hold_fwd = true;
    add(&mut w, 5, A, 0b0010);
    w.rest(40);
    w.give_back(3, A, 0b0011);
    w.rest(40);
    assert_eq!(answers(&w, RspOp::RspWb), [(3, 0b0011, 0b0011)]);
    assert_eq!(answers(&w, RspOp::RspWtData), []);
    end(&mut w);
    saw(&w, "race.llc_nodata_after_wb");
}

#[test]
fn a_write_back_comes_before_the_revocation_has_left() {
    let mut w = world();
    own(&mut w, 3, A, 0b0001);
    own(&mut w, 4, A, 0b0010);
    w.b.sink_mut("fwd").chance = 0.0;
    assert!(w.ask(5, ReqOp::ReqWtData, A, 0b0011));
    w.rest(30);
    w.give_back(4, A, 0b0010);
    w.rest(30);
    saw(&w, "race.llc_wb_before_rvko_leaves");
    end(&mut w);
    assert_eq!(answers(&w, RspOp::RspWb), [(4, 0b0010, 0b0010)], "it will come");
    assert_eq!(forwards(&w, FwdOp::RvkO).len(), 2);
}

#[test]
fn a_write_back_beside_a_phase_1() {
    let mut w = world();
    own(&mut w, 3, A, 0b0010);
    shared(&mut w, A, 0b0001);
    w.devs[0].hold_fwd = true;
    ask(&mut w, 4, ReqOp::ReqOData, A, 0b0011);
    w.rest(40);
    w.give_back(3, A, 0b0010);
    w.rest(40);
    assert_eq!(answers(&w, RspOp::RspWb), [(3, 0b0010, 0)], "nobody has asked for it");
    end(&mut w);
    assert_eq!(answers(&w, RspOp::RspOData), [(4, 0b0011, 0)], "as the words are when it commits");
    saw(&w, "race.llc_wb_beside_phase1");
}

#[test]
fn stale_write_backs_are_dropped() {
    let mut w = world();
    own(&mut w, 3, DATA, 0b0011);
    w.devs[3].hold_fwd = true;
    ask(&mut w, 4, ReqOp::ReqO, DATA, 0b0001);
    w.rest(40);
    w.give_back(3, DATA, 0b0011);
    w.rest(40);
    assert_eq!(answers(&w, RspOp::RspWb), [(3, 0b0011, 0b0001)], "of one word another is the owner");
    assert_eq!(line(&w, DATA), (1, 0b0001, 0));
    end(&mut w);
    for name in ["llc.ReqWB.other", "race.llc_wb_partly_stale", "race.llc_wb_stale"] {
        saw(&w, name);
    }
    // The same when the line is not even here any more.
    w.give_back(4, DATA, ALL);
    settle(&mut w);
    own(&mut w, 3, DATA, 0b0001);
    w.devs[3].hold_fwd = true;
    through(&mut w, 5, DATA, 0b0001, false);
    w.rest(40);
    for other in [A, B, C] {
        ask(&mut w, 5, ReqOp::ReqV, other, ALL);
        w.rest(40);
    }
    assert!(w.line(DATA).is_none());
    w.log.clear();
    w.give_back(3, DATA, 0b0001);
    w.rest(40);
    assert_eq!(answers(&w, RspOp::RspWb), [(3, 0b0001, 0b0001)]);
    saw(&w, "llc.ReqWB.absent");
    end(&mut w);
}

/// Words go from owner to owner; the second has not changed them, but memory has not got the first one's. If neither has, nothing is written.
#[test]
fn words_that_went_from_owner_to_owner_are_written_to_memory() {
    for changed in [true, false] {
        let kinds = [Kind::Mesi, Kind::Mesi, Kind::Flex, Kind::DeNovo, Kind::DeNovo, Kind::Gpu];
        let mut w = with(&small(), &kinds);
        own(&mut w, 3, DATA, ALL);
        if changed {
            w.work(3, DATA, 1);
        }
        ask(&mut w, 0, ReqOp::ReqS, DATA, ALL);
        settle(&mut w);
        assert_eq!(w.devs[0].held(DATA, true), ALL);
        w.give_back(0, DATA, ALL);
        settle(&mut w);
        assert_eq!(w.line(DATA).expect("here").dirty, changed);
        for other in [A, B] {
            ask(&mut w, 5, ReqOp::ReqV, other, ALL);
            settle(&mut w);
        }
        assert!(w.line(DATA).is_none());
        assert_eq!(w.done.get("memory writes").copied().unwrap_or(0), u64::from(changed));
        ask(&mut w, 5, ReqOp::ReqV, DATA, ALL);
        end(&mut w);
    }
}

/// A line goes where nothing has to be asked, if there is such a way.
#[test]
fn victims() {
    let mut w = world();
    own(&mut w, 3, A, 0b0001);
    ask(&mut w, 5, ReqOp::ReqV, B, ALL);
    settle(&mut w);
    own(&mut w, 3, A, 0b0010);
    // A was used last, but is held: B goes.
    ask(&mut w, 5, ReqOp::ReqV, A, 0b1000);
    settle(&mut w);
    ask(&mut w, 5, ReqOp::ReqV, C, ALL);
    settle(&mut w);
    assert!(w.line(A).is_some() && w.line(B).is_none());
    for name in
        ["llc.miss.fetch.empty", "llc.miss.fetch.clean", "llc.blocked.FILL.Memory", "llc.blocked.FILL.Done"]
    {
        saw(&w, name);
    }
    // A dirty line goes to memory.
    through(&mut w, 5, C, 0b0001, false);
    settle(&mut w);
    ask(&mut w, 5, ReqOp::ReqV, B, ALL);
    end(&mut w);
    assert_eq!(w.done["memory writes"], 1);
    saw(&w, "llc.miss.fetch.dirty");
}

/// Both ways are held: owners and sharers of one are asked.
#[test]
fn an_eviction_asks_owners_and_sharers() {
    for clean in [true, false] {
        let mut w = world();
        own(&mut w, 3, A, 0b0010);
        shared(&mut w, A, 0b0001);
        ask(&mut w, 3, ReqOp::ReqOData, B, 0b0001);
        settle(&mut w);
        if clean {
            // Everything has been to memory.
            assert!(!w.line(B).expect("here").dirty);
        }
        w.ask_for(5, (ReqOp::ReqV, WordOp::Read), B, 0b0010, (false, false));
        settle(&mut w);
        w.devs[1].hold_fwd = true;
        let other = if clean { C } else { DATA };
        if clean {
            ask(&mut w, 5, ReqOp::ReqV, other, ALL);
        } else {
            through(&mut w, 5, other, ALL, false);
        }
        w.rest(60);
        assert_eq!(forwards(&w, FwdOp::Inv).iter().map(|f| f.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(forwards(&w, FwdOp::RvkO), [(3, 0, 0b0010)]);
        assert_eq!(w.line(A).map(|l| l.owned), Some(0), "the word is back, an Ack is missing");
        // Requests of both lines wait.
        ask(&mut w, 4, ReqOp::ReqV, A, ALL);
        ask(&mut w, 4, ReqOp::ReqV, other, 0b0001);
        w.rest(30);
        assert_eq!(w.b.sim.peek("stalled").map(|s| s.low_u64().count_ones()), Some(2));
        end(&mut w);
        let names =
            ["held", "dirty_out"].map(|f| format!("llc.miss.{}.{f}", if clean { "fetch" } else { "whole" }));
        names.iter().for_each(|name| saw(&w, name));
        for name in [
            "race.llc_evict_both",
            "llc.blocked.EVICT.Ack",
            "llc.blocked.EVICT.RvkO",
            "llc.blocked.EVICT.Done",
            "race.llc_joins_coming",
        ] {
            saw(&w, name);
        }
    }
}

/// Words that an owner has not changed come back clean: nothing is written.
#[test]
fn an_eviction_of_clean_words() {
    for whole in [false, true] {
        let mut w = world();
        own(&mut w, 3, A, 0b0001);
        own(&mut w, 3, B, 0b0001);
        if whole {
            through(&mut w, 5, DATA, ALL, false);
        } else {
            ask(&mut w, 5, ReqOp::ReqV, C, ALL);
        }
        end(&mut w);
        assert_eq!(w.done.get("memory writes"), None);
        saw(&w, if whole { "llc.miss.whole.clean_out" } else { "llc.miss.fetch.clean_out" });
    }
}

#[test]
fn an_eviction_crosses_a_write_back() {
    let mut w = world();
    own(&mut w, 3, A, 0b0001);
    own(&mut w, 3, B, 0b0001);
    w.work(3, A, 0);
    w.b.source_mut("wb").chance = 0.0;
    w.give_back(3, A, 0b0001);
    ask(&mut w, 5, ReqOp::ReqV, C, ALL);
    w.rest(60);
    saw(&w, "llc.blocked.EVICT.NoData");
    assert!(w.line(A).is_some(), "the data is missing");
    end(&mut w);
    assert_eq!(w.done["memory writes"], 1);
    saw(&w, "llc.blocked.EVICT.ReqWB");
}

/// Requests of whole lines that overwrite or own them read nothing.
#[test]
fn whole_lines_are_not_fetched() {
    let mut w = world();
    ask(&mut w, 3, ReqOp::ReqO, DATA, ALL);
    settle(&mut w);
    assert_eq!(line(&w, DATA), (1, ALL, 0));
    assert_eq!(w.done.get("memory reads"), None);
    saw(&w, "llc.miss.whole.empty");
    w.give_back(3, DATA, ALL);
    settle(&mut w);
    assert!(w.line(DATA).expect("here").dirty);
    ask(&mut w, 5, ReqOp::ReqV, A, ALL);
    settle(&mut w);
    let other = 2 * 18 + 1;
    w.lines.push(other);
    through(&mut w, 5, other, ALL, false);
    settle(&mut w);
    saw(&w, "llc.miss.whole.dirty");
    assert_eq!((w.done["memory reads"], w.done["memory writes"]), (1, 1));
    through(&mut w, 5, DATA, ALL, false);
    end(&mut w);
    saw(&w, "llc.miss.whole.clean");
}

/// A list replays in order; a request that blocks again takes the rest along.
#[test]
fn stall_lists() {
    let mut w = world();
    w.below.held_lines.insert(DATA);
    ask(&mut w, 5, ReqOp::ReqV, DATA, 0b1000);
    w.rest(20);
    ask(&mut w, 3, ReqOp::ReqO, DATA, 0b0001);
    w.rest(20);
    ask(&mut w, 4, ReqOp::ReqWtData, DATA, 0b0001);
    w.rest(20);
    ask(&mut w, 2, ReqOp::ReqV, DATA, 0b0011);
    w.rest(20);
    assert_eq!(w.b.sim.peek("stalled").map(|s| s.low_u64()), Some(0b111));
    w.devs[3].hold_fwd = true;
    release(&mut w, DATA);
    w.rest(60);
    for name in
        ["llc.blocked.FILL.Req", "race.llc_replay", "race.llc_replay_blocks", "race.llc_replay_takes_rest"]
    {
        saw(&w, name);
    }
    assert_eq!(w.b.sim.peek("stalled").map(|s| s.low_u64().count_ones()), Some(1), "one still waits");
    assert_eq!(answers(&w, RspOp::RspV), [(5, 0b1000, 0)]);
    ask(&mut w, 1, ReqOp::ReqV, DATA, 0b0001);
    w.rest(20);
    saw(&w, "llc.blocked.PHASE1.Req");
    end(&mut w);
}

/// Every way of the set is blocked: a miss waits in the list of one of them, and finds its line on its way by another when it is its turn.
#[test]
fn a_miss_finds_all_ways_blocked() {
    for whole in [false, true] {
        let mut w = world();
        let wanted = if whole { DATA } else { C };
        for line in [A, B, wanted] {
            w.below.held_lines.insert(line);
        }
        ask(&mut w, 3, ReqOp::ReqV, A, ALL);
        w.rest(20);
        ask(&mut w, 3, ReqOp::ReqV, B, ALL);
        w.rest(20);
        if whole {
            through(&mut w, 4, wanted, ALL, false);
        } else {
            ask(&mut w, 4, ReqOp::ReqV, wanted, ALL);
        }
        w.rest(20);
        saw(&w, if whole { "llc.miss.whole.full" } else { "llc.miss.fetch.full" });
        saw(&w, "race.llc_set_full");
        release(&mut w, B);
        w.rest(20);
        ask(&mut w, 5, ReqOp::ReqV, wanted, 0b0001);
        w.rest(20);
        release(&mut w, A);
        w.rest(20);
        saw(&w, "race.llc_replay_moves");
        release(&mut w, wanted);
        end(&mut w);
    }
}

/// With all TBEs in use requests wait at the channel, and nothing else does.
#[test]
fn only_requests_wait_for_tbes() {
    let mut w = with(&small().sized(|b| Bank { ways: 4, size: 2 * b.size, ..b }), &WORDS);
    own(&mut w, 3, DATA, 0b0001);
    for line in [A, B, C] {
        w.below.held_lines.insert(line);
        ask(&mut w, 5, ReqOp::ReqV, line, ALL);
    }
    w.rest(60);
    ask(&mut w, 4, ReqOp::ReqV, DATA, 0b0010);
    w.rest(60);
    assert!(w.b.counted("llc_req_no_tbe") > 50);
    assert_eq!(answers(&w, RspOp::RspV), []);
    w.give_back(3, DATA, 0b0001);
    w.rest(40);
    assert_eq!(answers(&w, RspOp::RspWb), [(3, 1, 0)], "write-backs pass");
    for line in [A, B, C] {
        release(&mut w, line);
    }
    end(&mut w);
}

/// With FWD stuck, write-backs and answers are still taken.
#[test]
fn a_stuck_fwd_stops_requests_only() {
    let mut w = world();
    own(&mut w, 3, A, 0b0011);
    w.b.sink_mut("fwd").chance = 0.0;
    for d in [0, 1, 2, 4, 5] {
        ask(&mut w, d, ReqOp::ReqV, A, 0b0001);
    }
    w.rest(100);
    assert!(w.b.counted("llc_req_no_room") > 50);
    w.give_back(3, A, 0b0010);
    w.rest(40);
    assert_eq!(answers(&w, RspOp::RspWb), [(3, 0b0010, 0)]);
    end(&mut w);
}

/// A stream of hits in a set lets a fill of the set commit.
#[test]
fn a_stream_of_hits_lets_a_fill_pass() {
    let mut w = world();
    ask(&mut w, 5, ReqOp::ReqV, A, ALL);
    settle(&mut w);
    through(&mut w, 5, B, 1, false);
    let end = w.b.sim.cycle() + 400;
    let mut flows = 0;
    while w.answers(RspOp::RspWt).is_empty() && w.b.sim.cycle() < end {
        for (d, word) in (0..5).flat_map(|d| (0..4).map(move |word| (d, word))) {
            flows += usize::from(w.ask(d, ReqOp::ReqV, A, 1 << word));
        }
        w.step(false);
    }
    assert!(w.b.sim.cycle() < end, "starved by {flows} hits");
}
