//! The host port, driven by the host's own code on the engine: what comes back is what the block alone answers.

use crate::host_bench;

use host_bench::*;
use std::sync::Arc;
use weft_host::{HostError, Interface, Kind, Link, LinkError, Received, hosted};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_tools::host::{EngineWire, messages};

fn link(module: &Arc<Module>) -> Link<EngineWire> {
    let (hosted, interface) = hosted(module).expect("a port");
    Link::open(interface, EngineWire::new(&hosted, QUIET).expect("compiles")).expect("the block")
}

/// Asks one by one, and then all at once, as fast as the port takes them.
fn answers_as_alone(module: &Arc<Module>, requests: &[Request]) -> Vec<Vec<Received>> {
    let mut one_by_one = link(module);
    let alone = alone(module, one_by_one.interface(), requests);
    for (at, (request, expected)) in requests.iter().zip(&alone).enumerate() {
        let come = messages(&mut one_by_one, "req", request).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(by_channel(come), by_channel(expected.clone()), "request {at}: {request:?}");
    }
    let mut at_once = link(module);
    let mut come = Vec::new();
    for request in requests {
        at_once.send("req", request).unwrap_or_else(|e| panic!("{e}"));
    }
    at_once.settle("the requests").unwrap_or_else(|e| panic!("{e}"));
    while let Some(message) = at_once.receive().unwrap_or_else(|e| panic!("{e}")) {
        come.push(message);
    }
    assert!(by_channel(come) == by_channel(alone.concat()), "all at once as one by one");
    alone
}

#[test]
fn a_directory_behind_its_port_answers_as_alone() {
    let module = block("rec-directory", &[("entries", "16"), ("ways", "4")]);
    let alone = answers_as_alone(&module, &directory_requests(300));
    let interface = Interface::of(&module).expect("channels");
    let inv = interface.number(Kind::OutOf, "inv").expect("a channel");
    let [most, invs] =
        [alone.iter().map(Vec::len).max(), Some(alone.concat().iter().filter(|r| r.number == inv).count())];
    assert!(most > Some(2) && invs > Some(50), "an eviction sends several Invs: {most:?} of {invs:?}");
}

#[test]
fn local_releases_behind_their_port_answer_as_alone() {
    let module = block("lr-tbl", &[]);
    let alone = answers_as_alone(&module, &lr_requests(200));
    let interface = Interface::of(&module).expect("channels");
    let rsp = &interface.entries[interface.number(Kind::OutOf, "rsp").expect("a channel")];
    let hits = alone.concat().iter().filter(|r| rsp.value(&r.message, "hit") == Some(Bv::ones(1))).count();
    assert!(hits > 40, "{hits}");
}

#[test]
fn promotions_behind_their_port_answer_as_alone() {
    let module = block("pa-tbl", &[("entries", "4")]);
    let alone = answers_as_alone(&module, &pa_requests(200));
    let interface = Interface::of(&module).expect("channels");
    let rsp = &interface.entries[interface.number(Kind::OutOf, "rsp").expect("a channel")];
    for field in ["hit", "overflows"] {
        let some = alone.concat().iter().any(|r| rsp.value(&r.message, field) == Some(Bv::ones(1)));
        assert!(some, "{field}");
    }
}

/// A block with ports of every kind, wide ones and a channel without a message among them.
fn odd() -> Arc<Module> {
    use weft_rtl::prelude::*;
    let built = Module::build("odd", ModuleKind::Block, || {
        let (wide, echo) = (in_channel::<Bits>("wide", &100), out_channel::<Bits>("echo", &100));
        let (poke, beat) =
            (in_channel::<Vec<Bits>>("poke", &(0, 8)), out_channel::<Vec<Bits>>("beat", &(0, 8)));
        let mask = input::<Bits>("mask", 100);
        let pokes = output_reg::<Bits>("pokes", 70);
        when(wide.valid & echo.free, || {
            wide.take();
            echo.send(&(wide.msg ^ mask));
        });
        when(poke.valid & beat.free, || {
            poke.take();
            beat.send(&Vec::new());
            pokes.set(pokes.get() + 1);
        });
    });
    built.unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn inputs_are_held_outputs_are_read_and_channels_take_turns() {
    let mut link = link(&odd());
    let kinds: Vec<(Kind, &str, u32)> =
        link.interface().entries.iter().map(|e| (e.kind, e.name.as_str(), e.width())).collect();
    let expected = [
        (Kind::Into, "wide", 100),
        (Kind::Into, "poke", 0),
        (Kind::OutOf, "echo", 100),
        (Kind::OutOf, "beat", 0),
        (Kind::Set, "mask", 100),
        (Kind::Get, "pokes", 70),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(link.get("pokes").expect("a value"), Bv::zero(70));
    let echo = |link: &mut Link<EngineWire>, value: u64| {
        let come = messages(link, "wide", &[("data", value)]).expect("an answer");
        assert_eq!((come.len(), come[0].number), (1, 2));
        come[0].message.clone()
    };
    assert_eq!(echo(&mut link, 0x1234_5678_9abc_def0), Bv::from_u64(0x1234_5678_9abc_def0, 100));
    link.set("mask", 0xffff).expect("an input");
    assert_eq!(echo(&mut link, 0x1234_0f0f), Bv::from_u64(0x1234_f0f0, 100));
    for _ in 0..5 {
        assert_eq!(messages(&mut link, "poke", &[]).expect("an answer").len(), 1);
    }
    assert_eq!(link.get("pokes").expect("a value"), Bv::from_u64(5, 70));
}

#[test]
fn what_the_host_gets_wrong_is_told() {
    let mut link = link(&block("pa-tbl", &[("entries", "4")]));
    let said = |e: LinkError| e.to_string();
    assert_eq!(
        link.send("ask", &[]).map_err(said),
        Err("pa_tbl_4x46 has no channel into the block ask; it has req".into())
    );
    assert_eq!(
        link.send("req", &[("line", 1)]).map_err(said),
        Err("req of pa_tbl_4x46 has no field line; it has op, word".into())
    );
    assert_eq!(
        link.send("req", &[("op", 4)]).map_err(said),
        Err("op of req has 2 bits; 0x4 does not fit".into())
    );
    assert_eq!(
        link.get("hits").map_err(said).map(|_| ()),
        Err("pa_tbl_4x46 has no output hits; it has none".into())
    );
    // The board holds a table of another size.
    let (other, _) = hosted(&block("pa-tbl", &[("entries", "5")])).expect("a port");
    let wire = EngineWire::new(&other, QUIET).expect("compiles");
    let error = Link::open(link.interface().clone(), wire).err().expect("another block").to_string();
    assert!(error.starts_with("the board holds another block than pa_tbl_4x46: interface "), "{error}");
}

/// A line on which nothing comes back, or one number that no frame has.
struct Fake(Option<u8>);

impl weft_host::Wire for Fake {
    fn exchange(&mut self, _: &[u8]) -> std::io::Result<Vec<u8>> {
        Ok(self.0.into_iter().collect())
    }
}

#[test]
fn a_line_that_is_silent_or_wrong_is_told() {
    let interface = Interface::of(&block("pa-tbl", &[])).expect("channels");
    let open = |answer| Link::open(interface.clone(), Fake(answer)).err().expect("no block").to_string();
    assert!(open(None).starts_with("nothing came back for 1 frames of the question which block is there"));
    assert!(open(Some(0x55)).starts_with("a byte 0x55 came where a frame begins"));
    assert_eq!(open(Some(0xfe)), "the board does not know a frame that was sent; reset the board");
}

#[test]
fn every_block_but_the_widest_can_be_given_a_port() {
    let mut too_many = Vec::new();
    for info in weft_catalog::blocks() {
        let module = block(info.name, &[]);
        let interface = match hosted(&module) {
            Ok((_, interface)) => interface,
            Err(HostError::TooMany { .. }) => {
                too_many.push(info.name);
                continue;
            }
            Err(e) => panic!("{}: {e}", info.name),
        };
        let ports: usize = interface
            .entries
            .iter()
            .map(|e| e.leaves.len() + if matches!(e.kind, Kind::Into | Kind::OutOf) { 2 } else { 0 })
            .sum();
        assert_eq!(ports, module.ports().count(), "{}", info.name);
    }
    // Ports of links for every GPU, and channels for every one of 64 CUs or 2 x 64 lanes.
    assert_eq!(too_many, ["switch", "gpu-relay", "sel-hub", "srsp-l2", "hlrc-l2", "denovo-b-l2"]);
}
