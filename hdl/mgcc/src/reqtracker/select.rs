//! Which entry is issued (mgcc.md section 7).

use super::TrackerParams;
use super::entries::Entries;
use super::types::Chosen;
use crate::choice::Consistency;
use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// Chooses while `room`: first what the TSU is to be asked again, then by age, then by the order of the consistency model.
pub(super) fn choose(p: &TrackerParams, e: &Entries, room: Bool, epoch: Option<Bits>) -> Chosen {
    let repeats = repeats(e, epoch);
    let mergeable = mergeable(p, e).named("mergeable");
    let pend = e.pend();
    let blocked = e.each(|i| (e.same[i].get() & e.in_service()).any()).named("line_in_service");
    let line_ok = match p.consistency {
        Consistency::Sc => !blocked | mergeable,
        Consistency::Rc => {
            (!blocked | mergeable) & e.each(|i| (e.same[i].get() & e.before[i].get() & pend).none())
        }
    };
    let issuable = (pend & line_ok).named("issuable");
    let aged = (issuable & e.each(|i| e.ages[i].get().eq(u64::from(p.age_max)))).named("aged");
    let first = match p.consistency {
        Consistency::Sc => e.oldest(lowest_keys(p, e, epoch)).named("sc_head"),
        Consistency::Rc => e.oldest(issuable).named("rc_first"),
    };
    let normal = first & issuable;
    let oldest_aged = e.oldest(aged);
    let fresh = mux(aged.any(), oldest_aged, normal).named("issue_oh");
    let again = room & repeats.any();
    let issues = (room & !repeats.any() & fresh.any()).named("issues");
    let index = mux(repeats.any(), e.oldest(repeats).lowest_set(), fresh.lowest_set()).named("issue_index");
    let attach = issues & (fresh & mergeable).any();
    observe(
        p,
        e,
        (pend & blocked & !mergeable, first, issuable),
        issues & aged.any() & (fresh & normal).none(),
        attach,
        room,
    );
    Chosen {
        any: again | issues,
        index,
        attach: attach.named("attaches"),
        repeat: again.named("repeats_now"),
        passed: issuable & issues.repeat(e.n),
    }
}

/// Entries whose write did not fit an epoch that is over.
fn repeats(e: &Entries, epoch: Option<Bits>) -> Bits {
    let (Some(epoch), Some(grants)) = (epoch, &e.grants) else { return lit_bv(Bv::zero(e.n)) };
    let over = e.each(|i| grants.entry(i as u32).tag.ne(epoch));
    (e.in_service() & e.overflowed.get() & over).named("repeats")
}

/// Reads whose line is in service for a write that has its grant and whose answer has not left.
fn mergeable(p: &TrackerParams, e: &Entries) -> Bits {
    if !p.merge_raw {
        return lit_bv(Bv::zero(e.n));
    }
    let reads = e.each(|i| e.info.entry(i as u32).op.is(TsmOp::Rd)).named("reads");
    let writes = (e.serv() & e.granted(p) & !e.answered.get() & !reads).named("known_writes");
    reads & e.each(|i| (e.same[i].get() & writes).any())
}

/// The waiting entries of the lowest {tag, ts}.
fn lowest_keys(p: &TrackerParams, e: &Entries, epoch: Option<Bits>) -> Bits {
    let Some(epoch) = epoch else { return e.pend() };
    let half = 1 << (p.tsm.eb - 1);
    // A tag is at most one ahead of the epoch: counted from the middle, tags of all epochs at hand are in order.
    let key = |i: u32| {
        let info = e.info.entry(i);
        cat(&[info.tag - epoch + half, info.ts])
    };
    let keys: Vec<(Bool, Bits)> = (0..e.n).map(|i| (e.pend().bit(i), key(i))).collect();
    let mut round = keys.clone();
    while round.len() > 1 {
        let lower = |pair: &[(Bool, Bits)]| match *pair {
            [a, b] => {
                let second = b.0 & (!a.0 | b.1.lt(a.1));
                (a.0 | b.0, mux(second, b.1, a.1))
            }
            _ => pair[0],
        };
        round = round.chunks(2).map(lower).collect();
    }
    let least = round[0].1.named("lowest_key");
    e.each(|i| keys[i].0 & keys[i].1.eq(least)).named("lowest_entries")
}

fn observe(
    p: &TrackerParams,
    e: &Entries,
    (blocked, first, issuable): (Bits, Bits, Bits),
    promoted: Bool,
    attach: Bool,
    room: Bool,
) {
    count("trk_same_line_blocks", blocked.any(), "cycles in which an entry waited for its line");
    count("trk_merged", attach, "reads that take the line of a write in service");
    count(
        "trk_promotions",
        promoted,
        "entries issued out of order because they had been passed over too often",
    );
    cover("mgcc.race.trk_promoted", promoted, "an entry passed over too often goes first");
    if p.consistency == Consistency::Sc {
        let stall = room & first.any() & (first & issuable).none();
        count(
            "trk_sc_head_stalls",
            stall,
            "cycles in which the first entry was blocked, and all others with it",
        );
        cover("mgcc.race.trk_sc_head_blocked", stall & issuable.any(), "others could have gone");
    }
    if p.merge_raw {
        let second = attach & (e.att()).any();
        cover("mgcc.race.trk_reads_attached", second, "a read is attached while another one is");
    }
}
