//! A link: bytes of wire time, given to one sender or several in turn.

use crate::bytes::BYTES_BITS;
use weft_rtl::prelude::*;

/// A link that carries a number of bytes per cycle for `n` senders.
pub(crate) struct Link {
    n: u32,
    width: u32,
    per_cycle: u64,
    owed: Reg<Bits>,
    flying: Reg<Bits>,
    next: Option<Reg<Bits>>,
}

/// What a link carries in a cycle, per sender.
#[derive(Clone)]
pub(crate) struct Carried {
    /// A message of an earlier cycle is not yet through.
    pub flying: Vec<Bool>,
    /// A message begins.
    pub begins: Vec<Bool>,
    /// The last byte of a message passes.
    pub done: Vec<Bool>,
    /// The rest of a message is left for later cycles.
    pub stays: Vec<Bool>,
}

impl Carried {
    /// Several links as one.
    pub fn joined(links: Vec<Carried>) -> Carried {
        let mut all = Carried { flying: Vec::new(), begins: Vec::new(), done: Vec::new(), stays: Vec::new() };
        for link in links {
            all.flying.extend(link.flying);
            all.begins.extend(link.begins);
            all.done.extend(link.done);
            all.stays.extend(link.stays);
        }
        all
    }

    /// What several links carry for one of their senders each.
    pub fn of_sender(links: &[Carried], i: usize) -> Carried {
        let of = |which: fn(&Carried) -> &Vec<Bool>| links.iter().map(|link| which(link)[i]).collect();
        Carried {
            flying: of(|c| &c.flying),
            begins: of(|c| &c.begins),
            done: of(|c| &c.done),
            stays: of(|c| &c.stays),
        }
    }
}

impl Link {
    /// Declares the link's registers, called `NAME_*`.
    pub fn new(name: &str, per_cycle: u32, n: u32) -> Link {
        // What is owed at a cycle's begin is less than a message; one more may begin in it.
        let width = bits_for(u64::from(per_cycle) + (2 << BYTES_BITS));
        Link {
            n,
            width,
            per_cycle: u64::from(per_cycle),
            owed: reg::<Bits>(&format!("{name}_owed"), width)
                .doc("Bytes that have begun and that this cycle and later ones carry."),
            flying: reg::<Bits>(&format!("{name}_flying"), n),
            next: (n > 1).then(|| reg::<Bits>(&format!("{name}_next"), bits_for(u64::from(n)))),
        }
    }

    /// One cycle: who `wants` to begin, with messages of these `sizes`.
    pub fn carry(&self, wants: &[Bool], sizes: &[Bits]) -> Carried {
        let n = self.n as usize;
        let flying: Vec<Bool> = (0..self.n).map(|i| self.flying.get().bit(i)).collect();
        let old = self.owed.get();
        let ends = old.le(self.per_cycle);
        let mut begins = vec![bool_lit(false); n];
        let mut whole = vec![bool_lit(false); n];
        let (mut used, mut turn) = (old, self.next.as_ref().map(|next| next.get()));
        for (round, i) in (0..self.rounds()).flat_map(|round| (0..n).map(move |i| (round, i))) {
            let may = wants[i] & !flying[i] & self.in_round(round, i);
            let begin = may & used.lt(self.per_cycle);
            let after = used + sizes[i].zext(self.width);
            whole[i] = whole[i] | (begin & after.le(self.per_cycle));
            begins[i] = begins[i] | begin;
            used = mux(begin, after, used);
            turn = turn.map(|turn| mux(begin, lit((i as u64 + 1) % n as u64, turn.width()), turn));
        }
        if let (Some(next), Some(turn)) = (&self.next, turn) {
            next.set(turn);
        }
        self.owed.set(mux(used.lt(self.per_cycle), lit(0, self.width), used - self.per_cycle));
        let stays: Vec<Bool> = (0..n).map(|i| (flying[i] & !ends) | (begins[i] & !whole[i])).collect();
        self.flying.set(pack_bools(&stays));
        let done = (0..n).map(|i| (flying[i] & ends) | whole[i]).collect();
        Carried { flying, begins, done, stays }
    }

    /// Several senders are gone through twice: first those from the one in turn on, then the others.
    fn rounds(&self) -> u32 {
        if self.next.is_some() { 2 } else { 1 }
    }

    fn in_round(&self, round: u32, i: usize) -> Bool {
        let Some(next) = &self.next else { return bool_lit(true) };
        let first = next.get().le(i as u64);
        if round == 0 { first } else { !first }
    }
}
