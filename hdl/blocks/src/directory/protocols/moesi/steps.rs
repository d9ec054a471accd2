//! What the stages of `moesi-directory` do.

use super::pending::Answered;
use super::*;
use crate::directory::inv_ack::ack_in_with;

impl<'a> Moesi<'a> {
    /// Declares it.
    pub(super) fn new(p: &'a DirParams) -> Moesi<'a> {
        let fields = p.entry_fields();
        let entries = sram::<Bits>("entries", p.sets(), p.ways, p.entry_bits()).fields(&fields);
        let state = reg::<Enum<DirState>>("state", ());
        let run = state.get().is(DirState::Run).named("run");
        Moesi {
            req: in_channel_when::<DirReq>("req", &p.sys, run),
            rsp: out_channel::<DirRsp>("rsp", &p.sys),
            inv: out_channel::<DirInv>("inv", &p.sys),
            invs: Fifo::new("invs", p.evb_depth, &p.sys),
            port: entries.read_port("s1"),
            ages: (p.ways > 1).then(|| ages_of(p)),
            queue: WaitQueue::new(p),
            rows: Pending::new(p),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<DirReq>("s1", p.sys.clone()),
            s1_again: reg::<Bool>("s1_again", ()),
            s2: stage2(p),
            s2_replaced: reg::<Bool>("s2_replaced", ()),
            init_set: reg::<Bits>("init_set", p.set_bits()),
            p,
            entries,
            state,
            run,
        }
    }

    /// Chooses the way: the one hit, else the lowest invalid one, else the oldest whose line has no transaction. Whether there is none.
    pub(super) fn with_way(&self, look: Lookup) -> (Lookup, Bool) {
        let p = self.p;
        let busy = self.rows.busy_ways(look.set).named("busy_ways");
        let Some(ages) = &self.ages else {
            return (at_way(p, look, lit(0, 1), &self.port, &self.s2), busy.all());
        };
        let now = current_ages(&look, ages);
        let by_age = ways_by_age(p, now);
        let may: Vec<Bool> = by_age.iter().map(|way| (*way & !busy).any()).collect();
        let oldest = select(&by_age, pack_bools(&may).lowest_set());
        let free = !look.valids;
        let victim = mux(free.any(), free.lowest_set(), oldest.lowest_set());
        let way = mux(look.hit, look.way, victim);
        (at_way(p, look, way, &self.port, &self.s2), busy.all())
    }

    /// `asks`: a row asks an owner in this cycle.
    pub(super) fn stops(&self, look: &Lookup, plan: &Plan, deed: &Deed, (none, asks): (Bool, Bool)) -> Stops {
        let turn = look.valid & !deed.wait;
        let full = plan.allocate & look.valids.all();
        let no_way = (turn & full & none).named("stall_no_way");
        let begins = full | deed.row;
        let rows_full = (turn & begins & self.rows.full()).named("stall_rows_full");
        let tells = full | deed.told.any();
        let coming = self.s2.evict.get().bits().zext(5) + asks.bits().zext(5);
        let held = (self.invs.count.zext(5) + coming).ge(u64::from(self.p.evb_depth));
        let invs_full = (turn & tells & held).named("stall_invs_full");
        let port = !self.rsp.free | self.rows.due.get().any();
        let rsp_blocked = (turn & !full & deed.stale & port).named("stall_rsp_blocked");
        let stall = no_way | rows_full | invs_full | rsp_blocked;
        Stops { full, no_way, rows_full, invs_full, rsp_blocked, stall }
    }

    /// Carries out the operation in S1, or the replacement of an entry before it.
    pub(super) fn perform(&self, (go, replaces): (Bool, Bool), look: &Lookup, plan: &Plan, deed: &Deed) {
        let (p, s2) = (self.p, &self.s2);
        let op = look.req.owner.expect("messages of a slice with owners carry them");
        let victim_base = base_of_tag(p, look.old.slice(p.slots_width(), p.tag_bits()), look.base);
        let victim = Holders::of(p, look.old, bool_lit(true));
        s2.valid.set(go | replaces);
        s2.write.set((go & plan.changed) | replaces);
        when(go | replaces, || {
            s2.set.set(look.set);
            s2.way.set(look.way);
            let none = lit_bv(Bv::zero(p.entry_bits()));
            when(plan.changed | replaces, || s2.entry.set(mux(replaces, none, plan.entry)));
        });
        let own = op.op.is_any(&[HomeOp::ReadHome, HomeOp::OwnHome]);
        let other = mux(op.op.is(HomeOp::Put), enum_lit(RowKind::Put), enum_lit(RowKind::Remote));
        let kind = mux(own, enum_lit(RowKind::Local), other);
        let row = Transaction {
            base: mux(replaces, victim_base, look.base),
            row: mux(replaces, enum_lit(RowKind::Replaced), kind),
            id: look.req.id,
            src: look.req.src,
            mshr: op.id,
            asks: mux(replaces, victim.owned, deed.asks),
            owner: mux(replaces, victim.owner, deed.before.owner),
            ask: mux(replaces, enum_lit(Ask::Recall), deed.ask),
            answer: deed.answer,
            hit: look.hit,
            entry: !replaces & deed.stays,
            set: look.set,
            way: look.way,
        };
        let told = mux(replaces, victim.sharers, deed.told).named("s1_told");
        when(replaces | (go & deed.row), || {
            self.rows.start(&row, told);
        });
        let tells = (replaces | (go & deed.row)) & told.any();
        s2.evict.set(tells);
        when(tells, || {
            s2.victim.set(Victim { slots: told.zext(p.slots_width()), base: row.base });
            self.s2_replaced.set(replaces);
        });
        if let Some(ages) = &self.ages {
            touch(p, go, look, plan, ages, s2);
        }
    }

    fn tell(&self, line: Bits, dest: Bits, cause: Enum<Cause>, owner: OwnerAsk) {
        self.invs.push(&DirInv { line, dest, cause, grp: bool_lit(false), owner: Some(owner) });
    }

    /// S0 to S1: the head of the queue if its line is free, else an operation of `req` if the queue is sure to have room for it.
    pub(super) fn accept(&self, leaves: Bool, looked_up: Bits) {
        let p = self.p;
        let s1 = Stage1 { valid: &self.s1_valid, req: &self.s1, again: &self.s1_again };
        let blocked = |head: &DirReq| self.rows.of_line(base_of(p, head.line)).any();
        let Next { accept, again, head } = self.queue.next((self.run, leaves), &self.req, &s1, blocked);
        let line = mux(again, head.line, self.req.msg.line);
        let set = next_set(p, (accept | again, line), (self.s1.get().line, looked_up), None);
        self.port.present(set);
        if let Some(ages) = &self.ages {
            ages.port.present(set);
        }
    }

    /// The first row that is due asks its owner and answers its operation. Whether it asks.
    pub(super) fn go_on(&self) -> Bool {
        let p = self.p;
        let row = self.rows.next();
        let replaced = row.row.is(RowKind::Replaced);
        let room = !(self.invs.full | self.s2.evict.get()) | !row.asks;
        let goes = self.rows.due.get().any() & room & (self.rsp.free | replaced);
        let goes = goes.named("row_goes_on");
        when(goes, || {
            self.rows.goes_on();
            when(row.asks, || {
                let asked = OwnerAsk { ask: row.ask, requester: row.src, id: row.mshr };
                let cause = mux(replaced, enum_lit(Cause::Evict), enum_lit(Cause::Write));
                self.tell(row.base, row.owner.one_hot(p.sys.nodes()), cause, asked);
            });
            when(replaced & !row.asks, || self.rows.ends());
            when(!replaced, || self.answer(row.id, row.hit, row.answer));
        });
        goes & row.asks
    }

    fn answer(&self, id: Bits, hit: Bool, answer: Enum<HomeAnswer>) {
        let no = bool_lit(false);
        self.rsp.send(&DirRsp { id, hit, evicted: no, empty: no, owner: Some(OwnerAnswer { answer }) });
    }

    /// A Put of a line that is another's is answered, and the first of the Invs leaves.
    pub(super) fn send(&self, stale: Bool) {
        when(stale, || self.answer(self.s1.get().id, bool_lit(false), enum_lit(HomeAnswer::Stale)));
        let victim = self.s2.victim.get();
        when(self.s2.evict.get(), || {
            let dest = nodes_of_sharers(self.p, victim.slots.slice(0, self.p.sharers()));
            let cause = mux(self.s2_replaced.get(), enum_lit(Cause::Evict), enum_lit(Cause::Write));
            self.tell(victim.base, dest, cause, OwnerAsk::inv(&self.p.sys));
        });
        when(self.invs.valid & self.inv.free, || {
            self.invs.pop();
            self.inv.send(&self.invs.head);
        });
    }

    /// What comes for rows; what has come by the network.
    pub(super) fn hear(&self) -> Answered {
        let p = self.p;
        let (valid, line, owner) = ack_in_with("ack", &p.sys, p.home);
        let OwnerRsp { gives, line: other } = owner.expect("messages of a slice with owners carry them");
        unused_input(&other);
        let comes = mux(gives.is(Gives::Applied), enum_lit(Comes::Ack), enum_lit(Comes::Done));
        let answered = self.rows.answer(valid, comes, line);
        output::<Bool>("done_ready", ()).set(true);
        let (valid, done) = (input::<Bool>("done_valid", ()), input::<HomeDone>("done", p.sys.clone()));
        let comes = mux(done.written, enum_lit(OwnComes::Written), enum_lit(OwnComes::Done));
        self.rows.own_answer(valid, comes, done.line);
        answered
    }
}

/// What the operation does to the entry, and beside it.
pub(super) fn plan(
    p: &DirParams,
    look: &Lookup,
    op: OwnerOp,
    line: Enum<Line>,
    decided: Bool,
) -> (Plan, Deed) {
    let before = Holders::of(p, look.old, look.hit);
    let requester = sharer_of_node(p, look.req.src).named("requester");
    let src = look.req.src;
    let found = before.found(look.hit, requester, src).named("found");
    let row = operations().decode_about(look.req.line, decided, (op.op, found, line, op.alone));
    let kept = mux(row.does(Act::NoSharers), lit(0, p.sharers()), before.sharers);
    let after = Holders {
        sharers: mux(row.does(Act::AddSharer), kept | requester, kept),
        owned: (before.owned & !row.does(Act::NoOwner)) | row.does(Act::TakeOwner),
        owner: mux(row.does(Act::TakeOwner), src, before.owner),
    };
    let valid = after.any();
    row.leads_to(after.found(valid, requester, src));
    let asks = row.does(Act::FwdS) | row.does(Act::FwdM);
    let answers = [
        (Act::Alone, HomeAnswer::Alone),
        (Act::Home, HomeAnswer::Home),
        (Act::Keep, HomeAnswer::Keep),
        (Act::Taken, HomeAnswer::Taken),
    ];
    let answer = answers.iter().fold(enum_lit(HomeAnswer::Forwarded), |other, (act, answer)| {
        mux(row.does(*act), enum_lit(*answer), other)
    });
    let others = before.sharers & !requester;
    let told = mux(row.does(Act::InvOthers), others, lit(0, p.sharers()));
    let no = bool_lit(false);
    let plan = Plan {
        evict: no,
        requester,
        before: before.sharers,
        entry: pack(&[after.bits(), tag_of(p, look.base), valid.bits()]),
        changed: before.bits().ne(after.bits()),
        freed: look.hit & !valid,
        empty: no,
        inv: told,
        allocate: row.does(Act::Allocate).named("allocate"),
        touch: row.does(Act::Touch),
        wait: row.does(Act::Wait),
    };
    let deed = Deed {
        before,
        stays: valid,
        told,
        row: row.does(Act::Row),
        asks,
        ask: mux(row.does(Act::FwdS), enum_lit(Ask::FwdS), enum_lit(Ask::FwdM)),
        answer,
        stale: row.does(Act::Stale),
        wait: row.does(Act::Wait),
    };
    (plan, deed)
}
