//! Small designs that stop, and what the watchdog says about them.

use super::*;
use weft_engine::Options;
use weft_rtl::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Kind {
    Ask,
    Give,
}

#[derive(Clone, Copy, Bundle)]
#[bundle(params = u32)]
struct Msg {
    kind: Enum<Kind>,
    #[width(*p)]
    line: Bits,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Phase {
    Start,
    Sends,
    Listens,
}

/// Sends `first` messages before it takes any; then takes for ever.
fn stubborn(name: &str, first: u64, kind: Kind) -> Arc<Module> {
    Module::build(name, ModuleKind::Block, || {
        let input = in_channel::<Msg>("hear", &16);
        let output = out_channel::<Msg>("say", &16);
        let state = reg::<Enum<Phase>>("state", ());
        let sent = reg::<Bits>("sent", 8);
        switch(state.get(), |s| {
            s.case(Phase::Start, || state.set(Phase::Sends));
            s.case(Phase::Sends, || {
                when(output.free, || {
                    output.send(&Msg { kind: enum_lit(kind), line: sent.get().zext(16) });
                    sent.set(sent.get() + 1);
                    when(sent.get().eq(first - 1), || state.set(Phase::Listens));
                });
            });
            s.case(Phase::Listens, || {
                when(input.valid, || input.take());
            });
        });
    })
    .expect("sound")
}

/// Two of them, connected with each other.
fn pair(first: u64) -> Sim {
    let (a, b) =
        (stubborn(&format!("a{first}"), first, Kind::Ask), stubborn(&format!("b{first}"), first, Kind::Give));
    let top = Module::build("pair", ModuleKind::Fabric, || {
        let (left, right) = (instance("left", &a), instance("right", &b));
        connect::<Msg>(&left, "say", &right, "hear", &16);
        connect::<Msg>(&right, "say", &left, "hear", &16);
    })
    .expect("sound");
    Sim::new(&Design::new(&top, Options::default()).expect("sound"))
}

fn run(sim: &mut Sim, watchdog: &mut Watchdog, cycles: u64, open: bool) -> Option<Deadlock> {
    for _ in 0..cycles {
        if let Err(deadlock) = watchdog.cycle(sim, open) {
            return Some(*deadlock);
        }
        sim.step();
    }
    None
}

#[test]
fn two_blocks_that_wait_for_each_other_are_named() {
    let mut sim = pair(8);
    let mut watchdog = Watchdog::new(sim.design(), 5_000, 64);
    let deadlock = run(&mut sim, &mut watchdog, 10_000, true).expect("they wait for each other");
    assert_eq!((deadlock.cycle, deadlock.silent_since), (5_000, 0));
    assert_eq!(
        deadlock.to_string(),
        "nothing has moved at the ports of the fabric since cycle 0 (now 5000), although requests are open\n\
         these blocks wait for each other:\n  \
         left holds {kind ASK, line 0x80} on its channel say and waits for right, which has not taken it as hear since cycle 64 at the latest\n  \
         right holds {kind GIVE, line 0x80} on its channel say and waits for left, which has not taken it as hear since cycle 64 at the latest\n\
         what the blocks hold:\n  left: state = SENDS\n  right: state = SENDS"
    );
}

#[test]
fn without_a_circle_the_end_of_the_chain_is_named() {
    let first = stubborn("talker", 200, Kind::Ask);
    let deaf = Module::build("deaf", ModuleKind::Block, || {
        let input = in_channel::<Msg>("hear", &16);
        let held = reg::<Bits>("entries_busy", 3);
        when(input.valid & !held.get().all(), || {
            input.take();
            held.set(held.get() + 1);
        });
        cover("line_three", input.valid & input.msg.line.eq(3), "the fourth message");
        cover("gives", input.valid & input.msg.kind.is(Kind::Give), "a message of the other kind");
    })
    .expect("sound");
    let top = Module::build("chain", ModuleKind::Fabric, || {
        let (left, right) = (instance("left", &first), instance("right", &deaf));
        connect::<Msg>(&left, "say", &right, "hear", &16);
        export(&left);
    })
    .expect("sound");
    let mut sim = Sim::new(&Design::new(&top, Options::default()).expect("sound"));
    let valid = sim.input("hear_valid").expect("a port");
    let mut watchdog = Watchdog::new(sim.design(), 3_000, 64);
    // Nobody asks for anything: silence is no deadlock.
    assert_eq!(run(&mut sim, &mut watchdog, 7_000, false), None);
    sim.set(valid, 1);
    let deadlock = run(&mut sim, &mut watchdog, 7_000, false).expect("a request stands at the port");
    assert_eq!(deadlock.circle, [""; 0]);
    assert_eq!(
        deadlock.blocked,
        [
            "the model outside holds {kind ASK, line 0x0} on its channel hear and waits for left, which has not taken it since cycle 7536 at the latest",
            "left holds {kind ASK, line 0x240} on its channel say and waits for right, which has not taken it as hear since cycle 64 at the latest",
        ]
    );
    assert_eq!(deadlock.inside, ["right: entries_busy: 3 of 3"]);
}

/// Takes the listening end of a block to the top.
fn export(block: &InstanceRef) {
    block.drive_bits("hear_valid", input::<Bits>("hear_valid", 1));
    block.drive_bits("hear_kind", input::<Bits>("hear_kind", 1));
    block.drive_bits("hear_line", input::<Bits>("hear_line", 16));
    output::<Bits>("hear_ready", 1).set(block.out_bits("hear_ready"));
}

#[test]
fn progress_and_blocks_that_get_along_are_no_deadlock() {
    let mut sim = pair(2);
    let mut watchdog = Watchdog::new(sim.design(), 500, 64);
    assert_eq!(run(&mut sim, &mut watchdog, 2_000, false), None);
    for _ in 0..10 {
        watchdog.progress(sim.cycle());
        assert_eq!(run(&mut sim, &mut watchdog, 400, true), None);
    }
    let deadlock = run(&mut sim, &mut watchdog, 600, true).expect("a request is open");
    assert_eq!((deadlock.circle.len(), deadlock.blocked.len()), (0, 0));
    assert_eq!(deadlock.inside, ["left: state = LISTENS", "right: state = LISTENS"]);
}
