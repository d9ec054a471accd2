//! Stage 2: the data array, atomics and masked stores, and the messages that carry a line.

use super::alu::write_line;
use super::decide::Decision;
use super::dirops::DirOps;
use super::fill::Fill;
use super::held::Held;
use super::outputs::Outputs;
use super::params::L2Params;
use super::types::{DataWrite, Demand, Payload, Step};
use crate::msg::{L1Rsp, MemReq, ReqKind, ReqMsg, RspMsg};
use weft_rtl::prelude::*;

/// The data array and the register of stage 2.
pub(super) struct DataStage {
    port: SramPort<Bits>,
    writer: LaneWriter<Bits>,
    pub valid: Reg<Bool>,
    pub step: Reg<Step>,
    pub req: Reg<Demand>,
    p: L2Params,
}

impl DataStage {
    /// Declares array and registers.
    pub fn new(p: &L2Params) -> DataStage {
        let data = sram::<Bits>("data", p.sets * p.ways, 1, p.sys.data_bits());
        DataStage {
            port: data.read_port("look"),
            writer: data.lane_writer("put"),
            valid: reg::<Bool>("s2_valid", ()),
            step: reg::<Step>("s2_step", p.clone()),
            req: reg::<Demand>("s2_req", p.clone()),
            p: p.clone(),
        }
    }

    /// Takes over from stage 1.
    pub fn accept(&self, d: &Decision, held: Option<&Held>) {
        self.valid.set(d.runs);
        if let (Some(held), Some(step)) = (held, &d.held) {
            held.accept(step, d.step.row, d.runs, |act| d.r(act) | d.g(act));
        }
        when(d.runs, || {
            self.port.present(d.step.row);
            self.step.set(d.step);
            self.req.set(d.op.req);
        });
    }

    /// Carries out stage 2.
    pub fn connect(&self, ops: &DirOps, outs: &Outputs, fill: &Fill, held: Option<&Held>) {
        let (step, req, line) = (self.step.get(), self.req.get(), self.port.lane(0));
        if let Some(held) = held {
            held.connect(self.valid.get(), &step, req.mask);
        }
        let message = || {
            let own = self.request(&step, &req, outs);
            held.map_or(own, |held| held.message(&own, &step, line))
        };
        let on = |flag: Bool| self.valid.get() & flag;
        let result = wire_zero::<Bits>("s2_result", self.p.sys.data_bits());
        when(on(!step.write.is(DataWrite::Keep)), || {
            let written = write_line("s2_write", line, &Payload::of(&req));
            result.set(written.line);
            switch(step.write, |s| {
                s.case(DataWrite::Merge, || self.writer.write(step.row, &written.line));
                s.case(DataWrite::Whole, || self.writer.write(step.row, &req.data));
                s.case(DataWrite::Fill, || self.writer.write(step.row, &fill.line.get()));
            });
            when(step.data_step, || {
                outs.s2_data.set(true);
                ops.data_done(step.op, written.old, bool_lit(false), bool_lit(false));
            });
        });
        when(on(step.answer_local), || {
            outs.s2_local.set(true);
            outs.local.push(&L1Rsp {
                kind: req.kind,
                l1: req.who.resize(self.p.sys.l1_bits()),
                id: req.id.resize(self.p.sys.l1_id_bits()),
                data: line,
                src: lit(1, 3),
            });
        });
        when(on(step.answer_remote), || {
            if ops.kept.is_some() {
                outs.s2_data.set(true);
                ops.read_done(step.op, line, false);
                return;
            }
            outs.s2_remote.set(true);
            outs.remote.push(&RspMsg {
                kind: enum_lit(ReqKind::Rd),
                src: outs.own(),
                dst: req.who.resize(self.p.sys.node_bits()),
                bank: outs.bank.get(),
                id: req.id.resize(self.p.sys.l2_id_bits()),
                epoch: lit(0, 1),
                data: line,
                from_dram: bool_lit(false),
                owner: None,
            });
        });
        when(on(step.request), || {
            let msg = message();
            outs.request.push(&ReqMsg { dst: self.p.leaf_target(msg.line), ..msg });
        });
        if let Some(pass) = &outs.pass {
            when(on(step.pass), || {
                let plain = message();
                pass.push(&ReqMsg {
                    kind: mux(
                        step.result,
                        enum_lit(ReqKind::Wr),
                        mux(step.read, enum_lit(ReqKind::Rd), plain.kind),
                    ),
                    data: mux(step.result, result.get(), plain.data),
                    epoch: step.far_epoch,
                    ..plain
                });
            });
        }
        when(on(step.fetch | step.write_back), || {
            outs.mem.push(&MemReq {
                write: step.write_back,
                line: mux(step.write_back, step.victim, req.line),
                data: line,
                id: step.mshr,
            });
        });
    }

    fn request(&self, step: &Step, req: &Demand, outs: &Outputs) -> ReqMsg {
        ReqMsg {
            kind: req.kind,
            src: outs.own(),
            dst: self.p.sys.home_of(req.line),
            line: req.line,
            id: step.mshr,
            epoch: step.epoch,
            cacheable: self.p.keeps(req.line),
            scope: req.scope,
            mask: req.mask,
            data: req.data,
            amo: req.amo,
            sgn: req.sgn,
            cmp: req.cmp,
            owner: None,
        }
    }
}
