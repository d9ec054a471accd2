//! Memories: of both kinds, with several ports, of one row and of numbers of rows that are no power of two.

use crate::maker::Maker;
use crate::state::{Message, Target};
use weft_rtl::prelude::*;

const ROWS: [u32; 9] = [1, 2, 3, 4, 5, 6, 8, 9, 17];
const LANES: [u32; 6] = [1, 1, 1, 2, 3, 5];
const LANE_WIDTHS: [u32; 11] = [1, 2, 7, 8, 32, 33, 64, 65, 70, 128, 129];

impl Maker {
    /// A memory; its reads are among the values, its ports are to be driven.
    pub fn memory(&mut self) -> Vec<Target> {
        match self.below(5) {
            0 => self.entries(),
            _ => self.vectors(),
        }
    }

    /// A memory of vectors.
    fn vectors(&mut self) -> Vec<Target> {
        let (rows, lanes, width) = (self.choose(&ROWS), self.choose(&LANES), self.choose(&LANE_WIDTHS));
        let mut out = Vec::new();
        let mem = if self.one_in(2) {
            let mem = sram::<Bits>("ram", rows, lanes, width);
            // Address registers have no reset: an address that depends on one is whatever power-up has left, unless
            // it is a fixed one in reset.
            let awake = reg::<Bool>("awake", ());
            awake.set(true);
            for number in 0..1 + self.below(2) {
                let port = mem.read_port(&format!("look{number}"));
                self.look(&port, lanes);
                out.push(Target::Look(port, mem.addr_bits(), awake.get()));
            }
            mem
        } else {
            let mem = if lanes == 1 && self.one_in(2) {
                regfile::<Bits>("file", rows, width)
            } else {
                regfile_lanes::<Bits>("file", rows, lanes, width)
            };
            (0..1 + self.below(3)).for_each(|_| self.read(&mem, lanes));
            mem
        };
        let [addr, lane] = [mem.addr_bits(), mem.lane_bits()];
        let writers = 1 + self.below(3);
        for number in 0..writers {
            let name = format!("port{number}");
            out.push(match self.one_in(2) {
                true => Target::Row(mem.row_writer(&name), [addr, lanes, width]),
                false => Target::Lane(mem.lane_writer(&name), [addr, lane, width]),
            });
        }
        if self.one_in(3) {
            self.sweep(&mem, [rows, lanes, width]);
        }
        out
    }

    fn look(&mut self, port: &SramPort<Bits>, lanes: u32) {
        let lane = self.of(3);
        let number = self.below(lanes);
        self.add(port.lane(number));
        self.add(port.lane_at(lane));
        if self.one_in(2) {
            port.row().into_iter().for_each(|lane| self.add(lane));
        }
        if self.one_in(2) {
            self.add(port.addr_q());
        }
    }

    fn read(&mut self, mem: &Memory<Bits>, lanes: u32) {
        let addr = self.of(mem.addr_bits());
        match self.below(4) {
            0 => self.add(mem.read(addr)),
            1 => {
                let lane = self.of(bits_for(u64::from(lanes)));
                self.add(mem.read_lane(addr, lane));
            }
            2 => mem.read_row(addr).into_iter().for_each(|lane| self.add(lane)),
            _ => {
                let row = self.below(mem.rows());
                self.add(mem.entry(row));
            }
        }
    }

    /// A state machine that clears the memory after reset.
    fn sweep(&mut self, mem: &Memory<Bits>, [rows, lanes, width]: [u32; 3]) {
        let row = reg::<Bits>("sweep", mem.addr_bits());
        let done = reg::<Bool>("swept", ());
        let port = mem.row_writer("clear");
        let zeros: Vec<Bits> = (0..lanes).map(|_| lit(0, width)).collect();
        when(!done.get(), || {
            port.write(row.get(), &zeros);
            row.set(row.get() + 1);
            when(row.eq(u64::from(rows - 1)), || done.set(true));
        });
        self.add(done.get().bits());
    }

    /// A memory of bundles.
    fn entries(&mut self) -> Vec<Target> {
        let (rows, data) = (self.choose(&ROWS), 1 + self.below(66));
        let mem = regfile::<Message>("entries", rows, data);
        let entry = mem.read(self.of(mem.addr_bits()));
        [entry.kind.bits(), entry.urgent.bits(), entry.data].into_iter().for_each(|leaf| self.add(leaf));
        vec![Target::Entry(mem.lane_writer("put"), [mem.addr_bits(), mem.lane_bits(), data])]
    }
}
