//! A device of a protocol that the Spandex LLC has never heard of: it caches nothing, one access at a time.
//!
//! A device is an L1, which speaks with the CU, and a translation unit, which speaks with the LLC; between them are channels of
//! its own. It gets no forward as long as it asks for no ownership (ReqO, ReqO+data), and no Inv unless it sends ReqS.

use std::sync::Arc;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_fabric::family::spandex::devices::DeviceKind;
use weft_rtl::ir::Module;
use weft_rtl::prelude::*;
use weft_spandex::fabric::device;
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;

/// The device as fabrics name it: `devices = "uncached@0"`.
pub const KIND: DeviceKind = DeviceKind {
    name: "uncached",
    about: "no cache, one access at a time, all of them at the LLC",
    build: uncached,
};

fn uncached(s: &Spandex) -> Result<Arc<Module>, BlockError> {
    device("uncached_device", s, &l1(s)?, &unit(s)?, |l1, unit| {
        connect::<CuReq>(l1, "up", unit, "up", &s.cu());
        connect::<CuRsp>(unit, "down", l1, "down", &s.cu());
    })
}

fn block(name: &str, describe: impl FnOnce()) -> Result<Arc<Module>, BlockError> {
    let built = Module::build(name, ModuleKind::Block, describe);
    built.map_err(|errors| BlockError::Elab {
        block: name.into(),
        errors,
    })
}

/// The L1: none. What the CU asks goes through.
fn l1(s: &Spandex) -> Result<Arc<Module>, BlockError> {
    block("uncached_l1", || {
        let cu = s.cu();
        let (asked, up) = (
            in_channel::<CuReq>("cu_req", &cu),
            out_channel::<CuReq>("up", &cu),
        );
        let (answer, down) = (
            in_channel::<CuRsp>("down", &cu),
            out_channel::<CuRsp>("cu_rsp", &cu),
        );
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
}

/// The translation unit: every access is a ReqWT+data with its operation, which the LLC performs. Acquires and releases are answered
/// at once, since nothing is ever under way.
fn unit(s: &Spandex) -> Result<Arc<Module>, BlockError> {
    block("tu_uncached", || {
        let cu = s.cu();
        let own = input::<Bits>("own", s.dev_bits());
        let (up, down) = (
            in_channel::<CuReq>("up", &cu),
            out_channel::<CuRsp>("down", &cu),
        );
        let (req, rsp) = (out_channel::<Req>("req", s), in_channel::<Rsp>("rsp", s));
        let (fwd, rsp_out) = (
            in_channel::<Fwd>("fwd", s),
            out_channel::<Rsp>("rsp_out", s),
        );
        silent_out_channel::<Wb>("wb", s);
        silent_out_channel::<Fwd>("fwd_out", s);
        let open = reg::<Bool>("open", ());
        let memory = up.msg.op.is_any(&[CuOp::Ld, CuOp::St, CuOp::Amo]);
        when(up.valid & memory & !open.get() & req.free, || {
            req.send(&request(s, &up.msg, own));
            open.set(true);
        });
        when(up.valid & !memory & down.free, || {
            down.send(&answer(&up.msg, lit_bv(Bv::zero(s.data_bits()))));
            up.take();
        });
        when(rsp.valid & up.valid & down.free, || {
            let answered = !up.msg.op.is(CuOp::St) | up.msg.want_ack;
            when(answered, || down.send(&answer(&up.msg, rsp.msg.data)));
            rsp.take();
            up.take();
            open.set(false);
        });
        let whole = up.msg.mask.eq(bytes_of(s, words_of(s, up.msg.mask)));
        assert_always(
            "whole_words",
            !up.valid | !up.msg.op.is(CuOp::St) | whole,
            "stores are of whole words",
        );
        let expected = open.get() & rsp.msg.op.is(RspOp::RspWtData);
        assert_always(
            "asked_for",
            !rsp.valid | expected,
            "an answer to what was asked",
        );
        // It holds nothing: Inv is answered, nothing else comes.
        let inv = fwd.msg.op.is(FwdOp::Inv);
        assert_always(
            "owns_nothing",
            !fwd.valid | inv,
            "a device without ownership loses none",
        );
        when(fwd.valid & rsp_out.free, || {
            rsp_out.send(&ack(s, &fwd.msg, own));
            fwd.take();
        });
    })
}

/// Words of which some byte is in a mask.
fn words_of(s: &Spandex, bytes: Bits) -> Bits {
    pack_bools(
        &(0..s.words())
            .map(|w| bytes.slice(4 * w, 4).any())
            .collect::<Vec<_>>(),
    )
}

fn bytes_of(s: &Spandex, words: Bits) -> Bits {
    pack(
        &(0..s.words())
            .map(|w| words.bit(w).repeat(4))
            .collect::<Vec<_>>(),
    )
}

fn request(s: &Spandex, m: &CuReq, own: Bits) -> Req {
    Req {
        op: enum_lit(ReqOp::ReqWtData),
        line: m.line,
        mask: words_of(s, m.mask),
        src: own,
        dst: s.home(m.line),
        tag: lit(0, s.tag_bits()),
        flex: bool_lit(false),
        fwd: bool_lit(false),
        amo: operation(m),
        cmp: m.cmp.slice(0, 32),
        bmask: lit(0xf, 4),
        data: m.data,
    }
}

/// What the LLC does with each word.
fn operation(m: &CuReq) -> Enum<WordOp> {
    let code = |op: WordOp| enum_lit(op);
    let atomics = [
        (AmoOp::Add, code(WordOp::Add)),
        (AmoOp::Sub, code(WordOp::Sub)),
        (AmoOp::Inc, code(WordOp::Inc)),
        (AmoOp::Dec, code(WordOp::Dec)),
        (AmoOp::And, code(WordOp::And)),
        (AmoOp::Or, code(WordOp::Or)),
        (AmoOp::Xor, code(WordOp::Xor)),
        (
            AmoOp::Min,
            mux(m.sgn, code(WordOp::SMin), code(WordOp::Min)),
        ),
        (
            AmoOp::Max,
            mux(m.sgn, code(WordOp::SMax), code(WordOp::Max)),
        ),
        (AmoOp::Cas, code(WordOp::Cas)),
    ];
    let exchange = code(WordOp::Exch);
    let atomic = atomics
        .into_iter()
        .fold(exchange, |rest, (kind, op)| mux(m.amo.is(kind), op, rest));
    let plain = mux(m.op.is(CuOp::St), code(WordOp::Write), code(WordOp::Read));
    mux(m.op.is(CuOp::Amo), atomic, plain)
}

fn answer(m: &CuReq, data: Bits) -> CuRsp {
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

/// The answer to an Inv.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use weft_fabric::config::FabricConfig;
    use weft_fabric::family::spandex::devices;
    use weft_fabric::run::{FabricRun, RunOptions};

    #[test]
    fn a_program_runs_beside_caches_of_other_protocols() {
        devices::install(vec![KIND]);
        let text = include_str!("../fabrics/uncached-soc.toml");
        let fabric =
            FabricConfig::parse(text, "uncached-soc", "uncached-soc.toml").expect("legal keys");
        fabric.validate().expect("can be built");
        let settings = [("samples", "1024"), ("lanes", "32"), ("blocks", "4")];
        let settings: BTreeMap<_, _> = settings
            .map(|(key, value)| (key.into(), value.into()))
            .into();
        let program =
            Arc::from(weft_workload::build("fir", &settings, None).expect("legal parameters"));
        let mut run = FabricRun::new(&fabric, program, &RunOptions::default()).expect("builds");
        assert!(run.run_to(10_000_000).expect("no check fails"), "it ends");
        let report = run.finish().expect("no check fails");
        assert_eq!((report.verified, report.difference), (true, None));
    }
}
