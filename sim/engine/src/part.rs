//! A part of a simulation: units that are clocked one after the other, put to sleep and woken.

use crate::activity::Activity;
use crate::cut::{Crossing, Cut, Wiring};
use crate::design::{Design, UnitType};
use crate::flags::{ASLEEP, FAILED, WRITTEN};
use crate::inbox::Far;
use crate::links::Sink;
use crate::mail::{Ear, Found, Mail, Mouth};
use crate::state::{Core, Failure, replace};
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use weft_rtl::ir::ProbeKind;

/// A part of a [`crate::Sim`], driven and read through the ports of the units that it has.
///
/// [`crate::Sim::step`] clocks all parts. Parts can also be clocked by themselves, side by side, and need not
/// be in the same cycle: [`Part::begin`], [`Part::hear`] until it succeeds, [`Part::end`]. When all are in the
/// same cycle again, and before anybody looks at the whole simulation, [`crate::Sim::settle`].
pub struct Part {
    pub(crate) design: Arc<Design>,
    pub(crate) cut: Arc<Cut>,
    pub(crate) number: usize,
    pub(crate) core: Core,
    /// For the interpreter, and before it for what a watched unit was.
    pub(crate) scratch: Vec<u64>,
    /// Units clocked in this cycle of which there is something to tell, in order, each with its word:
    /// [`ASLEEP`], the flag of a failed assertion, and the flags that have links.
    pub(crate) events: Vec<(u32, u64)>,
    /// The lines to and from other parts.
    pub(crate) mail: Arc<Mail>,
    pub(crate) ears: Vec<Ear>,
    pub(crate) mouths: Vec<Mouth>,
    /// For each other part what crosses to it in this cycle: numbers of arrivals, each followed by its limbs.
    pub(crate) outbox: Vec<Vec<u64>>,
    /// What has to do with parts that other processes clock.
    pub(crate) far: Far,
    /// Letters are read that are to be read at the begin of this cycle.
    heard: u64,
    /// Ears at which the letter of the present cycle is read, if not all are.
    next_ear: usize,
    /// The present cycle has begun.
    begun: bool,
    /// Room for a letter.
    text: Vec<u64>,
    /// Assertions that failed in the last cycle, by number of the unit in the design.
    pub(crate) failed: Vec<(u32, Failure)>,
}

/// Most failures kept of one cycle; all are counted by their probes.
pub(crate) const FAILURES_KEPT: usize = 100;

impl Part {
    /// Part `number` of a cut, before reset, with its ends of the lines.
    fn new(
        design: &Arc<Design>,
        cut: &Arc<Cut>,
        number: usize,
        mail: &Arc<Mail>,
        (ears, mouths): (Vec<Ear>, Vec<Mouth>),
    ) -> Part {
        let wiring = &cut.parts[number];
        let need = |t: &UnitType| t.interp.scratch_size() + t.layout.probes + t.netlist.probes.len();
        let size = wiring.calls.iter().map(|call| need(&design.types[call.ty])).max().unwrap_or(0);
        Part {
            core: Core::new(design, wiring),
            scratch: vec![0; size],
            events: Vec::with_capacity(wiring.calls.len()),
            mail: mail.clone(),
            ears,
            mouths,
            outbox: vec![Vec::new(); cut.parts.len()],
            far: Far::default(),
            heard: 0,
            next_ear: 0,
            begun: false,
            text: Vec::new(),
            failed: Vec::new(),
            design: design.clone(),
            cut: cut.clone(),
            number,
        }
    }

    pub(crate) fn wiring(&self) -> &Wiring {
        &self.cut.parts[self.number]
    }

    /// Cycles clocked since reset.
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.core.cycle
    }

    /// True when no unit of the part can do anything until an input changes.
    #[inline]
    pub fn asleep(&self) -> bool {
        let waits = |ear: &Ear| match ear.far {
            true => self.far.waits(ear.from, self.cycle()),
            false => self.mail.waits(*ear, self.cycle()),
        };
        let awaited = || self.ears[self.next_ear..].iter().any(waits);
        self.core.active.iter().all(|w| *w == 0) && (self.heard == self.cycle() || !awaited())
    }

    /// An assertion has failed in the last cycle, and [`crate::Sim::settle`] was not called since.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Begins a clock cycle, if it has not: units that hear no other part are clocked.
    pub fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.events.clear();
            self.clock(true);
        }
    }

    /// Reads what other parts have sent in the cycle before.
    ///
    /// # Errors
    /// The number of a part that is not as far as that.
    #[inline]
    pub fn hear(&mut self) -> Result<(), usize> {
        let now = self.core.cycle;
        if self.heard != now {
            while let Some(ear) = self.ears.get(self.next_ear) {
                let found = match ear.far {
                    true => self.far.read(ear.from, now, &mut self.text),
                    false => self.mail.read(*ear, now, &mut self.text),
                };
                match found {
                    Found::Nothing => return Err(ear.from as usize),
                    Found::Empty => {}
                    Found::Text => {
                        let mut text = std::mem::take(&mut self.text);
                        self.open(&text);
                        text.clear();
                        self.text = text;
                    }
                }
                self.next_ear += 1;
            }
            self.has_heard(now);
        }
        Ok(())
    }

    /// The lines to other parts have room for what is sent in this cycle.
    ///
    /// # Errors
    /// The number of a part that must go on first.
    #[inline]
    pub fn may_send(&mut self) -> Result<(), usize> {
        let next = self.core.cycle + 1;
        for mouth in &mut self.mouths {
            if !self.mail.has_room(mouth, next) {
                return Err(mouth.to as usize);
            }
        }
        Ok(())
    }

    /// What other parts have sent in the cycle before is read.
    pub(crate) fn has_heard(&mut self, cycle: u64) {
        (self.heard, self.next_ear) = (cycle, 0);
        self.mail.has_read(self.number, cycle);
    }

    /// Ends a clock cycle that has begun, when all is heard and may be sent: the other units are clocked.
    ///
    /// # Panics
    /// When something was not heard.
    pub fn end(&mut self) {
        assert!(self.begun && self.heard == self.core.cycle, "a part ends a cycle in which it has heard all");
        self.begun = false;
        if !self.ears.is_empty() {
            self.clock(false);
        }
        Activity::MESSAGES.begin();
        let events = std::mem::take(&mut self.events);
        for (unit, word) in &events {
            if word & ASLEEP != 0 {
                self.core.active[*unit as usize / 64] &= !(1 << (unit % 64));
            }
            if word & FAILED != 0 {
                self.report(*unit as usize);
            }
        }
        self.core.cycle += 1;
        if !events.is_empty() {
            let cut = self.cut.clone();
            let wiring = &cut.parts[self.number];
            for (unit, word) in &events {
                self.copy_out(wiring, *unit as usize, word & !(ASLEEP | FAILED));
            }
        }
        self.events = events;
        for mouth in self.mouths.iter().filter(|mouth| !mouth.far) {
            self.mail.send(mouth, self.core.cycle, &mut self.outbox[mouth.to as usize]);
        }
        if self.ears.is_empty() {
            self.has_heard(self.core.cycle);
        }
    }

    /// A whole clock cycle, when all other parts are as far as this one.
    ///
    /// # Panics
    /// When one is not.
    pub fn step(&mut self) {
        self.begin();
        self.hear_all();
        self.end();
    }

    /// Reads what other parts have sent, which are all as far as this one.
    pub(crate) fn hear_all(&mut self) {
        let heard = self.hear().and_then(|()| self.may_send());
        assert!(
            heard.is_ok(),
            "part {heard:?} is not as far as part {} in cycle {}",
            self.number,
            self.cycle()
        );
    }

    /// Takes another state; what was on its way to other parts belongs to the old one.
    pub(crate) fn restore(&mut self, core: Core) {
        self.core = core;
        self.forget();
    }

    /// Nothing is on its way to other parts, or from them: [`Mail::clear`].
    pub(crate) fn forget(&mut self) {
        self.outbox.iter_mut().for_each(Vec::clear);
        self.far.clear();
        self.failed.clear();
        (self.heard, self.next_ear, self.begun) = (self.core.cycle, 0, false);
        self.mouths.iter_mut().for_each(Mouth::forget);
    }

    /// A unit's state was changed from outside: nothing of what it last did may be relied on.
    pub(crate) fn disturb(&mut self, unit: usize) {
        let call = &self.cut.parts[self.number].calls[unit];
        let layout = &self.design.types[call.ty].layout;
        let marks = &layout.marks;
        self.core.limbs[call.base + marks.next..][..marks.words].fill(u64::MAX);
        self.core.limbs[call.base + layout.flags] |= WRITTEN;
        self.wake(unit);
    }

    /// An input has changed.
    #[inline]
    fn tell(&mut self, sink: Sink) {
        self.core.limbs[sink.heard] |= sink.mark;
        self.wake(sink.unit);
    }

    #[inline]
    pub(crate) fn drive(&mut self, sink: Sink, limbs: &[u64]) {
        if let [limb] = limbs {
            if self.core.limbs[sink.at] != *limb {
                self.core.limbs[sink.at] = *limb;
                self.tell(sink);
            }
            return;
        }
        if replace(&mut self.core.limbs[sink.at..][..limbs.len()], limbs) {
            self.tell(sink);
        }
    }

    #[inline]
    pub(crate) fn wake(&mut self, unit: usize) {
        if !self.core.is_active(unit) {
            self.awaken(unit);
        }
    }

    /// Ends a unit's sleep: its counters take what they gained meanwhile.
    #[inline(never)]
    fn awaken(&mut self, unit: usize) {
        let call = &self.cut.parts[self.number].calls[unit];
        let probes = call.base + self.design.types[call.ty].layout.probes;
        let Core { limbs, units, watch, active, cycle } = &mut self.core;
        let schedule = &mut units[unit];
        let since = schedule.asleep.take().expect("a unit that is not active sleeps");
        let slept = *cycle - since;
        for (i, rate) in schedule.rate.iter().enumerate().filter(|(_, rate)| **rate != 0) {
            limbs[probes + i] = limbs[probes + i].wrapping_add(rate.wrapping_mul(slept));
        }
        schedule.woke_up(slept);
        watch[unit] = *cycle + schedule.first;
        active[unit / 64] |= 1 << (unit % 64);
    }

    /// Records which assertions of a unit failed in this cycle.
    #[cold]
    pub(crate) fn report(&mut self, unit: usize) {
        let wiring = &self.cut.parts[self.number];
        let (call, number) = (&wiring.calls[unit], wiring.units[unit]);
        let ty = &self.design.types[call.ty];
        let probes = call.base + ty.layout.probes;
        for (i, info) in ty.netlist.probes.iter().enumerate().filter(|(_, p)| p.kind == ProbeKind::Assert) {
            let count = self.core.limbs[probes + i];
            let told = std::mem::replace(&mut self.core.units[unit].reported[i], count) == count;
            if told || self.failed.len() >= FAILURES_KEPT {
                continue;
            }
            let parts = [self.design.units[number as usize].path.as_str(), info.scope.as_str()];
            let path = parts.iter().filter(|p| !p.is_empty()).copied().collect::<Vec<_>>().join(".");
            let (name, text, at) = (info.name.clone(), info.text.clone(), info.at.clone());
            self.failed.push((number, Failure { cycle: self.core.cycle, path, name, text, at }));
        }
    }

    /// Copies the outputs whose flags are set to the units that read them.
    #[inline]
    fn copy_out(&mut self, wiring: &Wiring, unit: usize, flags: u64) {
        let links = &wiring.links[unit];
        let mut left = flags;
        while left != 0 {
            let flag = left.trailing_zeros();
            left &= left - 1;
            for link in links.of(flag) {
                if self.core.copy(link.from, link.sink.at, link.limbs) {
                    self.tell(link.sink);
                }
            }
        }
        let crossings = &wiring.crossings[unit];
        let mut left = flags & crossings.mask;
        while left != 0 {
            let flag = left.trailing_zeros();
            left &= left - 1;
            crossings.of(flag).iter().for_each(|crossing| self.post(crossing));
        }
    }

    #[inline]
    fn post(&mut self, crossing: &Crossing) {
        let outbox = &mut self.outbox[crossing.to as usize];
        outbox.push(crossing.number as u64);
        outbox.extend_from_slice(&self.core.limbs[crossing.from..crossing.from + crossing.limbs]);
    }

    /// Copies what a unit shows to those that see it.
    pub(crate) fn show(&mut self, unit: usize) {
        let cut = self.cut.clone();
        let wiring = &cut.parts[self.number];
        for link in &wiring.links[unit].list {
            self.core.copy(link.from, link.sink.at, link.limbs);
            self.tell(link.sink);
        }
        wiring.crossings[unit].list.iter().for_each(|crossing| self.post(crossing));
    }

    fn open(&mut self, mail: &[u64]) {
        let mut rest = mail;
        while let [number, message @ ..] = rest {
            let arrival = self.cut.parts[self.number].arrivals[*number as usize];
            let (limbs, after) = message.split_at(arrival.limbs);
            self.drive(arrival.sink, limbs);
            rest = after;
        }
    }
}

/// The parts of a simulation. The first, which mostly is the only one, is at hand without a look into a list.
pub(crate) struct Parts {
    first: Part,
    others: Vec<Part>,
}

impl Parts {
    /// All parts of a cut, before reset.
    pub fn new(design: &Arc<Design>, cut: &Arc<Cut>) -> Parts {
        let (mail, ends) = Mail::new(cut);
        let mail = Arc::new(mail);
        let mut parts = ends.into_iter().enumerate().map(|(n, ends)| Part::new(design, cut, n, &mail, ends));
        let first = parts.next().expect("a cut has a part");
        Parts { first, others: parts.collect() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

impl Index<usize> for Parts {
    type Output = Part;

    #[inline]
    fn index(&self, number: usize) -> &Part {
        if number == 0 { &self.first } else { &self.others[number - 1] }
    }
}

impl IndexMut<usize> for Parts {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut Part {
        if number == 0 { &mut self.first } else { &mut self.others[number - 1] }
    }
}

/// Hands on at once what crosses between parts, outside of a cycle.
pub(crate) fn exchange(parts: &mut Parts) {
    let count = 1 + parts.others.len();
    for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
        let mut text = std::mem::take(&mut parts[from].outbox[to]);
        parts[to].open(&text);
        text.clear();
        parts[from].outbox[to] = text;
    }
}
