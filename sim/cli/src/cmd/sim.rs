//! `weft sim`: clocks one block from a stimulus file.
//!
//! A stimulus file has one line per clock cycle: `PORT=VALUE` words that hold from then on, or `+N` to let N cycles pass, or both (first drive, then let pass).
//! `#` begins a comment. Values are decimal, `0x` hexadecimal, or a state name of an enumeration.

use crate::failure::{Failure, Outcome, say};
use crate::params::BlockArgs;
use anyhow::{Context, anyhow};
use std::collections::BTreeMap;
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
    /// Stimulus file.
    #[arg(long)]
    stimulus: PathBuf,
    /// Writes a waveform (.vcd or .fst) and its GTKWave save file.
    #[arg(long)]
    waves: Option<PathBuf>,
    /// Prints an ASCII waveform instead of one line per cycle.
    #[arg(long)]
    ascii: bool,
}

/// One step: what to drive, and how many cycles to clock.
#[derive(Debug, PartialEq)]
struct Step {
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
    let number: u64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    let fits = port.width >= 64 || number >> port.width == 0;
    fits.then(|| Bv::from_u64(number, port.width))
        .ok_or_else(|| format!("{text} does not fit {} bits", port.width))
}

fn parse(text: &str, inputs: &[NetPort]) -> Result<Vec<Step>, String> {
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
                let known = inputs.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
                at(format!("there is no input {name}; there are {known}"))
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
    let inputs: Vec<_> = design.inputs.iter().map(|p| sim.input(&p.name).expect("listed")).collect();
    let outputs: Vec<_> = design.outputs.iter().map(|p| sim.output(&p.name).expect("listed")).collect();
    let mut rows: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for step in &steps {
        for (port, value) in &step.drive {
            sim.set_bv(inputs[*port], value);
        }
        for _ in 0..step.cycles {
            if let Some(trace) = &mut trace {
                trace.sample(&mut sim).map_err(Failure::input)?;
            }
            let now: Vec<String> =
                design.outputs.iter().zip(&outputs).map(|(p, o)| shown(&sim.get_bv(*o), p)).collect();
            if args.ascii {
                now.into_iter().enumerate().for_each(|(i, v)| rows.entry(i).or_default().push(v));
            } else {
                let words: Vec<String> =
                    design.outputs.iter().zip(now).map(|(p, v)| format!("{}={v}", p.name)).collect();
                say(format!("{:>6} {}", sim.cycle(), words.join(" ")))?;
            }
            sim.step();
        }
    }
    if let Some(trace) = trace {
        trace.finish(sim.cycle(), sim.failures().first().map(|f| f.cycle)).map_err(Failure::input)?;
    }
    if args.ascii {
        let width = design.outputs.iter().map(|p| p.name.len()).max().unwrap_or(0);
        for (i, port) in design.outputs.iter().enumerate() {
            say(format!(
                "{:<width$} {}",
                port.name,
                ascii(&rows.remove(&i).unwrap_or_default(), port.width)
            ))?;
        }
    }
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

/// One row of an ASCII waveform: a bit as a level, a vector as its value where it changes.
fn ascii(values: &[String], width: u32) -> String {
    if width == 1 {
        return values.iter().map(|v| if v == "0" { '_' } else { '#' }).collect();
    }
    let mut out = String::new();
    let mut at = 0;
    while at < values.len() {
        let run = values[at..].iter().take_while(|v| **v == values[at]).count();
        let text = format!("|{}", values[at]);
        out.extend(text.chars().chain(std::iter::repeat('.')).take(run));
        at += run;
    }
    out
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
        let values: Vec<String> = ["0", "0", "0", "7", "7"].iter().map(|s| s.to_string()).collect();
        assert_eq!(ascii(&values, 4), "|0.|7");
        assert_eq!(ascii(&values, 1), "___##");
    }
}
