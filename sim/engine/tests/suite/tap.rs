//! What a tap reports of covers.

use std::sync::Arc;
use weft_engine::tap::{CoverTap, Hit};
use weft_engine::{BackendKind, Design, Options, Sim};
use weft_rtl::prelude::*;
use weft_rtl::signal::about;

/// Takes numbers and says of each whether it is odd, a cycle later.
fn design(backend: BackendKind) -> Arc<Design> {
    let module = Module::build("parity", ModuleKind::Block, || {
        let (valid, line) = (input::<Bool>("valid", ()), input::<Bits>("line", 8));
        let (s1_valid, s1_line) = (output_reg::<Bool>("s1_valid", ()), output_reg::<Bits>("s1_line", 8));
        s1_valid.set(valid);
        s1_line.set(line);
        let odd = s1_line.get().slice(0, 1).any();
        about(s1_line.get(), || {
            cover("odd", s1_valid.get() & odd, "an odd line");
            cover("even", s1_valid.get() & !odd, "an even line");
        });
        cover("two", valid & s1_valid.get(), "two in a row");
    });
    Design::new(&module.expect("legal"), Options { backend, ..Options::default() }).expect("compiled")
}

fn hits(backend: BackendKind) -> Vec<(u64, usize, Option<u64>)> {
    let design = design(backend);
    let mut sim = Sim::new(&design);
    let (valid, line) = (sim.input("valid").expect("a port"), sim.input("line").expect("a port"));
    let (mut tap, mut out) = (CoverTap::new(&design, &|_| true), Vec::new());
    let mut tell = |hit: Hit| {
        assert_eq!(hit.cycles, 1, "nothing holds on in sleep");
        out.push((hit.cycle, hit.probe, hit.line));
    };
    for offer in [Some(7), Some(4), None, None, None, None, None, Some(9), None, None] {
        sim.set(valid, u64::from(offer.is_some()));
        sim.set(line, offer.unwrap_or(0));
        tap.sample(&sim, &mut tell);
        sim.step();
    }
    tap.sample(&sim, &mut tell);
    out
}

#[test]
fn every_hit_has_its_cycle_and_its_line_also_after_sleep() {
    let wanted = vec![(1, 0, Some(7)), (1, 2, None), (2, 1, Some(4)), (8, 0, Some(9))];
    assert_eq!(hits(BackendKind::Native), wanted);
    assert_eq!(hits(BackendKind::Interp), wanted);
}

/// Shows and counts a number that its input asks for.
fn sleeper(backend: BackendKind) -> Vec<(u64, u64)> {
    let module = Module::build("holder", ModuleKind::Block, || {
        let (on, line) = (input::<Bool>("asked", ()), input::<Bits>("line", 8));
        let shown = output_reg::<Bits>("shown", 8);
        shown.set(line);
        about(line, || cover("on", on, "asked for"));
    });
    let options = Options { backend, ..Options::default() };
    let design = Design::new(&module.expect("legal"), options).expect("compiled");
    let mut sim = Sim::new(&design);
    let (on, line) = (sim.input("asked").expect("a port"), sim.input("line").expect("a port"));
    let (mut tap, mut out) = (CoverTap::new(&design, &|_| true), Vec::new());
    for cycle in 0..40 {
        // It is asked for in cycles 3 to 29 and from 33 on, while nothing else changes.
        sim.set(on, u64::from((3..30).contains(&cycle) || cycle >= 33));
        sim.set(line, 5);
        tap.sample(&sim, &mut |hit| out.push((hit.cycle, hit.cycles)));
        sim.step();
    }
    tap.sample(&sim, &mut |hit| out.push((hit.cycle, hit.cycles)));
    tap.finish(&sim, &mut |hit| out.push((hit.cycle, hit.cycles)));
    assert_eq!(sim.probe_count(0, 0), 27 + 7);
    out
}

#[test]
fn what_holds_on_in_sleep_is_told_afterwards() {
    for backend in [BackendKind::Native, BackendKind::Interp] {
        let hits = sleeper(backend);
        assert_eq!(hits.iter().map(|(_, cycles)| cycles).sum::<u64>(), 27 + 7, "{hits:?}");
        assert!(hits.is_sorted() && hits.iter().any(|(_, cycles)| *cycles > 1), "{hits:?}");
    }
}
