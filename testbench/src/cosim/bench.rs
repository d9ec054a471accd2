//! Speed of the engine and of Verilator on the same design under the same random traffic.
//!
//! Messages are drawn beforehand into tables, so that in a timed cycle both sides draw one random number per 15 channels and copy a message
//! when one is sent. Both keep the channel rule and compute the same checksum of handshakes (every cycle) and outputs (every 16th
//! cycle): equal checksums mean that they have done the same work.

use super::ports::{Channel, Ports};
use super::random::Xorshift;
use super::verilator::{assign, build, member, words};
use super::{RESET_CYCLES, make_folder, write_file, write_files};
use crate::tools::{ToolError, run};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;
use weft_engine::{Design, EngineError, Options, Probes, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_rtl::verilog::emit;

/// Messages in the table of a channel.
const TABLE: usize = 1024;
/// Cycles between two looks at all outputs.
const LOOK: u64 = 16;
/// Channels served by one random number.
const PER_DRAW: usize = 15;

/// How a measurement is run.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Cycles timed.
    pub cycles: u64,
    /// Seed of the traffic.
    pub seed: u64,
    /// In how many of 16 cycles an idle sender offers a message.
    pub offer_of_16: u64,
    /// In how many of 16 cycles a receiver is ready.
    pub ready_of_16: u64,
    /// Bits that vary in a message leaf (input port name and mask of its low 64 bits), so that addresses meet again; other leaves vary
    /// in all bits.
    pub masks: Vec<(String, u64)>,
    /// How the engine runs.
    pub engine: Options,
    /// Folder for Verilator's files.
    pub workdir: PathBuf,
}

impl BenchOptions {
    /// Busy senders, mostly ready receivers, all bits vary.
    pub fn new(cycles: u64, seed: u64, workdir: impl Into<PathBuf>) -> BenchOptions {
        BenchOptions {
            cycles,
            seed,
            offer_of_16: 12,
            ready_of_16: 14,
            masks: Vec::new(),
            engine: Options::default(),
            workdir: workdir.into(),
        }
    }
}

/// A measured run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BenchResult {
    /// "engine" or "verilator".
    pub name: &'static str,
    /// Cycles timed.
    pub cycles: u64,
    /// Speed.
    pub cycles_per_second: f64,
    /// Time to make the design ready: elaborated module to running code.
    pub build_seconds: f64,
    /// Messages taken from senders by the design and by receivers from it.
    pub transfers: u64,
    /// Digest of the outputs; the same for both simulators.
    pub checksum: u64,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum BenchError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("the Verilator program of {module} printed no result: {said}")]
    NoResult { module: String, said: String },
}

/// Messages of every channel and values of every loose input, drawn before the clock runs: `[input][entry]`.
struct Tables {
    ports: Ports,
    values: Vec<Vec<Bv>>,
}

impl Tables {
    fn draw(module: &Module, options: &BenchOptions) -> Tables {
        let ports = Ports::of(module);
        let mut rng = Xorshift::new(options.seed ^ 0x7461_626c_6573);
        let values = ports
            .inputs
            .iter()
            .map(|port| {
                let mask = options.masks.iter().find(|(name, _)| *name == port.name).map(|(_, mask)| *mask);
                (0..TABLE)
                    .map(|_| {
                        let value = port.random(&mut rng);
                        mask.map_or(value.clone(), |m| Bv::from_u64(value.low_u64() & m, port.width))
                    })
                    .collect()
            })
            .collect();
        Tables { ports, values }
    }
}

fn mix(sum: u64, value: u64) -> u64 {
    (sum ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
}

/// Runs the traffic on the engine.
///
/// # Errors
/// What [`Design::new`] refuses.
pub fn bench_engine(module: &Arc<Module>, options: &BenchOptions) -> Result<BenchResult, BenchError> {
    let tables = Tables::draw(module, options);
    let start = Instant::now();
    let design = Design::new(module, Options { probes: Probes::None, ..options.engine })?;
    let build_seconds = start.elapsed().as_secs_f64();
    let mut sim = Sim::new(&design);
    let ports = &tables.ports;
    let ins: Vec<_> =
        ports.inputs.iter().map(|p| sim.input(&p.name).expect("a port of the module")).collect();
    let outs: Vec<_> =
        ports.outputs.iter().map(|p| sim.output(&p.name).expect("a port of the module")).collect();
    let mut rng = Xorshift::new(options.seed);
    let mut next = vec![0usize; ports.channels.len()];
    // Per channel: is a message offered (or is the receiver ready), and was the other side willing in the last cycle.
    let mut mine = vec![false; ports.channels.len()];
    let mut theirs = vec![false; ports.channels.len()];
    let (mut sum, mut transfers) = (0u64, 0u64);
    let start = Instant::now();
    for cycle in 0..options.cycles {
        let mut bits = 0;
        for (c, channel) in ports.channels.iter().enumerate() {
            if c % PER_DRAW == 0 {
                bits = rng.draw();
            }
            let draw = (bits >> (4 * (c % PER_DRAW))) & 15;
            match channel {
                Channel::OutOf { ready, .. } => {
                    let open = draw < options.ready_of_16;
                    if open != mine[c] {
                        sim.set(ins[*ready], u64::from(open));
                        mine[c] = open;
                    }
                }
                Channel::Into { valid, message, .. } => {
                    if mine[c] && !theirs[c] {
                        continue;
                    }
                    let offer = draw < options.offer_of_16;
                    if offer {
                        next[c] = (next[c] + 1) % TABLE;
                        for leaf in message {
                            sim.set_limbs(ins[*leaf], tables.values[*leaf][next[c]].limbs());
                        }
                    }
                    if offer != mine[c] {
                        sim.set(ins[*valid], u64::from(offer));
                        mine[c] = offer;
                    }
                }
            }
        }
        for input in &ports.loose {
            sim.set_limbs(ins[*input], tables.values[*input][cycle as usize % TABLE].limbs());
        }
        let mut shakes = 0u64;
        for (c, channel) in ports.channels.iter().enumerate() {
            let (Channel::Into { ready: other, .. } | Channel::OutOf { valid: other, .. }) = channel;
            theirs[c] = sim.get(outs[*other]) != 0;
            shakes = shakes.rotate_left(1) ^ u64::from(theirs[c]);
            transfers += u64::from(theirs[c] && mine[c]);
        }
        sum = mix(sum, shakes);
        if cycle % LOOK == 0 {
            for out in &outs {
                sim.get_bv(*out).limbs().iter().for_each(|limb| sum = mix(sum, *limb));
            }
        }
        sim.step();
    }
    let seconds = start.elapsed().as_secs_f64();
    let cycles_per_second = options.cycles as f64 / seconds.max(1e-9);
    let cycles = options.cycles;
    Ok(BenchResult { name: "engine", cycles, cycles_per_second, build_seconds, transfers, checksum: sum })
}

/// Builds the module's Verilog with Verilator and runs the traffic there.
///
/// # Errors
/// A missing or failing tool.
pub fn bench_verilator(module: &Arc<Module>, options: &BenchOptions) -> Result<BenchResult, BenchError> {
    let tables = Tables::draw(module, options);
    make_folder(&options.workdir)?;
    let sources = write_files(&options.workdir, &emit(module))?;
    let driver = options.workdir.join("bench.cpp");
    write_file(&driver, driver_text(module, &tables, options))?;
    let messages = options.workdir.join("messages.bin");
    write_file(&messages, binary(&tables))?;
    let program = build(module, &sources, &driver, options.workdir.join("verilated-bench")).build()?;
    let output = run(Command::new(&program.path).arg(&messages))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = said.split_whitespace().collect();
    let parsed = match words.as_slice() {
        ["RESULT", seconds, transfers, checksum] => seconds
            .parse::<f64>()
            .ok()
            .zip(transfers.parse().ok())
            .zip(u64::from_str_radix(checksum, 16).ok()),
        _ => None,
    };
    let Some(((seconds, transfers), checksum)) = parsed else {
        return Err(BenchError::NoResult { module: module.name.clone(), said });
    };
    Ok(BenchResult {
        name: "verilator",
        cycles: options.cycles,
        cycles_per_second: options.cycles as f64 / seconds.max(1e-9),
        build_seconds: program.build_time.as_secs_f64(),
        transfers,
        checksum,
    })
}

/// All tables, input by input, entry by entry, in whole 32-bit words.
fn binary(tables: &Tables) -> Vec<u8> {
    let mut out = Vec::new();
    for (port, values) in tables.ports.inputs.iter().zip(&tables.values) {
        for value in values {
            for word in 0..words(port.width) {
                let half = (value.limbs()[word / 2] >> (32 * (word % 2))) as u32;
                out.extend(half.to_le_bytes());
            }
        }
    }
    out
}

/// C++ of one cycle's stimulus.
fn drive_text(tables: &Tables, options: &BenchOptions) -> String {
    let ports = &tables.ports;
    let mut text = String::new();
    for (c, channel) in ports.channels.iter().enumerate() {
        if c % PER_DRAW == 0 {
            text.push_str("        bits = draw();\n");
        }
        let draw = format!("((bits >> {}) & 15)", 4 * (c % PER_DRAW));
        match channel {
            Channel::OutOf { ready, .. } => {
                let name = member(&ports.inputs[*ready].name);
                let of = options.ready_of_16;
                let _ = writeln!(text, "        mine[{c}] = {draw} < {of}; top.{name} = mine[{c}];");
            }
            Channel::Into { valid, message, .. } => {
                let name = member(&ports.inputs[*valid].name);
                let of = options.offer_of_16;
                let _ = writeln!(text, "        if (!(mine[{c}] && !theirs[{c}])) {{");
                let _ = writeln!(text, "            mine[{c}] = {draw} < {of}; top.{name} = mine[{c}];");
                let _ =
                    writeln!(text, "            if (mine[{c}]) {{ next[{c}] = (next[{c}] + 1) % {TABLE};");
                for leaf in message {
                    let port = &ports.inputs[*leaf];
                    let row = format!("table{leaf} + {} * next[{c}]", words(port.width));
                    let _ = writeln!(
                        text,
                        "                {{ const uint32_t* w = {row}; {} }}",
                        assign(port, "w")
                    );
                }
                text.push_str("            }\n        }\n");
            }
        }
    }
    for input in &ports.loose {
        let port = &ports.inputs[*input];
        let row = format!("table{input} + {} * (cycle % {TABLE})", words(port.width));
        let _ = writeln!(text, "        {{ const uint32_t* w = {row}; {} }}", assign(port, "w"));
    }
    text
}

/// C++ of one cycle's look at the outputs.
fn look_text(tables: &Tables) -> String {
    let ports = &tables.ports;
    let mut text = String::from("        uint64_t shakes = 0;\n");
    for (c, channel) in ports.channels.iter().enumerate() {
        let (Channel::Into { ready: other, .. } | Channel::OutOf { valid: other, .. }) = channel;
        let name = member(&ports.outputs[*other].name);
        let _ = writeln!(text, "        theirs[{c}] = top.{name};");
        let _ = writeln!(text, "        shakes = ((shakes << 1) | (shakes >> 63)) ^ theirs[{c}];");
        let _ = writeln!(text, "        transfers += theirs[{c}] & mine[{c}];");
    }
    text.push_str("        sum = mix(sum, shakes);\n");
    let _ = writeln!(text, "        if (cycle % {LOOK} == 0) {{");
    for port in &ports.outputs {
        let name = member(&port.name);
        if port.width <= 64 {
            let _ = writeln!(text, "            sum = mix(sum, top.{name});");
            continue;
        }
        let count = words(port.width);
        for low in (0..count).step_by(2) {
            let high =
                if low + 1 < count { format!("uint64_t(top.{name}[{}]) << 32", low + 1) } else { "0".into() };
            let _ = writeln!(text, "            sum = mix(sum, top.{name}[{low}] | ({high}));");
        }
    }
    text.push_str("        }\n");
    text
}

fn driver_text(module: &Module, tables: &Tables, options: &BenchOptions) -> String {
    let ports = &tables.ports;
    let top = &module.name;
    let mut declare = String::new();
    let mut read = String::new();
    let mut clear = String::new();
    for (i, port) in ports.inputs.iter().enumerate() {
        let size = words(port.width) * TABLE;
        let _ = writeln!(declare, "static uint32_t table{i}[{size}];");
        let _ = writeln!(read, "    if (std::fread(table{i}, 4, {size}, messages) != {size}) return 3;");
        let _ = writeln!(clear, "    {{ const uint32_t* w = none; {} }}", assign(port, "w"));
    }
    let widest = ports.inputs.iter().map(|p| words(p.width)).max().unwrap_or(1);
    format!(
        r#"// Random traffic for {top} at full speed; prints seconds, transfers and the checksum of the outputs.
#include "V{top}.h"
#include <chrono>
#include <cstdint>
#include <cstdio>

{declare}static uint64_t state = {state}ull;
static inline uint64_t draw() {{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}}
static inline uint64_t mix(uint64_t sum, uint64_t value) {{
    sum = (sum ^ value) * 0x100000001b3ull;
    return (sum << 23) | (sum >> 41);
}}

int main(int, char** argv) {{
    std::FILE* messages = std::fopen(argv[1], "rb");
    if (!messages) return 2;
{read}    static V{top} top;
    static const uint32_t none[{widest}] = {{}};
    (void)none;
    top.rst = 1;
    top.clk = 0;
{clear}    for (int i = 0; i < {RESET_CYCLES}; i++) {{
        top.clk = 0; top.eval();
        top.clk = 1; top.eval();
    }}
    top.clk = 0;
    top.rst = 0;
    top.eval();
    static uint64_t mine[{channels}], theirs[{channels}], next[{channels}];
    (void)mine; (void)theirs; (void)next;
    uint64_t sum = 0, transfers = 0, bits = 0;
    (void)bits;
    auto start = std::chrono::steady_clock::now();
    for (uint64_t cycle = 0; cycle < {cycles}ull; cycle++) {{
{drive}{look}        top.clk = 1; top.eval();
        top.clk = 0; top.eval();
    }}
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("RESULT %.9f %llu %llx\n", seconds, (unsigned long long)transfers, (unsigned long long)sum);
    return 0;
}}
"#,
        state = Xorshift::new(options.seed).state(),
        channels = ports.channels.len().max(1),
        cycles = options.cycles,
        drive = drive_text(tables, options),
        look = look_text(tables),
    )
}
