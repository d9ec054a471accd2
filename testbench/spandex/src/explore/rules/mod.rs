//! What is dead in the states of the blocks, as data; every rule is tried at every step of an exploration ([`weft_explore::dead`]).

mod words;

pub(super) use words::{denovo, flex, stash};

use super::{Config, device};
use weft_blocks::msg::CuRsp;
use weft_explore::dead::{Dead, What, When, dead};
use weft_explore::form::{Ignore, Masked};
use weft_rtl::bv::bits_for;
use weft_rtl::prelude::{Data, leaves_of};
use weft_spandex::mesi_port::{MesiDown, MesiExt, MesiReq, MesiUp};
use weft_spandex::msg::{Fwd, GpuReq, GpuRsp, MemReq, Req, Rsp, Wb};

fn regs(name: &str) -> What {
    What::Regs(name.into())
}
fn all(names: &[&str]) -> Vec<What> {
    names.iter().map(|name| regs(name)).collect()
}
fn cells(names: &[&str]) -> Vec<What> {
    names.iter().map(|name| What::Cells((*name).into())).collect()
}
fn flags(names: &[&str]) -> Vec<What> {
    names.iter().map(|name| What::Flags((*name).into())).collect()
}
fn some(name: &str) -> When {
    When::Some(name.into())
}
fn is(name: &str, values: &[u64]) -> When {
    When::Is(name.into(), values.to_vec())
}
fn bit(name: &str) -> When {
    When::Bit(name.into())
}
fn at(name: &str, number: u32) -> When {
    When::At(name.into(), number)
}
fn both(a: When, b: When) -> When {
    When::All(vec![a, b])
}

/// A receiving channel: its two skid entries.
fn receiver(name: &str) -> [Dead; 2] {
    [0, 1].map(|i| dead(&[regs(&format!("{name}_skid{i}_*"))], &[some(&format!("{name}_skid{i}_valid"))]))
}

/// Words of a message that its masks do not name; `each`: bits of a mask per word.
fn unnamed(name: &str, masks: &[&str], each: u32) -> Vec<Dead> {
    let of = |word: u32| {
        let named: Vec<When> = masks.iter().map(|mask| at(&format!("{name}_{mask}"), each * word)).collect();
        dead(&[What::Span(format!("{name}_data"), 32 * word, 32)], &named)
    };
    (0..W).map(of).collect()
}

/// The same of a receiving channel.
fn unnamed_in(name: &str, masks: &[&str]) -> Vec<Dead> {
    [0, 1].iter().flat_map(|i| unnamed(&format!("{name}_skid{i}"), masks, 1)).collect()
}

fn receivers(names: &[&str]) -> Vec<Dead> {
    names.iter().flat_map(|name| receiver(name)).collect()
}

/// The leaves of a sending channel.
fn sender<T: Data>(name: &str, shape: &T::Shape) -> Dead {
    let leaves: Vec<What> = leaves_of::<T>(shape, name).iter().map(|leaf| regs(&leaf.name)).collect();
    dead(&leaves, &[some(&format!("{name}_valid"))])
}

/// A register with a valid bit: `NAME*` unless `VALID`.
fn held(name: &str, valid: &str) -> Dead {
    dead(&[regs(name)], &[some(valid)])
}

/// Where a queue begins, and its rows that hold nothing.
fn queue(name: &str, rows: u32) -> Vec<Dead> {
    let of = |row: u32| {
        let counts: Vec<u64> = (row + 1..=rows).map(u64::from).collect();
        dead(&[What::Cell(format!("{name}_rows"), row)], &[is(&format!("{name}_count"), &counts)])
    };
    (0..rows).map(of).chain([dead(&[What::Ring(name.into())], &[])]).collect()
}

/// Bit `lane` of a row of a memory.
fn lane(name: &str, row: u32, lane: u32, value: u64) -> When {
    When::Of(name.into(), row, lane, 1, vec![value])
}

/// Lanes of words in rows that mean nothing unless one of some conditions holds.
fn lanes(name: &str, rows: u32, alive: impl Fn(u32, u32) -> Vec<When>) -> Vec<Dead> {
    let each = (0..rows).flat_map(|row| (0..W).map(move |lane| (row, lane)));
    each.map(|(row, lane)| dead(&[What::Cell(name.into(), row * W + lane)], &alive(row, lane))).collect()
}

/// Loads that wait in MSHRs.
fn targets(c: &Config) -> Vec<Dead> {
    let (each, most) = (c.targets.next_power_of_two().max(2), u64::from(c.targets));
    let width = bits_for(most + 1);
    let of = |cell: u32| {
        let counts = (u64::from(cell % each) + 1..=most).collect();
        let waits = When::Of("cache.mshr_count".into(), cell / each, 0, width, counts);
        let none = u64::from(cell % each) >= most;
        let alive = both(at("cache.mshr_busy", cell / each), waits);
        dead(
            &[What::Cell("cache.mshr_targets".into(), cell)],
            if none { &[] } else { std::slice::from_ref(&alive) },
        )
    };
    (0..c.l1.0 * each).map(of).collect()
}

/// Words.
const W: u32 = 2;
/// Lines of an L1: 2 sets of 2 ways.
const LINES: u32 = 4;

/// Of a store buffer as gpu-l1 and denovo-l1 have it, and of their releases and answers.
fn self_invalidating(c: &Config) -> Vec<Dead> {
    let s = c.spandex();
    let mut list = receivers(&["cache.cu_req", "cache.l1_rsp"]);
    list.extend(unnamed("cache.cu_rsp", &["mask"], 4));
    list.extend(unnamed("tu.req", &["mask"], 1));
    list.extend(queue("cache.releases", c.releases));
    list.extend(lanes("cache.sb_data", c.l1.1, |row, word| {
        vec![both(at("cache.sb_valid", row), lane("cache.sb_mask", row, word, 1))]
    }));
    list.extend(targets(c));
    list.extend([
        sender::<CuRsp>("cache.cu_rsp", &s.cu()),
        held("cache.s1_*", "cache.s1_valid"),
        dead(
            &all(&["cache.tags_look_addr_q", "cache.lines_look_addr_q", "cache.ages_look_addr_q"]),
            &[some("cache.turn")],
        ),
        // For the CU's display only.
        dead(&all(&["cache.stall", "cache.busy_release"]), &[]),
        dead(&cells(&["cache.sb_line", "cache.sb_mask"]), &[bit("cache.sb_valid")]),
        dead(&[regs("cache.sb_wanted_at")], &[some("cache.sb_wanted")]),
    ]);
    list
}

/// Of requests as `gpu-l1` and `denovo-l1` send them, to units that send none to other devices.
fn plain_requests() -> Vec<Dead> {
    let mut list = unnamed("cache.l1_req", &["mask"], 1);
    list.extend(unnamed_in("tu.l1_req", &["mask"]));
    list
}

/// Of a translation unit's words to be asked for again.
fn retries() -> Vec<Dead> {
    vec![dead(&cells(&["tu.retry"]), &[bit("tu.again")])]
}

/// Of a device with GPU coherence.
pub(super) fn gpu(c: &Config) -> Vec<Dead> {
    let l1 = device::gpu_params(c);
    let s = &l1.spandex;
    let (mshrs, busy) = (c.l1.0, "cache.mshr_busy");
    let mut list = self_invalidating(c);
    list.extend(plain_requests());
    list.extend(receivers(&["tu.rsp", "tu.l1_req", "tu.fwd"]));
    list.extend(retries());
    list.extend(lanes("cache.mshr_own", mshrs, |row, word| {
        let read = both(at(busy, row), When::Clear("cache.mshr_atomic".into(), row));
        vec![both(read, lane("cache.mshr_words", row, word, 1))]
    }));
    // What is there when an atomic begins is shown to the L1 with its answer.
    list.extend(lanes("tu.buffer", mshrs, |row, word| {
        let idle = When::Clear("tu.busy".into(), row);
        vec![idle, at("tu.atomic", row), lane("tu.left", row, word, 0)]
    }));
    // Data of an answer to a write-through.
    let no_data = |i: u32| {
        dead(
            &[regs(&format!("cache.l1_rsp_skid{i}_data"))],
            &[is(&format!("cache.l1_rsp_skid{i}_op"), &[0, 2])],
        )
    };
    list.extend([0, 1].map(no_data));
    list.extend([
        sender::<GpuReq>("cache.l1_req", s),
        sender::<Req>("tu.req", s),
        sender::<GpuRsp>("tu.l1_rsp", s),
        sender::<Rsp>("tu.rsp_out", s),
        dead(&[regs("tu.l1_rsp_data")], &[is("tu.l1_rsp_op", &[0, 2])]),
        dead(&[regs("tu.req_data")], &[is("tu.req_op", &[2, 4])]),
        dead(&[regs("cache.mshr_targets_look_addr_q")], &[is("cache.turn", &[1])]),
        dead(&all(&["cache.fill_entry", "cache.fill_data", "cache.fill_peer"]), &[some("cache.fill_valid")]),
        dead(&flags(&["cache.mshr_atomic"]), &[bit(busy)]),
        dead(&flags(&["cache.mshr_stores"]), &[both(bit(busy), bit("cache.mshr_atomic"))]),
        dead(&flags(&["cache.mshr_bytes"]), &[both(bit(busy), bit("cache.mshr_atomic"))]),
        dead(&cells(&["cache.mshr_line", "cache.mshr_words", "cache.mshr_count"]), &[bit(busy)]),
        dead(&cells(&["cache.tags", "cache.lines"]), &[bit("cache.line_valid")]),
        dead(&flags(&["tu.atomic", "tu.peer"]), &[bit("tu.busy")]),
        dead(&cells(&["tu.left", "tu.line", "tu.fails"]), &[bit("tu.busy")]),
        dead(&all(&["tu.answer_tag", "tu.buffer_out_addr_q"]), &[some("tu.answer_valid")]),
    ]);
    list
}

/// Of a device with MESI coherence.
pub(super) fn mesi(c: &Config) -> Vec<Dead> {
    let port = &device::mesi_port(c);
    let s = &port.spandex;
    let (mshrs, busy) = (c.l1.0, "cache.mshr_busy");
    let mut list = receivers(&[
        "cache.cu_req",
        "cache.l1_down",
        "cache.ext",
        "tu.l1_up",
        "tu.fwd",
        "tu.rsp",
        "tu.l1_req",
    ]);
    list.extend(queue("tu.answers", 4));
    list.extend(lanes("tu.removals", mshrs, |row, word| {
        vec![both(at("tu.busy", row), lane("tu.delayed", row, word, 1))]
    }));
    let from_buffer = both(is("tu.step", &[7]), some("tu.second_from_buffer"));
    // An entry may be free when its second answer leaves.
    list.extend(lanes("tu.buffer", mshrs, |row, word| {
        let failed = When::Clear("tu.failed".into(), row);
        let came = When::All(vec![at("tu.busy", row), failed, lane("tu.got", row, word, 1)]);
        vec![came, both(from_buffer.clone(), is("tu.job_entry", &[row.into()]))]
    }));
    let from_l1 = both(is("tu.step", &[7]), is("tu.second_from_buffer", &[0]));
    let state = |values: &[u64]| When::Cell("cache.states".into(), 0, 3, values.to_vec());
    // Of several pending lines it is not told here which one comes in.
    if mshrs.min(c.lines.len() as u32) == 1 {
        list.push(dead(
            &cells(&["cache.lines"]),
            &[
                state(&[1, 2, 3, 5, 6]),
                both(state(&[4]), some("cache.fill_serves")),
                both(state(&[4]), some("cache.fill_ends")),
            ],
        ));
    }
    list.extend([
        sender::<CuRsp>("cache.cu_rsp", &s.cu()),
        sender::<MesiReq>("cache.l1_req", port),
        sender::<MesiUp>("cache.l1_up", port),
        sender::<MesiDown>("tu.l1_down", port),
        sender::<MesiExt>("tu.ext", port),
        sender::<Wb>("tu.wb", s),
        sender::<Req>("tu.req", s),
        sender::<Rsp>("tu.rsp_out", s),
        held("cache.s1_*", "cache.s1_valid"),
        dead(
            &all(&["tags", "states", "lines", "ages"]
                .map(|a| format!("cache.{a}_look_addr_q"))
                .each_ref()
                .map(|a| &a[..])),
            &[some("cache.turn")],
        ),
        dead(&all(&["cache.stall", "cache.busy_release"]), &[]),
        dead(&flags(&["cache.mshr_shut", "cache.mshr_own"]), &[bit(busy)]),
        dead(&cells(&["cache.mshr_miss", "cache.mshr_first", "cache.mshr_last"]), &[bit(busy)]),
        dead(&cells(&["cache.store_buffer"]), &[bit("cache.entries_used")]),
        dead(
            &[regs("cache.store_buffer_look_addr_q")],
            &[both(is("cache.turn", &[1]), some("cache.fill_serves"))],
        ),
        dead(
            &all(&["fill_rest", "fill_once", "fill_mshr", "fill_peer", "fill_merged", "fill_entry"]
                .map(|a| format!("cache.{a}"))
                .each_ref()
                .map(|a| &a[..])),
            &[some("cache.fill_serves"), some("cache.fill_ends")],
        ),
        dead(&cells(&["cache.tags"]), &[state(&[])]),
        dead(
            &flags(
                &["own_line", "once", "some_s", "some_v", "some_o", "failed", "peer", "dirty"]
                    .map(|a| format!("tu.{a}"))
                    .each_ref()
                    .map(|a| &a[..]),
            ),
            &[bit("tu.busy")],
        ),
        dead(&cells(&["tu.line", "tu.got", "tu.gone", "tu.delayed"]), &[bit("tu.busy")]),
        dead(&cells(&["tu.readers"]), &[both(bit("tu.reader"), bit("tu.busy"))]),
        dead(&cells(&["tu.afters"]), &[both(bit("tu.after"), bit("tu.busy"))]),
        dead(&cells(&["tu.wbb_line", "tu.wbb_words", "tu.wbb_data"]), &[bit("tu.wbb_busy")]),
        dead(&flags(&["tu.wbb_dirty"]), &[bit("tu.wbb_busy")]),
        // What says that an entry of the write-back buffer is free names none.
        dead(&[regs("tu.l1_down_tag")], &[is("tu.l1_down_op", &[0])]),
        dead(&[regs("cache.l1_down_skid0_tag")], &[is("cache.l1_down_skid0_op", &[0])]),
        dead(&[regs("cache.l1_down_skid1_tag")], &[is("cache.l1_down_skid1_op", &[0])]),
        // Idle, the engine presents its rows anew.
        dead(
            &all(&["tu.buffer_out_addr_q", "tu.removals_out_addr_q"]),
            &[is("tu.step", &[1, 3]), from_buffer.clone()],
        ),
        dead(&[regs("tu.wbb_data_out_addr_q")], &[is("tu.step", &[4, 6])]),
        dead(&[regs("tu.in_place_look_addr_q")], &[is("tu.step", &[6, 11])]),
        dead(&[regs("tu.job_entry")], &[is("tu.step", &[1, 2, 3]), from_buffer]),
        dead(&[regs("tu.job_index")], &[is("tu.step", &[4])]),
        dead(&all(&["tu.job_line", "tu.job_keeps"]), &[is("tu.step", &[7, 8])]),
        dead(&[regs("tu.job_tells")], &[is("tu.step", &[7])]),
        dead(&[regs("tu.second_*")], &[is("tu.step", &[7])]),
        dead(&[regs("tu.seen_*")], &[is("tu.step", &[6, 11]), from_l1]),
    ]);
    list
}

/// Of the bank.
pub(super) fn bank(c: &Config) -> Vec<Dead> {
    let s = &c.spandex();
    let mut list = receivers(&["req", "wb", "rsp_in", "mem_rsp"]);
    list.extend(queue("answers", 8));
    list.extend(queue("jobs", 5));
    list.extend(queue("orders", 5));
    list.extend([
        sender::<Fwd>("fwd", s),
        sender::<Rsp>("rsp", s),
        sender::<MemReq>("mem_req", s),
        held("s1_*", "s1_valid"),
        held("s2_*", "s2_valid"),
        held("s3_*", "s3_valid"),
        dead(&all(&["tags_look_addr_q", "owned_look_addr_q", "trees_look_addr_q"]), &[some("s1_valid")]),
        dead(&[regs("lines_look_addr_q")], &[some("s2_valid")]),
        dead(&cells(&["tbe_request", "tbe_progress", "tbe_owners"]), &[bit("tbe_valid")]),
        dead(&cells(&["stall"]), &[bit("stalled")]),
        dead(&[regs("mem_req_data")], &[some("mem_req_write")]),
        dead(&[regs("mem_req_tbe")], &[is("mem_req_write", &[0])]),
    ]);
    if s.sharers > 0 {
        list.push(dead(&[regs("sharers_look_addr_q")], &[some("s1_valid")]));
    }
    for i in 0..c.tbes.0 {
        let part = |name: &str| format!("tbe{i}_{name}");
        let listed = both(at("tbe_valid", i), at("tbe_listed", i));
        list.push(dead(&["kind", "line", "wants", "way"].map(|n| regs(&part(n))), &[at("tbe_valid", i)]));
        list.push(dead(&["head", "tail"].map(|n| regs(&part(n))), &[listed]));
        let kind = |kinds: &[u64]| both(at("tbe_valid", i), is(&part("kind"), kinds));
        list.push(dead(&[What::Cell("tbe_progress".into(), i)], &[kind(&[0, 1, 2])]));
        list.push(dead(&[What::Cell("tbe_owners".into(), i)], &[kind(&[1, 2])]));
        list.push(dead(&[What::Cell("tbe_request".into(), i)], &[kind(&[0, 1, 2])]));
    }
    list
}

/// Of requests: operands.
pub(super) const REQ: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "op", is: &[2, 4] },
    Ignore { leaves: &["amo", "cmp", "bmask"], unless: "op", is: &[4] },
];
/// Of forwards.
pub(super) const FWD: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "op", is: &[4] },
    Ignore { leaves: &["tbe"], unless: "op", is: &[1, 5, 6] },
];
/// Of answers.
pub(super) const RSP: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "op", is: &[0, 1, 3, 5, 7] },
    Ignore { leaves: &["data"], unless: "nodata", is: &[0] },
];
/// Words that no mask names.
pub(super) const WORDS: Masked = Masked { leaf: "data", bits: 32, masks: &["mask"] };
/// The same of answers, which may bring extras.
pub(super) const EXTRAS: Masked = Masked { leaf: "data", bits: 32, masks: &["mask", "extra"] };
/// Of requests to memory.
pub(super) const TO_MEMORY: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "write", is: &[1] },
    Ignore { leaves: &["tbe"], unless: "write", is: &[0] },
];
