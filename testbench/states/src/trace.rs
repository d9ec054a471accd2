//! The shortest way to what must not happen, as text.

use crate::machine::Core;
use crate::space::{Action, Model};
use crate::state::{LLC, NONE, Packet, State};
use std::fmt::Write;
use weft_explore::search::{Space, Violation};

/// One line per step: what happens, what is sent, and the states after it.
///
/// ```text
///   1  device 0, load ReqV: ReqV to the LLC      | 0 RV, 1 I; LLC V
/// ```
/// Under device symmetry the devices keep the names that they have at the beginning.
pub fn text(model: &mut Model, violation: &Violation) -> String {
    let mut out = String::new();
    let mut names: Vec<u8> = (0..model.config.devices as u8).collect();
    let mut state = match model.start() {
        Ok(numbers) => model.unpack(&numbers),
        Err(_) => model.first(),
    };
    for (i, action) in violation.path.iter().enumerate() {
        let action = Action::unpack(*action);
        let before = state.clone();
        let result = model.step(&mut state, action);
        let what = what(model, &before, &state, action, &names);
        let after = states(model, &state, &names);
        let _ = writeln!(out, "{:>4}  {what:<76} | {after}", i + 1);
        if result.is_err() {
            break;
        }
        let Ok((form, naming)) = model.form(&state) else { break };
        let mut renamed = names.clone();
        naming.iter().zip(&names).for_each(|(to, name)| renamed[usize::from(*to)] = *name);
        state = model.unpack(&form);
        names = renamed;
    }
    let mut left: Vec<String> = state.net.iter().map(|packet| said(model, packet, &names)).collect();
    left.sort();
    if !left.is_empty() {
        let _ = writeln!(out, "      still under way: {}", left.join("; "));
    }
    let _ = writeln!(out, "      {}", renamed_text(&violation.text, &names));
    out
}

/// Reads `device N` in a sentence of the search as the device's name in the trace.
fn renamed_text(text: &str, names: &[u8]) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let named = words.iter().enumerate().map(|(i, word)| {
        let device = (i > 0 && words[i - 1] == "device").then(|| word.parse::<usize>().ok()).flatten();
        device.and_then(|device| names.get(device)).map_or((*word).to_string(), u8::to_string)
    });
    named.collect::<Vec<_>>().join(" ")
}

fn node(number: u8, names: &[u8]) -> String {
    match number {
        LLC => "the LLC".into(),
        NONE => "nobody".into(),
        device => format!("device {}", names[usize::from(device)]),
    }
}

fn said(model: &Model, packet: &Packet, names: &[u8]) -> String {
    let Packet { op, dst, req, count, value, .. } = *packet;
    let message = &model.machine.protocol.messages[usize::from(op) - 1];
    let mut text = format!("{} to {}", message.name, node(dst, names));
    if req != NONE && req != dst {
        let _ = write!(text, " for {}", node(req, names));
    }
    if count > 0 {
        let _ = write!(text, " ({count} acknowledgements to come)");
    }
    if message.data && model.machine.has_values() {
        let _ = write!(text, " = {}", u8::from(value));
    }
    text
}

fn what(model: &Model, before: &State, after: &State, action: Action, names: &[u8]) -> String {
    let events = model.machine.protocol.messages.len() + 1;
    let core = model.machine.protocol.core;
    let mut old = before.net.clone();
    let who = match action {
        Action::Deliver(packet) => {
            old.retain(|other| *other != packet);
            let same = before.net.iter().filter(|other| **other == packet).count();
            old.extend((1..same).map(|_| packet));
            let from =
                if packet.src == NONE { String::new() } else { format!(" of {}", node(packet.src, names)) };
            format!("{} takes {}{from}", node(packet.dst, names), model.machine.message(packet.op))
        }
        Action::Core(Core { device, event, .. }) => {
            format!("{}, {}", node(device as u8, names), core[usize::from(event) - events])
        }
        Action::Own(event) => {
            let own = model.machine.protocol.own[usize::from(event) - events - core.len()];
            format!("{}, {own}", node(LLC, names))
        }
    };
    let mut sent = Vec::new();
    for packet in &after.net {
        match old.iter().position(|other| other == packet) {
            Some(at) => drop(old.swap_remove(at)),
            None => sent.push(said(model, packet, names)),
        }
    }
    if sent.is_empty() { who } else { format!("{who}: {}", sent.join("; ")) }
}

fn states(model: &Model, state: &State, names: &[u8]) -> String {
    let protocol = &model.machine.protocol;
    let values = model.machine.has_values();
    let mut devices: Vec<(u8, String)> = names
        .iter()
        .zip(&state.device)
        .map(|(name, device)| {
            let mut text = format!("{name} {}", protocol.device_states[usize::from(device.state)]);
            if values {
                let _ = write!(text, " = {}", u8::from(device.value));
            }
            (*name, text)
        })
        .collect();
    devices.sort();
    let devices: Vec<String> = devices.into_iter().map(|(_, text)| text).collect();
    let llc = &state.llc;
    let mut text = format!("{}; LLC {}", devices.join(", "), protocol.llc_states[usize::from(llc.state)]);
    if llc.owner != NONE {
        let _ = write!(text, " of {}", names[usize::from(llc.owner)]);
    }
    if llc.sharers != 0 {
        let mut sharers: Vec<u8> =
            (0..names.len()).filter(|i| llc.sharers >> i & 1 != 0).map(|i| names[i]).collect();
        sharers.sort_unstable();
        let sharers: Vec<String> = sharers.iter().map(u8::to_string).collect();
        let _ = write!(text, " shared by {}", sharers.join(" "));
    }
    if values {
        let _ = write!(text, " = {}", u8::from(llc.value));
    }
    text
}
