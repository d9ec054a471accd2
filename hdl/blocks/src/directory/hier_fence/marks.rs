//! Markers in the hierarchical fence unit: the own home's, each for all requesters of a scope that wait when it begins, and those of other GPUs, which it
//! passes on.
//!
//! ```text
//!  requests, GPU scope    -> waits --+  Begin: the next serial is free
//!                                    +--> served[serial], a token to every bank and back --> mark_out {serial, this node}
//!  requests, system scope -> waits --+  the scopes in turn
//! ```
//! A request that comes while a marker is with the banks waits for the next one: writes that the banks accept after the token are not ahead of that marker.
//! Serials are used in ring order; one is free again when all receivers have acknowledged its marker.

use super::incoming::Incoming;
use super::params::{HierFenceParams, Part};
use super::scope::Which;
use super::serve::Round;
use super::table::{MarkEvent, MarkState, mark_table};
use crate::common::arbiter::RoundRobin;
use crate::common::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// A marker of another GPU on its way to the GPMs of this one.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Forward {
    #[width(SERIAL_BITS)]
    serial: Bits,
    #[width(p.node_bits())]
    origin: Bits,
}

/// Requesters of one scope: nodes, or GPUs where their GPMs join, of system scope, GPMs of the own GPU of
/// GPU scope.
struct Home {
    which: Which,
    /// Those that wait for the next marker.
    waits: Reg<Bits>,
    /// Those that the marker of each serial serves.
    served: Vec<Reg<Bits>>,
    /// Serial of the next marker, and of the one that is with the banks or leaves; with one serial there is nothing to count.
    next: Option<Reg<Bits>>,
}

impl Home {
    fn new(p: &HierFenceParams, which: Which, requesters: u32) -> Home {
        let (name, serials) = (which.name(), p.serials());
        let served = |k| reg::<Bits>(&format!("{name}_served{k}"), requesters);
        Home {
            which,
            waits: reg::<Bits>(&format!("{name}_mark_waits"), requesters),
            served: (0..serials).map(served).collect(),
            next: (serials > 1)
                .then(|| reg::<Bits>(&format!("{name}_mark_serial"), bits_for(u64::from(serials)))),
        }
    }

    fn serial(&self) -> Bits {
        self.next.as_ref().map_or(lit(0, SERIAL_BITS), |next| next.get().zext(SERIAL_BITS))
    }

    /// This node's bit.
    fn own(&self, p: &HierFenceParams) -> Bits {
        if self.which == Which::Gpu { p.own_gpm(bool_lit(true)) } else { p.own_requester() }
    }

    /// New requests come; a marker may begin for those that wait, or leave.
    fn follow(&self, p: &HierFenceParams, new: Bits, open: Bits, begins: Bool, left: Bool) {
        let (name, waits) = (self.which.name(), self.waits.get());
        when(begins | new.any(), || self.waits.set(mux(begins, new, waits | new)));
        let under_way = p.serial_bit(self.serial());
        for (k, served) in self.served.iter().enumerate() {
            when(begins & under_way.bit(k as u32), || served.set(waits));
            assert_always(
                &format!("{name}_mark{k}_serves_once"),
                (served.get() & new).none() | !open.bit(k as u32),
                "a requester asks again when the marker before has been acknowledged",
            );
        }
        if let Some(next) = &self.next {
            when(left, || next.set(next.get() + 1));
        }
        assert_always(
            &format!("{name}_mark_asked_once"),
            (waits & new).none(),
            "a node has one fence of a scope in flight, so it asks once",
        );
    }
}

/// The engine that sends this home's markers and passes on those of other GPUs.
pub(super) struct Marks(Option<Engine>);

struct Engine {
    state: Reg<Enum<MarkState>>,
    /// GPU scope, if it is told apart, and system scope.
    homes: Vec<Home>,
    /// With both scopes: the marker that is with the banks or leaves is of system scope.
    sys: Option<Reg<Bool>>,
    round: Round,
    forwards: Option<Fifo<Forward>>,
    /// The marker leaves in this cycle.
    left: Wire<Bool>,
}

impl Marks {
    pub fn new(p: &HierFenceParams) -> Marks {
        Marks(p.has(Part::Markers).then(|| {
            let gpu = p.has(Part::GpuMarks).then(|| Home::new(p, Which::Gpu, p.gpm_slots()));
            let homes: Vec<Home> =
                gpu.into_iter().chain([Home::new(p, Which::Sys, p.sys_requesters())]).collect();
            let sys = (homes.len() > 1).then(|| reg::<Bool>("mark_sys", ()));
            Engine {
                state: reg::<Enum<MarkState>>("mark_state", ()),
                homes,
                sys,
                round: Round::new("order", p.sys.banks),
                // A place for each serial of each home in another GPU that this one passes on: more are not in flight.
                forwards: p
                    .has(Part::Forwards)
                    .then(|| Fifo::new("forwards", p.serials() * (p.sys.gpus - 1), &p.sys)),
                left: wire::<Bool>("mark_leaves", ()),
            }
        }))
    }

    /// The serial of an own marker of this scope that leaves in this cycle, as a bit.
    pub fn sent(&self, p: &HierFenceParams, which: Which) -> Bits {
        let none = lit_bv(Bv::zero(p.serials()));
        let Some((engine, home)) = self.home(which) else { return none };
        p.serial_bit(home.serial()) & (engine.left.get() & engine.is(which)).repeat(p.serials())
    }

    /// Requesters that the marker of a serial serves; none if there are no such markers.
    pub fn served(&self, p: &HierFenceParams, which: Which, serial: Bits) -> Bits {
        let width = if which == Which::Gpu { p.gpm_slots() } else { p.sys_requesters() };
        let Some((_, home)) = self.home(which) else { return lit_bv(Bv::zero(width)) };
        let of = |(k, served): (usize, &Reg<Bits>)| served.get() & serial.eq(k as u64).repeat(width);
        home.served.iter().enumerate().map(of).reduce(|a, b| a | b).expect("a serial")
    }

    fn home(&self, which: Which) -> Option<(&Engine, &Home)> {
        let engine = self.0.as_ref()?;
        Some((engine, engine.homes.iter().find(|home| home.which == which)?))
    }

    /// One cycle. `gpu`: the own engine of GPU scope asks for a marker; `sys`: requesters of system scope
    /// for whom this node itself asks; `open`: serials of these scopes that not all receivers have
    /// acknowledged. True when a marker begins that serves another node.
    pub fn step(
        &self,
        p: &HierFenceParams,
        i: &Incoming,
        (gpu, sys): (Bool, Bits),
        open: [Option<Bits>; 2],
    ) -> Bool {
        let Some(engine) = &self.0 else {
            for b in 0..p.sys.banks {
                silent_out_channel::<FenceMark>(&format!("order{b}"), &p.sys);
                silent_in_channel::<FenceMark>(&format!("ordered{b}"), &p.sys);
            }
            silent_out_channel::<HierMark>("mark_out", &p.sys);
            return bool_lit(false);
        };
        let new = |which: Which| match which {
            Which::Gpu => i.gpu_marks | p.own_gpm(gpu),
            Which::Sys => i.sys_marks | sys,
        };
        let asked: Vec<Bits> = engine.homes.iter().map(|home| new(home.which)).collect();
        let open: Vec<Bits> = open.into_iter().flatten().collect();
        let begins = engine.begin(p, &open);
        let mark = FenceMark { requester: p.home_bits() };
        let fits = |back: &FenceMark| p.is_home(back.requester);
        engine.round.exchange(("order", "ordered"), (&p.sys, &p.sys), &mark, fits);
        let ordered = (engine.state.get().is(MarkState::Order) & engine.round.ended()).named("mark_ordered");
        let left = engine.send(p, i);
        engine.left.set(left);
        for (((home, new), open), begins) in engine.homes.iter().zip(&asked).zip(&open).zip(&begins) {
            home.follow(p, *new, *open, *begins, left & engine.is(home.which));
        }
        let any: Vec<Bool> = asked.iter().map(|new| new.any()).collect();
        let events = [
            (MarkEvent::Request, any_of(&any).named("mark_asked")),
            (MarkEvent::Begin, any_of(&begins)),
            (MarkEvent::Ordered, ordered),
            (MarkEvent::Left, left),
        ];
        mark_table().drive(&engine.state, &events);
        engine.observe(p, &any, &open, &begins);
        let others = engine.homes.iter().zip(&begins);
        any_of(&others.map(|(home, b)| *b & (home.waits.get() & !home.own(p)).any()).collect::<Vec<_>>())
    }
}

impl Engine {
    /// The marker that is with the banks or leaves is of this scope.
    fn is(&self, which: Which) -> Bool {
        match &self.sys {
            Some(sys) if which == Which::Sys => sys.get(),
            Some(sys) => !sys.get(),
            None => bool_lit(which == Which::Sys),
        }
    }

    /// A serial comes next that is still in flight.
    fn exhausted(p: &HierFenceParams, home: &Home, open: Bits) -> Bool {
        (open & p.serial_bit(home.serial())).any()
    }

    /// Begins a marker when none is under way, for all that wait: whether one of each scope begins.
    fn begin(&self, p: &HierFenceParams, open: &[Bits]) -> Vec<Bool> {
        let ready =
            |(home, open): (&Home, &Bits)| home.waits.get().any() & !Engine::exhausted(p, home, *open);
        let ready: Vec<Bool> = self.homes.iter().zip(open).map(ready).collect();
        let turn = RoundRobin::new("mark_turn", ready.len() as u32);
        let pick = turn.pick(pack_bools(&ready).named("mark_ready"));
        let begin = (self.state.get().is(MarkState::Idle) & pick.any).named("mark_begins");
        when(begin, || {
            turn.granted(pick.index);
            if let Some(sys) = &self.sys {
                sys.set(pick.index.bit(0));
            }
            self.round.begin();
        });
        (0..ready.len() as u64).map(|k| begin & pick.index.eq(k)).collect()
    }

    /// The own marker or one that is passed on, in turn; true when the own one has left.
    fn send(&self, p: &HierFenceParams, i: &Incoming) -> Bool {
        let out = out_channel::<HierMark>("mark_out", &p.sys);
        let serials: Vec<Bits> = self.homes.iter().map(Home::serial).collect();
        let sys = self.is(Which::Sys);
        let serial = if let [gpu, wide] = serials[..] { mux(sys, wide, gpu) } else { serials[0] };
        let own = HierMark { serial, origin: p.home_bits(), sys };
        let ready = self.state.get().is(MarkState::Out);
        let Some(forwards) = &self.forwards else {
            let left = (ready & out.free).named("mark_left");
            when(left, || out.send(&own));
            return left;
        };
        when(i.foreign, || {
            forwards.push(&Forward { serial: i.mark_msg.serial, origin: i.mark_msg.origin });
        });
        let turn = RoundRobin::new("mark_out_turn", 2);
        let pick = turn.pick(pack_bools(&[ready, forwards.valid]));
        let passed = (pick.any & out.free & pick.index.eq(1)).named("mark_passed_on");
        let left = (pick.any & out.free & pick.index.eq(0)).named("mark_left");
        when(passed | left, || turn.granted(pick.index));
        when(left, || out.send(&own));
        when(passed, || {
            forwards.pop();
            let Forward { serial, origin } = forwards.head;
            out.send(&HierMark { serial, origin, sys: bool_lit(true) });
        });
        cover("hmg.race.marker_passed_on", i.foreign, "a marker of another GPU is passed on to the own GPMs");
        cover(
            "hmg.race.passed_on_while_ordering",
            passed & self.state.get().is(MarkState::Order),
            "a marker is passed on while the own one waits for the banks",
        );
        left
    }

    fn observe(&self, p: &HierFenceParams, asked: &[Bool], open: &[Bits], begins: &[Bool]) {
        let homes = || self.homes.iter().zip(open).enumerate();
        let either = |f: &dyn Fn(usize, &Home, Bits) -> Bool| {
            any_of(&homes().map(|(k, (home, open))| f(k, home, *open)).collect::<Vec<_>>())
        };
        let ordering = self.state.get().is(MarkState::Order);
        cover(
            "hmg.race.request_while_ordering",
            ordering & either(&|k, home, _| asked[k] & self.is(home.which)),
            "a request comes while a marker of its scope is with the banks: it waits for the next one",
        );
        cover(
            "hmg.race.marker_serves_several",
            either(&|k, home, _| begins[k] & home.waits.get().popcount().gt(1)),
            "a marker begins for two or more requesters",
        );
        if p.serials() > 1 {
            cover(
                "hmg.race.two_markers_in_flight",
                self.left.get() & either(&|_, home, open| self.is(home.which) & open.any()),
                "a marker leaves while not all receivers have acknowledged one before it, of the same scope",
            );
        }
        let held = |home: &Home, open| home.waits.get().any() & Engine::exhausted(p, home, open);
        cover(
            "hmg.race.serials_exhausted",
            either(&|_, home, open| held(home, open)),
            "requests wait because the serial that comes next is still in flight",
        );
        if let [(gpu, of_gpu), (sys, of_sys)] = homes().map(|(_, pair)| pair).collect::<Vec<_>>()[..] {
            cover(
                "hmg.race.scope_passes_exhausted_one",
                (begins[0] & held(sys, *of_sys)) | (begins[1] & held(gpu, *of_gpu)),
                "a marker of one scope begins while the other one is out of serials",
            );
        }
    }
}
