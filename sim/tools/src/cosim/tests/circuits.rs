//! Circuits for testing the exporter and the comparison: a block with channels, tables and a part, and random ones.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use weft_rtl::prelude::*;

#[derive(HwEnum, Clone, Copy, PartialEq, Debug)]
enum Phase {
    Clear,
    Idle,
    Look,
    Answer = 5,
}

#[derive(HwEnum, Clone, Copy, PartialEq, Debug)]
enum Kind {
    Read,
    Write,
    Count = 4,
}

#[derive(Bundle, Clone)]
#[bundle(params = u32)]
struct Request {
    kind: Enum<Kind>,
    #[width(*p)]
    row: Bits,
    #[width(12)]
    data: Bits,
}

#[derive(Bundle, Clone)]
struct Reply {
    hit: Bool,
    #[width(12)]
    data: Bits,
}

/// A part with a combinational path: a value and one more.
fn successor() -> Arc<Module> {
    Module::build("successor_w12", ModuleKind::Part, || {
        let a = input::<Bits>("a", 12);
        output::<Bits>("following", 12).set(a + 1);
        output::<Bool>("wraps", ()).set(a.all());
    })
    .unwrap()
}

/// Passes messages on from wire to wire, and asserts that each brings a credit back one or two cycles later.
pub fn relay() -> Arc<Module> {
    Module::build("relay", ModuleKind::Block, || {
        let (valid, data) = (input::<Bool>("in_wire_req_valid", ()), input::<Bits>("in_wire_req_data", 70));
        let credit = input::<Bool>("out_credit_req", ());
        let (sent, kept) =
            (output_reg::<Bool>("out_wire_req_valid", ()), output_reg::<Bits>("out_wire_req_data", 70));
        sent.set(valid);
        kept.set(data);
        let away = output_reg::<Bits>("away", 16);
        when(sent.get() & !credit, || away.set(away.get() + 1));
        when(!sent.get() & credit, || away.set(away.get() - 1));
        assert_always("credits", away.get().lt(2), "no message has two credits, and none waits longer");
    })
    .unwrap()
}

/// A table of `rows` rows in an SRAM of two lanes behind channels, cleared after reset; with `wrong` its answer to `Count` is
/// one too large, for tests that must see a difference.
pub fn table_server(rows: u32, wrong: bool) -> Arc<Module> {
    let name = format!("table_server_r{rows}{}", if wrong { "_wrong" } else { "" });
    let part = successor();
    Module::build(&name, ModuleKind::Block, || {
        doc("A table behind channels.");
        param("rows", rows);
        let bits = bits_for(u64::from(rows));
        let request = in_channel::<Request>("request", &bits);
        let reply = out_channel::<Reply>("reply", &());
        let state = reg::<Enum<Phase>>("state", ()).doc("What the server does in this cycle.");
        let sweep = reg::<Bits>("sweep", bits);
        let held = reg::<Request>("held", bits);
        let table = sram::<Bits>("table_ram", rows, 2, 12);
        let read = table.read_port("rd");
        let write = table.row_writer("wr");
        let inc = instance("inc", &part);
        let served = output_reg::<Bits>("served", 16);
        inc.drive_bits("a", read.lane(0));
        let wraps = inc.out::<Bool>("wraps", &());
        let parity = read.lane(1).slice(0, 5).parity();
        count("wrapped", wraps & state.is(Phase::Look), "Counters that started again.");
        let zero = lit(0, 12);
        switch(state.get(), |arms| {
            arms.case(Phase::Clear, || {
                write.write(sweep.get(), &[zero, zero]);
                sweep.set(sweep.get() + 1);
                when(sweep.eq(u64::from(rows - 1)), || state.set(Phase::Idle));
            });
            arms.case(Phase::Idle, || {
                when(request.valid, || {
                    request.take();
                    held.set(&request.msg);
                    read.present(request.msg.row);
                    state.set(Phase::Look);
                });
            });
            arms.case(Phase::Look, || {
                when(held.kind.is(Kind::Write), || {
                    write.write_masked(held.row, lit(3, 2), &[held.data, read.lane(0)]);
                })
                .elsewhen(held.kind.is(Kind::Count), || {
                    write.write_masked(held.row, lit(1, 2), &[inc.out_bits("following"), zero]);
                });
                when(reply.free, || state.set(Phase::Idle)).otherwise(|| state.set(Phase::Answer));
                when(reply.free, || {
                    let extra = lit(u64::from(wrong), 12);
                    let counted = held.kind.is(Kind::Count);
                    let data = mux(counted, inc.out_bits("following") + extra, read.lane(0));
                    let data = mux(held.kind.is(Kind::Read), read.lane(1), data);
                    reply.send(&Reply { hit: parity, data });
                    served.set(served.get() + 1);
                });
                read.present(held.row);
            });
            arms.case(Phase::Answer, || {
                read.present(held.row);
                when(reply.free, || {
                    reply.send(&Reply { hit: !parity, data: read.lane(0) });
                    state.set(Phase::Idle);
                });
            });
            arms.default(|| state.set(Phase::Idle));
        });
        cover("server.look", state.is(Phase::Look), "A request is looked up.");
        assert_always("no_stray_state", state.bits().ne(3), "The encodings between are never reached.");
    })
    .unwrap()
}

const WIDTHS: [u32; 14] = [1, 2, 3, 5, 8, 16, 31, 32, 33, 63, 64, 65, 100, 130];

/// A block of random expressions, statements and memories over random widths; no signal depends on uncleared storage.
pub fn random_block(seed: u64) -> Arc<Module> {
    let mut rng = SmallRng::seed_from_u64(seed);
    Module::build(&format!("random_s{seed}"), ModuleKind::Block, || {
        let mut pool: Vec<Bits> = Vec::new();
        for i in 0..5 {
            let width = *WIDTHS.choose(&mut rng).unwrap();
            pool.push(input::<Bits>(&format!("in{i}"), width));
        }
        let regs: Vec<Reg<Bits>> =
            (0..4).map(|i| reg::<Bits>(&format!("state{i}"), *WIDTHS.choose(&mut rng).unwrap())).collect();
        pool.extend(regs.iter().map(|r| r.get()));
        random_memory(&mut rng, &mut pool);
        for i in 0..70 {
            let value = random_operation(&mut rng, &pool);
            let value = if rng.random_bool(0.2) { value.named(&format!("value{i}")) } else { value };
            pool.push(value);
            if i % 10 == 9 {
                pool.push(random_wire(&mut rng, &pool, &format!("wire{i}")));
            }
        }
        for r in &regs {
            random_statement(&mut rng, &pool, 3, &|value| r.set(value.resize(r.width())));
        }
        let digest = pool.iter().fold(lit(0, 64), |sum, value| {
            let folded =
                if value.width() > 64 { value.slice(value.width() - 64, 64) } else { value.resize(64) };
            (sum ^ folded) + value.resize(64)
        });
        output_reg::<Bits>("digest", 64).set(digest);
    })
    .unwrap()
}

fn pick(rng: &mut SmallRng, pool: &[Bits], width: u32) -> Bits {
    let same: Vec<&Bits> = pool.iter().filter(|b| b.width() == width).collect();
    match same.choose(rng) {
        Some(value) if rng.random_bool(0.7) => **value,
        _ if rng.random_bool(0.1) => {
            lit_bv(Bv::from_limbs(&[rng.random(), rng.random(), rng.random()], width))
        }
        _ => pool.choose(rng).unwrap().resize(width),
    }
}

fn random_operation(rng: &mut SmallRng, pool: &[Bits]) -> Bits {
    let a = *pool.choose(rng).unwrap();
    let width = a.width();
    let b = pick(rng, pool, width);
    let c = pool.choose(rng).unwrap().any();
    let by_width = *[1, 3, 6, 7, 33, 40].choose(rng).unwrap();
    let by = pick(rng, pool, by_width);
    match rng.random_range(0..22) {
        0 => a & b,
        1 => a | b,
        2 => a ^ b,
        3 => a + b,
        4 => a - b,
        5 => a.mul(b),
        6 => a.eq(b).bits(),
        7 => a.lt(b).bits(),
        8 => a.shl_by(by),
        9 => a.shr_by(by),
        10 => mux(c, a, b),
        11 => cat(&[a, by]),
        12 => {
            let lo = rng.random_range(0..width);
            a.slice(lo, rng.random_range(1..=width - lo))
        }
        13 => a.bit_at(by).bits(),
        14 => {
            let element = *[1, 2, 3, 4, 7].choose(rng).unwrap();
            let count = rng.random_range(1..9);
            pick(rng, pool, element * count).element(by, element)
        }
        15 => a.any().bits(),
        16 => a.all().bits(),
        17 => a.parity().bits(),
        18 => a.popcount(),
        19 => a.lowest_set(),
        20 => !a,
        _ => a.shl(rng.random_range(0..140) % a.width()),
    }
}

fn random_statement(rng: &mut SmallRng, pool: &[Bits], depth: u32, set: &dyn Fn(Bits)) {
    let value = *pool.choose(rng).unwrap();
    if depth == 0 {
        return set(value);
    }
    let cond = pool.choose(rng).unwrap().parity();
    match rng.random_range(0..3) {
        0 => when(cond, || random_statement(rng, pool, depth - 1, set)).otherwise(|| set(value)),
        1 => {
            set(value);
            when(cond, || random_statement(rng, pool, depth - 1, set));
        }
        _ => {
            let sel = pick(rng, pool, 2);
            switch_bits(sel, |arms| {
                arms.case(1u64, || random_statement(rng, pool, depth - 1, set));
                arms.cases(&[0u64, 3], || set(value));
                arms.default(|| set(*pool.choose(rng).unwrap()));
            });
        }
    }
}

fn random_wire(rng: &mut SmallRng, pool: &[Bits], name: &str) -> Bits {
    let width = *WIDTHS.choose(rng).unwrap();
    let default = pick(rng, pool, width);
    let made = wire_or::<Bits>(name, width, default);
    let cond = pool.choose(rng).unwrap().parity();
    when(cond, || random_statement(rng, pool, 2, &|value| made.set(value.resize(width))));
    made.get()
}

/// An SRAM and a register file, both cleared after reset; until then they read zero.
fn random_memory(rng: &mut SmallRng, pool: &mut Vec<Bits>) {
    let rows = rng.random_range(1..=9);
    let lanes = rng.random_range(1..=4);
    let width = *[1, 3, 8, 33].choose(rng).unwrap();
    let bits = bits_for(u64::from(rows));
    let sweep = reg::<Bits>("sweep", bits);
    let ready = reg::<Bool>("ready", ());
    when(!ready.get(), || {
        sweep.set(sweep.get() + 1);
        when(sweep.eq(u64::from(rows - 1)), || ready.set(true));
    });
    let addr = pick(rng, pool, bits);
    let lane = pick(rng, pool, bits_for(u64::from(lanes)));
    let data: Vec<Bits> = (0..lanes).map(|_| pick(rng, pool, width)).collect();
    let none: Vec<Bits> = (0..lanes).map(|_| lit(0, width)).collect();
    let mask = pick(rng, pool, lanes);
    let enable = pool.choose(rng).unwrap().parity();
    let ram = sram::<Bits>("ram", rows, lanes, width);
    let file = regfile_lanes::<Bits>("file", rows, lanes, width);
    let (read, row_writer) = (ram.read_port("rd"), ram.row_writer("row"));
    let (lane_writer, file_writer, file_lane) =
        (ram.lane_writer("one"), file.row_writer("row"), file.lane_writer("one"));
    read.present(addr);
    when(!ready.get(), || {
        row_writer.write(sweep.get(), &none);
        file_writer.write(sweep.get(), &none);
    })
    .otherwise(|| {
        when(enable, || {
            row_writer.write_masked(addr, mask, &data);
            file_writer.write_masked(pick(rng, pool, bits), mask, &data);
        });
        lane_writer.write_lane(pick(rng, pool, bits), lane, &data[0]);
        file_lane.write_lane(addr, lane, &data[0]);
    });
    let settled = reg::<Bool>("settled", ());
    settled.set(ready.get());
    let zero = lit(0, width);
    let mut seen: Vec<Bits> = vec![read.lane(0), read.lane_at(lane), file.read_lane(addr, lane)];
    seen.extend(file.read_row(addr));
    seen.push(file.entry(rows - 1));
    pool.extend(seen.into_iter().map(|v| mux(settled.get(), v, zero)));
}
