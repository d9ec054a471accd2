//! `weft host`: sends requests to a block behind its host port, on a board or on the engine, and prints what comes back.
//!
//! A request file has one line per frame: `CHANNEL FIELD=VALUE...` sends a message (what is not named is 0), `INPUT=VALUE` holds an input that belongs to no channel, `OUTPUT?` reads such an
//! output. `#` begins a comment. Values are decimal, `0x` hexadecimal, or a name of an enumeration as waveforms show it (`op=INSERT`).

use crate::failure::{Failure, Outcome, say};
use crate::params::BlockArgs;
use anyhow::anyhow;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use weft_host::link::Serial;
use weft_host::{Entry, Interface, Kind, Link, Received, Wire, hosted};
use weft_rtl::bv::Bv;
use weft_rtl::ir::{Leaf, LeafType};
use weft_tools::host::EngineWire;

/// Arguments of `weft host`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    block: BlockArgs,
    /// File of requests.
    #[arg(long)]
    requests: PathBuf,
    /// Serial device of a board that holds the block, set up by `stty -F DEVICE raw -echo 115200 min 0 time 1`; without it the block runs on the engine.
    #[arg(long)]
    device: Option<PathBuf>,
}

/// Cycles without a byte after which the engine's block is at rest.
const QUIET: u64 = 10_000;

/// A line of the request file.
pub(crate) enum Frame {
    Send(String, Vec<(String, u64)>),
    Set(String, u64),
    Get(String),
}

/// Runs the verb.
///
/// # Errors
/// A wrong block, request or device; a block that does not answer.
pub fn run(args: &Args) -> Outcome {
    let module = args.block.build()?;
    let (hosted, interface) = hosted(&module).map_err(Failure::input)?;
    let path = &args.requests;
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::input(anyhow!(
            "cannot read {}: {e}; name a file of requests with --requests",
            path.display()
        ))
    })?;
    let frames = parse(&text, &interface)
        .map_err(|problem| Failure::input(anyhow!("{}: {problem}", path.display())))?;
    match &args.device {
        Some(device) => {
            let opened = OpenOptions::new().read(true).write(true).open(device);
            let line: File = opened.map_err(|e| {
                Failure::input(anyhow!("cannot open {}: {e}; name a board's serial device", device.display()))
            })?;
            talk(interface, Serial(line), &frames)
        }
        None => {
            let wire = EngineWire::new(&hosted, QUIET).map_err(Failure::check)?;
            talk(interface, wire, &frames)
        }
    }
}

fn talk<W: Wire>(interface: Interface, wire: W, frames: &[Frame]) -> Outcome {
    let mut link = Link::open(interface, wire).map_err(Failure::check)?;
    for frame in frames {
        match frame {
            Frame::Send(channel, values) => {
                let values: Vec<(&str, u64)> = values.iter().map(|(name, v)| (name.as_str(), *v)).collect();
                link.send(channel, &values).map_err(Failure::check)?;
            }
            Frame::Set(input, value) => link.set(input, *value).map_err(Failure::check)?,
            Frame::Get(output) => {
                let value = link.get(output).map_err(Failure::check)?;
                say(format!("{output} = {value}"))?;
            }
        }
        while let Some(received) = link.receive().map_err(Failure::check)? {
            say(shown(link.interface(), &received))?;
        }
    }
    link.settle("the requests").map_err(Failure::check)
}

/// The lines of a request file, for a block with this interface.
///
/// # Errors
/// The first word that is none, with its line.
pub(crate) fn parse(text: &str, interface: &Interface) -> Result<Vec<Frame>, String> {
    let mut frames = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        if let Some((first, rest)) = words.split_first() {
            frames.push(frame(first, rest, interface).map_err(|e| format!("line {}: {e}", number + 1))?);
        }
    }
    Ok(frames)
}

fn frame(first: &str, rest: &[&str], interface: &Interface) -> Result<Frame, String> {
    let entry = |kind, name: &str| {
        interface
            .number(kind, name)
            .map(|number| (number, &interface.entries[number]))
            .map_err(|e| e.to_string())
    };
    if let Some(output) = first.strip_suffix('?') {
        return entry(Kind::Get, output).map(|_| Frame::Get(output.into()));
    }
    if let Some((input, text)) = first.split_once('=') {
        let (_, entry) = entry(Kind::Set, input)?;
        return Ok(Frame::Set(input.into(), value(text, &entry.leaves[0])?));
    }
    let (number, entry) = entry(Kind::Into, first)?;
    let mut values = Vec::new();
    for word in rest {
        let (name, text) = word.split_once('=').ok_or(format!("{word}: expected FIELD=VALUE"))?;
        let leaf = entry.leaves.iter().find(|leaf| leaf.name == name);
        values.push((name.to_string(), leaf.map_or(Ok(0), |leaf| value(text, leaf))?));
    }
    let given: Vec<(&str, u64)> = values.iter().map(|(name, v)| (name.as_str(), *v)).collect();
    interface.message(number, &given).map_err(|e| e.to_string())?;
    Ok(Frame::Send(first.into(), values))
}

fn value(text: &str, leaf: &Leaf) -> Result<u64, String> {
    if let LeafType::Enum(ty) = &leaf.ty
        && let Some((_, code)) = ty.variants.iter().find(|(name, _)| name == text)
    {
        return Ok(*code);
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let number = number.ok_or(format!("{text} is no number of at most 64 bits"))?;
    let fits = leaf.width >= 64 || number >> leaf.width == 0;
    fits.then_some(number).ok_or(format!("{text} does not fit {} bits", leaf.width))
}

/// A message as it would be written in a request.
fn shown(interface: &Interface, received: &Received) -> String {
    let entry: &Entry = &interface.entries[received.number];
    let field = |leaf: &Leaf| {
        let value = entry.value(&received.message, &leaf.name).unwrap_or_else(|| Bv::zero(leaf.width));
        let name = match (&leaf.ty, value.to_u64()) {
            (LeafType::Enum(ty), Some(code)) => ty.name_of(code).map(str::to_string),
            (_, Some(number)) if number < 10 => Some(number.to_string()),
            _ => None,
        };
        let name = name.unwrap_or_else(|| format!("0x{value:x}"));
        if leaf.name.is_empty() { name } else { format!("{}={name}", leaf.name) }
    };
    let fields: Vec<String> = entry.leaves.iter().map(field).collect();
    format!("{} {}", entry.name, fields.join(" ")).trim_end().to_string()
}
