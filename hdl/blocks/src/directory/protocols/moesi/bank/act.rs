//! What the operation in the slot does.

use super::Bank;
use super::arrays::Found;
use super::choose::Class;
use super::fence::FenceState;
use super::homes::Home;
use super::mshrs::Open;
use super::observe::{Installs, installs};
use super::table::*;
use super::writebacks::Left;
use crate::cache::l2::alu::write_line;
use crate::msg::*;
use weft_rtl::prelude::*;

/// Written in the arrays at the end of the cycle, one way of the slot's set.
struct Writes {
    state: Wire<Bool>,
    way: Wire<Bits>,
    line: Wire<Bits>,
    copy: Wire<Enum<Copy>>,
    data: Wire<Bool>,
    bytes: Wire<Bits>,
    touch: Wire<Bool>,
}

impl Bank<'_> {
    /// Does what is in the slot.
    pub fn act(&self) {
        let (p, slot) = (self.p, &self.slot);
        let set = slot.set.get();
        let reserved = self.mshrs.reserved(set).named("reserved");
        let found = self.arrays.look(slot.line.get(), set, reserved, self.outs.bank.get());
        let writes = Writes {
            state: wire_or::<Bool>("puts_state", (), false),
            way: wire_or::<Bits>("put_way", p.way_bits(), found.way),
            line: wire_or::<Bits>("put_line", p.sys.line_bits(), slot.line.get()),
            copy: wire_or::<Enum<Copy>>("put_copy", (), found.copy),
            data: wire_or::<Bool>("puts_data", (), false),
            bytes: wire_or::<Bits>("put_bytes", p.sys.data_bits(), found.data),
            touch: wire_or::<Bool>("touches", (), false),
        };
        self.install(&found, &writes);
        self.probe(&found, &writes);
        self.turn(&found, &writes);
        self.remote(&found, &writes);
        self.request(&found, &writes);
        self.flush(reserved, &writes);
        when(writes.state.get(), || {
            self.arrays.write(set, writes.way.get(), writes.line.get(), writes.copy.get());
        });
        when(writes.data.get(), || self.arrays.write_data(set, writes.way.get(), writes.bytes.get()));
        when(writes.touch.get(), || self.arrays.touch(set, writes.way.get(), &found));
    }

    /// A line that has come is installed, and served from now on.
    fn install(&self, found: &Found, writes: &Writes) {
        let (p, served) = (self.p, &self.slot.served);
        let now = self.slot.is(Class::Install);
        let index = self.slot.index.get().resize(served.index.get().width());
        let open = self.mshrs.get(index);
        let (what, bytes) = self.mshrs.what(index);
        let granted = self.mshrs.granted.now.get().bit_at(index);
        let fetches = (now & granted & found.copy.is(Copy::I)).named("grant_without_copy");
        let goes = (now & !fetches).named("installs");
        let gives = mux(granted, enum_lit(Gives::Modified), what.gives);
        let exclusive = mux(gives.is(Gives::Exclusive), enum_lit(Copy::E), enum_lit(Copy::S));
        let copy = mux(gives.is(Gives::Modified), enum_lit(Copy::M), exclusive);
        when(fetches, || {
            self.mshrs.granted.lower(index);
            self.mshrs.to_fetch(index, enum_lit(Gives::Modified));
            served.busy.set(false);
        });
        when(goes, || {
            self.pool.wake();
            self.mshrs.granted.lower(index);
            self.mshrs.landed.lower(index);
            writes.state.set(true);
            writes.touch.set(true);
            writes.way.set(open.way);
            writes.copy.set(copy);
            when(what.bytes & !granted, || {
                writes.data.set(true);
                writes.bytes.set(bytes);
            });
            served.valid.set(true);
            served.index.set(index);
            served.line.set(open.line);
            served.writable.set(!copy.is(Copy::S));
            served.left.set(self.pool.of_line(open.line).popcount().resize(p.pool_bits() + 1));
            let home = mux(what.from_dram & !granted, lit(3, 3), lit(1, 3));
            let far = mux(what.from_dram, lit(5, 3), lit(4, 3));
            served.src.set(mux(what.far & !granted, far, home));
        });
        installs(&Installs { goes, fetches, granted, bytes: what.bytes, copy });
        let kept = what.bytes | granted | !found.copy.is(Copy::I);
        let text = "data without data come to who has them";
        assert_always("moesi_l2_keeps_copy", !goes | kept, text);
    }

    /// An INV message.
    fn probe(&self, found: &Found, writes: &Writes) {
        let (p, outs, msg) = (self.p, &self.outs, self.slot.probe.get());
        let asked = msg.owner.expect("messages of a bank with owners carry them");
        let now = self.slot.is(Class::Probe);
        let buffer = self.writebacks.of_line(msg.line).named("probe_places");
        let place = buffer.lowest_set();
        let (left, bytes) = self.writebacks.get(place);
        let copy = mux(buffer.any(), left, found.copy).named("probe_copy");
        let data = mux(buffer.any(), bytes, found.data);
        let row = probes().decode_about(msg.line, now, (asked.ask, copy));
        let sends = row.does(Answers::Shared) | row.does(Answers::Modified);
        let after = row.next();
        let gives = mux(row.does(Answers::Shared), enum_lit(Gives::Shared), enum_lit(Gives::Modified));
        when(now, || {
            outs.inv_done.push(&InvDone { link: msg.link });
            when(sends, || {
                outs.slot_answers(&outs.answer(
                    msg.line,
                    (asked.requester, asked.id),
                    gives,
                    (bool_lit(true), data),
                ));
            });
            when(row.does(Answers::Back), || {
                let dirty = copy.is_any(&[Copy::M, Copy::O]);
                let id = lit(0, p.sys.l2_id_bits());
                let back = outs.answer(
                    msg.line,
                    (p.sys.home_of(msg.line), id),
                    enum_lit(Gives::Back),
                    (dirty, data),
                );
                let owner = Some(OwnerRsp { gives: enum_lit(Gives::Back), line: msg.line });
                outs.slot_answers(&RspMsg { owner, ..back });
            });
            when(buffer.any(), || self.writebacks.becomes(place, after)).elsewhen(found.hit, || {
                writes.state.set(true);
                writes.copy.set(after);
            });
        });
        unused_input(&msg.cause);
        unused_input(&msg.grp);
        self.observe_probe(now, &asked, found, buffer.any());
    }

    /// The slice has answered a request of another node.
    fn turn(&self, found: &Found, writes: &Writes) {
        let (p, outs) = (self.p, &self.outs);
        let now = self.slot.is(Class::Turn);
        let index = self.slot.index.get().resize(self.homes.bits());
        let (home, answer, _, bytes) = self.homes.get(index);
        let row = turns().decode_about(home.line, now, (home.asked, answer, found.copy));
        let after = row.next();
        count("l2_home_requests", now, "Requests of other nodes that the slice has answered.");
        count("l2_home_reads", now & row.does(Turn::Fetch), "Of these, for which memory is read.");
        let exclusive = mux(row.does(Turn::Exclusive), enum_lit(Gives::Exclusive), enum_lit(Gives::Shared));
        let gives = mux(row.does(Turn::Modified), enum_lit(Gives::Modified), exclusive);
        let number = self.homes.number(index, p);
        let (yes, no) = (bool_lit(true), bool_lit(false));
        when(now, || {
            self.homes.answered.lower(index);
            when(row.does(Turn::Fetch), || {
                let none = lit_bv(Bv::zero(p.sys.data_bits()));
                outs.slot_memory(no, home.line, none, number);
                self.homes.fetches(index, gives);
            })
            .otherwise(|| self.homes.used.lower(index));
            when(row.does(Turn::Send), || {
                outs.slot_answers(&outs.answer(home.line, (home.src, home.id), gives, (yes, found.data)));
            });
            when(row.does(Turn::Keep), || {
                outs.slot_answers(&outs.answer(home.line, (home.src, home.id), gives, (no, found.data)));
            });
            when(row.does(Turn::Acknowledge), || {
                outs.slot_answers(&outs.answer(
                    home.line,
                    (home.src, home.id),
                    enum_lit(Gives::Put),
                    (no, found.data),
                ));
            });
            when(row.does(Turn::Write), || {
                outs.slot_done.set(true);
                outs.done.push(&HomeDone { line: home.line, written: yes });
                when(home.dirty, || outs.slot_memory(yes, home.line, bytes, number));
            });
            when(found.hit, || {
                writes.state.set(true);
                writes.copy.set(after);
            });
        });
    }

    /// A request of another node goes to the slice; while its line is asked for by this node it waits, but a Put.
    fn remote(&self, found: &Found, writes: &Writes) {
        let (p, slot, msg) = (self.p, &self.slot, self.slot.remote.get());
        let exclusive = msg.owner.expect("messages of a bank with owners carry them").exclusive;
        let now = slot.is(Class::Remote);
        let put = msg.kind.is(ReqKind::Wr);
        let line_asked = mux(exclusive, enum_lit(Asked::GetM), enum_lit(Asked::GetS));
        let asked = mux(put, enum_lit(Asked::Put), line_asked);
        let open = self.mshrs.of_line(msg.line).any();
        let row = enters().decode_about(msg.line, now, (asked, found.copy, open));
        let after = row.next();
        let waits = (now & row.does(Enters::Wait)).named("remote_waits");
        when(waits, || slot.remote_held.set(true));
        let op = mux(exclusive, enum_lit(HomeOp::GetM), enum_lit(HomeOp::GetS));
        when(now & row.does(Enters::Ask), || {
            let home = Home { asked, line: msg.line, src: msg.src, id: msg.id, dirty: msg.mask.any() };
            let index = self.homes.free();
            self.homes.begin(&home, msg.data);
            let op = mux(put, enum_lit(HomeOp::Put), op);
            let owner = Some(OwnerOp { op, id: msg.id, alone: row.does(Enters::Alone) });
            let id = self.homes.number(index, p);
            self.outs.dir.push(&DirReq {
                op: enum_lit(DirOp::RdRem),
                src: msg.src,
                line: msg.line,
                id,
                owner,
            });
            when(found.hit, || {
                writes.state.set(true);
                writes.copy.set(after);
            });
        });
        let here = p.homed(msg.line) & msg.dst.eq(u64::from(p.home));
        let text = "a request of another node is for a line of this home";
        assert_always("moesi_l2_remote_home", !now | here, text);
    }

    /// A request of this node: performed, or its line asked for.
    fn request(&self, found: &Found, writes: &Writes) {
        let (p, slot, served) = (self.p, &self.slot, &self.slot.served);
        let req = slot.request.get();
        let (local, pooled) = (slot.is(Class::Local), slot.is(Class::Pool));
        let place = slot.index.get().resize(p.pool_bits());
        let same = self.pool.of_line(req.line);
        let before = mux(pooled, self.pool.oldest(same).ne(place), same.any()).named("older_waits");
        let asked = self.mshrs.of_line(req.line).any();
        let serves = served.valid.get() & served.line.get().eq(req.line) & pooled;
        let leaving = self.writebacks.of_line(req.line).any();
        let turn = ((local | pooled) & !before & !leaving & (!asked | serves)).named("request_turn");
        let wants = mux(req.writes(), enum_lit(Wants::Write), enum_lit(Wants::Load));
        let row = requests().decode_about(req.line, turn, (wants, found.copy));
        let after = row.next();
        let does = (turn & row.does(Does::Perform)).named("performs");
        self.perform(does, serves, found, after, writes);
        let misses = turn & !row.does(Does::Perform) & !serves;
        let (asks, makes_room) = self.ask(misses, row.does(Does::GetM), found, writes);
        let stays = (local | pooled) & !does;
        when(local & stays, || self.pool.put(&req));
        when(pooled & stays & !makes_room, || self.pool.stays(place));
        when(local & req.kind.is(ReqKind::Wr), || self.answer(lit(1, 3), found.data));
        when(local & stays & req.writes(), || self.fence.takes(req.epoch));
        when((pooled & does) | makes_room, || self.pool.wake());
        when(pooled & does, || {
            self.pool.leave(place);
            when(req.writes(), || self.fence.performs(req.epoch));
            when(serves, || served.left.set(served.left.get() - 1));
        });
        let stuck = misses & !found.hit & !found.room;
        self.observe_request(wants, (does, turn, asks), (leaving, stuck));
    }

    fn answer(&self, src: Bits, data: Bits) {
        let req = self.slot.request.get();
        self.outs.local.push(&L1Rsp { kind: req.kind, l1: req.l1, id: req.id, data, src });
    }

    fn perform(&self, does: Bool, serves: Bool, found: &Found, after: Enum<Copy>, writes: &Writes) {
        let (req, served) = (self.slot.request.get(), &self.slot.served);
        let written = write_line("alu", found.data, &req.payload);
        let src = mux(serves, served.src.get(), lit(1, 3));
        when(does, || {
            writes.touch.set(true);
            when(req.writes(), || {
                writes.state.set(true);
                writes.copy.set(after);
                writes.data.set(true);
                writes.bytes.set(written.line);
            });
            when(req.kind.is(ReqKind::Rd), || self.answer(src, found.data));
            when(req.kind.is(ReqKind::Atom), || {
                self.answer(src, pack(&vec![written.old; self.p.sys.line as usize / 8]));
            });
        });
    }

    /// The line is asked for, if there is an MSHR and a place for it. Whether it is, and whether a place was made first.
    fn ask(&self, misses: Bool, modified: Bool, found: &Found, writes: &Writes) -> (Bool, Bool) {
        let (p, slot, outs) = (self.p, &self.slot, &self.outs);
        let req = slot.request.get();
        let line = found.victim_line;
        let place = (misses & !found.hit & found.room).named("replaces");
        let homed = p.homed(line);
        let row = replacements().decode_about(line, place, (found.victim_copy, homed));
        row.leads_to(enum_lit(Copy::I));
        let puts = row.does(Leaves::Put);
        let gives = (place & puts & !self.writebacks.full()).named("gives_back");
        let makes_room = gives;
        let free = !self.mshrs.full();
        let asks = (misses & free & (found.hit | (found.room & !puts))).named("asks");
        when(gives, || {
            self.writebacks.put(&Left { line, data: found.victim_data }, found.victim_copy);
            let id = self.writebacks.free().resize(p.sys.l2_id_bits());
            self.put(line, id, row.does(Leaves::Dirty), found.victim_data);
            writes.state.set(true);
            writes.way.set(found.victim);
            writes.line.set(line);
            writes.copy.set(Copy::I);
        });
        when(asks, || {
            let way = mux(found.hit, found.way, found.victim);
            let index = self.mshrs.free();
            self.mshrs.begin(index, &Open { line: req.line, set: slot.set.get(), way, modified });
            let id = index.resize(p.sys.l2_id_bits());
            when(!found.hit, || {
                writes.state.set(true);
                writes.way.set(found.victim);
                writes.line.set(line);
                writes.copy.set(Copy::I);
                when(row.does(Leaves::Memory), || {
                    outs.slot_memory(bool_lit(true), line, found.victim_data, id);
                });
            });
            when(p.homed(req.line), || {
                let op = mux(modified, enum_lit(HomeOp::OwnHome), enum_lit(HomeOp::ReadHome));
                let owner = Some(OwnerOp { op, id, alone: bool_lit(false) });
                let read = enum_lit(DirOp::RdRem);
                outs.dir.push(&DirReq { op: read, src: outs.own(), line: req.line, id, owner });
            })
            .otherwise(|| {
                let none = (lit_bv(Bv::zero(p.sys.line)), lit_bv(Bv::zero(p.sys.data_bits())));
                outs.req.push(&self.message(ReqKind::Rd, req.line, id, none, modified));
            });
        });
        (asks, makes_room)
    }

    /// A Put.
    fn put(&self, line: Bits, id: Bits, dirty: Bool, data: Bits) {
        let (sys, no) = (&self.p.sys, bool_lit(false));
        let bytes = (dirty.repeat(sys.line), data & dirty.repeat(sys.data_bits()));
        self.outs.req.push(&self.message(ReqKind::Wr, line, id, bytes, no));
    }

    fn message(
        &self,
        kind: ReqKind,
        line: Bits,
        id: Bits,
        (mask, data): (Bits, Bits),
        exclusive: Bool,
    ) -> ReqMsg {
        let no = bool_lit(false);
        ReqMsg {
            kind: enum_lit(kind),
            src: self.outs.own(),
            dst: self.p.sys.home_of(line),
            line,
            id,
            epoch: lit(0, 1),
            cacheable: bool_lit(true),
            scope: lit(0, 2),
            mask,
            data,
            amo: enum_lit(AmoOp::Add),
            sgn: no,
            cmp: lit(0, 64),
            owner: Some(OwnerReq { exclusive }),
        }
    }

    /// A way is flushed: what memory has not is written, or given back.
    fn flush(&self, reserved: Bits, writes: &Writes) {
        let (p, outs, fence) = (self.p, &self.outs, &self.fence);
        let now = self.slot.is(Class::Flush) & fence.state.get().is(FenceState::Flush);
        let way = fence.way.get();
        let (tag, data) = self.arrays.at(way);
        let line = p.line_from(tag.tag, self.slot.set.get(), outs.bank.get());
        let puts = tag.copy.is_any(&[Copy::M, Copy::O]) & !p.homed(line);
        let waits = reserved.bit_at(way) | (puts & self.writebacks.full());
        let goes = (now & !waits).named("flush_goes");
        let row = flushes().decode_about(line, goes, (tag.copy, p.homed(line)));
        let after = row.next();
        when(goes, || {
            fence.walked();
            when(row.does(Leaves::Memory), || {
                outs.slot_memory(bool_lit(true), line, data, lit(0, p.sys.l2_id_bits()));
            });
            when(row.does(Leaves::Put), || {
                self.writebacks.put(&Left { line, data }, tag.copy);
                let id = self.writebacks.free().resize(p.sys.l2_id_bits());
                self.put(line, id, row.does(Leaves::Dirty), data);
            });
            when(row.does(Leaves::Memory) | row.does(Leaves::Put), || {
                writes.state.set(true);
                writes.copy.set(after);
                writes.way.set(way);
                writes.line.set(line);
            });
        });
    }
}
