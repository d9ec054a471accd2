//! Waveforms of every block: what its ports showed in a random run is in the file, cycle by cycle, and the save file for GTKWave has rows for all of them.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::BlockInfo;
use weft_catalog::sets::{all, given};
use weft_engine::wave::{Trace, save_path};
use weft_engine::{Design, Options, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::netlist::NetOp;
use weft_tools::cosim::{Port, Recording, Traffic};

/// Cycles of a run.
const CYCLES: u64 = 1000;

/// A waveform's values: by full name, the times of changes and the new values.
type Changes = BTreeMap<String, Vec<(u64, String)>>;

fn read(path: &Path) -> Changes {
    let mut wave = wellen::simple::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let times = wave.time_table().to_vec();
    let vars: Vec<(String, wellen::SignalRef)> = {
        let h = wave.hierarchy();
        h.all_vars().map(|v| (h[v].full_name(h), h[v].signal_ref())).collect()
    };
    wave.load_signals(&vars.iter().map(|(_, s)| *s).collect::<Vec<_>>());
    let of = |signal| -> Vec<(u64, String)> {
        let data = wave.get_signal(signal).expect("loaded");
        let text = |v: wellen::SignalValueRef| v.to_bit_string().expect("bits");
        data.iter_changes().map(|(at, v)| (times[at as usize], text(v))).collect()
    };
    vars.iter().map(|(name, signal)| (name.clone(), of(*signal))).collect()
}

/// The value that a signal has at a time.
fn at(changes: &[(u64, String)], time: u64) -> Option<&str> {
    changes[..changes.partition_point(|(t, _)| *t <= time)].last().map(|(_, v)| v.as_str())
}

fn binary(value: &Bv) -> String {
    (0..value.width()).rev().map(|i| if value.bit(i) { '1' } else { '0' }).collect()
}

/// Runs a block as its recording says, with a waveform.
fn record(sim: &mut Sim, run: &Recording, wave: &Path) {
    let inputs: Vec<_> = run.ports.inputs.iter().map(|p| sim.input(&p.name).expect("a port")).collect();
    let mut trace = Trace::create(wave, sim, &[]).expect("can be written");
    for values in &run.inputs {
        inputs.iter().zip(values).for_each(|(port, value)| sim.set_bv(*port, value));
        trace.sample(sim).expect("written");
        sim.step();
    }
    trace.finish(sim.cycle(), None).expect("written");
}

/// The signals that a save file shows.
fn rows(save: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(save).expect("a save file");
    let path = |line: &str| {
        let signal = if line.starts_with(['+', '#']) { line.rsplit(' ').next()? } else { line };
        let known = !signal.starts_with(['[', '*', '@', '^', '-']);
        known.then(|| signal.split('[').next().unwrap_or(signal).to_string())
    };
    text.lines().filter_map(path).collect()
}

/// The signal of a port: an output that is a register of a part inside has that one's name.
fn signal<'a>(design: &'a Design, port: &'a str) -> &'a str {
    let net = &design.types[design.units[0].ty].netlist;
    let output = net.outputs.iter().find(|output| output.name == port);
    match output.map(|output| &net.nodes[output.node.index()].op) {
        Some(NetOp::Reg(reg)) if design.units[0].path.is_empty() => &net.regs[*reg as usize].path,
        _ => port,
    }
}

fn shows(block: &str) {
    let sets = all().find(|(name, _)| *name == block).expect("listed").1;
    let module = weft_catalog::build(block, &given(sets[1])).unwrap_or_else(|e| panic!("{block}: {e}"));
    let run = Recording::random(&module, CYCLES, 2, Traffic::Channels, Options::default()).expect("a block");
    let folder = tempfile::tempdir().expect("a folder");
    let wave = folder.path().join("x.vcd");
    let design = Design::new(&module, Options::default()).expect("a block");
    record(&mut Sim::new(&design), &run, &wave);
    let found = read(&wave);
    let rows = rows(&save_path(&wave));
    // Of a large design the save file has rows for states and handshakes only.
    let large = found.len() > 2000;
    let same = |port: &Port, values: &dyn Fn(u64) -> String| {
        let name = format!("{}.{}", design.name, signal(&design, &port.name));
        let Some(changes) = found.get(&name) else {
            // What passes the ports of a whole is shown at those of its parts.
            assert!(design.units.iter().all(|unit| !unit.path.is_empty()), "{block}: {name} is not shown");
            return;
        };
        let differs = (0..CYCLES).find(|t| at(changes, *t) != Some(&values(*t)));
        assert_eq!(differs, None, "{block}: {name} is another in this cycle");
        let handshake = name.ends_with("_valid") || name.ends_with("_ready");
        assert!(rows.contains(&name) || large && !handshake, "{block}: no row for {name}");
    };
    for (i, port) in run.ports.inputs.iter().enumerate() {
        same(port, &|t| binary(&run.inputs[t as usize][i]));
    }
    for (i, port) in run.ports.outputs.iter().enumerate() {
        // An output that never changes may be a constant, which is no signal.
        if run.outputs.iter().any(|values| values[i] != run.outputs[0][i]) {
            same(port, &|t| binary(&run.outputs[t as usize][i]));
        }
    }
    assert!(run.moved() > 0, "{block}: nothing happened");
    let lost: Vec<&String> = rows.iter().filter(|name| !found.contains_key(*name)).collect();
    assert!(lost.is_empty(), "{block}: rows without a signal: {lost:?}");
}

fn show(blocks: Vec<BlockInfo>) {
    blocks.iter().for_each(|info| shows(info.name));
}

#[test]
fn common_blocks_caches_and_directories_are_shown() {
    show(weft_blocks::blocks());
}

#[test]
fn blocks_of_mgpu_tsm_are_shown() {
    show(weft_mgcc::blocks());
}

#[test]
fn blocks_of_srsp_are_shown() {
    show(weft_srsp::blocks());
}

#[test]
fn blocks_of_spandex_are_shown() {
    show(weft_spandex::blocks());
}
