//! Each row of the tables and each race by itself.

use super::{MIXED, small};
use crate::gpu_l2::l3::{From, State, cpu_reads, cpu_writes, replaced};
use crate::gpu_l2::world::{PERM_E, PERM_M, PERM_S, World, world_of};
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::gpu_l2::{GpuL2Fault, GpuL2Params};
use weft_spandex::hmesi::msg::HRspOp;
use weft_spandex::llc::RvkoGran;
use weft_spandex::mesi_port::Get;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_spandex::params::Spandex;

/// Lines of set 0, by number; `DATA` has no counters. `OTHER` is of set 1.
const A: u64 = 2 * 14 + 1;
const B: u64 = 2 * 16 + 1;
const C: u64 = 2 * 20 + 1;
const D: u64 = 2 * 22 + 1;
const DATA: u64 = 2 * 12 + 1;
const OTHER: u64 = 2 * 13 + 1;
const ALL: u64 = 0xf;

/// Devices with GPU coherence, and with ownership.
const GPU: usize = 5;
const OWNER: usize = 1;
const OWNER_TOO: usize = 2;

/// A bank whose networks are fast, above an L3 that wants nothing by itself, and which is clear by now.
fn with(p: &GpuL2Params) -> World {
    let mut w = world_of(p, &MIXED, 1, 1);
    w.lines = vec![A, B, C, D, DATA, OTHER];
    (w.delay, w.below.pester) = (0, 0.0);
    w.b.run(20);
    w
}

fn world() -> World {
    with(&small())
}

/// Everything ends well; what is sent from now on is looked at.
fn settle(w: &mut World) {
    w.finish();
    w.check();
    w.log.clear();
    w.below.log.clear();
}

fn end(w: &mut World) {
    w.finish();
    w.check();
}

fn ask(w: &mut World, d: usize, op: ReqOp, line: u64, mask: u64) {
    assert!(w.ask(d, op, line, mask));
}

fn add(w: &mut World, d: usize, line: u64, mask: u64) {
    assert!(w.ask_for(d, (ReqOp::ReqWtData, WordOp::Add), line, mask, (false, false)));
}

fn through(w: &mut World, d: usize, line: u64, mask: u64) {
    assert!(w.ask_for(d, (ReqOp::ReqWt, WordOp::Read), line, mask, (false, false)));
}

fn saw(w: &World, name: &str) {
    assert!(w.b.counted(&format!("spandex.{name}")) > 0, "{name} was not seen");
}

/// What the L3 has granted of a line, and its owned words.
fn held(w: &World, line: u64) -> (u64, u64) {
    w.line(line).map_or((0, 0), |l| (l.state, l.owned))
}

/// A line in I, S, E, M, or in M with owned words.
fn make(w: &mut World, line: u64, state: &str) {
    match state {
        "S" => {
            cpu_reads(w, line, 0);
            cpu_reads(w, line, 1);
            ask(w, GPU, ReqOp::ReqV, line, 1);
        }
        "E" => ask(w, GPU, ReqOp::ReqV, line, 1),
        "M" => through(w, GPU, line, 1),
        "O" => {
            ask(w, OWNER, ReqOp::ReqOData, line, 0b0011);
            settle(w);
            ask(w, OWNER_TOO, ReqOp::ReqOData, line, 0b0100);
            settle(w);
            w.work(OWNER, line, 1);
        }
        _ => {}
    }
    settle(w);
    let found = match state {
        "S" => (PERM_S, 0),
        "E" => (PERM_E, 0),
        "M" => (PERM_M, 0),
        "O" => (PERM_M, 0b0111),
        _ => (0, 0),
    };
    assert_eq!(held(w, line), found, "{state}");
}

/// Kinds of the bank's answers to the L3 and CPUs: op, to whom, dirty, kept.
fn replies(w: &World) -> Vec<(u64, u64, u64, u64)> {
    let of = |m: &weft_spandex_bench::bench::Msg| (m.get("op"), m.get("dst"), m.get("dirty"), m.get("kept"));
    w.below.log.iter().filter(|l| l.0 == From::Rsp).map(|(_, m)| of(m)).collect()
}

fn l3_node(w: &World) -> u64 {
    u64::from(w.p.s.l3_node(1))
}

fn gets(op: Get, lines: &[u64]) -> Vec<(u64, u64)> {
    lines.iter().map(|l| (op as u64, *l)).collect()
}

/// FwdGetS, FwdGetM, Recall.
const WANTS: [(&str, fn(&mut World, u64, u64) -> bool); 3] =
    [("FwdGetS", cpu_reads), ("FwdGetM", cpu_writes), ("Recall", |w, line, _| replaced(w, line))];

fn reply(w: &World, want: &str, dirty: bool, kept: bool) -> Vec<(u64, u64, u64, u64)> {
    let (wb, data_s, data_m) = (HRspOp::WbData as u64, HRspOp::DataS as u64, HRspOp::DataM as u64);
    let wb = (wb, l3_node(w), u64::from(dirty), u64::from(kept));
    match want {
        "FwdGetS" => vec![(data_s, 1, 0, 0), wb],
        "FwdGetM" => vec![(data_m, 1, 0, 0)],
        _ => vec![wb],
    }
}

/// Each forward at each stable state.
#[test]
fn forwards_find_the_line_in_e_m_or_owned() {
    for (want, ask) in WANTS {
        for state in ["E", "M", "O"] {
            let mut w = world();
            make(&mut w, A, state);
            assert!(ask(&mut w, A, 1));
            end(&mut w);
            let shares = want == "FwdGetS";
            assert_eq!(replies(&w), reply(&w, want, state != "E", shares), "{want} at {state}");
            assert_eq!(held(&w, A), (if shares { PERM_S } else { 0 }, 0));
            saw(&w, &format!("gpu_l2.client.{state}.{want}"));
            if state == "O" {
                assert_eq!(w.sent(FwdOp::RvkO).len(), 2, "each owner is asked once");
                saw(&w, &format!("gpu_l2.client.RVK.{want}"));
                saw(&w, "gpu_l2.blocked.REVOKE.RvkO");
            }
            // A reader below sees what the CPU has written.
            assert!(w.ask(GPU, ReqOp::ReqV, A, ALL));
            end(&mut w);
        }
    }
}

/// Each forward at a line whose Put is on its way: answered from the buffer, and the Put is stale.
#[test]
fn forwards_find_the_line_leaving() {
    for (want, wants) in WANTS {
        for dirty in [false, true] {
            let mut w = world();
            make(&mut w, DATA, if dirty { "M" } else { "E" });
            make(&mut w, B, "E");
            w.below.deaf = true;
            ask(&mut w, GPU, ReqOp::ReqV, C, 1);
            w.rest(30);
            assert_eq!((w.below.puts(), w.below.gets()), (vec![(DATA, dirty)], gets(Get::GetS, &[C])));
            assert!(wants(&mut w, DATA, 1));
            // A request for it waits for the WBAck.
            ask(&mut w, OWNER, ReqOp::ReqV, DATA, 1);
            w.rest(30);
            assert_eq!(replies(&w), reply(&w, want, dirty, false), "{want}");
            assert_eq!(w.below.gets().len(), 1);
            end(&mut w);
            for name in [&format!("client.MI.{want}"), "client.II.WBAck", "blocked.FILL.Req"] {
                saw(&w, &format!("gpu_l2.{name}"));
            }
            saw(&w, "race.gpu_l2_joins_leaving");
            assert_eq!(w.done["stale Put"], 1);
        }
    }
}

/// A forward waits for a phase 1 of its line, and for an eviction, which need nothing of the L3.
#[test]
fn forwards_wait_for_words_that_are_being_revoked() {
    for (want, wants) in WANTS {
        for evicts in [false, true] {
            let mut w = world();
            make(&mut w, A, "O");
            if evicts {
                make(&mut w, B, "E");
            }
            w.devs[OWNER].hold_fwd = true;
            if evicts {
                ask(&mut w, OWNER_TOO, ReqOp::ReqO, B, 1);
                settle_held(&mut w);
                ask(&mut w, GPU, ReqOp::ReqV, C, 1);
            } else {
                ask(&mut w, GPU, ReqOp::ReqWtData, A, 0b0011);
            }
            w.rest(30);
            assert!(wants(&mut w, A, 1));
            // Nor does a forward of another line pass.
            w.rest(30);
            assert_eq!(replies(&w), []);
            saw(&w, "race.gpu_l2_forward_waits_for_phase1");
            end(&mut w);
            saw(&w, if evicts { "gpu_l2.blocked.EVICT.Done" } else { "gpu_l2.blocked.PHASE1.Done" });
            let state = if evicts { "MI" } else { "O" };
            saw(&w, &format!("gpu_l2.client.{state}.{want}"));
        }
    }
}

/// Steps on although a device does not answer.
fn settle_held(w: &mut World) {
    w.rest(60);
    w.log.clear();
    w.below.log.clear();
}

/// Requests that come while words are revoked for a forward wait, and ask the L3 again.
#[test]
fn requests_wait_for_a_forward() {
    let mut w = world();
    make(&mut w, A, "O");
    w.devs[OWNER].hold_fwd = true;
    assert!(cpu_writes(&mut w, A, 0));
    w.rest(20);
    ask(&mut w, GPU, ReqOp::ReqV, A, ALL);
    ask(&mut w, 4, ReqOp::ReqV, A, ALL);
    // The other set goes on.
    ask(&mut w, 4, ReqOp::ReqV, OTHER, 1);
    w.rest(40);
    assert_eq!(w.answers(RspOp::RspV).len(), 1);
    assert_eq!(w.below.gets(), gets(Get::GetS, &[OTHER]));
    end(&mut w);
    assert_eq!(w.below.gets(), gets(Get::GetS, &[OTHER, A]));
    for name in
        ["gpu_l2.blocked.REVOKE.Req", "race.gpu_l2_stalled_behind_forward", "race.gpu_l2_replay_blocks"]
    {
        saw(&w, name);
    }
}

/// A write-back crosses the revocation for a forward.
#[test]
fn a_write_back_crosses_a_forward() {
    let mut w = world();
    make(&mut w, A, "O");
    w.devs[OWNER].hold_fwd = true;
    assert!(cpu_writes(&mut w, A, 0));
    w.rest(20);
    assert!(w.give_back(OWNER, A, 0b0011));
    w.rest(20);
    assert_eq!(held(&w, A).1, 0);
    end(&mut w);
    for name in ["wb_crosses_forward", "nodata_after_wb"] {
        saw(&w, &format!("race.gpu_l2_{name}"));
    }
    saw(&w, "gpu_l2.blocked.REVOKE.ReqWB");
    saw(&w, "gpu_l2.blocked.REVOKE.NoData");
}

/// What the L3 grants, by its own state.
#[test]
fn reads_and_writes_of_lines_that_are_not_here() {
    let shared: fn(&mut World) = |w| {
        cpu_reads(w, A, 0);
        cpu_reads(w, A, 1);
    };
    let owned: fn(&mut World) = |w| assert!(cpu_writes(w, A, 0));
    let cases: [(fn(&mut World), u64, &str); 3] =
        [(|_| {}, PERM_E, "DataE"), (shared, PERM_S, "DataS"), (owned, PERM_S, "DataS")];
    for (before, perm, message) in cases {
        let mut w = world();
        before(&mut w);
        let peer = matches!(w.below.state(A), State::Cpu(_));
        ask(&mut w, GPU, ReqOp::ReqV, A, 1);
        end(&mut w);
        assert_eq!((held(&w, A), w.below.gets()), ((perm, 0), gets(Get::GetS, &[A])));
        saw(&w, &format!("gpu_l2.client.IS.{message}"));
        let unblocks = w.below.sent(HRspOp::Unblock).len() + w.below.sent(HRspOp::UnblockX).len();
        assert_eq!(unblocks, usize::from(perm == PERM_E || peer));
        let mut w = world();
        before(&mut w);
        ask(&mut w, OWNER, ReqOp::ReqO, A, 1);
        end(&mut w);
        assert_eq!((held(&w, A), w.below.gets()), ((PERM_M, 1), gets(Get::GetM, &[A])));
        assert_eq!(w.below.sent(HRspOp::UnblockX).len(), 1);
    }
}

/// Every request that writes needs M: E becomes M in silence, S by GetM.
#[test]
fn writes_of_lines_that_are_here() {
    let requests: [fn(&mut World); 5] = [
        |w| through(w, GPU, A, 1),
        |w| ask(w, OWNER, ReqOp::ReqO, A, 1),
        |w| ask(w, OWNER, ReqOp::ReqOData, A, ALL),
        |w| add(w, GPU, A, 2),
        // A read that is serialised.
        |w| ask(w, GPU, ReqOp::ReqWtData, A, 1),
    ];
    for request in requests {
        for (state, asks) in [("S", vec![A]), ("E", vec![]), ("M", vec![])] {
            let mut w = world();
            make(&mut w, A, state);
            request(&mut w);
            end(&mut w);
            assert_eq!(w.below.gets(), gets(Get::GetM, &asks), "{state}");
            assert_eq!(held(&w, A).0, PERM_M);
            saw(&w, &format!("gpu_l2.need.write.{state}"));
        }
    }
    let mut w = world();
    make(&mut w, A, "S");
    ask(&mut w, OWNER, ReqOp::ReqV, A, ALL);
    end(&mut w);
    assert_eq!((held(&w, A).0, w.below.gets()), (PERM_S, vec![]));
}

/// InvAcks before the line and after it.
#[test]
fn invacks_are_counted_in_any_order() {
    for (kind, race) in [(HRspOp::DataM, "ack_before_data"), (HRspOp::InvAck, "ack_after_data")] {
        for state in ["I", "S"] {
            let mut w = world();
            cpu_reads(&mut w, A, 0);
            cpu_reads(&mut w, A, 1);
            make_if(&mut w, state);
            w.below.held.insert(kind as u64);
            through(&mut w, GPU, A, 1);
            w.rest(60);
            assert_eq!(w.answers(RspOp::RspWt), [], "one of three is missing");
            assert!(w.below.sent(HRspOp::UnblockX).is_empty());
            end(&mut w);
            saw(&w, &format!("race.gpu_l2_{race}"));
            saw(&w, &format!("gpu_l2.client.{}M.InvAck", if state == "S" { "S" } else { "I" }));
            assert_eq!(w.below.sent(HRspOp::UnblockX).len(), 1);
        }
    }
}

fn make_if(w: &mut World, state: &str) {
    if state == "S" {
        ask(w, GPU, ReqOp::ReqV, A, 1);
        settle(w);
    }
}

/// Inv is answered at once, to the CPU or to the L3, whatever the line is.
#[test]
fn inv_of_a_shared_line() {
    for cpu in [Some(1), None] {
        let mut w = world();
        make(&mut w, A, "S");
        let done = match cpu {
            Some(cpu) => cpu_writes(&mut w, A, cpu),
            None => replaced(&mut w, A),
        };
        assert!(done);
        end(&mut w);
        let to = cpu.unwrap_or(l3_node(&w));
        assert_eq!(replies(&w), [(HRspOp::InvAck as u64, to, 0, 0)]);
        assert_eq!(held(&w, A), (0, 0));
        saw(&w, "gpu_l2.client.S.Inv");
    }
}

/// The line has gone in silence.
fn forgotten(w: &mut World) {
    make(w, A, "S");
    for line in [B, C] {
        make(w, line, "E");
    }
    assert_eq!(held(w, A), (0, 0));
    assert_eq!(w.below.state(A), State::Ss(0b11, true));
    assert_eq!(w.done.get("Put"), None, "S leaves in silence");
}

#[test]
fn inv_of_a_line_that_was_dropped() {
    let mut w = world();
    forgotten(&mut w);
    assert!(cpu_writes(&mut w, A, 1));
    end(&mut w);
    saw(&w, "gpu_l2.client.I.Inv");
    saw(&w, "gpu_l2.frame.miss.shared");
}

/// An Inv overtakes the DataS: one request waits for it, another comes when the CPU has written.
pub fn read_once(fault: GpuL2Fault) -> World {
    let mut w = with(&GpuL2Params { fault, ..small() });
    cpu_reads(&mut w, A, 0);
    cpu_reads(&mut w, A, 1);
    w.below.held.insert(HRspOp::DataS as u64);
    ask(&mut w, GPU, ReqOp::ReqV, A, ALL);
    w.rest(30);
    assert!(cpu_writes(&mut w, A, 1));
    w.rest(30);
    assert_eq!(w.below.sent(HRspOp::InvAck).len(), 1, "at once");
    assert_eq!(w.below.state(A), State::Cpu(1));
    ask(&mut w, 4, ReqOp::ReqV, A, ALL);
    w.rest(30);
    w.finish();
    w
}

/// The first is served, the other asks again, and sees what the CPU wrote.
#[test]
fn inv_during_a_read() {
    let w = read_once(GpuL2Fault::None);
    w.check();
    assert_eq!(w.below.gets(), gets(Get::GetS, &[A, A]));
    for name in ["client.IS.Inv", "client.ISI.DataS"] {
        saw(&w, &format!("gpu_l2.{name}"));
    }
    saw(&w, "race.gpu_l2_used_once");
    saw(&w, "race.gpu_l2_used_once_others_wait");
}

/// Two Invs during one read: one for a copy dropped before, one for the copy that is on its way.
#[test]
fn two_invs_during_a_read() {
    let mut w = world();
    forgotten(&mut w);
    (w.below.deaf, w.delay) = (true, 0);
    ask(&mut w, GPU, ReqOp::ReqV, A, ALL);
    w.rest(30);
    assert!(cpu_writes(&mut w, A, 1));
    w.rest(30);
    assert!(cpu_reads(&mut w, A, 0));
    w.below.held.insert(HRspOp::DataS as u64);
    w.below.deaf = false;
    w.rest(30);
    assert!(cpu_writes(&mut w, A, 0));
    w.rest(30);
    assert_eq!(w.below.sent(HRspOp::InvAck).len(), 2);
    end(&mut w);
    saw(&w, "gpu_l2.client.ISI.Inv");
    assert_eq!(held(&w, A), (0, 0), "used once");
}

/// An Inv for a copy dropped before comes, then the L3 grants the only copy: it stays.
#[test]
fn an_old_inv_during_a_read_that_gets_the_only_copy() {
    let mut w = world();
    forgotten(&mut w);
    w.below.deaf = true;
    ask(&mut w, GPU, ReqOp::ReqV, A, ALL);
    w.rest(30);
    assert!(replaced(&mut w, A));
    w.rest(30);
    assert_eq!(w.below.state(A), State::C);
    end(&mut w);
    saw(&w, "gpu_l2.client.ISI.DataE");
    assert_eq!(held(&w, A), (PERM_E, 0));
}

/// An Inv during a GetM, of a line that is here or was dropped.
#[test]
fn inv_during_a_write() {
    for state in ["IM", "SM"] {
        let mut w = world();
        if state == "SM" {
            make(&mut w, A, "S");
        } else {
            forgotten(&mut w);
        }
        w.below.deaf = true;
        through(&mut w, GPU, A, 1);
        w.rest(30);
        assert!(cpu_writes(&mut w, A, 1));
        w.rest(30);
        assert_eq!(w.below.sent(HRspOp::InvAck).len(), 1);
        assert_eq!(held(&w, A), (0, 0), "the copy is no good any more");
        end(&mut w);
        saw(&w, &format!("gpu_l2.client.{state}.Inv"));
        saw(&w, "gpu_l2.client.IM.DataM");
        assert_eq!(held(&w, A), (PERM_M, 0));
    }
}

/// Lines that are replaced: S in silence, E and M with a Put, owned words first.
#[test]
fn replacement() {
    for (state, puts) in
        [("S", vec![]), ("E", vec![(DATA, false)]), ("M", vec![(DATA, true)]), ("O", vec![(DATA, true)])]
    {
        let mut w = world();
        make(&mut w, DATA, state);
        for line in [B, C] {
            if state == "O" {
                make(&mut w, line, "O");
            } else {
                make(&mut w, line, "E");
            }
        }
        w.rest(1);
        assert_eq!(held(&w, DATA), (0, 0), "{state}");
        let of_data = |w: &World| w.done.get("Put").copied().unwrap_or(0);
        assert_eq!(of_data(&w), puts.len() as u64);
        let frame = ["shared", "clean", "dirty", "held"]
            [["S", "E", "M", "O"].iter().position(|s| *s == state).unwrap_or(0)];
        saw(&w, &format!("gpu_l2.frame.miss.{frame}"));
        if state == "O" {
            saw(&w, "gpu_l2.frame.evicted.dirty");
            saw(&w, "gpu_l2.blocked.EVICT.RvkO");
        }
        end(&mut w);
    }
}

/// WBAck before the next line has come, and after; who asks for the line that leaves waits, who asks for the next only until it is here.
#[test]
fn wback_and_fill_in_any_order() {
    let mut w = world();
    make(&mut w, A, "M");
    make(&mut w, B, "E");
    w.below.held.insert(HRspOp::WbAck as u64);
    ask(&mut w, GPU, ReqOp::ReqV, C, 1);
    w.rest(40);
    assert_eq!(w.answers(RspOp::RspV).len(), 1, "the next line is here");
    ask(&mut w, GPU, ReqOp::ReqV, C, 2);
    ask(&mut w, OWNER, ReqOp::ReqV, A, 1);
    w.rest(40);
    assert_eq!(w.answers(RspOp::RspV).len(), 2, "the one that leaves may not be asked for");
    saw(&w, "gpu_l2.blocked.PUT.Req");
    end(&mut w);
    saw(&w, "race.gpu_l2_put_after_fill");
    settle(&mut w);
    make(&mut w, D, "M");
    w.below.held.insert(HRspOp::DataE as u64);
    ask(&mut w, GPU, ReqOp::ReqV, DATA, 1);
    w.rest(40);
    end(&mut w);
    saw(&w, "race.gpu_l2_put_beside_fill");
}

/// Words of one request in different states: they change in one step, after GetM if need be.
#[test]
fn requests_of_several_words() {
    for rvko in [RvkoGran::Line, RvkoGran::Word] {
        let mut w = with(&GpuL2Params { rvko, ..small() });
        make(&mut w, A, "O");
        ask(&mut w, GPU, ReqOp::ReqV, A, ALL);
        end(&mut w);
        assert_eq!((w.sent(FwdOp::ReqV).len(), w.answers(RspOp::RspV).len()), (2, 1));
        settle(&mut w);
        // Words of owners, and free ones.
        ask(&mut w, 3, ReqOp::ReqOData, A, 0b1101);
        end(&mut w);
        assert_eq!((w.sent(FwdOp::ReqOData).len(), w.answers(RspOp::RspOData).len()), (2, 1));
        assert_eq!(held(&w, A), (PERM_M, 0b1111));
        settle(&mut w);
        through(&mut w, GPU, A, 0b0101);
        end(&mut w);
        assert!(w.sent(FwdOp::ReqO).iter().all(|m| m.get("for_wt") == 1));
        settle(&mut w);
        add(&mut w, GPU, A, 0b1010);
        end(&mut w);
        assert_eq!(w.sent(FwdOp::RvkO).len(), 2);
        assert_eq!(held(&w, A), (PERM_M, 0), "no word of theirs is left");
        assert_eq!(w.below.gets(), []);
        for name in ["race.gpu_l2_mixed_words", "race.gpu_l2_several_owners", "gpu_l2.phase1.ReqWTdata.O"] {
            saw(&w, name);
        }
    }
}

/// Write-backs of GPU L1s: taken, of words that have a new owner, of a line that has gone.
#[test]
fn write_backs() {
    let mut w = world();
    make(&mut w, A, "O");
    assert!(w.give_back(OWNER, A, 0b0011));
    end(&mut w);
    assert_eq!(held(&w, A), (PERM_M, 0b0100));
    saw(&w, "gpu_l2.ReqWB.mine");
    // Another takes the word before the write-back arrives, and the line may have gone, too.
    for (leaves, row) in [(false, "other"), (true, "absent")] {
        let mut w = world();
        make(&mut w, A, "O");
        w.b.source_mut("wb").chance = 0.0;
        assert!(w.give_back(OWNER_TOO, A, 0b0100));
        ask(&mut w, 3, ReqOp::ReqO, A, 0b0100);
        w.rest(40);
        assert!(!leaves || replaced(&mut w, A));
        w.rest(60);
        assert_eq!(held(&w, A).0, if leaves { 0 } else { PERM_M });
        end(&mut w);
        saw(&w, &format!("gpu_l2.ReqWB.{row}"));
    }
    ask(&mut w, 3, ReqOp::ReqO, A, 0b0100);
    settle(&mut w);
    // The line goes while the write-back is on its way.
    w.b.source_mut("wb").chance = 0.0;
    assert!(w.give_back(3, A, 0b0100));
    assert!(replaced(&mut w, A));
    w.rest(60);
    end(&mut w);
    saw(&w, "race.gpu_l2_nodata_before_wb");
    saw(&w, "race.gpu_l2_wb_last");
}

/// Two fills hold all TBEs but the reserved one, and the L3 serves them only when it has a line back whose words a GPU L1 owns.
fn fills_wait_for_a_recall(fault: GpuL2Fault) -> World {
    let s = Spandex { tbes: 3, ..small().bank.s };
    let mut w = with(&GpuL2Params { fault, ..small() }.sized(|b| Bank { s, ..b }));
    make(&mut w, A, "O");
    w.below.deaf = true;
    // More requests than TBEs: without the reservation they take all of them.
    for (d, line) in [(GPU, B), (4, OTHER), (GPU, 2 * 15 + 1), (4, 2 * 17 + 1)] {
        ask(&mut w, d, ReqOp::ReqV, line, 1);
    }
    w.rest(60);
    assert!(replaced(&mut w, A));
    for _ in 0..400 {
        w.step(false);
        // The L3 takes requests again when the line is back.
        w.below.deaf = w.below.is_busy(A);
    }
    w
}

#[test]
fn the_reserved_tbe_serves_a_forward() {
    let mut w = fills_wait_for_a_recall(GpuL2Fault::None);
    assert!(!w.below.is_busy(A));
    saw(&w, "race.gpu_l2_reserved_tbe");
    end(&mut w);
}

#[test]
fn without_a_reserved_tbe_fills_and_forwards_wait_for_each_other() {
    let mut w = fills_wait_for_a_recall(GpuL2Fault::NoReserve);
    assert!(w.below.is_busy(A), "the recall waits for a TBE");
    w.below.deaf = true;
    w.rest(2_000);
    assert!(w.below.is_busy(A), "for ever");
}

/// GetS, GetM and Put that cannot leave do not stop forwards and their answers.
#[test]
fn a_stuck_req_and_wb_do_not_stop_forwards() {
    let mut w = world();
    make(&mut w, A, "O");
    make(&mut w, OTHER, "M");
    w.b.sink_mut("l3_req").chance = 0.0;
    w.b.sink_mut("l3_wb").chance = 0.0;
    ask(&mut w, GPU, ReqOp::ReqV, B, 1);
    ask(&mut w, GPU, ReqOp::ReqV, C, 1);
    w.rest(40);
    assert!(cpu_writes(&mut w, A, 0) && cpu_reads(&mut w, OTHER, 1));
    w.rest(60);
    assert!(!w.below.is_busy(A) && !w.below.is_busy(OTHER));
    end(&mut w);
}

/// A stream of hits in a set keeps neither a fill of the set out nor a forward.
#[test]
fn a_stream_of_hits_lets_others_pass() {
    let mut w = world();
    make(&mut w, A, "E");
    make(&mut w, B, "M");
    let stream = |w: &mut World, cycles: u64, until: &dyn Fn(&World) -> bool| {
        let end = w.b.sim.cycle() + cycles;
        while !until(w) && w.b.sim.cycle() < end {
            for (d, word) in (0..5).flat_map(|d| (0..4).map(move |word| (d, word))) {
                w.ask(d, ReqOp::ReqV, A, 1 << word);
            }
            w.step(false);
        }
        w.below.log.clear();
        w.log.clear();
        w.b.sim.cycle() < end
    };
    assert!(!stream(&mut w, 200, &|_| false), "it flows");
    assert!(cpu_writes(&mut w, B, 0));
    assert!(stream(&mut w, 200, &|w| !w.below.is_busy(B)), "the forward");
    through(&mut w, GPU, C, 1);
    assert!(stream(&mut w, 200, &|w| !w.answers(RspOp::RspWt).is_empty()), "the fill");
    end(&mut w);
}
