//! The result of a measurement as a table or JSON.

use crate::failure::{Failure, Outcome, say};
use serde_json::{Value, json};
use weft_rtl::ir::Module;
use weft_tools::cosim::{BenchOptions, BenchResult};
use weft_tools::cpu::median;

/// One simulator's figures; `None` where there is none to tell.
pub struct Peer {
    name: String,
    cycles: u64,
    /// Of each run.
    seconds: Vec<f64>,
    build_seconds: Option<f64>,
    peak_bytes: Option<u64>,
    transfers: Option<u64>,
    checksum: Option<u64>,
}

impl Peer {
    /// A peer that did what the engine did.
    pub fn of(name: &str, run: &BenchResult) -> Peer {
        Peer {
            name: name.into(),
            cycles: run.cycles,
            seconds: run.seconds.clone(),
            build_seconds: Some(run.build_seconds),
            peak_bytes: run.peak_bytes,
            transfers: Some(run.transfers),
            checksum: Some(run.checksum),
        }
    }

    /// A peer with a design of its own, from its line of JSON.
    ///
    /// # Errors
    /// A line without name, cycles and speed.
    pub fn foreign(line: &str) -> anyhow::Result<Peer> {
        let said: Value = serde_json::from_str(line)?;
        let (name, cycles) = (said["name"].as_str(), said["cycles"].as_u64());
        let (Some(name), Some(cycles), Some(speed)) = (name, cycles, said["cycles_per_second"].as_f64())
        else {
            anyhow::bail!("the peer printed no result but: {line}");
        };
        Ok(Peer {
            name: name.into(),
            cycles,
            seconds: vec![cycles as f64 / speed.max(1e-9)],
            build_seconds: None,
            peak_bytes: None,
            transfers: None,
            checksum: None,
        })
    }

    fn cycles_per_second(&self) -> f64 {
        self.cycles as f64 / median(&self.seconds).max(1e-9)
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "cycles": self.cycles,
            "cycles_per_second": self.cycles_per_second(),
            "cpu_seconds": self.seconds,
            "build_seconds": self.build_seconds,
            "peak_bytes": self.peak_bytes,
            "transfers": self.transfers,
            "checksum": self.checksum.map(|c| format!("{c:016x}")),
        })
    }

    fn row(&self, ratio: &str) -> String {
        let build = self.build_seconds.map_or("-".into(), |s| format!("{s:.2} s"));
        let memory =
            self.peak_bytes.map_or("-".into(), |b| format!("{:.1} MB", b as f64 / f64::from(1 << 20)));
        let (cycles, speed) = (self.cycles, self.cycles_per_second());
        format!("{:<14} {cycles:>11} {speed:>14.0} {ratio:>22} {build:>10} {memory:>10}", self.name)
    }
}

/// A measurement.
pub struct Report {
    design: String,
    module: String,
    seed: u64,
    load: u64,
    elaboration_seconds: f64,
    /// The engine's run.
    pub engine: BenchResult,
    peers: Vec<Peer>,
}

impl Report {
    /// A report without peers.
    pub fn new(
        design: &str,
        module: &Module,
        options: &BenchOptions,
        elaboration_seconds: f64,
        engine: BenchResult,
    ) -> Report {
        let (design, module) = (design.to_string(), module.name.clone());
        let (seed, load) = (options.seed, options.offer_of_16);
        Report { design, module, seed, load, elaboration_seconds, engine, peers: Vec::new() }
    }

    /// Adds a peer.
    pub fn add(&mut self, peer: Peer) {
        self.peers.push(peer);
    }

    /// How many times as fast the engine is: in the least of the runs that alternate, the median and the most.
    fn ratios(&self, peer: &Peer) -> [f64; 3] {
        let per_cycle = |seconds: &f64, cycles: u64| seconds / cycles as f64;
        let pairs = self.engine.seconds.iter().zip(peer.seconds.iter().cycle());
        let ratio = |(own, other): (&f64, &f64)| {
            per_cycle(other, peer.cycles) / per_cycle(own, self.engine.cycles).max(1e-15)
        };
        let all: Vec<f64> = pairs.map(ratio).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        [least, median(&all), most]
    }

    fn json(&self) -> Value {
        let mut engine = Peer::of("engine", &self.engine).json();
        engine["elaboration_seconds"] = self.elaboration_seconds.into();
        let with_ratio = |peer: &Peer| {
            let mut value = peer.json();
            let [least, median, most] = self.ratios(peer);
            value["ratio"] = median.into();
            value["ratio_min"] = least.into();
            value["ratio_max"] = most.into();
            value
        };
        json!({
            "schema": "weft-bench-2",
            "design": self.design,
            "module": self.module,
            "seed": self.seed,
            "load_of_16": self.load,
            "engine": engine,
            "peers": self.peers.iter().map(with_ratio).collect::<Vec<_>>(),
        })
    }

    /// Prints it.
    ///
    /// # Errors
    /// Standard output that cannot be written.
    pub fn print(&self, json: bool) -> Outcome {
        if json {
            return say(serde_json::to_string_pretty(&self.json()).map_err(Failure::check)?);
        }
        let BenchResult { cycles, transfers, checksum, .. } = self.engine;
        // A closed design makes its own traffic.
        let traffic = match transfers {
            0 => String::new(),
            _ => format!(" load {}/16, {transfers} messages,", self.load),
        };
        say(format!("{}: {cycles} cycles, seed {},{traffic} outputs {checksum:x}", self.design, self.seed))?;
        say(format!(
            "{:<14} {:>11} {:>14} {:>22} {:>10} {:>10}",
            "", "cycles", "cycles per CPU s", "engine is (min, max)", "build", "memory"
        ))?;
        say(Peer::of("engine", &self.engine).row(""))?;
        for peer in &self.peers {
            let [least, median, most] = self.ratios(peer).map(times);
            say(peer.row(&format!("{median} ({least}, {most})")))?;
        }
        say(format!("elaboration {:.2} s before the engine's build", self.elaboration_seconds))
    }
}

/// A ratio with three digits that count.
fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 100.0 => format!("{r:.0}x"),
        r if r >= 10.0 => format!("{r:.1}x"),
        r => format!("{r:.2}x"),
    }
}
