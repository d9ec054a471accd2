//! Messages of the bench as the golden models have them.

use crate::l2_bench::{Answered, Ask, GPU, MemReq, golden_atomic, op};
use weft_mgcc::l2::L2Params;
use weft_mgcc_bench::golden::msg::{Data, Op, UmcReq, UpReq, UpRsp, Work};

/// What an operation asks for.
fn work(code: u64, mask: u64, data: &[u8; 64], amo: [u64; 4]) -> Work {
    match code {
        op::RD => Work::Read,
        op::WR => Work::Write { mask, data: Data(*data) },
        _ => Work::Atomic(golden_atomic(data, amo)),
    }
}

/// Kind of an operation.
pub fn kind(code: u64) -> Op {
    [Op::Read, Op::Write, Op::Atomic][code as usize]
}

/// A request as the models have it.
pub fn request(p: &L2Params, a: &Ask) -> UpReq {
    UpReq {
        src: a.l1 as u32,
        txn: a.txn as u32,
        line: a.line,
        force: a.force,
        tag: if p.coherent() { a.need.0 & 7 } else { 0 },
        ts: a.ts,
        work: work(a.op, a.mask, &a.data, a.amo),
    }
}

/// An answer as the models have it.
pub fn answer(p: &L2Params, a: &Answered) -> UpRsp {
    let with_data = a.with_data;
    UpRsp {
        op: kind(a.ask.op),
        dst: a.ask.l1 as u32,
        txn: a.ask.txn as u32,
        tag: if p.coherent() { a.epoch & 7 } else { 0 },
        wts: a.wts,
        rts: a.rts,
        data: with_data.then_some(Data(a.data)),
        old: if a.ask.op == op::AMO { a.old } else { 0 },
        from_memory: a.from_memory,
    }
}

/// A request to memory as the models have it.
pub fn sent(m: &MemReq) -> UmcReq {
    let work = work(m.op, m.mask, &m.data, m.amo);
    UmcReq { src: GPU as u32, txn: m.txn as u32, line: m.line, tag: m.tag, ts: m.ts, work }
}
