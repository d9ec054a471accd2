//! Of L1s whose words are owned one by one.

use super::{
    LINES, W, all, at, bit, both, cells, dead, flags, held, is, lane, lanes, plain_requests, queue,
    receivers, regs, retries, self_invalidating, sender, some, unnamed, unnamed_in,
};
use crate::explore::Config;
use weft_explore::dead::{Dead, What, When};
use weft_rtl::bv::bits_for;
use weft_spandex::msg::{FlexReq, Fwd, Req, Rsp, Wb};

/// Of a device with DeNovo coherence.
pub(in crate::explore) fn denovo(c: &Config) -> Vec<Dead> {
    let (mshrs, busy) = (c.l1.0, "cache.mshr_busy");
    let mut list = by_words(c);
    list.extend(plain_requests());
    list.extend(lanes("cache.mshr_kept", mshrs, |row, word| {
        let read = both(at(busy, row), When::Clear("cache.mshr_own".into(), row));
        vec![both(read, lane("cache.mshr_words", row, word, 1))]
    }));
    list.extend([
        sender::<Req>("cache.l1_req", &c.spandex()),
        dead(&cells(&["cache.mshr_operand"]), &[both(bit(busy), bit("cache.mshr_own"))]),
        dead(&flags(&["cache.mshr_stores"]), &[both(bit(busy), bit("cache.mshr_own"))]),
        dead(&cells(&["tu.line", "tu.fails"]), &[bit("tu.reads"), bit("tu.again")]),
    ]);
    if c.targets > 1 {
        list.extend(joined(c));
    }
    list
}

/// Operands of atomics that have joined the request of their word: of an own entry, those of the second
/// target and of those behind it.
fn joined(c: &Config) -> Vec<Dead> {
    let (busy, own) = ("cache.mshr_busy", "cache.mshr_own");
    let (each, most) = (c.targets.next_power_of_two(), u64::from(c.targets));
    let width = bits_for(most + 1);
    let of = |cell: u32| {
        let (row, target) = (cell / each, u64::from(cell % each));
        let counts = (target + 1..=most).collect();
        let waits = When::Of("cache.mshr_count".into(), row, 0, width, counts);
        let alive = both(both(at(busy, row), at(own, row)), waits);
        let joins = (1..most).contains(&target);
        let alive = if joins { std::slice::from_ref(&alive) } else { &[] };
        dead(&[What::Cell("cache.mshr_joined".into(), cell)], alive)
    };
    let operands = (0..c.l1.0 * each).map(of);
    let more = [
        dead(&flags(&["cache.mshr_closed"]), &[both(bit(busy), bit(own))]),
        dead(&[regs("cache.mshr_joined_look_addr_q")], &[is("cache.turn", &[1])]),
    ];
    operands.chain(more).collect()
}

/// Operands of a request.
fn operands(name: &str) -> Vec<Dead> {
    let op = |kinds: &[u64]| is(&format!("{name}_op"), kinds);
    let leaf = |leaf: &str| regs(&format!("{name}_{leaf}"));
    vec![dead(&[leaf("data")], &[op(&[2, 4])]), dead(&["amo", "cmp", "bmask"].map(leaf), &[op(&[4])])]
}

/// Of a Flex device.
pub(in crate::explore) fn flex(c: &Config) -> Vec<Dead> {
    let s = &c.spandex();
    let (mshrs, busy, own, loads) = (c.l1.0, "cache.mshr_busy", "cache.mshr_own", "cache.mshr_loads");
    let mut list = by_words(c);
    list.extend(queue("cache.release_hints", c.releases));
    // A guess stands beside the request.
    let part = if c.guess.is_some() { "flex_req" } else { "req" };
    let mut requests = vec!["cache.l1_req_req".to_string()];
    requests.extend([0, 1].map(|i| format!("tu.l1_req_skid{i}_{part}")));
    for name in &requests {
        list.extend(unnamed(name, &["mask"], 1));
        list.extend(operands(name));
    }
    list.extend(operands("tu.req"));
    if c.guess.is_some() {
        list.extend(unnamed("tu.fwd_out", &["mask"], 1));
        list.push(dead(&[regs("tu.fwd_out_data")], &[is("tu.fwd_out_op", &[4])]));
        list.push(sender::<Fwd>("tu.fwd_out", s));
    }
    for row in 0..mshrs {
        let open = || both(at(busy, row), at(own, row));
        let updates = both(open(), When::Clear(loads.into(), row));
        let operand = What::Cell("cache.mshr_operand".into(), row);
        list.push(dead(&[operand, What::Flag("cache.mshr_stores".into(), row)], &[updates]));
    }
    list.extend(lanes("cache.mshr_kept", mshrs, |row, word| {
        let read = both(at(busy, row), When::Clear(own.into(), row));
        let owned = both(at(busy, row), at(loads, row));
        [read, owned].map(|open| both(open, lane("cache.mshr_words", row, word, 1))).to_vec()
    }));
    let open = || both(bit(busy), bit(own));
    list.extend([
        sender::<FlexReq>("cache.l1_req", s),
        dead(&flags(&["cache.mshr_through", loads]), &[open()]),
        dead(&flags(&["cache.mshr_shares", "cache.mshr_once"]), &[both(open(), bit(loads))]),
        dead(&cells(&["cache.mshr_as_s", "cache.mshr_as_o"]), &[both(open(), bit(loads))]),
        dead(&cells(&["cache.mshr_served"]), &[bit(busy)]),
        dead(&flags(&["cache.mshr_over"]), &[bit(busy)]),
        dead(&cells(&["cache.wt_how"]), &[bit("cache.sb_valid")]),
        dead(
            &cells(&["cache.wt_refused_guessed", "cache.wt_refused_owner"]),
            &[both(bit("cache.sb_issued"), bit("cache.sb_valid"))],
        ),
    ]);
    if c.targets == 1 {
        list.extend((0..mshrs).flat_map(|row| noted(row, part)));
    }
    list
}

/// What the unit of a Flex device knows of an MSHR means something from when it has taken the request. Where loads join a read that is not so simple: the MSHR asks twice.
fn noted(row: u32, part: &str) -> Vec<Dead> {
    let places = [("cache.l1_req", "req"), ("tu.l1_req_skid0", part), ("tu.l1_req_skid1", part)];
    let nowhere = (0..8_u32).map(|way| {
        let each = places.iter().enumerate().map(|(i, (name, part))| {
            if way >> i & 1 == 0 {
                is(&format!("{name}_valid"), &[0])
            } else {
                When::Not(format!("{name}_{part}_tag"), vec![row.into()])
            }
        });
        When::All(std::iter::once(at("cache.mshr_busy", row)).chain(each).collect())
    });
    let alive: Vec<When> = nowhere.collect();
    let asked =
        |flag: &str| alive.iter().map(|when| both(when.clone(), at(flag, row))).collect::<Vec<When>>();
    let reads = [asked("tu.reads"), asked("tu.shares")].concat();
    vec![
        dead(&["tu.reads", "tu.shares"].map(|name| What::Flag(name.into(), row)), &alive),
        dead(&["tu.line", "tu.fails"].map(|name| What::Cell(name.into(), row)), &reads),
    ]
}

/// Of an L1 whose words are owned one by one.
fn by_words(c: &Config) -> Vec<Dead> {
    let s = &c.spandex();
    let (mshrs, busy) = (c.l1.0, "cache.mshr_busy");
    let mut list = self_invalidating(c);
    list.extend(receivers(&["cache.l1_fwd", "tu.l1_wb", "tu.l1_rsp_out", "tu.fwd", "tu.rsp", "tu.l1_req"]));
    list.extend(retries());
    list.extend(lanes("cache.mshr_buffer", mshrs, |row, word| {
        let asked = both(lane("cache.mshr_asked", row, word, 1), lane("cache.mshr_left", row, word, 0));
        let extra = lane("cache.mshr_extra", row, word, 1);
        [asked, extra].map(|came| both(at(busy, row), came)).to_vec()
    }));
    list.extend(lanes("cache.mshr_delayed", mshrs, |row, word| {
        vec![both(at(busy, row), lane("cache.mshr_gone", row, word, 1))]
    }));
    list.extend(lanes("cache.wbb_data", c.l1.2, |row, word| {
        vec![both(at("cache.wbb_valid", row), lane("cache.wbb_mask", row, word, 1))]
    }));
    for name in ["cache.l1_rsp_out", "tu.rsp_out", "tu.l1_rsp"] {
        list.extend(unnamed(name, &["mask", "extra"], 1));
    }
    list.extend(
        ["cache.l1_rsp", "tu.l1_rsp_out"].iter().flat_map(|name| unnamed_in(name, &["mask", "extra"])),
    );
    // Ownership and Nacks bring no data.
    let names = ["cache.l1_rsp_out", "tu.rsp_out", "tu.l1_rsp_out_skid0", "tu.l1_rsp_out_skid1"];
    list.extend(names.map(|name| {
        let bears = is(&format!("{name}_op"), &[0, 1, 3, 5]);
        let back = both(is(&format!("{name}_op"), &[7]), is(&format!("{name}_nodata"), &[0]));
        dead(&[regs(&format!("{name}_data"))], &[bears, back])
    }));
    list.extend(["cache.l1_wb", "tu.wb"].iter().flat_map(|name| unnamed(name, &["mask"], 1)));
    list.extend(unnamed_in("tu.l1_wb", &["mask"]));
    for word in 0..LINES * W {
        let (line, lo) = (word / W, 32 * (word % W));
        let states = [at("cache.word_valid", word), at("cache.word_owned", word)];
        list.push(dead(&[What::Part("cache.lines".into(), line, lo, 32)], &states));
    }
    for line in 0..LINES {
        let words = (line * W..(line + 1) * W)
            .flat_map(|w| ["cache.word_valid", "cache.word_owned"].map(|r| at(r, w)));
        let here: Vec<When> = words.chain([at("cache.line_pinned", line)]).collect();
        list.push(dead(&[What::Cell("cache.tags".into(), line)], &here));
    }
    let mshr = ["line", "left", "asked", "words", "extra", "gone", "count"];
    let mshr = mshr.map(|name| What::Cells(format!("cache.mshr_{name}")));
    let marks = ["own", "stale", "extras"];
    let marks = marks.map(|name| What::Flags(format!("cache.mshr_{name}")));
    list.extend([
        sender::<Wb>("cache.l1_wb", s),
        sender::<Rsp>("cache.l1_rsp_out", s),
        sender::<Wb>("tu.wb", s),
        sender::<Rsp>("tu.rsp_out", s),
        sender::<Fwd>("tu.l1_fwd", s),
        sender::<Req>("tu.req", s),
        sender::<Rsp>("tu.l1_rsp", s),
        dead(&mshr, &[bit(busy)]),
        dead(&marks, &[bit(busy)]),
        dead(&cells(&["cache.mshr_delayed_read"]), &[both(bit("cache.mshr_reads"), bit(busy))]),
        dead(&[regs("cache.mshr_targets_look_addr_q")], &[is("cache.turn", &[1])]),
        held("cache.fwd_rest", "cache.fwd_begun"),
        dead(&all(&["cache.done_sb", "cache.done_at", "cache.done_next"]), &[some("cache.done_valid")]),
        dead(&all(&["cache.replay", "cache.replay_at"]), &[is("cache.turn", &[2])]),
        dead(
            &cells(&["cache.po_left", "cache.po_gone"]),
            &[both(bit("cache.sb_issued"), bit("cache.sb_valid"))],
        ),
        dead(&flags(&["cache.wbb_answered"]), &[bit("cache.wbb_valid")]),
        dead(&cells(&["cache.wbb_line", "cache.wbb_mask", "cache.wbb_gone"]), &[bit("cache.wbb_valid")]),
        dead(&cells(&["cache.wbb_cross"]), &[both(bit("cache.wbb_valid"), bit("cache.wbb_answered"))]),
    ]);
    list
}

/// Of a stash and its unit.
pub(in crate::explore) fn stash(c: &Config) -> Vec<Dead> {
    let s = &c.spandex();
    let mut list = receivers(&["cache.cu_req", "cache.map", "cache.l1_rsp", "cache.l1_fwd"]);
    list.extend(receivers(&["tu.l1_wb", "tu.l1_rsp_out", "tu.fwd", "tu.rsp", "tu.l1_req"]));
    list.extend(retries());
    list.extend([
        sender::<Req>("cache.l1_req", s),
        sender::<Wb>("cache.l1_wb", s),
        sender::<Rsp>("cache.l1_rsp_out", s),
        sender::<Wb>("tu.wb", s),
        sender::<Rsp>("tu.rsp_out", s),
        sender::<Fwd>("tu.l1_fwd", s),
        sender::<Req>("tu.req", s),
        sender::<Rsp>("tu.l1_rsp", s),
        dead(&cells(&["tu.line", "tu.fails"]), &[bit("tu.reads"), bit("tu.again")]),
    ]);
    list
}
