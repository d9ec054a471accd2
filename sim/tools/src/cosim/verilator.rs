//! Replay under Verilator: a C++ program that reads a binary stimulus and compares every output.

use super::ports::Port;
use super::record::Recording;
use super::{RESET_CYCLES, write_file};
use crate::external::{ToolError, VerilatorBuild, run};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use weft_rtl::bv::Bv;
use weft_rtl::ir::{Module, ModuleKind};

/// Statements per C++ file of a whole fabric, whose single file would take the compiler minutes.
const FABRIC_SPLIT: usize = 20_000;

/// Statements of modules that are dissolved in a fabric: small parts are, blocks are not.
const FABRIC_INLINE: u32 = 2_000;

/// From this many instances per block on, the blocks of a fabric are compiled by themselves: a comparison is over before the C++ of every
/// instance would be compiled.
const SHARED: usize = 2;

/// Runs shorter than these are over before C++ optimised at level 1, at level 3, has paid for its compilation.
const QUICK_BELOW: [u64; 2] = [20_000, 1_000_000];

/// Words of 32 bits that a value takes in the stimulus file.
pub(super) fn words(width: u32) -> usize {
    width.div_ceil(32) as usize
}

/// The member of Verilator's class that stands for a port.
pub(super) fn member(name: &str) -> String {
    name.replace("__", "___05F")
}

/// C++ that gives a port its value from 32-bit words at `source`.
pub(super) fn assign(port: &Port, source: &str) -> String {
    let name = member(&port.name);
    match port.width {
        0..=32 => format!("top.{name} = {source}[0];"),
        33..=64 => format!("top.{name} = {source}[0] | (uint64_t({source}[1]) << 32);"),
        width => format!("for (int i = 0; i < {}; i++) top.{name}[i] = {source}[i];", words(width)),
    }
}

/// A build of the module's Verilog with a driver.
pub(super) fn build(module: &Module, sources: &[PathBuf], driver: &Path, folder: PathBuf) -> VerilatorBuild {
    let mut build = VerilatorBuild::new(&module.name, sources.to_vec(), driver, folder);
    if module.kind == ModuleKind::Fabric {
        build.split = Some(FABRIC_SPLIT);
        build.inline = Some(FABRIC_INLINE);
    }
    build
}

/// The blocks of a fabric by name, with the number of instances of each.
fn blocks_of(module: &Module, out: &mut BTreeMap<String, usize>) {
    for inst in &module.instances {
        match inst.module.kind {
            ModuleKind::Block => *out.entry(inst.module.name.clone()).or_default() += 1,
            _ => blocks_of(&inst.module, out),
        }
    }
}

/// Builds and runs the replay; what it printed.
pub(super) fn replay(
    module: &Arc<Module>,
    recording: &Recording,
    sources: &[PathBuf],
    workdir: &Path,
) -> Result<String, ToolError> {
    let driver = workdir.join("replay.cpp");
    write_file(&driver, driver_text(module, recording))?;
    let stimulus = workdir.join("stimulus.bin");
    write_file(&stimulus, binary(recording))?;
    let mut build = build(module, sources, &driver, workdir.join("verilated"));
    build.optimise = match recording.cycles() {
        n if n < QUICK_BELOW[0] => 0,
        n if n < QUICK_BELOW[1] => 1,
        _ => 3,
    };
    let mut blocks = BTreeMap::new();
    blocks_of(module, &mut blocks);
    if blocks.values().sum::<usize>() >= SHARED * blocks.len() {
        build.blocks = blocks.into_keys().collect();
    }
    let program = build.build()?;
    let output = run(Command::new(&program.path).arg(&stimulus))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Inputs, then expected outputs, of each cycle, every port in whole 32-bit words, least significant first.
fn binary(recording: &Recording) -> Vec<u8> {
    let mut out = Vec::new();
    let mut push = |value: &Bv| {
        for word in 0..words(value.width()) {
            let limb = value.limbs()[word / 2];
            let half = (limb >> (32 * (word % 2))) as u32;
            out.extend(half.to_le_bytes());
        }
    };
    for (inputs, outputs) in recording.inputs.iter().zip(&recording.outputs) {
        inputs.iter().chain(outputs).for_each(&mut push);
    }
    out
}

fn driver_text(module: &Module, recording: &Recording) -> String {
    let ports = &recording.ports;
    let mut set = String::new();
    let mut clear = String::new();
    let mut check = String::new();
    let mut at = 0;
    for port in &ports.inputs {
        let _ = writeln!(set, "        {{ const uint32_t* w = row + {at}; {} }}", assign(port, "w"));
        let _ = writeln!(clear, "    {{ const uint32_t* w = none; {} }}", assign(port, "w"));
        at += words(port.width);
    }
    for port in &ports.outputs {
        let name = member(&port.name);
        let count = words(port.width);
        let got = match port.width {
            0..=32 => format!("uint32_t got[1] = {{uint32_t(top.{name})}};"),
            33..=64 => format!("uint32_t got[2] = {{uint32_t(top.{name}), uint32_t(top.{name} >> 32)}};"),
            _ => format!("uint32_t got[{count}]; for (int i = 0; i < {count}; i++) got[i] = top.{name}[i];"),
        };
        let _ = writeln!(
            check,
            "        {{ {got} if (std::memcmp(got, row + {at}, sizeof got)) return differs(cycle, \"{}\", row + {at}, got, {count}); }}",
            port.name
        );
        at += count;
    }
    let widest = ports.inputs.iter().map(|p| words(p.width)).max().unwrap_or(1);
    let top = &module.name;
    format!(
        r#"// Replays a recorded run on the Verilog of {top} and compares every output in every cycle.
#include "V{top}.h"
#include <cstdint>
#include <cstdio>
#include <cstring>

static void hex(const uint32_t* words, int count) {{
    for (int i = count - 1; i >= 0; i--) std::printf("%08x", words[i]);
}}

static int differs(unsigned long cycle, const char* port, const uint32_t* expected, const uint32_t* got, int count) {{
    std::printf("FAIL cycle %lu port %s expected ", cycle, port);
    hex(expected, count);
    std::printf(" got ");
    hex(got, count);
    std::printf("\n");
    return 0;
}}

int main(int, char** argv) {{
    std::FILE* stimulus = std::fopen(argv[1], "rb");
    if (!stimulus) return 2;
    static V{top} top;
    static const uint32_t none[{widest}] = {{}};
    (void)none;
    static uint32_t row[{size}];
    top.rst = 1;
    top.clk = 0;
{clear}    for (int i = 0; i < {RESET_CYCLES}; i++) {{
        top.clk = 0; top.eval();
        top.clk = 1; top.eval();
    }}
    top.clk = 0;
    top.rst = 0;
    unsigned long cycle = 0;
    for (; cycle < {cycles}; cycle++) {{
        if (std::fread(row, sizeof(uint32_t), {at}, stimulus) != {at}) return 3;
{set}        top.clk = 0; top.eval();
{check}        top.clk = 1; top.eval();
    }}
    std::printf("PASS %lu cycles\n", cycle);
    return 0;
}}
"#,
        cycles = recording.cycles(),
        size = at.max(1),
    )
}
