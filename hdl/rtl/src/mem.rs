//! Memories: synchronous-read SRAMs and register files.

use crate::build::with;
use crate::bv::{Bv, bits_for};
use crate::data::*;
use crate::error::ElabErrorKind;
use crate::ir::*;
use crate::signal::{Wire, wire_zero};
use crate::value::*;

/// A memory of `rows` rows of `lanes` lanes of type `T`. Lanes are the grain of writing.
pub struct Memory<T: Data> {
    id: MemId,
    name: String,
    shape: T::Shape,
    rows: u32,
    lanes: u32,
}

impl<T: Data> Clone for Memory<T> {
    fn clone(&self) -> Self {
        let shape = self.shape.clone();
        Memory { id: self.id, name: self.name.clone(), shape, rows: self.rows, lanes: self.lanes }
    }
}

fn declare<T: Data>(
    kind: MemKind,
    name: &str,
    rows: u32,
    lanes: u32,
    shape: T::Shape,
    loc: Loc,
) -> Memory<T> {
    let leaves = leaves_of::<T>(&shape, "");
    let mut fields: Vec<(String, u32)> = Vec::new();
    for leaf in &leaves {
        let own =
            if leaf.fields.is_empty() { vec![("data".to_string(), leaf.width)] } else { leaf.fields.clone() };
        for (field, bits) in own {
            match fields.iter_mut().find(|(f, _)| *f == field) {
                Some((_, sum)) => *sum += bits,
                None => fields.push((field, bits)),
            }
        }
    }
    let mem = Mem {
        name: name.to_string(),
        kind,
        rows,
        lanes,
        leaves,
        fields,
        read_ports: Vec::new(),
        write_ports: Vec::new(),
        loc,
    };
    let id = with(|b| {
        b.claim_name(name, loc);
        if rows == 0 || lanes == 0 || mem.lane_width() == 0 {
            b.error(loc, ElabErrorKind::Other(format!("memory {name} has no rows, no lanes or no bits")));
        }
        b.module.mems.push(mem);
        MemId(b.module.mems.len() as u32 - 1)
    });
    Memory { id, name: name.to_string(), shape, rows, lanes }
}

/// A synchronous-read SRAM. Its content is unknown after power-up: clear it with a state machine.
#[track_caller]
pub fn sram<T: Data>(name: &str, rows: u32, lanes: u32, shape: T::Shape) -> Memory<T> {
    declare(MemKind::Sram, name, rows, lanes, shape, Loc::caller())
}

/// A register file: combinational reads anywhere. Its content is unknown after reset: keep valid bits in registers.
#[track_caller]
pub fn regfile<T: Data>(name: &str, rows: u32, shape: T::Shape) -> Memory<T> {
    declare(MemKind::RegFile, name, rows, 1, shape, Loc::caller())
}

/// A register file whose rows have several lanes that are written apart.
#[track_caller]
pub fn regfile_lanes<T: Data>(name: &str, rows: u32, lanes: u32, shape: T::Shape) -> Memory<T> {
    declare(MemKind::RegFile, name, rows, lanes, shape, Loc::caller())
}

/// A read port of an SRAM: what is presented on `addr` in one cycle is read in the next.
pub struct SramPort<T: Data> {
    mem: Memory<T>,
    addr: Wire<Bits>,
    addr_q: Bits,
}

/// A write port that writes whole rows or masked lanes of rows.
pub struct RowWriter<T: Data> {
    mem: Memory<T>,
    en: Wire<Bool>,
    addr: Wire<Bits>,
    mask: Wire<Bits>,
    data: Wire<Bits>,
}

/// A write port that writes one lane.
pub struct LaneWriter<T: Data> {
    mem: Memory<T>,
    en: Wire<Bool>,
    addr: Wire<Bits>,
    lane: Wire<Bits>,
    data: Wire<Bits>,
}

impl<T: Data> Memory<T> {
    /// Address width in bits.
    pub fn addr_bits(&self) -> u32 {
        bits_for(u64::from(self.rows))
    }

    /// Lane number width in bits.
    pub fn lane_bits(&self) -> u32 {
        bits_for(u64::from(self.lanes))
    }

    /// Number of rows.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Replaces the storage fields of a lane; they must sum to its width.
    #[track_caller]
    pub fn fields(self, fields: &[(&str, u32)]) -> Self {
        let loc = Loc::caller();
        let sum: u32 = fields.iter().map(|f| f.1).sum();
        with(|b| {
            let mem = &mut b.module.mems[self.id.index()];
            let width = mem.lane_width();
            mem.fields = fields.iter().filter(|f| f.1 > 0).map(|f| (f.0.to_string(), f.1)).collect();
            if sum != width {
                b.error(loc, ElabErrorKind::FieldSum { mem: self.name.clone(), fields: sum, width });
            }
        });
        self
    }

    fn kind(&self) -> MemKind {
        with(|b| b.module.mems[self.id.index()].kind)
    }

    fn read_node(&self, addr: NodeId, lane: LaneSel, loc: Loc) -> Bits {
        let lane_width = width_of::<T>(&self.shape);
        let width = if lane == LaneSel::Row { lane_width * self.lanes } else { lane_width };
        raw(Op::MemRead { mem: self.id, addr, lane }, width, loc)
    }

    pub(crate) fn unpack(&self, packed: Bits) -> T {
        from_packed::<T>(&self.shape, packed)
    }

    fn check_index(&self, what: &'static str, index: u32, count: u32, loc: Loc) {
        if index >= count {
            let mem = self.name.clone();
            with(|b| b.error(loc, ElabErrorKind::MemoryRange { mem, what, index, count }));
        }
    }

    fn check_addr(&self, addr: Bits, loc: Loc) {
        let (left, right) = (self.addr_bits(), addr.width);
        if left != right {
            let what = format!("address of {}", self.name);
            with(|b| b.error(loc, ElabErrorKind::WidthMismatch { what, left, right }));
        }
    }

    /// Adds a read port to an SRAM.
    #[track_caller]
    pub fn read_port(&self, name: &str) -> SramPort<T> {
        let loc = Loc::caller();
        let full = format!("{}_{name}", self.name);
        let addr = wire_zero::<Bits>(&format!("{full}_addr"), self.addr_bits());
        let width = self.addr_bits();
        if self.kind() != MemKind::Sram {
            crate::build::elab_error(format!("{} is a register file: read it with read()", self.name));
        }
        let addr_q = with(|b| {
            let addr_q = b.signal(Signal {
                name: format!("{full}_addr_q"),
                width,
                kind: SigKind::Reg { reset: None, fields: Vec::new() },
                output: false,
                ty: LeafType::Bits,
                below: None,
                doc: String::new(),
                loc,
            });
            let port = ReadPort { name: name.to_string(), addr: addr.signals()[0], addr_q };
            b.module.mems[self.id.index()].read_ports.push(port);
            let value = b.node(Op::Sig(addr_q), width, loc);
            let presented = addr.get().id;
            // Driven at the end of the outermost scope, whatever the current one is.
            b.scopes[0].push(Stmt::Assign { target: addr_q, value: presented, loc });
            Bits { id: value, width }
        });
        SramPort { mem: self.clone(), addr, addr_q }
    }

    /// Reads a row of one lane from a register file in this cycle.
    #[track_caller]
    pub fn read(&self, addr: Bits) -> T {
        let loc = Loc::caller();
        self.check_addr(addr, loc);
        if self.kind() == MemKind::Sram {
            crate::build::elab_error(format!("{} is an SRAM: read it through a read port", self.name));
        }
        self.unpack(self.read_node(addr.id, LaneSel::Const(0), loc))
    }

    /// Reads one lane of a row from a register file in this cycle.
    #[track_caller]
    pub fn read_lane(&self, addr: Bits, lane: Bits) -> T {
        let loc = Loc::caller();
        self.check_addr(addr, loc);
        self.unpack(self.read_node(addr.id, LaneSel::Dyn(lane.id), loc))
    }

    /// All lanes of a row of a register file in this cycle.
    #[track_caller]
    pub fn read_row(&self, addr: Bits) -> Vec<T> {
        let loc = Loc::caller();
        self.check_addr(addr, loc);
        (0..self.lanes).map(|i| self.unpack(self.read_node(addr.id, LaneSel::Const(i), loc))).collect()
    }

    /// Entry `row` of a register file, for comparing all entries at once.
    #[track_caller]
    pub fn entry(&self, row: u32) -> T {
        self.check_index("row", row, self.rows, Loc::caller());
        let addr = lit(u64::from(row), self.addr_bits());
        self.read(addr)
    }

    /// Adds a port that writes rows.
    #[track_caller]
    pub fn row_writer(&self, name: &str) -> RowWriter<T> {
        let full = format!("{}_{name}", self.name);
        let en = wire_zero::<Bool>(&format!("{full}_en"), ());
        let addr = wire_zero::<Bits>(&format!("{full}_addr"), self.addr_bits());
        let mask = wire_zero::<Bits>(&format!("{full}_mask"), self.lanes);
        let data = wire_zero::<Bits>(&format!("{full}_data"), width_of::<T>(&self.shape) * self.lanes);
        let mode = WriteMode::Row { mask: mask.signals()[0], data: data.signals()[0] };
        self.add_writer(name, &en, &addr, mode);
        RowWriter { mem: self.clone(), en, addr, mask, data }
    }

    /// Adds a port that writes one lane (in a memory of one lane: the row).
    #[track_caller]
    pub fn lane_writer(&self, name: &str) -> LaneWriter<T> {
        let full = format!("{}_{name}", self.name);
        let en = wire_zero::<Bool>(&format!("{full}_en"), ());
        let addr = wire_zero::<Bits>(&format!("{full}_addr"), self.addr_bits());
        let lane = wire_zero::<Bits>(&format!("{full}_lane"), self.lane_bits());
        let data = wire_zero::<Bits>(&format!("{full}_data"), width_of::<T>(&self.shape));
        let mode = WriteMode::Lane { lane: lane.signals()[0], data: data.signals()[0] };
        self.add_writer(name, &en, &addr, mode);
        LaneWriter { mem: self.clone(), en, addr, lane, data }
    }

    fn add_writer(&self, name: &str, en: &Wire<Bool>, addr: &Wire<Bits>, mode: WriteMode) {
        let port = WritePort { name: name.to_string(), en: en.signals()[0], addr: addr.signals()[0], mode };
        with(|b| b.module.mems[self.id.index()].write_ports.push(port));
    }
}

impl<T: Data> SramPort<T> {
    /// Presents an address; without a presentation the port reads row 0.
    #[track_caller]
    pub fn present(&self, addr: Bits) {
        self.addr.set(addr);
    }

    /// The address presented in the cycle before.
    pub fn addr_q(&self) -> Bits {
        self.addr_q
    }

    /// Lane `lane` of the row presented in the cycle before.
    #[track_caller]
    pub fn lane(&self, lane: u32) -> T {
        self.mem.check_index("lane", lane, self.mem.lanes, Loc::caller());
        self.mem.unpack(self.mem.read_node(self.addr_q.id, LaneSel::Const(lane), Loc::caller()))
    }

    /// A lane chosen by a value, of the row presented in the cycle before.
    #[track_caller]
    pub fn lane_at(&self, lane: Bits) -> T {
        self.mem.unpack(self.mem.read_node(self.addr_q.id, LaneSel::Dyn(lane.id), Loc::caller()))
    }

    /// The row presented in the cycle before.
    #[track_caller]
    pub fn row(&self) -> Vec<T> {
        (0..self.mem.lanes).map(|i| self.lane(i)).collect()
    }
}

impl<T: Data> RowWriter<T> {
    /// The memory.
    pub(crate) fn memory(&self) -> &Memory<T> {
        &self.mem
    }

    /// Enable, row, mask of lanes, data.
    pub(crate) fn port(&self) -> (Bool, Bits, Bits, Bits) {
        (self.en.get(), self.addr.get(), self.mask.get(), self.data.get())
    }

    /// Writes all lanes of a row at the clock edge.
    #[track_caller]
    pub fn write(&self, addr: Bits, row: &[T]) {
        self.write_masked(addr, lit_bv(Bv::ones(self.mem.lanes)), row);
    }

    /// Writes the lanes whose mask bit is set, at the clock edge.
    #[track_caller]
    pub fn write_masked(&self, addr: Bits, mask: Bits, row: &[T]) {
        self.mem.check_addr(addr, Loc::caller());
        let lanes: Vec<Bits> = row.iter().map(to_packed).collect();
        self.en.set(true);
        self.addr.set(addr);
        self.mask.set(mask);
        self.data.set(pack(&lanes));
    }

    /// Writes the packed row `data` with a lane mask, at the clock edge.
    #[track_caller]
    pub fn write_packed(&self, addr: Bits, mask: Bits, data: Bits) {
        self.en.set(true);
        self.addr.set(addr);
        self.mask.set(mask);
        self.data.set(data);
    }
}

impl<T: Data> LaneWriter<T> {
    /// The memory.
    pub(crate) fn memory(&self) -> &Memory<T> {
        &self.mem
    }

    /// Enable, row, lane, data.
    pub(crate) fn port(&self) -> (Bool, Bits, Bits, Bits) {
        (self.en.get(), self.addr.get(), self.lane.get(), self.data.get())
    }

    /// Writes the row of a memory of one lane at the clock edge.
    #[track_caller]
    pub fn write(&self, addr: Bits, value: &T) {
        if self.mem.lanes != 1 {
            crate::build::elab_error(format!("{} has several lanes: name one", self.mem.name));
        }
        let zero = lit(0, self.mem.lane_bits());
        self.write_lane(addr, zero, value);
    }

    /// Writes one lane at the clock edge.
    #[track_caller]
    pub fn write_lane(&self, addr: Bits, lane: Bits, value: &T) {
        self.mem.check_addr(addr, Loc::caller());
        self.en.set(true);
        self.addr.set(addr);
        self.lane.set(lane);
        self.data.set(to_packed(value));
    }
}
