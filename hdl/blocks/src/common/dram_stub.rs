//! A DRAM channel in RTL, small and of fixed latency, so that a whole fabric can be exported: for benches, not a model of DRAM timing.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/dram-stub.svg")]

use super::delay::delayed;
use super::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// Parameters of the stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DramStubParams {
    /// Lines of memory behind one L2 bank, a power of two, 2..65536; line numbers of the bank wrap around.
    pub rows: u32,
    /// Cycles from the arrival of a request until its access, 1..1024.
    pub latency: u32,
    /// Requests on their way, 1..1024.
    pub depth: u32,
}

impl DramStubParams {
    fn row_bits(&self) -> u32 {
        self.rows.trailing_zeros()
    }
}

/// Row of a line: its number among the lines of its bank and GPU, modulo the rows.
fn row_of(sys: &Sys, p: &DramStubParams, line: Bits) -> Bits {
    let low = sys.il.trailing_zeros() - sys.line.trailing_zeros();
    let above = low + sys.banks.trailing_zeros();
    let high = line.slice(above, line.width() - above);
    let joined = if low == 0 { high } else { pack(&[line.slice(0, low), high]) };
    joined.slice(0, p.row_bits())
}

/// The DRAM stub: channel `mem_req` ([`MemReq`]), channel `mem_rsp` ([`MemRsp`]). Requests are carried out in order, one per cycle, `latency` cycles after they arrive;
/// a read answers in the cycle after that. After reset the memory is cleared, one row per cycle, and requests wait.
///
/// # Errors
/// A parameter outside its range, or a line number with fewer bits than the rows need.
pub fn dram_stub(sys: &Sys, p: DramStubParams) -> Result<Arc<Module>, ElabErrors> {
    let tag = super::sys::sys_tag(sys);
    let name = format!("dram_stub_{tag}_i{}_r{}_t{}_d{}", sys.il, p.rows, p.latency, p.depth);
    Module::build(&name, ModuleKind::Block, || {
        doc("DRAM channel of fixed latency with a small memory, for closed benches.");
        param("rows", p.rows);
        param("latency", p.latency);
        param("depth", p.depth);
        let rows_fit = p.rows.is_power_of_two() && (2..=65536).contains(&p.rows);
        let wide = p.row_bits() + sys.banks.trailing_zeros() <= sys.line_bits();
        if !rows_fit || !wide || !(1..=1024).contains(&p.latency) || !(1..=1024).contains(&p.depth) {
            elab_error(format!(
                "{p:?}; legal: rows a power of two in 2..65536 within the address, latency and depth 1..1024"
            ));
            return;
        }
        body(sys, p);
    })
}

fn body(sys: &Sys, p: DramStubParams) {
    let req = in_channel::<MemReq>("mem_req", sys);
    let rsp = out_channel::<MemRsp>("mem_rsp", sys);
    let queue = Fifo::<MemReq>::new("pending", p.depth, sys);
    let arrive = (req.valid & !queue.full).named("arrive");
    when(arrive, || {
        req.take();
        queue.push(&req.msg);
    });
    let due = delayed("flight", arrive, p.latency);
    let ripe = reg::<Bits>("ripe", bits_for(u64::from(p.depth) + 1)).doc("Requests whose time has come.");
    let cleared = reg::<Bits>("cleared", p.row_bits() + 1).doc("Rows cleared since reset.");
    let clearing = (!cleared.get().bit(p.row_bits())).named("clearing");

    let store = sram::<Bits>("store", p.rows, 1, sys.data_bits());
    let port = store.read_port("read");
    let writer = store.lane_writer("write");
    let reading = reg::<Bool>("reading", ()).doc("The row of a read is on the port.");
    let read_id = reg::<Bits>("read_id", sys.l2_id_bits());
    let read_row = reg::<Bits>("read_row", p.row_bits());
    let held = (reading.get() & !rsp.free).named("held");
    let access = ((ripe.get().any() | due) & !held & !clearing).named("access");
    let row = row_of(sys, &p, queue.head.line).named("row");

    port.present(mux(held, read_row.get(), row));
    when(reading.get() & rsp.free, || rsp.send(&MemRsp { id: read_id.get(), data: port.lane(0) }));
    when(!held, || reading.set(access & !queue.head.write));
    when(access, || {
        queue.pop();
        read_id.set(queue.head.id);
        read_row.set(row);
    });
    when(clearing, || {
        cleared.set(cleared.get() + 1);
        writer.write(cleared.get().slice(0, p.row_bits()), &lit_bv(Bv::zero(sys.data_bits())));
    })
    .elsewhen(access & queue.head.write, || writer.write(row, &queue.head.data));
    when(due & !access, || ripe.set(ripe.get() + 1));
    when(access & !due, || ripe.set(ripe.get() - 1));
    count("dram_reads", access & !queue.head.write, "lines read");
    count("dram_writes", access & queue.head.write, "lines written");
}
