//! Random circuits: expressions of many widths, nested choices, memories of both kinds. They test the compiler before any real block does.

use crate::compare::Xorshift;
use std::sync::Arc;
use weft_rtl::error::ElabErrors;
use weft_rtl::prelude::*;

/// Widths that are likely to find mistakes at limb boundaries.
const WIDTHS: &[u32] = &[1, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200];

struct Maker {
    random: Xorshift,
    pool: Vec<Bits>,
}

impl Maker {
    fn any(&mut self) -> Bits {
        let at = self.random.below(self.pool.len() as u64) as usize;
        self.pool[at]
    }

    fn width(&mut self) -> u32 {
        WIDTHS[self.random.below(WIDTHS.len() as u64) as usize]
    }

    fn of(&mut self, width: u32) -> Bits {
        self.any().resize(width)
    }

    fn cond(&mut self) -> Bool {
        let a = self.any();
        match self.random.below(4) {
            0 => a.bit(self.random.below(u64::from(a.width())) as u32),
            1 => a.eq(self.of(a.width())),
            2 => a.lt(self.of(a.width())),
            _ => a.any(),
        }
    }

    /// One more expression in the pool.
    fn grow(&mut self) {
        let w = self.width();
        let (a, b) = (self.of(w), self.of(w));
        let made = match self.random.below(22) {
            0 => a & b,
            1 => a | b,
            2 => a ^ b,
            3 => a + b,
            4 => a - b,
            5 => a.mul(b),
            6 => !a,
            7 => a.shl_by(self.amount(w)),
            8 => a.shr_by(self.amount(w)),
            9 => cat(&[a, self.any()]).resize(w),
            10 => a.slice(w / 3, w - w / 3),
            11 => a.popcount(),
            12 => a.lowest_set(),
            13 => a.parity().bits(),
            14 => a.all().bits(),
            15 => {
                let element = self.random.below(40) as u32 + 1;
                let count = self.random.below(9) as u32 + 1;
                let index = self.of(4);
                self.of(element * count).element(index, element)
            }
            16 => a.bit_at(self.of(9)).bits(),
            17 => pack_bools(&[a.lt(b), a.le(b), a.ne(b), b.ge(a)]),
            18 => self.of(3).one_hot(w),
            19 => {
                let (stride, first) = (self.random.below(5) as u32 + 1, self.random.below(9) as u32);
                let count = (w.saturating_sub(first) / stride).max(1);
                let bits: Vec<Bool> = (0..count).map(|k| a.bit((first + k * stride) % w)).collect();
                pack_bools(&bits)
            }
            20 => cat(&[a.bit(0).repeat(self.random.below(70) as u32 + 1), b]),
            _ => mux(self.cond(), a, b),
        };
        self.pool.push(made);
    }

    fn amount(&mut self, w: u32) -> Bits {
        if self.random.below(3) == 0 { self.any() } else { self.of(bits_for(u64::from(w))) }
    }

    /// Statements that load registers and write memories, nested.
    fn statements(
        &mut self,
        regs: &[Reg<Bits>],
        writers: &[LaneWriter<Bits>],
        rows: &[RowWriter<Bits>],
        depth: u32,
    ) {
        for _ in 0..self.random.below(4) + 1 {
            match self.random.below(6) {
                0 | 1 => {
                    let reg = &regs[self.random.below(regs.len() as u64) as usize];
                    reg.set(self.of(*reg.shape()));
                }
                2 => {
                    let (addr, lane, value) = (self.of(3), self.of(2), self.of(70));
                    writers[self.random.below(writers.len() as u64) as usize].write_lane(addr, lane, &value);
                }
                3 => {
                    let (addr, mask, data) = (self.of(3), self.of(3), self.of(210));
                    rows[self.random.below(rows.len() as u64) as usize].write_packed(addr, mask, data);
                }
                _ if depth == 0 => {}
                4 => {
                    let cond = self.cond();
                    let chain = when(cond, || self.statements(regs, writers, rows, depth - 1));
                    chain.otherwise(|| self.statements(regs, writers, rows, depth - 1));
                }
                _ => {
                    let sel = self.of(3);
                    switch_bits(sel, |s| {
                        s.case(0u64, || self.statements(regs, writers, rows, depth - 1));
                        s.cases(&[1u64, 5u64], || self.statements(regs, writers, rows, depth - 1));
                        s.case(6u64, || self.statements(regs, writers, rows, depth - 1));
                        s.default(|| self.statements(regs, writers, rows, depth - 1));
                    });
                }
            }
        }
    }
}

/// A random module of about `size` expressions.
///
/// # Errors
/// Never for sizes in the hundreds; a mistake would be this generator's.
pub fn random_module(seed: u64, size: u64) -> Result<Arc<Module>, ElabErrors> {
    Module::build(&format!("random_{seed}_{size}"), ModuleKind::Part, || {
        let mut m = Maker { random: Xorshift::new(seed ^ 0x5eed), pool: Vec::new() };
        for i in 0..4 {
            let w = m.width();
            let port = input::<Bits>(&format!("i{i}"), w);
            unused_input(&port);
            m.pool.push(port);
        }
        let regs: Vec<Reg<Bits>> = (0..6)
            .map(|i| {
                let w = m.width();
                reg::<Bits>(&format!("r{i}"), w).reset(&[m.random.word() & 1])
            })
            .collect();
        m.pool.extend(regs.iter().map(|r| r.get()));
        // Six rows behind three address bits, three lanes behind two: some accesses miss.
        let file = regfile_lanes::<Bits>("file", 6, 3, 70);
        let ram = sram::<Bits>("ram", 6, 3, 70);
        let port = ram.read_port("look");
        let writers = [file.lane_writer("lane"), ram.lane_writer("lane")];
        let rows = [file.row_writer("row"), ram.row_writer("row")];
        let (addr, lane) = (m.of(3), m.of(2));
        m.pool.extend([port.lane(1), port.lane_at(lane), file.read_lane(addr, lane)]);
        let row = file.read_row(addr);
        m.pool.extend(row);
        for _ in 0..size {
            m.grow();
        }
        port.present(m.of(3));
        // Everything that holds state is assigned somewhere; what comes later wins.
        when(m.pool[0].parity(), || {
            regs.iter().for_each(|reg| reg.set(!reg.get()));
            writers.iter().for_each(|writer| writer.write_lane(port.addr_q(), lit(0, 2), &port.lane(1)));
        });
        // Under a condition, so that assignments may repeat: the later one wins.
        let run = m.cond();
        when(run, || m.statements(&regs, &writers, &rows, 3))
            .otherwise(|| m.statements(&regs, &writers, &rows, 2));
        let value = m.of(40);
        let (c0, c1, c2) = (m.cond(), m.cond(), m.cond());
        cover("seen", c0 & c1, "some condition");
        count_amount("sum", c1 & !c2, value, "some amount");
        let w = m.any().width();
        output::<Bits>("result", w).set(m.of(w));
    })
}
