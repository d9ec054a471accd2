//! The traffic in C++ around Verilator's model.

use super::super::ports::Channel;
use super::super::random::Xorshift;
use super::super::verilator::{assign, build, member, words};
use super::super::{RESET_CYCLES, make_folder, write_file, write_files};
use super::{BenchError, BenchOptions, BenchResult, PER_DRAW, TABLE, Tables};
use crate::external::run;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use weft_rtl::ir::Module;
use weft_rtl::verilog::emit;

/// Verilator's program, ready for any number of runs.
pub struct VerilatorBench {
    module: Arc<Module>,
    program: PathBuf,
    messages: PathBuf,
    result: BenchResult,
}

impl VerilatorBench {
    /// Builds the module's Verilog with Verilator.
    ///
    /// # Errors
    /// A missing or failing tool; a held input that the module does not have.
    pub fn new(module: &Arc<Module>, options: &BenchOptions) -> Result<VerilatorBench, BenchError> {
        let tables = Tables::draw(module, options)?;
        make_folder(&options.workdir)?;
        let sources = write_files(&options.workdir, &emit(module))?;
        let driver = options.workdir.join("bench.cpp");
        write_file(&driver, driver_text(module, &tables, options))?;
        let messages = options.workdir.join("messages.bin");
        write_file(&messages, binary(&tables))?;
        let program = build(module, &sources, &driver, options.workdir.join("verilated-bench")).build()?;
        let result = BenchResult {
            name: "verilator",
            cycles: options.cycles,
            seconds: Vec::new(),
            build_seconds: program.build_time.as_secs_f64(),
            transfers: 0,
            checksum: 0,
            peak_bytes: None,
        };
        Ok(VerilatorBench { module: module.clone(), program: program.path, messages, result })
    }

    /// Runs the traffic once.
    ///
    /// # Errors
    /// A program that fails.
    pub fn run(&mut self) -> Result<(), BenchError> {
        let run = timed(&self.module, &self.program, &self.messages)?;
        self.result.seconds.push(run.seconds);
        (self.result.transfers, self.result.checksum) = (run.transfers, run.checksum);
        self.result.peak_bytes = (run.peak_kb > 0).then_some(run.peak_kb * 1024);
        Ok(())
    }

    /// What the runs have measured.
    pub fn result(self) -> BenchResult {
        self.result
    }
}

/// What the program printed.
struct Timed {
    seconds: f64,
    transfers: u64,
    checksum: u64,
    peak_kb: u64,
}

/// Runs the program once.
fn timed(module: &Module, program: &Path, messages: &Path) -> Result<Timed, BenchError> {
    let output = run(Command::new(program).arg(messages))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    parse(&said).ok_or(BenchError::NoResult { module: module.name.clone(), said })
}

fn parse(said: &str) -> Option<Timed> {
    let mut words = said.split_whitespace();
    if words.next()? != "RESULT" {
        return None;
    }
    Some(Timed {
        seconds: words.next()?.parse().ok()?,
        transfers: words.next()?.parse().ok()?,
        checksum: u64::from_str_radix(words.next()?, 16).ok()?,
        peak_kb: words.next()?.parse().ok()?,
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

/// C++ of the next message on a channel or wire, when one is offered.
fn message_text(tables: &Tables, lane: usize, message: &[usize]) -> String {
    let mut text = format!("            if (mine[{lane}]) {{ next[{lane}] = (next[{lane}] + 1) % {TABLE};\n");
    for leaf in message {
        let port = &tables.ports.inputs[*leaf];
        let row = format!("table{leaf} + {} * next[{lane}]", words(port.width));
        let _ = writeln!(text, "                {{ const uint32_t* w = {row}; {} }}", assign(port, "w"));
    }
    text.push_str("            }\n");
    text
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
                text.push_str(&message_text(tables, c, message));
                text.push_str("        }\n");
            }
        }
    }
    for (number, wire) in tables.wires.iter().enumerate() {
        if number % PER_DRAW == 0 {
            text.push_str("        bits = draw();\n");
        }
        let (c, of) = (ports.channels.len() + number, options.offer_of_16);
        let draw = format!("((bits >> {}) & 15)", 4 * (number % PER_DRAW));
        let name = member(&ports.inputs[wire.valid].name);
        let _ = writeln!(text, "        mine[{c}] = {draw} < {of}; top.{name} = mine[{c}];");
        let _ = writeln!(text, "        transfers += mine[{c}];");
        text.push_str(&message_text(tables, c, &wire.message));
    }
    for (number, (credit, _)) in tables.credits.iter().enumerate() {
        let name = member(&ports.inputs[*credit].name);
        let _ = writeln!(text, "        top.{name} = left[{number}];");
    }
    for input in &tables.loose {
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
    for (number, (_, message)) in tables.credits.iter().enumerate() {
        let name = member(&ports.outputs[*message].name);
        let _ = writeln!(text, "        left[{number}] = top.{name};");
        let _ = writeln!(text, "        shakes = ((shakes << 1) | (shakes >> 63)) ^ left[{number}];");
        let _ = writeln!(text, "        transfers += left[{number}];");
    }
    text.push_str("        sum = mix(sum, shakes);\n");
    let _ = writeln!(text, "        if (cycle % {} == 0) {{", tables.look);
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
    let mut hold = String::new();
    for (input, value) in &tables.held {
        let port = &ports.inputs[*input];
        let halves = [*value as u32, (*value >> 32) as u32];
        let list = (0..words(port.width)).map(|w| halves.get(w).map_or("0u".into(), |h| format!("{h}u")));
        let list = list.collect::<Vec<String>>().join(", ");
        let _ = writeln!(hold, "    {{ const uint32_t w[] = {{{list}}}; {} }}", assign(port, "w"));
    }
    let widest = ports.inputs.iter().map(|p| words(p.width)).max().unwrap_or(1);
    format!(
        r#"// Random traffic for {top} at full speed; prints seconds of CPU time, transfers and the checksum of the outputs.
#include "V{top}.h"
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

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

static double now() {{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}}

// Most memory in use so far in kB, 0 where the system does not tell.
static unsigned long long peak() {{
    std::FILE* status = std::fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kb = 0;
    while (status && std::fgets(line, sizeof line, status)) {{
        if (std::strncmp(line, "VmHWM:", 6) == 0) std::sscanf(line + 6, "%llu", &kb);
    }}
    if (status) std::fclose(status);
    return kb;
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
    static uint64_t mine[{lanes}], theirs[{lanes}], next[{lanes}], left[{credits}];
    (void)mine; (void)theirs; (void)next; (void)left;
{hold}    uint64_t sum = 0, transfers = 0, bits = 0;
    (void)bits;
    double start = now();
    for (uint64_t cycle = 0; cycle < {cycles}ull; cycle++) {{
{drive}{look}        top.clk = 1; top.eval();
        top.clk = 0; top.eval();
    }}
    double seconds = now() - start;
    std::printf("RESULT %.9f %llu %llx %llu\n", seconds, (unsigned long long)transfers, (unsigned long long)sum, peak());
    return 0;
}}
"#,
        state = Xorshift::new(options.seed).state(),
        lanes = (ports.channels.len() + tables.wires.len()).max(1),
        credits = tables.credits.len().max(1),
        cycles = options.cycles,
        drive = drive_text(tables, options),
        look = look_text(tables),
    )
}
