//! The ideal directory against the RTL slice of the baseline: as long as nothing is evicted the two agree in every cycle.

use proptest::prelude::*;
use std::sync::Arc;
use weft_blocks::directory::directory;
use weft_blocks::directory::params::{DirKind, DirParams};
use weft_blocks::msg::{DirInv, DirReq, DirRsp, Sys};
use weft_engine::runner::Model;
use weft_engine::{Design, Options, Sim};
use weft_fabric::config::FabricConfig;
use weft_fabric::family::directory::ideal::IdealDirectory;
use weft_rtl::prelude::*;

/// One bank, so that one slice tracks everything.
fn sys() -> Sys {
    let config = FabricConfig::load("rec-4gpu-small").expect("built in");
    Sys { banks: 1, ..config.directory().expect("of this family").sys }
}

/// Passes messages between the bench and the slice, with registers in between.
fn stub() -> Arc<Module> {
    let s = sys();
    Module::build("directory_bench_stub", ModuleKind::Block, || {
        pass::<DirReq>("cmd", "g0_b0_dir_req", &s);
        pass::<DirRsp>("g0_b0_dir_rsp", "ans", &s);
        pass::<DirInv>("g0_b0_inv", "got", &s);
    })
    .expect("elaborates")
}

fn pass<T: Data<Shape = Sys>>(from: &str, to: &str, s: &Sys) {
    let (from, to) = (in_channel::<T>(from, s), out_channel::<T>(to, s));
    when(from.valid & to.free, || {
        from.take();
        to.send(&from.msg);
    });
}

/// The stub with the RTL slice behind it.
fn with_rtl() -> Arc<Module> {
    let s = sys();
    let p = DirParams { entries: 512, ..DirParams::published(DirKind::PERLINE, &s, 0) };
    let (stub, slice) = (stub(), directory(&p).expect("elaborates"));
    Module::build("directory_bench_rtl", ModuleKind::Fabric, || {
        let (stub, slice) = (instance("stub", &stub), instance("slice", &slice));
        connect::<DirReq>(&stub, "g0_b0_dir_req", &slice, "req", &s);
        connect::<DirRsp>(&slice, "rsp", &stub, "g0_b0_dir_rsp", &s);
        connect::<DirInv>(&slice, "inv", &stub, "g0_b0_inv", &s);
        stub.drive_bits("cmd_valid", input::<Bits>("cmd_valid", 1));
        for leaf in leaves_of::<DirReq>(&s, "cmd") {
            stub.drive_bits(&leaf.name, input::<Bits>(&leaf.name, leaf.width));
        }
        output::<Bits>("cmd_ready", 1).set(stub.out_bits("cmd_ready"));
        for (outer, shape) in
            [("ans", leaves_of::<DirRsp>(&s, "ans")), ("got", leaves_of::<DirInv>(&s, "got"))]
        {
            output::<Bits>(&format!("{outer}_valid"), 1).set(stub.out_bits(&format!("{outer}_valid")));
            shape
                .iter()
                .for_each(|leaf| output::<Bits>(&leaf.name, leaf.width).set(stub.out_bits(&leaf.name)));
            stub.drive_bits(&format!("{outer}_ready"), input::<Bits>(&format!("{outer}_ready"), 1));
        }
    })
    .expect("elaborates")
}

/// Sets inputs, reads outputs, clocks.
struct Side {
    sim: Sim,
    model: Option<IdealDirectory>,
}

impl Side {
    fn new(module: &Arc<Module>, ideal: bool) -> Side {
        let sim = Sim::new(&Design::new(module, Options::default()).expect("flattens"));
        let model = ideal.then(|| IdealDirectory::new(&sim, 1, 1).expect("the ports are there"));
        Side { sim, model }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.sim.input(name).expect(name);
        self.sim.set(port, value);
    }

    fn get(&mut self, name: &str) -> u64 {
        let port = self.sim.output(name).expect(name);
        self.sim.get(port)
    }

    /// Valid messages on the outputs, and whether an operation is taken.
    fn view(&mut self) -> Vec<(&'static str, u64)> {
        let mut seen = vec![("cmd_ready", self.get("cmd_ready"))];
        for (valid, fields) in [
            ("ans_valid", &["ans_id", "ans_hit", "ans_evicted"][..]),
            ("got_valid", &["got_line", "got_dest", "got_cause", "got_grp"]),
        ] {
            seen.push((valid, self.get(valid)));
            if self.get(valid) == 1 {
                seen.extend(fields.iter().map(|name| (*name, self.get(name))));
            }
        }
        seen
    }

    fn step(&mut self) {
        if let Some(model) = &mut self.model {
            model.tick(&mut self.sim).expect("has no checks");
        }
        self.sim.step();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_cycle_is_that_of_the_slice(
        cycles in prop::collection::vec((0u64..3, 0u64..4, 1u64..4, 0u64..12, 0u64..4, 0u64..4), 50..400),
        busy in 1u64..4,
    ) {
        let (mut rtl, mut ideal) = (Side::new(&with_rtl(), false), Side::new(&stub(), true));
        // The slice first clears its sets.
        for _ in 0..100 {
            rtl.step();
            ideal.step();
        }
        let mut invalidations = 0;
        let mut offered = None;
        for (number, (offer, op, src, line, ans, got)) in cycles.into_iter().enumerate() {
            // An operation stands until it is taken.
            if offered.is_none() && offer < busy {
                offered = Some([op, if op == 2 { 0 } else { src }, 0x40 * (line / 4) + line, number as u64 % 64]);
            }
            for side in [&mut rtl, &mut ideal] {
                side.set("cmd_valid", u64::from(offered.is_some()));
                for (name, value) in ["cmd_op", "cmd_src", "cmd_line", "cmd_id"].iter().zip(offered.unwrap_or_default()) {
                    side.set(name, value);
                }
                side.set("ans_ready", u64::from(ans > 0));
                side.set("got_ready", u64::from(got > 0));
            }
            let (want, seen) = (rtl.view(), ideal.view());
            prop_assert_eq!(&seen, &want, "cycle {}", number);
            invalidations += u64::from(want.contains(&("got_valid", 1)) && got > 0);
            if want[0].1 == 1 {
                offered = None;
            }
            rtl.step();
            ideal.step();
        }
        prop_assert!(rtl.sim.failures().is_empty(), "{:?}", rtl.sim.failures());
        let counters = ideal.model.as_ref().expect("made above").counters();
        prop_assert!(counters.write_invs >= invalidations && counters.unicasts >= counters.write_invs);
    }
}

#[test]
fn a_fabric_of_another_protocol_is_refused() {
    let sim = Sim::new(&Design::new(&stub(), Options::default()).expect("flattens"));
    let error = IdealDirectory::new(&sim, 1, 2).err().expect("one bank only").to_string();
    assert!(error.contains("g0_b1_dir_req_valid"), "{error}");
}
