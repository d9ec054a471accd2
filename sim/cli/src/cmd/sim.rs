//! `weft sim`: clocks one block from a stimulus file.
//!
//! A stimulus file has one line per clock cycle: `PORT=VALUE` words that hold from then on, or `+N` to let N cycles pass, or both (first drive, then let pass).
//! `#` begins a comment. Values are decimal, `0x` hexadecimal, or a state name of an enumeration.

use crate::failure::{Failure, Outcome, say};
use crate::params::BlockArgs;
use anyhow::{Context, anyhow};
use std::collections::BTreeSet;
use std::path::PathBuf;
use weft_engine::wave::Trace;
use weft_engine::{Design, Options, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::LeafType;
use weft_rtl::netlist::NetPort;

/// Arguments of `weft sim`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    block: BlockArgs,
    /// Stimulus file: a line for each clock cycle, of words PORT=VALUE that hold from then on (decimal, 0x..., name of a state), or `+N` to let N cycles pass;
    /// `#` begins a comment.
    #[arg(long)]
    stimulus: PathBuf,
    /// Writes a waveform (.vcd or .fst) and its GTKWave save file.
    #[arg(long)]
    waves: Option<PathBuf>,
    /// Prints an ASCII waveform of the outputs and of the inputs that the file drives, instead of one line per cycle.
    #[arg(long)]
    ascii: bool,
}

/// One step: what to drive, and how many cycles to clock.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    drive: Vec<(usize, Bv)>,
    cycles: u64,
}

/// Longest stimulus.
const MAX_CYCLES: u64 = 100_000_000;

fn value(text: &str, port: &NetPort) -> Result<Bv, String> {
    if let LeafType::Enum(ty) = &port.ty
        && let Some((_, code)) = ty.variants.iter().find(|(name, _)| name == text)
    {
        return Ok(Bv::from_u64(*code, port.width));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        let parsed = Bv::from_hex(digits, port.width);
        return parsed.ok_or_else(|| format!("{text} is no hexadecimal number of {} bits", port.width));
    }
    let number: u64 = text.parse().map_err(|_| unknown_value(text, port))?;
    let fits = port.width >= 64 || number >> port.width == 0;
    fits.then(|| Bv::from_u64(number, port.width))
        .ok_or_else(|| format!("{text} does not fit {} bits", port.width))
}

/// The sentence about a value that is neither a number nor a name.
fn unknown_value(text: &str, port: &NetPort) -> String {
    match &port.ty {
        LeafType::Enum(ty) => {
            let names = ty.variants.iter().map(|(name, _)| name.as_str());
            format!("{text} is no number and no name of its values; {}", weft_names::choice(text, names))
        }
        _ => format!("{text} is no number; give a decimal one, or a hexadecimal one with 0x"),
    }
}

/// The steps of a stimulus file, for a block with these inputs.
///
/// # Errors
/// The first word that is none, with its line.
pub(crate) fn parse(text: &str, inputs: &[NetPort]) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let mut step = Step { drive: Vec::new(), cycles: 1 };
        for word in words {
            let at = |problem: String| format!("line {}: {problem}", number + 1);
            if let Some(count) = word.strip_prefix('+') {
                let legal = count.parse::<u64>().ok().filter(|c| (1..=MAX_CYCLES).contains(c));
                step.cycles =
                    legal.ok_or_else(|| at(format!("{word}: expected +N with N in 1..{MAX_CYCLES}")))?;
                continue;
            }
            let (name, text) =
                word.split_once('=').ok_or_else(|| at(format!("{word}: expected PORT=VALUE or +N")))?;
            let port = inputs.iter().position(|p| p.name == name).ok_or_else(|| {
                let remedy = weft_names::choice(name, inputs.iter().map(|p| p.name.as_str()));
                at(format!("there is no input {name}; {remedy}"))
            })?;
            step.drive.push((port, value(text, &inputs[port]).map_err(|e| at(format!("{name}: {e}")))?));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn shown(value: &Bv, port: &NetPort) -> String {
    match &port.ty {
        LeafType::Enum(ty) => {
            value.to_u64().and_then(|v| ty.name_of(v)).map_or_else(|| format!("{value:x}"), str::to_string)
        }
        _ => format!("{value:x}"),
    }
}

/// Runs the verb.
///
/// # Errors
/// A wrong block, parameter or stimulus; an assertion of the block that fails.
pub fn run(args: &Args) -> Outcome {
    let module = args.block.build()?;
    let design = Design::new(&module, Options::default()).map_err(Failure::input)?;
    let path = args.stimulus.display();
    let text = std::fs::read_to_string(&args.stimulus)
        .with_context(|| format!("cannot read stimulus {path}"))
        .map_err(Failure::Input)?;
    let steps = parse(&text, &design.inputs).map_err(|e| Failure::input(anyhow!("stimulus {path}, {e}")))?;
    let mut sim = Sim::new(&design);
    let mut trace = match &args.waves {
        Some(file) => Some(Trace::create(file, &sim, &[]).map_err(Failure::input)?),
        None => None,
    };
    let picture = clock(&mut sim, &steps, trace.as_mut(), args.ascii)?;
    if let Some(trace) = trace {
        trace.finish(sim.cycle(), sim.failures().first().map(|f| f.cycle)).map_err(Failure::input)?;
    }
    picture.lines().into_iter().try_for_each(say)?;
    match sim.failures().first() {
        None => Ok(()),
        Some(f) => Err(Failure::check(anyhow!(
            "assertion {} failed in cycle {}: {} ({})",
            f.name,
            f.cycle,
            f.text,
            f.at
        ))),
    }
}

/// Carries out the steps: prints the outputs of every cycle, or gives them with the inputs that are driven as a picture.
fn clock(
    sim: &mut Sim,
    steps: &[Step],
    mut trace: Option<&mut Trace>,
    ascii: bool,
) -> Result<Picture, Failure> {
    let design = sim.design().clone();
    let inputs: Vec<_> = design.inputs.iter().map(|p| sim.input(&p.name).expect("listed")).collect();
    let outputs: Vec<_> = design.outputs.iter().map(|p| sim.output(&p.name).expect("listed")).collect();
    let driven: BTreeSet<usize> =
        steps.iter().flat_map(|step| &step.drive).map(|(port, _)| *port).filter(|_| ascii).collect();
    let ports = driven.iter().map(|n| &design.inputs[*n]).chain(&design.outputs);
    let mut picture = Picture::default();
    picture.rows.extend(ports.filter(|_| ascii).map(|p| (p.name.clone(), is_level(p), Vec::new())));
    let mut held: Vec<Bv> = design.inputs.iter().map(|p| Bv::from_u64(0, p.width)).collect();
    for step in steps {
        for (port, value) in &step.drive {
            sim.set_bv(inputs[*port], value);
            held[*port] = value.clone();
        }
        for _ in 0..step.cycles {
            if let Some(trace) = &mut trace {
                trace.sample(sim).map_err(Failure::input)?;
            }
            let cycle = sim.cycle();
            let now = design.outputs.iter().zip(&outputs).map(|(p, o)| shown(&sim.get_bv(*o), p));
            if ascii {
                let now = driven.iter().map(|n| shown(&held[*n], &design.inputs[*n])).chain(now);
                picture.rows.iter_mut().zip(now).for_each(|((.., row), value)| row.push(value));
            } else {
                let words = design.outputs.iter().zip(now).map(|(p, v)| format!("{}={v}", p.name));
                say(format!("{cycle:>6} {}", words.collect::<Vec<_>>().join(" ")))?;
            }
            sim.step();
        }
    }
    Ok(picture)
}

/// Most characters of a cycle in a picture.
const MAX_CELL: usize = 20;

/// A port is drawn as a level: a bit, unless its values have names.
fn is_level(port: &NetPort) -> bool {
    port.width == 1 && !matches!(port.ty, LeafType::Enum(_))
}

/// An ASCII waveform: name, whether it is a level, and value in every cycle of each row.
#[derive(Default)]
struct Picture {
    rows: Vec<(String, bool, Vec<String>)>,
}

impl Picture {
    /// One line for each row: a bit as a level, a vector as its value where it changes. A cycle is as wide as the values need.
    fn lines(&self) -> Vec<String> {
        let vectors = self.rows.iter().filter(|(_, level, _)| !level);
        let needed =
            vectors.flat_map(|(.., values)| runs(values)).map(|(v, run)| (v.len() + 1).div_ceil(run));
        let cell = needed.max().unwrap_or(1).min(MAX_CELL);
        let name = self.rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        let line = |(port, level, values): &(String, bool, Vec<String>)| {
            format!("{port:<name$} {}", row(values, *level, cell))
        };
        self.rows.iter().map(line).collect()
    }
}

/// Values with the number of cycles for which each holds.
fn runs(values: &[String]) -> impl Iterator<Item = (&str, usize)> {
    values.chunk_by(|a, b| a == b).map(|run| (run[0].as_str(), run.len()))
}

/// One row, `cell` characters for a cycle.
fn row(values: &[String], level: bool, cell: usize) -> String {
    let bit = |value: &str, cycles| if value == "0" { "_" } else { "#" }.repeat(cell * cycles);
    let vector = |value: &str, cycles| -> String {
        format!("|{value}").chars().chain(std::iter::repeat('.')).take(cell * cycles).collect()
    };
    runs(values)
        .map(|(value, cycles)| if level { bit(value, cycles) } else { vector(value, cycles) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_rtl::netlist::NetId;

    fn ports() -> Vec<NetPort> {
        let port =
            |name: &str, width| NetPort { name: name.into(), width, ty: LeafType::Bits, node: NetId(0) };
        vec![port("a", 4), port("b", 100)]
    }

    #[test]
    fn lines_are_cycles() {
        let steps = parse("a=3 b=0x10 # first\n\n+5\na=1 +2\n", &ports()).unwrap();
        assert_eq!(steps.iter().map(|s| s.cycles).collect::<Vec<_>>(), [1, 5, 2]);
        assert_eq!(steps[0].drive[1], (1, Bv::from_u64(16, 100)));
    }

    #[test]
    fn mistakes_name_line_and_cause() {
        let error = |text: &str| parse(text, &ports()).unwrap_err();
        assert_eq!(error("a=3\nc=1"), "line 2: there is no input c; there are a, b");
        assert_eq!(error("a=16"), "line 1: a: 16 does not fit 4 bits");
        assert_eq!(error("a"), "line 1: a: expected PORT=VALUE or +N");
        assert_eq!(error("+0"), "line 1: +0: expected +N with N in 1..100000000");
    }

    #[test]
    fn vectors_show_their_value_where_they_change() {
        let values = |texts: &[&str]| texts.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let bit = ("bit".to_string(), true, values(&["0", "0", "0", "1", "1"]));
        let shown = |texts: &[&str]| {
            Picture { rows: vec![("a".to_string(), false, values(texts)), bit.clone()] }.lines()
        };
        assert_eq!(shown(&["0", "0", "0", "7", "7"]), ["a   |0.|7", "bit ___##"]);
        // As wide as the value that holds for one cycle.
        assert_eq!(shown(&["0", "0", "0", "7", "0"]), ["a   |0....|7|0", "bit ______####"]);
    }
}
