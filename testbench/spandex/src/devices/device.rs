//! The devices: what they ask for, and how they answer forwards (spandex.md section 5).

use super::{Below, To, World, base, each, is_data, name_of, wide, words_of};
use crate::bench::Msg;
use rand::Rng;
use std::collections::BTreeMap;
use weft_spandex::msg::{FwdOp, Req, ReqOp, Rsp, RspOp, Wb, WordOp};

/// How a device behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole lines, S and O; takes effect when all words have come.
    Mesi,
    /// Words, S and O.
    Flex,
    /// Words, O.
    DeNovo,
    /// Words, nothing is kept.
    Gpu,
}

/// A word in S or O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// O, else S.
    pub owned: bool,
    /// What it holds.
    pub value: u32,
    /// It may differ from what the bank had.
    pub dirty: bool,
}

/// A request under way.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) op: ReqOp,
    pub(super) amo: WordOp,
    pub(super) line: u64,
    /// Words without an answer; words not taken over.
    pub(super) left: u64,
    pub(super) open: u64,
    pub(super) since: u64,
    /// Words for which a removal has come, and the removals that wait for them.
    pub(super) dg: u64,
    pub(super) removals: Vec<(u64, Msg)>,
    pub(super) reader: Option<(u64, Msg)>,
    pub(super) values: BTreeMap<u32, u32>,
    pub(super) got: BTreeMap<u32, (u64, u32, bool)>,
    pub(super) floor: Vec<u32>,
    /// An Inv has come: words in S serve once.
    pub(super) once: bool,
    pub(super) nacked: u32,
}

/// A write-back under way.
#[derive(Clone, Debug)]
pub struct Back {
    pub(super) line: u64,
    pub(super) open: u64,
    pub(super) values: BTreeMap<u32, (u32, bool)>,
    pub(super) dg: u64,
    pub(super) cross: Option<u64>,
    pub(super) since: u64,
}

/// A device.
pub struct Dev {
    /// How it behaves.
    pub kind: Kind,
    /// Words in S and O.
    pub copies: BTreeMap<(u64, u32), Held>,
    /// Its requests under way, by tag.
    pub entries: BTreeMap<u64, Entry>,
    /// Its write-backs under way, by tag.
    pub wbs: BTreeMap<u64, Back>,
    /// Forwards to it wait on their way.
    pub hold_fwd: bool,
    /// Answers to it do.
    pub hold_rsp: bool,
}

impl Dev {
    /// One that holds nothing.
    pub fn new(kind: Kind) -> Dev {
        Dev {
            kind,
            copies: BTreeMap::new(),
            entries: BTreeMap::new(),
            wbs: BTreeMap::new(),
            hold_fwd: false,
            hold_rsp: false,
        }
    }
    /// Words of a line that it holds: owned, or in S.
    pub fn held(&self, line: u64, owned: bool) -> u64 {
        let words = self.copies.range((line, 0)..=(line, 63)).filter(|(_, c)| c.owned == owned);
        words.fold(0, |m, ((_, w), _)| m | 1 << w)
    }
    /// Words of a line for which nothing is under way that keeps a new request from leaving (R1, R2).
    fn idle(&self, line: u64, op: ReqOp) -> u64 {
        let beside = |e: &Entry| {
            let reads = |op| op == ReqOp::ReqV;
            self.kind == Kind::Gpu && reads(op) != reads(e.op)
        };
        let entries = self.entries.values().filter(|e| e.line == line && !beside(e));
        let busy = entries.fold(0, |m, e| m | e.open);
        !self.wbs.values().filter(|b| b.line == line).fold(busy, |m, b| m | b.open)
    }
}

/// What a word is to a forward.
enum Status {
    Owned,
    /// ReqO, ReqO+data or ReqS, write-back under way.
    Po(u64),
    Pd(u64),
    Back(u64),
    Other,
}

impl<B: Below> World<B> {
    fn status(&self, d: usize, line: u64, w: u32) -> Status {
        let dev = &self.devs[d];
        let bit = 1 << w;
        if let Some((tag, back)) = dev.wbs.iter().find(|(_, b)| b.line == line && b.open & bit != 0) {
            return if back.dg & bit != 0 { Status::Other } else { Status::Back(*tag) };
        }
        let owning = |op| matches!(op, ReqOp::ReqO | ReqOp::ReqOData | ReqOp::ReqS);
        let entry = dev.entries.iter().find(|(_, e)| e.line == line && e.open & bit != 0 && owning(e.op));
        if let Some((tag, e)) = entry {
            return match e.op {
                _ if e.dg & bit != 0 => Status::Other,
                ReqOp::ReqO => Status::Po(*tag),
                _ => Status::Pd(*tag),
            };
        }
        let owned = dev.copies.get(&(line, w)).is_some_and(|c| c.owned);
        if owned { Status::Owned } else { Status::Other }
    }

    /// A device asks for words. What it may not ask for now is left out; false if that is all.
    pub fn ask(&mut self, d: usize, op: ReqOp, line: u64, mask: u64) -> bool {
        self.ask_for(d, (op, WordOp::Read), line, mask, (false, false))
    }

    /// The same with an operation, and whether it is flexible, and to be forwarded.
    pub fn ask_for(
        &mut self,
        d: usize,
        (op, amo): (ReqOp, WordOp),
        line: u64,
        mask: u64,
        (flex, fwd): (bool, bool),
    ) -> bool {
        let dev = &self.devs[d];
        let writes = matches!(op, ReqOp::ReqWt | ReqOp::ReqO);
        let mut mask = mask & self.all() & dev.idle(line, op) & !dev.held(line, true);
        if op == ReqOp::ReqS {
            mask &= !dev.held(line, false);
        }
        if writes {
            mask = each(mask)
                .filter(|w| {
                    is_data(line, *w) && self.words.get(&(line, *w)).is_none_or(|x| x.writer.is_none())
                })
                .fold(0, |m, w| m | 1 << w);
        }
        if amo == WordOp::Add {
            mask = each(mask).filter(|w| !is_data(line, *w)).fold(0, |m, w| m | 1 << w);
        }
        let tag = (0..u64::from(self.p.s.mshrs)).find(|t| !self.devs[d].entries.contains_key(t));
        let (Some(tag), true) = (tag, mask != 0) else { return false };
        let mut values = BTreeMap::new();
        for w in each(mask) {
            if writes {
                values.insert(w, self.begin_write(d, line, w));
            } else if amo == WordOp::Add {
                self.word(line, w).begun += 1;
                values.insert(w, 1);
            }
        }
        let floor = self.floors(line);
        let entry = Entry {
            op,
            amo,
            line,
            left: mask,
            open: mask,
            since: self.b.sim.cycle(),
            dg: 0,
            removals: Vec::new(),
            reader: None,
            values,
            got: BTreeMap::new(),
            floor,
            once: false,
            nacked: 0,
        };
        self.count(name_of(op, amo));
        self.devs[d].entries.insert(tag, entry);
        self.request(d, tag, (op, amo), mask, (flex, fwd));
        true
    }

    fn request(
        &mut self,
        d: usize,
        tag: u64,
        (op, amo): (ReqOp, WordOp),
        mask: u64,
        (flex, fwd): (bool, bool),
    ) {
        let entry = &self.devs[d].entries[&tag];
        let line = entry.line;
        let data: Vec<u32> =
            (0..self.p.s.words()).map(|w| entry.values.get(&w).copied().unwrap_or(0)).collect();
        let bank = u64::from(self.p.s.devs() + self.p.s.banks - 1);
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", mask),
            ("src", d as u64),
            ("dst", bank),
            ("tag", tag),
            ("flex", u64::from(flex)),
            ("fwd", u64::from(fwd)),
            ("amo", amo as u64),
        ];
        let msg = Msg::of::<Req>(&self.p.s, &fields).with("data", wide(&data));
        self.send(To::Bank("req"), msg);
    }

    /// A device gives owned words back.
    pub fn give_back(&mut self, d: usize, line: u64, mask: u64) -> bool {
        let mask = mask & self.devs[d].held(line, true);
        let first = u64::from(self.p.s.mshrs + self.p.s.sb);
        let tags = first..first + u64::from(self.p.s.wbb);
        let tag = tags.clone().find(|t| !self.devs[d].wbs.contains_key(t));
        let (Some(tag), true) = (tag, mask != 0) else { return false };
        let mut values = BTreeMap::new();
        for w in each(mask) {
            if let Some(copy) = self.devs[d].copies.remove(&(line, w)) {
                values.insert(w, (copy.value, copy.dirty));
            }
        }
        let dirty = values.values().any(|v| v.1);
        let data: Vec<u32> = (0..self.p.s.words()).map(|w| values.get(&w).map_or(0, |v| v.0)).collect();
        let fields = [
            ("line", line),
            ("mask", mask),
            ("src", d as u64),
            ("dst", u64::from(self.p.s.devs() + self.p.s.banks - 1)),
            ("tag", tag),
            ("dirty", u64::from(dirty)),
        ];
        let msg = Msg::of::<Wb>(&self.p.s, &fields).with("data", wide(&data));
        let since = self.b.sim.cycle();
        self.devs[d].wbs.insert(tag, Back { line, open: mask, values, dg: 0, cross: None, since });
        self.count("ReqWB");
        self.send(To::Bank("wb"), msg);
        true
    }

    /// An owner works on a word: reads it, adds to a counter, writes data.
    pub fn work(&mut self, d: usize, line: u64, w: u32) -> bool {
        let Some(copy) = self.devs[d].copies.get(&(line, w)).copied().filter(|c| c.owned) else {
            return false;
        };
        let word = *self.word(line, w);
        if !is_data(line, w) {
            self.word(line, w).begun += 1;
            self.added(d, line, w, copy.value);
        } else if word.writer.is_none() {
            if copy.value != base(line, w) + word.done {
                self.complain(format!("{d} owns {line:#x}.{w} = {:#x}, {word:?}", copy.value));
            }
            self.begin_write(d, line, w);
            self.end_write(line, w);
        } else {
            return false;
        }
        self.devs[d].copies.insert((line, w), Held { owned: true, value: copy.value + 1, dirty: true });
        self.count("local");
        true
    }

    fn respond(
        &mut self,
        d: usize,
        to: To,
        op: RspOp,
        (line, tag): (u64, u64),
        words: &[(u32, u32)],
        more: &[(&str, u64)],
    ) {
        let mask = words.iter().fold(0, |m, (w, _)| m | 1 << w);
        let mut data = vec![0; self.p.s.words() as usize];
        words.iter().for_each(|(w, value)| data[*w as usize] = *value);
        let dst = match to {
            To::Bank(_) => u64::from(self.p.s.devs() + self.p.s.banks - 1),
            To::Fwd(d) | To::Rsp(d) => d as u64,
        };
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", mask),
            ("extra", 0),
            ("src", d as u64),
            ("dst", dst),
            ("tag", tag),
        ];
        let fields: Vec<(&str, u64)> = fields.iter().chain(more).copied().collect();
        let msg = Msg::of::<Rsp>(&self.p.s, &fields).with("data", wide(&data));
        self.send(to, msg);
    }

    /// A forward comes to a device.
    pub fn forwarded(&mut self, d: usize, m: &Msg) {
        let op = m.get("op");
        if op == FwdOp::Inv as u64 {
            return self.invalidated(d, m);
        }
        if op == FwdOp::ReqV as u64 || op == FwdOp::ReqWt as u64 {
            return self.shown(d, m, op == FwdOp::ReqWt as u64);
        }
        let line = m.get("line");
        let both = op == FwdOp::RvkO as u64 || op == FwdOp::ReqS as u64;
        let mask = m.get(if both { "own" } else { "mask" });
        let (mut now, mut backs) = (0, 0);
        for w in each(mask) {
            let bit = 1u64 << w;
            match self.status(d, line, w) {
                Status::Owned => now |= bit,
                Status::Po(tag) => {
                    let e = self.devs[d].entries.get_mut(&tag).expect("found");
                    e.dg |= bit;
                    let value = e.values[&w];
                    self.count("removal in PO");
                    self.removed(d, m, &[(w, value, true)], (false, false));
                }
                Status::Pd(tag) => {
                    let e = self.devs[d].entries.get_mut(&tag).expect("found");
                    e.dg |= bit;
                    e.removals.push((bit, m.clone()));
                    self.count("removal in PD");
                }
                Status::Back(_) => backs |= bit,
                Status::Other => {
                    self.complain(format!("{d} is asked for {line:#x}.{w}, which it has not: {m:?}"))
                }
            }
        }
        self.taken_back(d, m, backs);
        self.take_away(d, m, now, true);
    }

    /// Words of a write-back under way are asked for.
    fn taken_back(&mut self, d: usize, m: &Msg, mask: u64) {
        let line = m.get("line");
        let mut words = Vec::new();
        for w in each(mask) {
            let back = self.devs[d].wbs.values_mut().find(|b| b.line == line && b.open >> w & 1 == 1);
            if let Some(back) = back {
                back.dg |= 1 << w;
                let (value, dirty) = back.values[&w];
                words.push((w, value, dirty));
            }
        }
        if !words.is_empty() {
            self.count("removal in WB");
            self.removed(d, m, &words, (true, false));
        }
        self.close(d);
    }

    /// Owned words are asked for. `at_once`: they have been owned for a while, so that the owner may keep them in S.
    fn take_away(&mut self, d: usize, m: &Msg, mask: u64, at_once: bool) {
        if mask == 0 {
            return;
        }
        let line = m.get("line");
        let words: Vec<(u32, u32, bool)> = each(mask)
            .filter_map(|w| self.devs[d].copies.remove(&(line, w)).map(|c| (w, c.value, c.dirty)))
            .collect();
        let downgrade = m.get("op") == FwdOp::ReqS as u64 && at_once;
        let kept = downgrade
            && match self.devs[d].kind {
                Kind::Mesi => mask == self.all(),
                Kind::Flex => true,
                _ => false,
            };
        if kept {
            for (w, value, _) in &words {
                self.devs[d].copies.insert((line, *w), Held { owned: false, value: *value, dirty: false });
            }
        }
        self.removed(d, m, &words, (false, kept));
        let rest = self.devs[d].held(line, true);
        if self.devs[d].kind == Kind::Mesi && rest != 0 && at_once {
            self.give_back(d, line, rest);
            self.count("triggered");
        }
    }

    /// Answers of words that go: value, dirty.
    fn removed(&mut self, d: usize, m: &Msg, words: &[(u32, u32, bool)], (nodata, kept): (bool, bool)) {
        let (line, op) = (m.get("line"), m.get("op"));
        let values: Vec<(u32, u32)> = words.iter().map(|w| (w.0, w.1)).collect();
        let (to, tag) = (To::Rsp(m.get("req") as usize), m.get("tag"));
        if op == FwdOp::ReqO as u64 {
            let op = if m.get("for_wt") == 1 { RspOp::RspWt } else { RspOp::RspO };
            return self.respond(d, to, op, (line, tag), &values, &[]);
        }
        if op == FwdOp::ReqOData as u64 {
            let dirty = words.iter().any(|w| w.2);
            return self.respond(
                d,
                to,
                RspOp::RspOData,
                (line, tag),
                &values,
                &[("dirty", u64::from(dirty))],
            );
        }
        let wanted: Vec<(u32, u32)> =
            values.iter().copied().filter(|(w, _)| m.get("mask") >> w & 1 == 1).collect();
        if op == FwdOp::ReqS as u64 && !wanted.is_empty() {
            self.respond(d, to, RspOp::RspS, (line, tag), &wanted, &[]);
        }
        let dirty = words.iter().any(|w| w.2);
        let more = [("nodata", u64::from(nodata)), ("kept_s", u64::from(kept)), ("dirty", u64::from(dirty))];
        self.respond(d, To::Bank("rsp_in"), RspOp::RspRvkO, (line, m.get("tbe")), &values, &more);
    }

    /// Fwd ReqV, and fwd ReqWT.
    fn shown(&mut self, d: usize, m: &Msg, writes: bool) {
        let (line, to, tag) = (m.get("line"), To::Rsp(m.get("req") as usize), m.get("tag"));
        let data = words_of(m.wide("data"));
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for w in each(m.get("mask")) {
            match self.status(d, line, w) {
                Status::Owned => {
                    let copy = self.devs[d].copies.get_mut(&(line, w)).expect("owned");
                    if writes {
                        (copy.value, copy.dirty) = (data[w as usize], true);
                    }
                    good.push((w, copy.value));
                }
                Status::Po(tag) if !writes => good.push((w, self.devs[d].entries[&tag].values[&w])),
                Status::Back(tag) if !writes => good.push((w, self.devs[d].wbs[&tag].values[&w].0)),
                Status::Pd(tag) if !writes => {
                    let e = self.devs[d].entries.get_mut(&tag).expect("found");
                    match &mut e.reader {
                        None => e.reader = Some((1 << w, m.clone())),
                        Some((mask, other)) if other == m => *mask |= 1 << w,
                        Some(_) => bad.push((w, 0)),
                    }
                    self.count("read in PD");
                }
                _ => bad.push((w, 0)),
            }
        }
        let (done, failed) = if writes { (RspOp::RspWt, RspOp::NackWt) } else { (RspOp::RspV, RspOp::NackV) };
        if !good.is_empty() {
            self.respond(d, to, done, (line, tag), &good, &[]);
        }
        if !bad.is_empty() {
            self.count(if writes { "NackWT" } else { "NackV" });
            self.respond(d, to, failed, (line, tag), &bad, &[]);
        }
    }

    fn invalidated(&mut self, d: usize, m: &Msg) {
        let line = m.get("line");
        let dev = &mut self.devs[d];
        dev.copies.retain(|(l, _), c| *l != line || c.owned);
        for e in dev.entries.values_mut().filter(|e| e.line == line && e.op == ReqOp::ReqS) {
            e.once = true;
        }
        self.respond(d, To::Bank("rsp_in"), RspOp::Ack, (line, m.get("tbe")), &[], &[]);
    }

    /// An answer comes to a device.
    pub fn answered(&mut self, d: usize, m: &Msg) {
        let (op, tag, mask, line) = (m.get("op"), m.get("tag"), m.get("mask"), m.get("line"));
        if op == RspOp::RspWb as u64 {
            let Some(back) = self.devs[d].wbs.get_mut(&tag).filter(|b| b.line == line && b.cross.is_none())
            else {
                return self.complain(format!("{d} has not written back: {m:?}"));
            };
            back.cross = Some(m.get("extra"));
            return self.close(d);
        }
        let Some(e) = self.devs[d].entries.get_mut(&tag).filter(|e| e.line == line && mask & !e.left == 0)
        else {
            return self.complain(format!("{d} has not asked for that: {m:?}"));
        };
        let fits: &[RspOp] = match e.op {
            ReqOp::ReqV => &[RspOp::RspV, RspOp::RspWtData, RspOp::NackV],
            ReqOp::ReqS => &[RspOp::RspS, RspOp::RspV, RspOp::RspOData, RspOp::RspWtData, RspOp::NackV],
            ReqOp::ReqWt => &[RspOp::RspWt, RspOp::NackWt],
            ReqOp::ReqO => &[RspOp::RspO],
            ReqOp::ReqWtData => &[RspOp::RspWtData],
            ReqOp::ReqOData => &[RspOp::RspOData],
        };
        if !fits.iter().any(|f| *f as u64 == op) {
            let text = format!("{d} gets a strange answer to {:?}: {m:?}", e.op);
            return self.complain(text);
        }
        if op == RspOp::NackV as u64 {
            e.nacked += 1;
            let again = if e.nacked > 1 || e.op == ReqOp::ReqS { ReqOp::ReqWtData } else { ReqOp::ReqV };
            return self.request(d, tag, (again, WordOp::Read), mask, (false, false));
        }
        if op == RspOp::NackWt as u64 {
            return self.request(d, tag, (ReqOp::ReqWt, WordOp::Read), mask, (false, false));
        }
        let data = words_of(m.wide("data"));
        let dirty = op == RspOp::RspOData as u64 && m.get("dirty") == 1;
        e.left &= !mask;
        for w in each(mask) {
            e.got.insert(w, (op, data[w as usize], dirty));
        }
        let (floor, amo, left, open) = (e.floor.clone(), e.amo, e.left, e.open);
        let shows = [RspOp::RspV, RspOp::RspS, RspOp::RspOData, RspOp::RspWtData];
        if shows.iter().any(|s| *s as u64 == op) {
            let extra = if op == RspOp::RspV as u64 { m.get("extra") } else { 0 };
            for w in each(mask | extra) {
                self.reads(d, (line, w), data[w as usize], floor[w as usize]);
            }
            if extra != 0 {
                self.count("extras");
            }
        }
        if amo == WordOp::Add {
            each(mask).for_each(|w| self.added(d, line, w, data[w as usize]));
        }
        if self.devs[d].kind != Kind::Mesi {
            self.complete(d, tag, mask);
        } else if left == 0 {
            self.complete(d, tag, open);
        }
    }

    /// A device takes words over that it has got: its own operation comes first, then a read that has waited, then what takes them away.
    fn complete(&mut self, d: usize, tag: u64, words: u64) {
        let Some(mut e) = self.devs[d].entries.remove(&tag) else { return };
        let (line, mesi) = (e.line, self.devs[d].kind == Kind::Mesi);
        e.open &= !words;
        let kinds = |kind: RspOp| each(words).filter(|w| e.got[w].0 == kind as u64).count();
        if mesi && kinds(RspOp::RspS) > 0 && kinds(RspOp::RspOData) > 0 {
            self.complain(format!("{d} gets {line:#x} partly shared, partly owned"));
        }
        for w in each(words) {
            let (kind, value, dirty) = e.got[&w];
            let owned = Held { owned: true, value, dirty };
            if kind == RspOp::RspOData as u64 {
                self.devs[d].copies.insert((line, w), owned);
                if !is_data(line, w) && e.op == ReqOp::ReqOData {
                    self.work(d, line, w);
                }
            } else if kind == RspOp::RspO as u64 {
                self.end_write(line, w);
                if e.dg >> w & 1 == 0 {
                    let copy = Held { value: e.values[&w], dirty: true, ..owned };
                    self.devs[d].copies.insert((line, w), copy);
                }
            } else if kind == RspOp::RspS as u64 && !e.once {
                self.devs[d].copies.insert((line, w), Held { owned: false, value, dirty: false });
            } else if kind == RspOp::RspWt as u64 {
                self.end_write(line, w);
            }
        }
        if let Some((mask, m)) = &e.reader {
            self.shown(d, &m.clone().with_mask(mask & words), false);
        }
        for (mask, m) in &e.removals {
            self.take_away(d, m, mask & words, false);
        }
        if mesi && e.dg & words != 0 {
            let rest = self.devs[d].held(line, true);
            self.give_back(d, line, rest);
        }
        if e.open != 0 {
            self.devs[d].entries.insert(tag, e);
        }
    }

    /// Write-backs end whose words are all closed.
    fn close(&mut self, d: usize) {
        for back in self.devs[d].wbs.values_mut() {
            if let Some(cross) = back.cross {
                back.open &= cross & !back.dg;
            }
        }
        self.devs[d].wbs.retain(|_, b| b.open != 0);
    }

    /// A device does something.
    pub fn begin(&mut self, d: usize) {
        let at = self.b.rng.random_range(0..self.lines.len());
        // Two lines are used more often than others.
        let line = self.lines[if self.b.rng.random_bool(0.3) { at % 2 } else { at }];
        let all = self.all();
        let some = match self.b.rng.random_range(0..4) {
            0 => all,
            1 => 1 << self.b.rng.random_range(0..self.p.s.words()),
            _ => self.b.rng.random::<u64>() & all,
        };
        let (flex, fwd) = (self.b.rng.random_bool(0.5), B::FORWARDS && self.b.rng.random_bool(0.5));
        let kind = self.devs[d].kind;
        if kind == Kind::Mesi {
            return self.begin_line(d, line);
        }
        if self.reads > 0.0 && self.b.rng.random_bool(self.reads) {
            self.ask_for(d, (ReqOp::ReqV, WordOp::Read), line, some, (flex, false));
            return;
        }
        let choice = self.b.rng.random_range(0..if kind == Kind::Gpu { 4 } else { 12 });
        match choice {
            0 => self.ask_for(d, (ReqOp::ReqV, WordOp::Read), line, some, (flex, false)),
            1 => self.ask_for(d, (ReqOp::ReqWt, WordOp::Read), line, some, (false, fwd)),
            2 => self.ask_for(d, (ReqOp::ReqWtData, WordOp::Add), line, some, (false, false)),
            3 => self.ask(d, ReqOp::ReqWtData, line, some),
            4 | 5 => self.ask(d, ReqOp::ReqOData, line, some),
            6 => self.ask(d, ReqOp::ReqO, line, some),
            7 => self.give_back(d, line, some),
            8 | 9 if kind == Kind::Flex => self.ask(d, ReqOp::ReqS, line, some),
            10 if kind == Kind::Flex => {
                let shared = self.devs[d].held(line, false) & some;
                self.devs[d].copies.retain(|(l, w), _| *l != line || shared >> w & 1 == 0);
                true
            }
            _ => each(some).any(|w| self.work(d, line, w)),
        };
    }

    /// A device that knows whole lines only.
    fn begin_line(&mut self, d: usize, line: u64) {
        let (all, dev) = (self.all(), &self.devs[d]);
        let (owned, shared) = (dev.held(line, true), dev.held(line, false));
        let busy = dev.idle(line, ReqOp::ReqS) & all != all;
        let choice = self.b.rng.random_range(0..5);
        if owned == all {
            match choice {
                0 => drop(self.give_back(d, line, all)),
                _ => {
                    let w = self.b.rng.random_range(0..self.p.s.words());
                    self.work(d, line, w);
                }
            }
        } else if !busy && owned == 0 {
            match choice {
                0 | 1 if shared == 0 => drop(self.ask(d, ReqOp::ReqS, line, all)),
                2 => self.devs[d].copies.retain(|(l, _), _| *l != line),
                _ => drop(self.ask(d, ReqOp::ReqOData, line, all)),
            }
        }
    }
}

/// A message about other words.
trait WithMask {
    fn with_mask(self, mask: u64) -> Msg;
}

impl WithMask for Msg {
    fn with_mask(self, mask: u64) -> Msg {
        let width = self.wide("mask").width();
        self.with("mask", weft_rtl::bv::Bv::from_u64(mask, width))
    }
}
