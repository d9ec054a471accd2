//! A device of a protocol that the LLC has never heard of, attached by an L1 and a translation unit alone: it caches nothing, one access at a time.

use crate::spandex_fabric::{gpu, passes, small, world};
use std::sync::Arc;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::prelude::*;
use weft_spandex::fabric::device;
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;

/// The L1: none. What the CU asks goes through.
fn uncached_l1(s: &Spandex) -> Arc<Module> {
    Module::build("uncached_l1", ModuleKind::Block, || {
        let cu = s.cu();
        let (asked, up) = (in_channel::<CuReq>("cu_req", &cu), out_channel::<CuReq>("up", &cu));
        let (answer, down) = (in_channel::<CuRsp>("down", &cu), out_channel::<CuRsp>("cu_rsp", &cu));
        when(asked.valid & up.free, || {
            up.send(&asked.msg);
            asked.take();
        });
        when(answer.valid & down.free, || {
            down.send(&answer.msg);
            answer.take();
        });
        output::<Bits>("stall", 3).set(lit(0, 3));
        output::<Bool>("busy_release", ()).set(bool_lit(false));
    })
    .expect("legal")
}

/// A word of the mask has a byte.
fn words(s: &Spandex, bytes: Bits) -> Bits {
    pack_bools(&(0..s.words()).map(|w| bytes.slice(4 * w, 4).any()).collect::<Vec<_>>())
}

/// The translation unit: loads are ReqWT+data READ, stores and atomics ReqWT+data with their operation; acquires and releases are answered at once, since nothing is ever under way.
fn tu_uncached(s: &Spandex) -> Arc<Module> {
    Module::build("tu_uncached", ModuleKind::Block, || {
        let cu = s.cu();
        let own = input::<Bits>("own", s.dev_bits());
        let (up, down) = (in_channel::<CuReq>("up", &cu), out_channel::<CuRsp>("down", &cu));
        let (req, rsp) = (out_channel::<Req>("req", s), in_channel::<Rsp>("rsp", s));
        let (fwd, rsp_out) = (in_channel::<Fwd>("fwd", s), out_channel::<Rsp>("rsp_out", s));
        silent_out_channel::<Wb>("wb", s);
        silent_out_channel::<Fwd>("fwd_out", s);
        let open = reg::<Bool>("open", ());
        let memory = up.msg.op.is_any(&[CuOp::Ld, CuOp::St, CuOp::Amo]);
        let whole = up.msg.mask.eq(words_bytes(s, words(s, up.msg.mask)));
        assert_always(
            "stores_whole_words",
            !up.valid | !memory | whole,
            "the CU of this test stores whole words",
        );
        when(up.valid & memory & !open.get() & req.free, || {
            req.send(&request(s, &up.msg, own));
            open.set(true);
        });
        when(up.valid & !memory & down.free, || {
            down.send(&answer(s, &up.msg, lit_bv(Bv::zero(s.data_bits()))));
            up.take();
        });
        when(rsp.valid & up.valid & down.free, || {
            let answered = !up.msg.op.is(CuOp::St) | up.msg.want_ack;
            when(answered, || down.send(&answer(s, &up.msg, rsp.msg.data)));
            rsp.take();
            up.take();
            open.set(false);
        });
        assert_always(
            "asked_for",
            !rsp.valid | (open.get() & rsp.msg.op.is(RspOp::RspWtData)),
            "an answer to what was asked",
        );
        // It holds nothing: Inv is answered, nothing else comes.
        assert_always(
            "owns_nothing",
            !fwd.valid | fwd.msg.op.is(FwdOp::Inv),
            "a device without ownership loses none",
        );
        when(fwd.valid & rsp_out.free, || {
            rsp_out.send(&ack(s, &fwd.msg, own));
            fwd.take();
        });
    })
    .expect("legal")
}

fn words_bytes(s: &Spandex, words: Bits) -> Bits {
    pack(&(0..s.words()).map(|w| words.bit(w).repeat(4)).collect::<Vec<_>>())
}

fn request(s: &Spandex, m: &CuReq, own: Bits) -> Req {
    let code = |op: WordOp| enum_lit(op);
    let amo = mux(
        m.amo.is(AmoOp::Cas),
        code(WordOp::Cas),
        mux(m.amo.is(AmoOp::Exch), code(WordOp::Exch), code(WordOp::Add)),
    );
    let plain = mux(m.op.is(CuOp::St), code(WordOp::Write), code(WordOp::Read));
    Req {
        op: enum_lit(ReqOp::ReqWtData),
        line: m.line,
        mask: words(s, m.mask),
        src: own,
        dst: s.home(m.line),
        tag: lit(0, s.tag_bits()),
        flex: bool_lit(false),
        fwd: bool_lit(false),
        amo: mux(m.op.is(CuOp::Amo), amo, plain),
        cmp: m.cmp.slice(0, 32),
        bmask: lit(0xf, 4),
        data: m.data,
    }
}

fn answer(s: &Spandex, m: &CuReq, data: Bits) -> CuRsp {
    let _ = s;
    let with_data = m.op.is_any(&[CuOp::Ld, CuOp::Amo]);
    CuRsp {
        id: m.id,
        kind: mux(with_data, lit(0, 2), lit(1, 2)),
        mask: m.mask,
        data,
        src: lit(1, 3),
        merged: bool_lit(false),
    }
}

fn ack(s: &Spandex, m: &Fwd, own: Bits) -> Rsp {
    let no_words = lit(0, s.words());
    Rsp {
        op: enum_lit(RspOp::Ack),
        line: m.line,
        mask: no_words,
        extra: no_words,
        src: own.zext(s.node_bits()),
        dst: m.src,
        tag: m.tbe.zext(s.tag_bits()),
        nodata: bool_lit(false),
        kept_s: bool_lit(false),
        dirty: bool_lit(false),
        direct: bool_lit(false),
        data: lit_bv(Bv::zero(s.data_bits())),
    }
}

/// An uncached device.
pub fn uncached(s: &Spandex) -> Arc<Module> {
    device("uncached_device", s, &uncached_l1(s), &tu_uncached(s), |l1, tu| {
        connect::<CuReq>(l1, "up", tu, "up", &s.cu());
        connect::<CuRsp>(tu, "down", l1, "down", &s.cu());
    })
    .expect("legal")
}

#[test]
fn a_device_without_a_cache_takes_part() {
    let s = small(1, 3);
    for at in 0..4 {
        let mut devices = vec![gpu(&s); 4];
        devices[at] = uncached(&s);
        let w = passes(world(&s, &devices, 2, (4, 40), at as u64));
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "owners and others");
    }
}
