//! Directory operations: the op FIFO, the table of operations under way, and the answers that wait for both the data step
//! and the directory (rec.md section 6.2).

use super::mshr::{Flags, Tally, pick_from};
use super::params::L2Params;
use super::queue::OutQueue;
use super::reads::ReadLines;
use super::types::{Demand, Purpose};
use crate::msg::{DirOp, DirReq, DirRsp, ReqKind};
use weft_rtl::prelude::*;

/// The operations under way.
pub(super) struct DirOps {
    /// FIFO towards the directory; absent without a directory.
    pub queue: Option<OutQueue<DirReq>>,
    rsp: Option<InChannel<DirRsp>>,
    pub valid: Flags,
    /// The directory has answered.
    pub directory: Flags,
    /// The data step is done.
    pub data: Flags,
    /// Reads: their RdRsp waits for nothing, so that no data step is counted, but where its line is `kept`.
    pub reads: Flags,
    /// Lines of read answers that wait for the directory.
    pub kept: Option<ReadLines>,
    /// Writes that only pass this GPU home: no data step follows.
    passed: Option<Flags>,
    /// Questions of this bank itself (downgrade): nobody waits for them.
    asks: Option<Flags>,
    /// The data step had to wait for DRAM.
    pub slow: Flags,
    /// The data step had to wait for another GPU (GPU home).
    beyond: Option<Flags>,
    info: Memory<Purpose>,
    info_writer: LaneWriter<Purpose>,
    old: Memory<Bits>,
    old_writer: LaneWriter<Bits>,
    pub used: Tally,
    from: Reg<Bits>,
    /// Group of the line of each operation (GPU home).
    groups: Option<(Memory<Bits>, LaneWriter<Bits>)>,
    p: L2Params,
}

/// An operation of which everything is done.
pub(super) struct Finished {
    pub valid: Bool,
    pub index: Bits,
    pub purpose: Purpose,
    /// Old 8 bytes around an atomic's word.
    pub old: Bits,
    pub slow: Bool,
    /// Another GPU had to be asked.
    pub beyond: Bool,
    /// It is a question of this bank itself.
    pub ask: Option<Bool>,
}

impl DirOps {
    /// Declares table and channels.
    pub fn new(p: &L2Params) -> DirOps {
        let n = p.sys.l2_mshrs;
        let info = regfile::<Purpose>("op_info", n, p.clone());
        let old = regfile::<Bits>("op_old", n, 64);
        let groups = (p.hier && p.dir).then(|| {
            let groups = regfile::<Bits>("op_group", n, p.sys.line_bits() - p.group.trailing_zeros());
            let writer = groups.lane_writer("start");
            (groups, writer)
        });
        DirOps {
            queue: p.dir.then(|| OutQueue::new("dir_req", &p.sys, 8)),
            rsp: p.dir.then(|| in_channel::<DirRsp>("dir_rsp", &p.sys)),
            valid: Flags::new("op_valid", n),
            directory: Flags::new("op_directory", n),
            data: Flags::new("op_data", n),
            reads: Flags::new("op_reads", n),
            kept: p.acks.then(|| ReadLines::new(p)),
            passed: p.hier.then(|| Flags::new("op_passed", n)),
            asks: p.downgrade.then(|| Flags::new("op_asks", n)),
            slow: Flags::new("op_slow", n),
            beyond: p.hier.then(|| Flags::new("op_beyond", n)),
            info_writer: info.lane_writer("start"),
            info,
            old_writer: old.lane_writer("data"),
            old,
            used: Tally::new("op_used", bits_for(u64::from(n) + 1)),
            from: reg::<Bits>("op_from", p.sys.dir_id_bits()),
            groups,
            p: p.clone(),
        }
    }

    /// An operation may enter stage 0 although one may be started by stage 1.
    pub fn room(&self, stage1: Bool) -> Bool {
        let (used, all) = (self.used.now.get(), u64::from(self.p.sys.l2_mshrs));
        let table = used.lt(all - 1) | (used.lt(all) & !stage1);
        self.queue.as_ref().map_or(table, |q| table & q.room(2))
    }

    /// The operation to use next.
    pub fn free_index(&self) -> Bits {
        (!self.valid.now.get()).lowest_set()
    }

    /// The directory operation of a request (rec.md section 6.2, last column).
    fn op_of(&self, remote: Bool, req: &Demand) -> Enum<DirOp> {
        let as_read = enum_lit(DirOp::RdRem);
        let write = mux(remote & req.cacheable, enum_lit(DirOp::WrRem), enum_lit(DirOp::WrLoc));
        let atom = mux(remote, enum_lit(DirOp::AtomRem), enum_lit(DirOp::WrLoc));
        let op = mux(req.kind.is(ReqKind::Rd), as_read, mux(req.kind.is(ReqKind::Wr), write, atom));
        match self.p.downgrade {
            true => mux(req.kind.is(ReqKind::Down), enum_lit(DirOp::Downgrade), op),
            false => op,
        }
    }

    /// Whether a request for a home line needs a place in the table.
    pub fn needed(&self, remote: Bool, req: &Demand) -> Bool {
        let read = req.kind.is(ReqKind::Rd);
        let tracked_read = if self.p.dir { read & remote & req.cacheable } else { bool_lit(false) };
        !read | tracked_read
    }

    /// Starts operation `free_index()` for a request in stage 1. `silent`: something else answers the requester. `done`: no data step follows.
    pub fn start(&self, remote: Bool, req: &Demand, epoch: Bits, silent: Bool, done: Bool) {
        let index = self.free_index();
        let op = self.op_of(remote, req);
        let epoch = mux(remote, req.epoch, epoch);
        // A Down is answered as little as a read: nobody waits for either.
        let down = self.asks.as_ref().map(|_| req.kind.is(ReqKind::Down));
        let quiet = down.map_or(silent, |down| silent | down);
        let kind = mux(quiet, enum_lit(ReqKind::Rd), req.kind);
        let purpose = Purpose { op, kind, remote, who: req.who, id: req.id, epoch };
        self.info_writer.write(index, &purpose);
        self.valid.raise(index);
        self.directory_starts(index, remote, op, req);
        self.data.lower(index);
        if let Some(passed) = &self.passed {
            when(done, || passed.raise(index)).otherwise(|| passed.lower(index));
        }
        self.keep_group(index, req.line);
        let read = down.map_or(req.kind.is(ReqKind::Rd), |down| req.kind.is(ReqKind::Rd) | down);
        when(read, || self.reads.raise(index)).otherwise(|| self.reads.lower(index));
        self.asks.iter().for_each(|asks| asks.lower(index));
        self.used.up.set(true);
    }

    fn keep_group(&self, index: Bits, line: Bits) {
        if let Some((_, writer)) = &self.groups {
            let low = self.p.group.trailing_zeros();
            writer.write(index, &line.slice(low, line.width() - low));
        }
    }

    /// Asks the directory whether anything is recorded for the group of a line; returns the number of the question.
    pub fn ask(&self, line: Bits) -> Bits {
        let index = self.free_index();
        let own = lit(u64::from(self.p.home), self.p.sys.node_bits());
        let op = enum_lit(DirOp::Downgrade);
        self.info_writer.write(
            index,
            &Purpose {
                op,
                kind: enum_lit(ReqKind::Rd),
                remote: bool_lit(false),
                who: own.resize(self.p.who_bits()),
                id: lit(0, self.p.id_bits()),
                epoch: lit(0, 1),
            },
        );
        self.valid.raise(index);
        self.directory.lower(index);
        self.data.lower(index);
        self.passed.iter().for_each(|passed| passed.lower(index));
        self.keep_group(index, line);
        self.reads.raise(index);
        self.asks.iter().for_each(|asks| asks.raise(index));
        self.used.up.set(true);
        self.queue
            .iter()
            .for_each(|queue| queue.push(&DirReq { op, src: own, line, id: index, owner: None }));
        index
    }

    fn directory_starts(&self, index: Bits, remote: Bool, op: Enum<DirOp>, req: &Demand) {
        let Some(queue) = &self.queue else {
            self.directory.raise(index);
            return;
        };
        self.directory.lower(index);
        let own = lit(u64::from(self.p.home), self.p.sys.node_bits());
        let src = mux(remote, req.who.resize(self.p.sys.node_bits()), own);
        queue.push(&DirReq { op, src, line: req.line, id: index, owner: None });
    }

    /// The data step of an operation is done; an atomic leaves its old value. `slow`: DRAM was asked, `beyond`: another GPU was.
    pub fn data_done(&self, index: Bits, old: Bits, slow: Bool, beyond: Bool) {
        self.data.raise(index);
        self.old_writer.write(index, &old);
        when(slow, || self.slow.raise(index)).otherwise(|| self.slow.lower(index));
        if let Some(flags) = &self.beyond {
            when(beyond, || flags.raise(index)).otherwise(|| flags.lower(index));
        }
    }

    /// The line that answers a read of another node is there.
    pub fn read_done(&self, index: Bits, line: Bits, slow: bool) {
        self.data.raise(index);
        if slow {
            self.slow.raise(index)
        } else {
            self.slow.lower(index)
        }
        self.kept.iter().for_each(|kept| kept.keep(index, line));
    }

    /// Writes and atomics under way that the directory has not answered, without those that start in this cycle, which have not shown their data to anybody.
    /// An operation's number is used again two cycles after its answer at the earliest.
    pub fn writes(&self) -> Bits {
        self.valid.now.get() & !self.directory.now.get() & !self.reads.now.get()
    }

    /// GPMs of this GPU that have an operation on the line's group under way which the directory has not answered.
    pub fn unanswered(&self, line: Bits) -> Bits {
        let gpms = self.p.sys.gpms;
        let Some((groups, _)) = &self.groups else { return lit(0, gpms) };
        let low = self.p.group.trailing_zeros();
        let group = line.slice(low, line.width() - low);
        let open = self.valid.now.get() & !self.directory.now.get();
        (0..self.p.sys.l2_mshrs).fold(lit(0, gpms), |all, i| {
            let info = self.info.entry(i);
            let node = info.who.resize(self.p.sys.node_bits());
            let here = open.bit(i) & info.remote & groups.entry(i).eq(group);
            all | (self.p.sys.gpm_of(node).one_hot(gpms) & here.repeat(gpms))
        })
    }

    /// Takes an answer of the directory; returns its number while there is one. `down` hears what the directory says of downgrades: whether it answers, the
    /// number and that nothing is recorded; whether another home is to be told, and of which group.
    pub fn take_answer(
        &self,
        down: Option<impl FnOnce((Bool, Bits, Bool), (Bool, Bits))>,
    ) -> Option<(Bool, Bits)> {
        let rsp = self.rsp.as_ref()?;
        when(rsp.valid, || {
            rsp.take();
            self.directory.raise(rsp.msg.id);
        });
        assert_always(
            "l2_dir_rsp_known",
            !rsp.valid | (self.valid.now.get() & !self.directory.now.get()).bit_at(rsp.msg.id),
            "the directory answers an operation under way, once",
        );
        if let (Some(down), Some((groups, _))) = (down, &self.groups) {
            let (id, group, empty) = (rsp.msg.id, groups.read(rsp.msg.id), rsp.msg.empty);
            let info = self.info.read(id);
            assert_always(
                "l2_down_says_empty",
                !(rsp.valid & empty) | info.op.is(DirOp::Downgrade),
                "the directory says only of a Downgrade that nothing is recorded any more",
            );
            let told = rsp.valid & empty & info.remote & self.p.gpu_homed(self.line_of(group));
            down((rsp.valid, id, empty), (told, group));
        }
        Some((rsp.valid, rsp.msg.id))
    }

    /// The first line of a group.
    fn line_of(&self, group: Bits) -> Bits {
        match self.p.group.trailing_zeros() {
            0 => group,
            low => cat(&[group, lit(0, low)]),
        }
    }

    /// The next operation that is done on both sides.
    pub fn finished(&self) -> Finished {
        let none = match &self.kept {
            Some(_) => self.data.now.get(),
            None => self.data.now.get() | self.reads.now.get(),
        };
        let data = self.passed.as_ref().map_or(none, |passed| none | passed.now.get());
        let ready = self.valid.now.get() & self.directory.now.get() & data;
        let index = pick_from(ready, self.from.get()).named("op_finished");
        Finished {
            valid: ready.any(),
            index,
            purpose: self.info.read(index),
            old: self.old.read(index),
            slow: self.slow.now.get().bit_at(index),
            beyond: self.beyond.as_ref().map_or(bool_lit(false), |flags| flags.now.get().bit_at(index)),
            ask: self.asks.as_ref().map(|asks| asks.now.get().bit_at(index)),
        }
    }

    /// Frees an operation.
    pub fn end(&self, index: Bits) {
        self.valid.lower(index);
        self.used.down.set(true);
        self.from.set(index + 1);
    }

    /// Updates the registers driven from several places; called once.
    pub fn connect(&self) {
        for flags in [&self.valid, &self.directory, &self.data, &self.reads, &self.slow] {
            flags.connect();
        }
        self.passed.iter().chain(&self.beyond).chain(&self.asks).for_each(Flags::connect);
        if let Some(kept) = &self.kept {
            kept.connect();
            let waits = self.valid.now.get() & self.data.now.get() & self.reads.now.get();
            cover(
                "gpu_vi.race.read_answer_waits",
                (waits & !self.directory.now.get()).any() & kept.room(1),
                "The line of a read's answer is there, and the directory has not performed the read.",
            );
        }
        assert_always(
            "l2_dir_op_free",
            !self.used.up.get() | !self.valid.now.get().all(),
            "an operation starts only while a place in the table is free",
        );
        self.used.connect();
        if let Some(queue) = &self.queue {
            queue.connect();
        }
    }
}
