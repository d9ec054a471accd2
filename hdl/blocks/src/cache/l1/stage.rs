//! Stage S1: one row of the transition table per request.

use super::reply::Replies;
use super::*;

/// The request in S1.
pub(super) struct Stage<'a> {
    pub p: &'a L1Params,
    pub own_l1: Bits,
    pub s1: S1Req,
    /// The request's row is the one read from the arrays.
    pub active: Bool,
    /// The request is carried out in this cycle.
    pub go: Wire<Bool>,
}

/// What S1 finds and chooses before it acts.
struct Found {
    row: Decoded<L1State, L1Act>,
    /// Ways that hold the line.
    hit_oh: Bits,
    way: Bits,
    join_oh: Bits,
    join: Bits,
    /// Entry of the miss file that is taken if one is needed.
    entry: Bits,
    alloc: Bool,
    sends: Bool,
}

impl Stage<'_> {
    /// Looks up, decides, acts. `intake`: a request is in S1; the cache is initialised.
    pub fn act(
        &self,
        arrays: &Arrays,
        misses: &Misses,
        unanswered: &Unanswered,
        replies: &Replies,
        l2: &OutChannel<L1Req>,
        intake: (Bool, Bool),
    ) {
        let found = self.look_up(arrays, misses);
        self.decide(&found, misses, unanswered, replies, l2, intake);
        let go = self.go.get();
        when(go & found.sends, || self.send(&found, unanswered, l2));
        when(go & found.alloc, || self.allocate(&found, misses, unanswered));
        when(go & found.row.does(L1Act::Merge), || self.merge(&found, misses));
        self.change_copies(&found, arrays, misses);
        let answers = found.row.does(L1Act::Hit) | found.row.does(L1Act::Ack);
        when(go & answers, || {
            replies.delay(&reply::Delayed {
                id: self.s1.id,
                ack: found.row.does(L1Act::Ack),
                mask: self.s1.mask,
                data: arrays.data_port.lane_at(found.way),
            });
        });
        when(go & found.row.does(L1Act::Release), || {
            replies.start_release(self.s1.id, unanswered.epoch.get());
            unanswered.epoch.set(!unanswered.epoch.get());
        });
        self.follow(&found, arrays, misses);
        self.observe(&found);
    }

    /// The line is left in the state to which its row leads.
    fn follow(&self, f: &Found, arrays: &Arrays, misses: &Misses) {
        let (row, go) = (f.row.clone(), self.go.get());
        let set = arrays.set_of(self.s1.line);
        let (valid, hit, open) = (arrays.valid.clone(), f.hit_oh, misses.open.clone());
        let fresh = f.entry.one_hot(misses.count) & f.alloc.repeat(misses.count);
        let joinable = f.join_oh | fresh;
        after_cycle(move |after| {
            let ways = valid.iter().enumerate();
            let copies = ways.map(|(w, valid)| hit.bit(w as u32) & after.of(valid).bit_at(set));
            let copies = any_of(&copies.collect::<Vec<_>>());
            let open = (after.of(&open) & joinable).any();
            let waits = mux(open, enum_lit(L1State::P), enum_lit(L1State::I));
            row.leads_to_when(go, mux(copies, enum_lit(L1State::V), waits));
        });
    }

    fn look_up(&self, arrays: &Arrays, misses: &Misses) -> Found {
        let hit_oh = arrays.holders(self.s1.line).named("s1_hit_oh");
        let join_oh = misses.joinable(self.s1.line).named("s1_join_oh");
        let state = mux(join_oh.any(), enum_lit(L1State::P), enum_lit(L1State::I));
        let state = mux(hit_oh.any(), enum_lit(L1State::V), state).named("s1_line_state");
        let row = requests(self.p.scoped).decode_about_but(
            self.s1.line,
            &["acquire", "release", "local"],
            self.go.get(),
            (self.s1.event, state),
        );
        let at_most_one = |v: Bits| v.popcount().le(1);
        let single = at_most_one(hit_oh) & at_most_one(join_oh) & !(hit_oh.any() & join_oh.any());
        let text = "a line has at most one copy or one miss that loads may join, never both";
        assert_always("l1_one_copy", !self.active | single, text);
        let alloc = row.does(L1Act::Alloc) | (row.does(L1Act::Write) & self.s1.want_ack);
        let sends = row.does(L1Act::Read) | row.does(L1Act::Write) | row.does(L1Act::Atomic);
        Found {
            way: hit_oh.lowest_set(),
            hit_oh,
            join: join_oh.lowest_set(),
            join_oh,
            entry: (!misses.busy.get()).lowest_set(),
            alloc: alloc.named("s1_alloc"),
            sends: sends.named("s1_sends"),
            row,
        }
    }

    fn decide(
        &self,
        f: &Found,
        misses: &Misses,
        unanswered: &Unanswered,
        replies: &Replies,
        l2: &OutChannel<L1Req>,
        (s1_valid, ready): (Bool, Bool),
    ) {
        let joined_full = misses.waiting.read(f.join).eq(u64::from(self.p.targets));
        let no_entry = (f.alloc & misses.busy.get().all()) | (f.row.does(L1Act::Merge) & joined_full);
        let counted = f.row.does(L1Act::Write) | f.row.does(L1Act::Atomic);
        let no_store = counted & unanswered.full(self.p);
        let behind = f.row.does(L1Act::Release) & replies.releasing.get();
        let answers = f.row.does(L1Act::Hit) | f.row.does(L1Act::Ack);
        let no_way = (f.sends & !l2.free) | (answers & replies.frozen.get());
        self.go.set(self.active & !no_entry & !no_store & !behind & !no_way);
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let cause = |c: StallCause| enum_lit(c);
        let why = mux(no_way, cause(StallCause::Other), cause(StallCause::None));
        let why = mux(behind, cause(StallCause::Release), why);
        let why = mux(no_store, cause(StallCause::SbFull), why);
        let why = mux(no_entry, cause(StallCause::MshrFull), why);
        let why = mux(self.active, why, cause(StallCause::Bank));
        let idle = mux(ready, cause(StallCause::None), cause(StallCause::Other));
        stall.set(mux(s1_valid, why, idle));
        let waits = |name: &str, cond: Bool, text: &str| count(name, self.active & cond, text);
        waits(
            "l1_wait_miss_file",
            no_entry,
            "cycles a request waits for a miss-file entry or a place in one",
        );
        waits("l1_wait_stores", no_store, "cycles a store or atomic waits: too many are unanswered");
        waits("l1_wait_release", behind, "cycles a release waits for the one before it");
        waits("l1_wait_way", no_way, "cycles a request waits for the way to the L2 or to the CU");
    }

    fn send(&self, f: &Found, unanswered: &Unanswered, l2: &OutChannel<L1Req>) {
        let id_bits = self.p.sys.l1_id_bits();
        let first_plain = u64::from(self.p.sys.l1_mshrs);
        let plain =
            mux(unanswered.epoch.get().as_bool(), lit(first_plain + 1, id_bits), lit(first_plain, id_bits));
        let kind = mux(f.row.does(L1Act::Read), enum_lit(ReqKind::Rd), enum_lit(ReqKind::Wr));
        l2.send(&L1Req {
            kind: mux(f.row.does(L1Act::Atomic), enum_lit(ReqKind::Atom), kind),
            l1: self.own_l1,
            line: self.s1.line,
            mask: self.s1.mask,
            data: self.s1.data,
            amo: self.s1.amo,
            sgn: self.s1.sgn,
            cmp: self.s1.cmp,
            scope: match self.p.store_scope {
                true => self.s1.scope,
                false => mux(f.row.does(L1Act::Write), lit(0, 2), self.s1.scope),
            },
            id: mux(f.alloc, f.entry.zext(id_bits), plain),
        });
        when(!f.row.does(L1Act::Read), || unanswered.sent.set(unanswered.epoch.get().one_hot(2)));
    }

    fn target(&self) -> Target {
        Target { id: self.s1.id, mask: self.s1.mask }
    }

    fn allocate(&self, f: &Found, misses: &Misses, unanswered: &Unanswered) {
        let kind = mux(f.row.does(L1Act::Atomic), enum_lit(ReqKind::Atom), enum_lit(ReqKind::Wr));
        let kind = mux(f.row.does(L1Act::Read), enum_lit(ReqKind::Rd), kind);
        let info = MissInfo { line: self.s1.line, kind, epoch: unanswered.epoch.get() };
        misses.enter.write(f.entry, &info);
        misses.target_writer.write_lane(f.entry, lit(0, misses.targets.lane_bits()), &self.target());
        misses.waiting_writer.write(f.entry, &lit(1, misses.waiting_bits));
        let entry_oh = f.entry.one_hot(misses.count);
        misses.taken.set(entry_oh);
        when(f.row.does(L1Act::Open), || misses.opened.set(entry_oh));
    }

    fn merge(&self, f: &Found, misses: &Misses) {
        let waiting = misses.waiting.read(f.join);
        let lane = waiting.resize(misses.targets.lane_bits());
        misses.target_writer.write_lane(f.join, lane, &self.target());
        misses.waiting_writer.write(f.join, &(waiting + 1));
    }

    fn change_copies(&self, f: &Found, arrays: &Arrays, misses: &Misses) {
        let go = self.go.get();
        let set = arrays.set_of(self.s1.line);
        when(go & (f.row.does(L1Act::Hit) | f.row.does(L1Act::Update)), || arrays.touch(set, f.way));
        when(go & f.row.does(L1Act::Update), || {
            let bytes: Vec<Bits> = (0..self.p.sys.line).map(|i| self.s1.mask.bit(i).repeat(8)).collect();
            let mask = pack(&bytes);
            let old = arrays.data_port.lane_at(f.way);
            arrays.data_writer.write_lane(set, f.way, &((old & !mask) | (self.s1.data & mask)));
        });
        when(go & f.row.does(L1Act::Drop), || {
            for (w, valid) in arrays.valid.iter().enumerate() {
                when(f.way.eq(w as u64), || valid.set(valid.get() & !set.one_hot(self.p.sets())));
            }
        });
        when(go & f.row.does(L1Act::Poison), || misses.poisoned.set(f.join_oh));
        when(go & f.row.does(L1Act::Flash), || {
            arrays.valid.iter().for_each(|valid| valid.set(lit_bv(Bv::zero(self.p.sets()))));
            misses.poisoned.set(lit_bv(Bv::ones(misses.count)));
        });
    }

    fn observe(&self, f: &Found) {
        let go = self.go.get();
        let is = |e: L1Event| go & self.s1.event.is(e);
        let loads = is(L1Event::Load) | is(L1Event::LoadBypass);
        let loads = if self.p.scoped { loads | is(L1Event::LoadForced) } else { loads };
        count("l1_loads", loads, "line accesses by loads");
        count("l1_hits", go & f.row.does(L1Act::Hit), "loads answered from a copy");
        count("l1_misses", go & f.row.does(L1Act::Read), "loads that read from the L2");
        count("l1_merged", go & f.row.does(L1Act::Merge), "loads that joined an open miss");
        count("l1_stores", is(L1Event::Store), "line accesses by stores");
        count("l1_store_hits", go & f.row.does(L1Act::Update), "stores that updated a copy");
        count("l1_atomics", is(L1Event::Atomic), "line accesses by atomics");
        if self.p.scoped {
            count("l1_forced", is(L1Event::LoadForced), "loads of a scope beyond the CU: forced misses");
        }
        count("l1_acquires", is(L1Event::Acquire), "acquires that dropped all copies");
        count("l1_releases", is(L1Event::Release), "releases that waited for the L2");
        count(
            "l1_poisoned",
            go & f.row.does(L1Act::Poison),
            "open misses poisoned by a store or atomic of this CU",
        );
    }
}

impl Unanswered {
    pub(super) fn new(p: &L1Params) -> Unanswered {
        Unanswered {
            outstanding: (0..2).map(|e| reg::<Bits>(&format!("unanswered{e}"), p.store_bits())).collect(),
            epoch: reg::<Bits>("epoch", 1),
            sent: wire_zero::<Bits>("store_sent", 2),
            entry_done: wire_zero::<Bits>("entry_store_done", 2),
            plain_done: wire_zero::<Bits>("plain_store_done", 2),
        }
    }

    /// No further store may be sent in the present epoch.
    fn full(&self, p: &L1Params) -> Bool {
        self.of(self.epoch.get()).eq(u64::from(p.stores))
    }

    /// Stores and atomics of an epoch that the L2 has not answered.
    pub(super) fn of(&self, epoch: Bits) -> Bits {
        mux(epoch.as_bool(), self.outstanding[1].get(), self.outstanding[0].get())
    }

    /// Counts.
    pub(super) fn finish(&self) {
        for (e, counter) in self.outstanding.iter().enumerate() {
            let bit = |w: &Wire<Bits>| w.get().slice(e as u32, 1);
            let width = counter.get().width();
            let wide = |w: &Wire<Bits>| bit(w).zext(width);
            let done = bit(&self.entry_done).zext(2) + bit(&self.plain_done).zext(2);
            counter.set(counter.get() + wide(&self.sent) - wide(&self.entry_done) - wide(&self.plain_done));
            let enough = counter.get().zext(width + 2).ge(done.zext(width + 2));
            let text = "the L2 answers no store or atomic that was not sent";
            assert_always(&format!("l1_unanswered{e}_known"), enough, text);
        }
    }
}
