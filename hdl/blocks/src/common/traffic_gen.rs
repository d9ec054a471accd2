//! A traffic generator in RTL that speaks the CU's port, so that a whole fabric can be exported: for benches.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/traffic-gen.svg")]

use crate::msg::*;
use weft_rtl::prelude::*;

/// Parameters of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrafficParams {
    /// Requests in flight at most, 1..64.
    pub outstanding: u32,
    /// Lines of each GPU's memory that are used, a power of two, 2..2^20; they begin at the GPU's first address.
    pub span: u32,
    /// Of 256 requests so many are stores, 0..256.
    pub stores: u32,
    /// Of 256 requests so many are atomics, 0..256 - stores; the others are loads.
    pub atomics: u32,
    /// Cycles between the sending of two requests at least, 1..256.
    pub interval: u32,
}

impl TrafficParams {
    fn legal(&self, sys: &Sys) -> bool {
        let span_bits = self.span.trailing_zeros();
        (1..=64).contains(&self.outstanding)
            && self.span.is_power_of_two()
            && (1..=20).contains(&span_bits)
            && span_bits + sys.line.trailing_zeros() <= sys.home_shift
            && self.stores + self.atomics <= 256
            && (1..=256).contains(&self.interval)
    }
}

/// Next state of the generator: xorshift of 64 bits (13, 7, 17).
fn xorshift(x: Bits) -> Bits {
    let x = x ^ x.shl(13);
    let x = x ^ x.slice(7, 57).zext(64);
    x ^ x.shl(17)
}

/// The traffic generator: channel `cu_req` ([`CuReq`]) out, `cu_rsp` ([`CuRsp`]) in, always accepted; inputs `enable` and `seed` (tie the seed to a
/// constant, a different one for each instance); output `idle`: nothing is in flight.
///
/// Loads ask for whole lines, stores write a whole line or one word of 4 bytes (half of them each) and are acknowledged, atomics add to a word.
/// Addresses are spread evenly over the GPUs' first `span` lines (when `gpus` is no power of two, the low-numbered GPUs get more).
///
/// # Errors
/// A parameter outside its range.
pub fn traffic_gen(sys: &Sys, p: TrafficParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!(
        "traffic_gen_{}_h{}_o{}_s{}_w{}_x{}_i{}",
        super::sys::sys_tag(sys),
        sys.home_shift,
        p.outstanding,
        p.span,
        p.stores,
        p.atomics,
        p.interval
    );
    Module::build(&name, ModuleKind::Block, || {
        doc("Random loads, stores and atomics on a CU's port.");
        param("outstanding", p.outstanding);
        param("span", p.span);
        param("stores", p.stores);
        param("atomics", p.atomics);
        param("interval", p.interval);
        if !p.legal(sys) {
            elab_error(format!(
                "{p:?}; legal: outstanding 1..64, span a power of two in 2..2^20 within a GPU's memory, \
                 stores + atomics 0..256, interval 1..256"
            ));
            return;
        }
        body(sys, p);
    })
}

/// The open requests: one bit each, and the bytes each still waits for.
struct Open {
    busy: Reg<Bits>,
    missing: Memory<Bits>,
    answered: Bits,
}

/// Takes the answers: a request is closed when its acknowledgement or all its bytes have come.
fn answers(sys: &Sys, n: u32) -> Open {
    let valid = input::<Bool>("cu_rsp_valid", ());
    let rsp = input::<CuRsp>("cu_rsp", sys.clone());
    unused_input(&rsp);
    let ready = output_reg::<Bool>("cu_rsp_ready", ()).reset(&[1]);
    ready.set(true);
    let busy = reg::<Bits>("busy", n).doc("Requests in flight.");
    let missing = regfile::<Bits>("missing", n, sys.line).fields(&[("control", sys.line)]);
    let writer = missing.lane_writer("rsp");
    let slot = rsp.id.slice(0, bits_for(u64::from(n)));
    let left = missing.read(slot) & !rsp.mask;
    when(valid, || writer.write(slot, &left));
    let closes = (valid & (rsp.kind.eq(1) | left.none())).named("closes");
    assert_always(
        "answer_expected",
        !valid | (busy.get().bit_at(slot) & rsp.id.lt(u64::from(n))),
        "an answer belongs to a request in flight",
    );
    Open { answered: slot.one_hot(n) & closes.repeat(n), busy, missing }
}

fn body(sys: &Sys, p: TrafficParams) {
    let n = p.outstanding;
    let enable = input::<Bool>("enable", ());
    let seed = input::<Bits>("seed", 32);
    let out = out_channel::<CuReq>("cu_req", sys);
    let idle = output_reg::<Bool>("idle", ()).reset(&[1]);
    let open = answers(sys, n);
    let random = reg::<Bits>("random", 64);
    let seeded = reg::<Bool>("seeded", ());
    let pause = reg::<Bits>("pause", bits_for(u64::from(p.interval)));
    let slot = (!open.busy.get()).lowest_set();
    let may = enable & seeded.get() & pause.get().none();
    let send = (may & out.free & !open.busy.get().all()).named("send");
    let request = request(sys, p, random.get(), slot);
    let writer = open.missing.lane_writer("req");
    when(!seeded.get(), || {
        // A state of zero would stand still; the complement beside the seed excludes it.
        random.set(pack(&[seed, !seed]));
        seeded.set(true);
    })
    .elsewhen(send, || random.set(xorshift(random.get())));
    when(pause.get().any(), || pause.set(pause.get() - 1));
    when(send, || {
        out.send(&request);
        writer.write(slot, &request.mask);
        pause.set(u64::from(p.interval - 1));
    });
    let sent = slot.one_hot(n) & send.repeat(n);
    let busy_next = ((open.busy.get() & !open.answered) | sent).named("busy_next");
    open.busy.set(busy_next);
    idle.set(busy_next.none());
    count("requests", send, "requests sent");
    count("answers", open.answered.any(), "requests answered");
}

/// A request from 64 random bits.
fn request(sys: &Sys, p: TrafficParams, random: Bits, slot: Bits) -> CuReq {
    let dice = random.slice(0, 8).zext(9);
    let store = dice.lt(u64::from(p.stores)).named("is_store");
    let atomic = (!store & dice.lt(u64::from(p.stores + p.atomics))).named("is_atomic");
    let op = mux(store, enum_lit(CuOp::St), mux(atomic, enum_lit(CuOp::Amo), enum_lit(CuOp::Ld)));
    let words = sys.line / 4;
    let word = random.slice(8, words.trailing_zeros()).one_hot(words);
    let lanes: Vec<Bits> = (0..words).map(|i| word.bit(i).repeat(4)).collect();
    let whole = !atomic & (!store | random.bit(16));
    let mask = mux(whole, lit_bv(Bv::ones(sys.line)), pack(&lanes));
    let data = pack(&vec![random; (sys.data_bits() / 64) as usize]);
    let drawn = random.slice(20, sys.node_bits());
    let gpu = if sys.nodes().is_power_of_two() {
        drawn
    } else {
        mux(drawn.lt(u64::from(sys.nodes())), drawn, drawn - u64::from(sys.nodes()))
    };
    let offset = random.slice(32, p.span.trailing_zeros());
    let home_lines = sys.home_shift - sys.line.trailing_zeros();
    let line = pack(&[offset.zext(home_lines), gpu]).zext(sys.line_bits());
    CuReq {
        op,
        sync: bool_lit(false),
        sem: lit(0, 2),
        scope: lit(0, 2),
        remote: bool_lit(false),
        class: lit(0, 3),
        region: bool_lit(false),
        hint: lit(0, 4),
        want_ack: store,
        amo: enum_lit(AmoOp::Add),
        sgn: bool_lit(false),
        line,
        mask,
        data,
        cmp: lit(0, 64),
        id: slot.zext(12),
    }
}
