//! Messages of the bench as the golden models have them.

use crate::l2_bench::{Answered, Ask, GPU, MemReq, op};
use weft_blocks::msg::AmoOp;
use weft_mgcc::l2::L2Params;
use weft_mgcc_bench::golden::msg::{Atomic, Data, Op, UmcReq, UpReq, UpRsp, Work};

const AMO: [AmoOp; 11] = [
    AmoOp::Add,
    AmoOp::Sub,
    AmoOp::Inc,
    AmoOp::Dec,
    AmoOp::And,
    AmoOp::Or,
    AmoOp::Xor,
    AmoOp::Min,
    AmoOp::Max,
    AmoOp::Exch,
    AmoOp::Cas,
];

/// What an operation asks for.
fn work(code: u64, mask: u64, data: &[u8; 64], amo: [u64; 4]) -> Work {
    let data = Data(*data);
    match code {
        op::RD => Work::Read,
        op::WR => Work::Write { mask, data },
        _ => Work::Atomic(Atomic {
            op: AMO[amo[0] as usize],
            signed: amo[1] == 1,
            word: amo[2] as u32,
            wide: amo[3] == 1,
            operand: data.number(0, 8),
            compare: data.number(8, 8),
        }),
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
