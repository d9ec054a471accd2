//! Drain: pops the sFIFO up to a marker, then fences (srsp.md section 5). Two clients, one served at a time, in order of asking: the sync unit and the probe unit; in
//! hLRC the sync unit and the capture buffer; in DeNovo-B the sync unit alone.
//!
//! | state | values |
//! | --- | --- |
//! | `drain_turn` | NONE; SYNC, PROBE: the client served |
//! | `drain_fencing` | its entries are popped, the epoch has been flipped: old write-backs are waited for |
//! | `drain_NAME_busy`, `_need`, `_marker` | the client waits for its flush; its marker is still in the sFIFO; which entry it is |
//! | `drain_asked` | a slot found the sFIFO full: one pop |

use super::wbt::Fence;
use crate::sfifo::Sfifo;
use weft_rtl::prelude::*;

/// Who is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum DrainTurn {
    /// Nobody.
    None,
    /// The sync unit.
    Sync,
    /// The probe unit; in hLRC the capture buffer.
    Probe,
}

/// A client of the drain.
pub(crate) struct Client {
    turn: DrainTurn,
    busy: Reg<Bool>,
    need: Reg<Bool>,
    marker: Reg<Bits>,
    starts: Wire<Bool>,
    /// Its flush completes in this cycle.
    pub done: Wire<Bool>,
}

impl Client {
    fn new(name: &str, turn: DrainTurn, ptr_bits: u32) -> Client {
        Client {
            turn,
            busy: reg::<Bool>(&format!("drain_{name}_busy"), ()),
            need: reg::<Bool>(&format!("drain_{name}_need"), ()),
            marker: reg::<Bits>(&format!("drain_{name}_marker"), ptr_bits),
            starts: wire_or::<Bool>(&format!("drain_{name}_starts"), (), false),
            done: wire_or::<Bool>(&format!("drain_{name}_done"), (), false),
        }
    }

    /// It waits for its flush.
    pub fn busy(&self) -> Bool {
        self.busy.get()
    }

    /// Takes what was asked in this cycle back (a fault).
    pub fn cancel(&self) {
        self.busy.set(false);
        self.need.set(false);
    }

    /// Asks for a flush up to an entry, inclusive; with `need` false for the fence alone.
    fn start(&self, need: Bool, marker: Bits) {
        self.starts.set(true);
        self.busy.set(true);
        self.need.set(need);
        self.marker.set(marker);
    }
}

/// The unit.
pub(crate) struct Drain {
    turn: Reg<Enum<DrainTurn>>,
    fencing: Reg<Bool>,
    asked: Reg<Bool>,
    pub sync: Client,
    probe: Option<Client>,
}

impl Drain {
    /// Declares the unit with the names of its two clients.
    pub fn new(ptr_bits: u32, [sync, probe]: [&str; 2]) -> Drain {
        Drain::of(ptr_bits, sync, Some(probe))
    }

    /// Declares the unit with the name of its client, if there is no other.
    pub fn of_one(ptr_bits: u32, sync: &str) -> Drain {
        Drain::of(ptr_bits, sync, None)
    }

    fn of(ptr_bits: u32, sync: &str, probe: Option<&str>) -> Drain {
        Drain {
            turn: reg::<Enum<DrainTurn>>("drain_turn", ()),
            fencing: reg::<Bool>("drain_fencing", ()),
            asked: reg::<Bool>("drain_asked", ()),
            sync: Client::new(sync, DrainTurn::Sync, ptr_bits),
            probe: probe.map(|name| Client::new(name, DrainTurn::Probe, ptr_bits)),
        }
    }

    /// The second client.
    ///
    /// # Panics
    /// The unit has one alone: a slip in the block's source.
    pub fn probe(&self) -> &Client {
        self.probe.as_ref().expect("a drain of two clients")
    }

    fn clients(&self) -> impl Iterator<Item = &Client> {
        [Some(&self.sync), self.probe.as_ref()].into_iter().flatten()
    }

    /// Some client passes a test.
    fn some(&self, does: impl Fn(&Client) -> Bool) -> Bool {
        let first = does(&self.sync);
        self.probe.as_ref().map_or(first, |probe| first | does(probe))
    }

    /// A client flushes everything that is in the sFIFO now.
    pub fn flush_all(&self, client: &Client, sfifo: &Sfifo) {
        let last = sfifo.last();
        let leaves = sfifo.pops() & sfifo.head().eq(last);
        client.start(sfifo.some() & !leaves, last);
    }

    /// The probe unit flushes up to an entry that is there (`need`), then fences.
    pub fn flush_to(&self, need: Bool, marker: Bits) {
        self.probe().start(need, marker);
    }

    /// A slot waits for a free entry: one pop.
    pub fn ask_pop(&self) {
        self.asked.set(true);
    }

    fn needs(&self) -> Bool {
        self.some(|c| self.turn.get().is(c.turn) & c.need.get())
    }

    /// A pop in this cycle is for want of a free entry alone.
    pub fn for_room(&self) -> Bool {
        self.asked.get() & !self.needs()
    }

    /// A slot is wanted in the next cycle, given what this one pops.
    pub fn wants(&self, sfifo: &Sfifo) -> Bool {
        let pops = sfifo.pops();
        let of = |c: &Client| {
            let last = pops & sfifo.head().eq(c.marker.get());
            self.turn.get().is(c.turn) & c.need.get() & !last
        };
        let left = sfifo.some() & !(pops & sfifo.count().eq(1));
        left & (self.some(of) | (self.asked.get() & !pops))
    }

    /// Declares the unit's steps, after everything that starts or pops.
    pub fn finish(&self, sfifo: &Sfifo, fence: &Fence) {
        when(sfifo.pops(), || self.asked.set(false));
        let free = self.turn.get().is(DrainTurn::None);
        for client in self.clients() {
            // A marker that anybody pops is reached.
            let passed = sfifo.pops() & sfifo.head().eq(client.marker.get());
            when(passed & client.need.get() & !client.starts.get(), || client.need.set(false));
            when(free & client.busy.get(), || self.turn.set(client.turn));
            let mine = self.turn.get().is(client.turn) & !client.need.get();
            when(mine & !self.fencing.get(), || {
                fence.flip();
                self.fencing.set(true);
            });
            when(mine & self.fencing.get() & fence.fenced(), || {
                self.fencing.set(false);
                self.turn.set(DrainTurn::None);
                client.busy.set(false);
                client.done.set(true);
            });
        }
    }

    /// Races, whose names begin with `races`, and the counter of `block`; `probed`: the system has probes.
    pub fn observe(&self, sfifo: &Sfifo, (races, block): (&str, &str), probed: bool) {
        let race = |name: &str, cond: Bool, text: &str| cover(&format!("{races}drain_{name}"), cond, text);
        if let Some(probe) = self.probe.as_ref().filter(|_| probed) {
            let both = self.sync.busy.get() & probe.busy.get();
            race("two_clients", both, "own flush and a probe's flush at the same time");
        }
        let other = |c: &Client, turn: DrainTurn| {
            let passed = sfifo.pops() & sfifo.head().eq(c.marker.get()) & c.need.get();
            passed & self.turn.get().is(turn)
        };
        if let Some(probe) = self.probe.as_ref().filter(|_| probed) {
            let passed = other(&self.sync, DrainTurn::Probe) | other(probe, DrainTurn::Sync);
            race("marker_passed", passed, "a waiting client's marker is popped for the other client");
        }
        let pushed = self.fencing.get() & sfifo.pushes();
        race("push_in_fence", pushed, "a line becomes dirty during a fence, which does not wait for it");
        count(
            &format!("{block}_fence_cycles"),
            self.fencing.get(),
            "cycles in which a flush waits for write-backs",
        );
    }
}
