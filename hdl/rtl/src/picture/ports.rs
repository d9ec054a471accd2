//! The block as a box with its channels: what comes in on the left, what goes out on the right.

use super::svg::{Anchor, Canvas, LINE, Style, WIDTH, wrap};
use crate::ir::{Module, SigKind, Signal};

/// A channel, a message without a receiver's answer, or a single port.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Port {
    name: String,
    /// Goes into the block.
    into: bool,
    /// Has valid and ready.
    channel: bool,
    /// Parts with their widths; of a single port only the width.
    leaves: Vec<String>,
}

fn is_input(signal: &Signal) -> bool {
    signal.kind == SigKind::Input
}

/// Ports in order; the signals that have a `valid` in common are one.
fn ports(module: &Module) -> Vec<Port> {
    let all: Vec<&Signal> = module.ports().map(|(_, signal)| signal).collect();
    let messages: Vec<&str> = all.iter().filter_map(|signal| signal.name.strip_suffix("_valid")).collect();
    let mut out: Vec<Port> = Vec::new();
    for signal in &all {
        let inside = |name: &&&str| {
            signal.name.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let Some(message) = messages.iter().filter(inside).max_by_key(|name| name.len()) else {
            let (name, leaves) = (signal.name.clone(), vec![signal.width.to_string()]);
            out.push(Port { name, into: is_input(signal), channel: false, leaves });
            continue;
        };
        let part = signal.name[message.len()..].trim_start_matches('_');
        let at = out.iter().position(|port| port.name == *message).unwrap_or_else(|| {
            let name = message.to_string();
            out.push(Port { name, into: is_input(signal), channel: false, leaves: Vec::new() });
            out.len() - 1
        });
        match part {
            "valid" => out[at].into = is_input(signal),
            "ready" => out[at].channel = true,
            "" => out[at].leaves.push(format!("{} bits", signal.width)),
            part => out[at].leaves.push(format!("{part} {}", signal.width)),
        }
    }
    fold(out)
}

/// A name in three parts: before its first number, the number, behind it.
fn parts(name: &str) -> Option<(&str, &str, &str)> {
    let start = name.find(|c: char| c.is_ascii_digit())?;
    let end = name[start..].find(|c: char| !c.is_ascii_digit()).map_or(name.len(), |n| start + n);
    Some((&name[..start], &name[start..end], &name[end..]))
}

/// `p0`, `p1`... with the same leaves become one `p0..n`.
fn fold(ports: Vec<Port>) -> Vec<Port> {
    let mut out: Vec<(Port, Option<String>)> = Vec::new();
    for port in ports {
        let around =
            |name: &str| parts(name).map(|(before, _, behind)| (before.to_string(), behind.to_string()));
        let same = |(other, _): &&mut (Port, Option<String>)| {
            around(&port.name).is_some()
                && around(&port.name) == around(&other.name)
                && (port.into, port.channel, &port.leaves) == (other.into, other.channel, &other.leaves)
        };
        match out.iter_mut().find(same) {
            Some((_, last)) => *last = parts(&port.name).map(|(_, number, _)| number.to_string()),
            None => out.push((port, None)),
        }
    }
    let joined = |(port, last): (Port, Option<String>)| match (parts(&port.name), last) {
        (Some((before, first, behind)), Some(last)) => {
            Port { name: format!("{before}{first}..{last}{behind}"), ..port }
        }
        _ => port,
    };
    out.into_iter().map(joined).collect()
}

/// The text beside a port's arrow.
fn lines(port: &Port) -> Vec<String> {
    match &port.leaves[..] {
        [] => vec![port.name.clone()],
        [width] if width.bytes().all(|b| b.is_ascii_digit()) => vec![format!("{} {width}", port.name)],
        [first, rest @ ..] => {
            // The name is no item of the list behind it.
            let first = format!("{}: {first}", port.name);
            wrap(std::iter::once(first).chain(rest.iter().cloned()), ", ", CHARS)
        }
    }
}

/// Characters of a line beside the box.
const CHARS: usize = 40;
/// Left and right edge of the box.
const BOX: (u32, u32) = (310, 550);

pub(super) fn draw(canvas: &mut Canvas, module: &Module) {
    let top = canvas.y;
    let (left, right): (Vec<Port>, Vec<Port>) = ports(module).into_iter().partition(|port| port.into);
    let mut below = [top + 10; 2];
    for (side, ports) in [left, right].into_iter().enumerate() {
        for port in ports {
            let y = &mut below[side];
            let (from, to) = if side == 0 { (4, BOX.0) } else { (BOX.1, WIDTH - 4) };
            for line in &lines(&port) {
                *y += LINE - 2;
                canvas.text(from + 8, *y, Anchor::Start, Style::Plain, line);
            }
            *y += 7;
            canvas.arrow(from, to, *y, port.channel);
            *y += 8;
        }
    }
    let text = wrap(module.doc.split_whitespace().map(String::from), " ", 31);
    let height = (below[0].max(below[1]) - top + 6).max((text.len() as u32 + 2) * LINE + 8);
    canvas.rect(BOX.0, top, BOX.1 - BOX.0, height, 4, true);
    let middle = (BOX.0 + BOX.1) / 2;
    let mut y = top + (height - (text.len() as u32) * LINE) / 2 + 11;
    for line in &text {
        canvas.text(middle, y, Anchor::Middle, Style::Plain, line);
        y += LINE;
    }
    canvas.y = top + height + 10;
}
