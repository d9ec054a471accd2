//! Requests that come in.

use super::TrackerParams;
use super::entries::{Entries, Info, Write};
use crate::msg::*;
use weft_rtl::prelude::*;

/// Takes a request into the lowest free entry; returns that entry, one-hot. Notes are no requests.
pub(super) fn arrivals(p: &TrackerParams, e: &Entries, req: &InChannel<UmcReq>) -> Bits {
    let (n, msg) = (p.entries, &req.msg);
    let free = e.free().named("free");
    let takes = (req.valid & !msg.op.is(TsmOp::Evict) & free.any()).named("arrives");
    let index = free.lowest_set();
    when(takes, || {
        req.take();
        let (op, src, txn, tag, ts) = (msg.op, msg.src, msg.txn, msg.tag, msg.ts);
        e.enter_line.write(index, &msg.line);
        e.enter_info.write(index, &Info { op, src, txn, tag, ts });
        e.enter_write.write(
            index,
            &Write {
                mask: msg.mask,
                data: msg.data,
                amo: msg.amo,
                sgn: msg.sgn,
                word: msg.word,
                wide: msg.wide,
            },
        );
        e.arriving_full.set(msg.mask.all());
    });
    let same = e.each(|i| e.lines.entry(i as u32).eq(msg.line));
    e.arriving_same.set((same & e.busy()).named("same_line"));
    count("trk_requests", takes, "requests taken");
    (index.one_hot(n) & takes.repeat(n)).named("arrive_oh")
}
