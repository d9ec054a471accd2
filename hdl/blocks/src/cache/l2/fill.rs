//! The fill engine: takes a landed line, serves the requests that waited for it in order, and asks for its installation.
//!
//! ```text
//! Idle -> Load -> Walk (one waiting request per cycle) -> End (asks the pipeline) -> Ending (stage 1) -> Idle
//! ```
//!
//! While an MSHR is being walked its list is closed: a request that would join it waits. It depends on the outputs
//! `local_rsp`, `rsp_out` and `mem_req` only, which depend on no request of anybody.

use super::alu::write_line;
use super::dirops::DirOps;
use super::mshr::{Match, Mshrs, pick_from};
use super::outputs::Outputs;
use super::params::L2Params;
use crate::msg::{L1Rsp, ReqKind, ReqMsg, RspMsg};
use weft_rtl::prelude::*;

/// State of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum FillState {
    Idle,
    Load,
    Walk,
    End,
    Ending,
}

/// The engine.
pub(super) struct Fill {
    pub state: Reg<Enum<FillState>>,
    /// MSHR served.
    pub mshr: Reg<Bits>,
    /// The line as far as it has been replayed.
    pub line: Reg<Bits>,
    /// A replayed request has written it.
    pub dirty: Reg<Bool>,
    /// Replayed so far: a read, a write, a local and a remote request.
    pub seen: Reg<Bits>,
    entry: Reg<Bits>,
    position: Reg<Bits>,
    from: Reg<Bits>,
    p: L2Params,
}

impl Fill {
    /// Declares the registers.
    pub fn new(p: &L2Params) -> Fill {
        Fill {
            state: reg::<Enum<FillState>>("fill_state", ()),
            mshr: reg::<Bits>("fill_mshr", p.sys.l2_id_bits()),
            line: reg::<Bits>("fill_line", p.sys.data_bits()).field("data"),
            dirty: reg::<Bool>("fill_dirty", ()),
            seen: reg::<Bits>("fill_seen", 4),
            entry: reg::<Bits>("fill_entry", p.pool_bits()),
            position: reg::<Bits>("fill_position", 4),
            from: reg::<Bits>("fill_from", p.sys.l2_id_bits()),
            p: p.clone(),
        }
    }

    /// The list of this MSHR is closed.
    pub fn closes(&self, found: &Match) -> Bool {
        !self.state.get().is(FillState::Idle) & self.mshr.get().eq(found.index)
    }

    /// The end of a fill asks to enter the pipeline.
    pub fn asks(&self) -> Bool {
        self.state.get().is(FillState::End)
    }

    /// The end of a fill has entered the pipeline.
    pub fn granted(&self) {
        self.state.set(FillState::Ending);
    }

    /// The end of a fill is carried out in stage 1.
    pub fn finish(&self) {
        self.state.set(FillState::Idle);
    }

    /// Moves the engine.
    pub fn connect(&self, m: &Mshrs, ops: &DirOps, outs: &Outputs) {
        switch(self.state.get(), |s| {
            s.case(FillState::Idle, || self.choose(m));
            s.case(FillState::Load, || {
                self.line.set(m.landing.lane(0));
                self.dirty.set(false);
                self.seen.set(0);
                self.position.set(0);
                m.payload.present(self.entry.get());
                self.state.set(FillState::Walk);
            });
            s.case(FillState::Walk, || self.walk(m, ops, outs));
        });
    }

    fn choose(&self, m: &Mshrs) {
        let ready = m.filled.now.get();
        when(ready.any(), || {
            let index = pick_from(ready, self.from.get());
            self.mshr.set(index);
            self.from.set(index + 1);
            self.entry.set(m.list_of(index).head);
            m.filled.lower(index);
            m.landing.present(index);
            self.state.set(FillState::Load);
        });
    }

    fn walk(&self, m: &Mshrs, ops: &DirOps, outs: &Outputs) {
        let (mshr, entry) = (self.mshr.get(), self.entry.get());
        let atom = m.atom.get().bit_at(mshr);
        let homed = !m.read.get().bit_at(mshr) & !atom;
        let item = m.waiting(entry);
        let over = self.position.get().eq(m.list_of(mshr).total);
        let read = item.kind.is(ReqKind::Rd);
        // An atomic in the list of a GPU home's read is performed here, like all writes at home.
        let performs = if self.p.hier { !atom & !read } else { homed & !read };
        let local = !over & !item.remote & !performs;
        let remote = !over & item.remote & if self.p.hier { !performs } else { read };
        let write = !over & performs;
        outs.fill_local.set(local);
        let remote_slot = match &ops.kept {
            Some(kept) => {
                outs.fill_data.set(write | remote);
                outs.data_slot() & kept.room(2)
            }
            None => {
                outs.fill_remote.set(remote);
                outs.fill_data.set(write);
                outs.remote_slot()
            }
        };
        let step = (local & outs.local_slot()) | (remote & remote_slot) | (write & outs.data_slot());
        when(over, || self.state.set(FillState::End));
        when(step, || {
            let next = m.after(entry);
            m.payload.present(next);
            m.leave(entry, mshr, !homed);
            self.entry.set(next);
            let sort = pack_bools(&[read, !read, !item.remote, item.remote]);
            self.seen.set(self.seen.get() | sort);
            self.position.set(self.position.get() + 1);
        })
        .otherwise(|| m.payload.present(entry));
        when(local & step, || {
            let (dram, beyond) = (m.from_dram.now.get().bit_at(mshr), lit(4, 3));
            let away = mux(dram, lit(5, 3), beyond);
            // A GPM of this GPU is nearer than another GPU.
            let away = match &m.far {
                Some(far) => mux(far.now.get().bit_at(mshr), away, mux(dram, lit(3, 3), lit(2, 3))),
                None => away,
            };
            outs.local.push(&L1Rsp {
                kind: item.kind,
                l1: item.who.resize(self.p.sys.l1_bits()),
                id: item.id.resize(self.p.sys.l1_id_bits()),
                data: self.line.get(),
                src: mux(homed, lit(3, 3), away),
            });
        });
        when(remote & step, || {
            if ops.kept.is_some() {
                ops.read_done(item.op, self.line.get(), true);
                return;
            }
            outs.remote.push(&RspMsg {
                kind: if self.p.hier { item.kind } else { enum_lit(ReqKind::Rd) },
                src: outs.own(),
                dst: item.who.resize(self.p.sys.node_bits()),
                bank: outs.bank.get(),
                id: item.id.resize(self.p.sys.l2_id_bits()),
                epoch: if self.p.hier { mux(read, (!homed).bits(), item.epoch) } else { lit(0, 1) },
                data: self.line.get(),
                from_dram: if self.p.hier { m.from_dram.now.get().bit_at(mshr) } else { bool_lit(true) },
                owner: None,
            });
        });
        when(write & step, || {
            let payload = m.payload.lane(0);
            let written = write_line("fill_write", self.line.get(), &payload);
            self.line.set(written.line);
            self.dirty.set(true);
            let dram = homed | m.from_dram.now.get().bit_at(mshr);
            ops.data_done(item.op, written.old, dram, !homed);
            if self.p.hier {
                when(!homed, || {
                    outs.late_result(&ReqMsg {
                        kind: enum_lit(ReqKind::Wr),
                        src: outs.own(),
                        dst: self.p.sys.home_of(m.line_of(mshr)),
                        line: m.line_of(mshr),
                        id: lit(0, self.p.sys.l2_id_bits()),
                        epoch: item.epoch,
                        cacheable: self.p.keeps(m.line_of(mshr)),
                        scope: lit(0, 2),
                        mask: payload.mask,
                        data: written.line,
                        amo: payload.amo,
                        sgn: payload.sgn,
                        cmp: payload.cmp,
                        owner: None,
                    });
                });
            }
        });
    }
}
