//! What a log of a quiet system must be like, word by word (spandex.md section 7, and 13).
//!
//! There is an order of all writes of a word such that
//! - a write that was answered before another was issued comes first (a write is answered when all its old owners have),
//! - an exchange gets the value of the write before it,
//! - no read gets an older value than its device has written, updated or (of a stash: in the same place) read before, nor than what its device has acquired: everything that was answered when its last
//!   acquire was issued (of exchanges of CU scope what their device had released), and everything before the exchange whose value an acquiring one got. A device with MESI need not acquire: its reads get nothing older than what was
//!   answered when they were issued.
//!
//! Only programs without data races are promised that. So ([`Config::races`](super::Config::races) = false) nothing is demanded of a write that was under way together with another
//! of the same word, one of them a plain store; nor of a value that was read while its write was under way: with write-backs a forwarded ReqV can outlive the ownership that it was
//! sent to, meet a store of the same device that waits for ownership again, and bring that store's value before the LLC has put it into its order. Between two devices
//! without write-backs even that does not happen, and everything is demanded.
//!
//! The last write is what the hardware holds in the end.

use super::cores::{Cores, INITIAL, Memory, Op, place, value};

/// A write of a word, by device and place.
type Write = (usize, usize);

/// Demands on the order of the writes of one word.
struct Demands {
    writes: Vec<Write>,
    /// The first comes before the second.
    pairs: Vec<(usize, usize)>,
    /// What comes immediately before a write; none: nothing.
    just: Vec<(usize, Option<usize>)>,
}

/// Of operations that had been answered those that another device can see: an exchange of CU scope is answered by its L1, and reaches the bank at the latest when its device releases.
fn performed(state: &Memory, device: usize, answered: u32) -> u32 {
    let mut all = answered;
    for (other, own) in state.cores.iter().enumerate().filter(|(other, _)| *other != device) {
        let releases = |at: usize| matches!(own[at].op, Op::Sync(..)) && answered & place(other, at) != 0;
        for (at, _) in own.iter().enumerate().filter(|(_, o)| matches!(o.op, Op::Here(..))) {
            if !(at + 1..own.len()).any(releases) {
                all &= !place(other, at);
            }
        }
    }
    all
}

/// The operations whose writes a device must see that has issued one with `before`: its own and what it has acquired.
fn seen(cores: &Cores, state: &Memory, device: usize, seq: usize, depth: usize) -> u32 {
    let own = &state.cores[device];
    let before = own[seq].before;
    let mut all = if cores.fresh(device) { before } else { before & 0xff << (8 * device) };
    for (at, earlier) in own.iter().enumerate().filter(|(at, _)| before & place(device, *at) != 0) {
        let acquires = matches!(earlier.op, Op::Acquire | Op::Sync(..));
        if !acquires {
            continue;
        }
        all |= performed(state, device, earlier.before) | seen(cores, state, device, at, depth);
        if let (Op::Sync(_, words, _), Some(got)) = (earlier.op, earlier.got) {
            let from = got[if words == 1 { 0 } else { 1 }];
            if from != INITIAL && depth > 0 {
                all |= released(cores, state, from, depth - 1);
            }
        }
    }
    all
}

/// What the exchange with a value has released.
fn released(cores: &Cores, state: &Memory, from: u8, depth: usize) -> u32 {
    let (device, seq) = ((from >> 4) as usize - 1, (from & 15) as usize - 1);
    let Some(write) = state.cores.get(device).and_then(|core| core.get(seq)) else { return 0 };
    if !matches!(write.op, Op::Sync(..)) {
        return 0;
    }
    let earlier: u32 = (0..=seq).map(|at| place(device, at)).sum();
    earlier | seen(cores, state, device, seq, depth)
}

impl Demands {
    fn of(
        cores: &Cores,
        state: &Memory,
        line: usize,
        word: usize,
        last: Option<u8>,
    ) -> Result<Demands, String> {
        let touches = |op: Op| op.line() == line && op.words() >> word & 1 == 1;
        let each = || {
            let all = state.cores.iter().enumerate();
            let all = all.flat_map(|(d, own)| own.iter().enumerate().map(move |(seq, o)| (d, seq, o)));
            all.filter(|(_, _, o)| touches(o.op))
        };
        let writes: Vec<Write> =
            each().filter(|(_, _, o)| o.op.writes()).map(|(d, seq, _)| (d, seq)).collect();
        let mut demands = Demands { writes, pairs: Vec::new(), just: Vec::new() };
        let name = |d: usize, seq: usize| format!("operation {seq} of device {d}");
        for (d, seq, o) in each() {
            let at = demands.writes.iter().position(|w| *w == (d, seq));
            if let Some(at) = at {
                demands.after(o.before, at);
            }
            let Some(got) = o.got.filter(|_| o.op.reads()) else { continue };
            let from = demands.writer(got[word]);
            let from = from
                .map_err(|()| format!("{} gets {:x}, which nobody wrote there", name(d, seq), got[word]))?;
            if let Some(at) = at {
                demands.just.push((at, from));
            }
            // An exchange gets the newest value.
            let mut old = if o.op.updates() { 0 } else { seen(cores, state, d, seq, 4) };
            for (before, earlier) in state.cores[d].iter().enumerate() {
                // Of a word that two mappings of a stash hold, each has a copy of its own until it is stored.
                let (op, here) = (earlier.op, earlier.place == o.place);
                let done = o.before & place(d, before) != 0 && here;
                if let (Some(got), true, true) = (earlier.got, done, op.reads() && touches(op)) {
                    let Ok(Some(at)) = demands.writer(got[word]) else { continue };
                    let (d, seq) = demands.writes[at];
                    let calm = op.updates() || earlier.before & place(d, seq) != 0;
                    if calm || cores.config().races {
                        old |= place(d, seq);
                    }
                }
            }
            if !cores.config().races {
                old &= !demands.raced(state);
            }
            demands
                .newer(old, from, at)
                .map_err(|text| format!("{} gets {:x}: {text}", name(d, seq), got[word]))?;
        }
        if let Some(last) = last {
            let from = demands.writer(last);
            let from =
                from.map_err(|()| format!("in the end there is {last:x}, which nobody wrote there"))?;
            let all = demands.writes.iter().map(|(d, seq)| place(*d, *seq)).sum();
            demands.newer(all, from, None).map_err(|text| format!("in the end there is {last:x}: {text}"))?;
        }
        Ok(demands)
    }

    /// Writes that were under way together with another of the same word, one of them a plain store.
    fn raced(&self, state: &Memory) -> u32 {
        let of = |(d, seq): Write| state.cores[d][seq];
        let apart = |a: Write, b: Write| of(b).before & place(a.0, a.1) != 0;
        let races = |a: Write, b: Write| {
            let plain = !of(a).op.updates() || !of(b).op.updates();
            a != b && plain && !apart(a, b) && !apart(b, a)
        };
        let raced = self.writes.iter().filter(|a| self.writes.iter().any(|b| races(**a, *b)));
        raced.map(|(d, seq)| place(*d, *seq)).sum()
    }

    /// The write of a value; none: the initial one.
    fn writer(&self, got: u8) -> Result<Option<usize>, ()> {
        if got == INITIAL || got & 15 == 15 {
            return Ok(None);
        }
        self.writes.iter().position(|(d, seq)| value(*d, *seq) == got).map(Some).ok_or(())
    }

    /// A write comes after these.
    fn after(&mut self, these: u32, at: usize) {
        let earlier = self.writes.iter().enumerate().filter(|(_, (d, seq))| these & place(*d, *seq) != 0);
        self.pairs.extend(earlier.map(|(i, _)| (i, at)));
    }

    /// A read (of write `own`) got the value of `from`, which is none of these, or the last of them.
    fn newer(&mut self, these: u32, from: Option<usize>, own: Option<usize>) -> Result<(), String> {
        for (i, (d, seq)) in self.writes.iter().enumerate() {
            if these & place(*d, *seq) == 0 || Some(i) == from || Some(i) == own {
                continue;
            }
            let Some(from) = from else {
                return Err(format!("{:x} is newer, and must be seen", value(*d, *seq)));
            };
            self.pairs.push((i, from));
        }
        Ok(())
    }

    /// Some order fulfils everything.
    fn possible(&self, placed: &mut Vec<usize>) -> bool {
        if placed.len() == self.writes.len() {
            return true;
        }
        for next in 0..self.writes.len() {
            let free = !placed.contains(&next)
                && self.pairs.iter().all(|(a, b)| *b != next || placed.contains(a))
                && self.just.iter().all(|(at, from)| *at != next || *from == placed.last().copied());
            if free {
                placed.push(next);
                if self.possible(placed) {
                    return true;
                }
                placed.pop();
            }
        }
        false
    }
}

/// Judges a log; `last`: what the hardware holds, per line and word.
///
/// # Errors
/// What of the log no order of the writes explains.
pub fn check(cores: &Cores, state: &Memory, last: Option<&[[Option<u8>; 2]]>) -> Result<(), String> {
    for line in 0..state.lines.len() {
        for word in 0..2 {
            let last = last.and_then(|lines| lines[line][word]);
            let demands = Demands::of(cores, state, line, word, last)?;
            if !demands.possible(&mut Vec::new()) {
                let end = last.map_or(String::new(), |v| format!(", in the end {v:x}"));
                return Err(format!(
                    "word {word} of line {line}: no order of its writes explains what was read{end}"
                ));
            }
        }
    }
    Ok(())
}
