//! Messages in words.

use super::Config;
use super::ops::{line_name, value_text};
use weft_blocks::msg::{AmoOp, CuOp};
use weft_explore::form::Form;
use weft_rtl::value::HwEnum;
use weft_srsp::msg::{MemOp, OwnerOp, ProbeOp, ReqOp, RspOp, SyncOp, WbOp};

/// Name of a code.
fn named<E: HwEnum>(code: u64) -> String {
    let variants = &E::enum_type().variants;
    variants.iter().find(|of| of.1 == code).map_or_else(|| code.to_string(), |of| of.0.to_string())
}

fn operation(place: &str, (leaf, width): (&str, u32), code: u64) -> Option<String> {
    let channel = place.rsplit('.').next().unwrap_or(place);
    Some(match (channel, leaf) {
        ("probe", "op") if width == 1 => named::<OwnerOp>(code),
        ("cu_req", "op") => named::<CuOp>(code),
        ("cu_req", "amo") => named::<AmoOp>(code),
        (_, "atomic_op") => named::<SyncOp>(code),
        ("probe_out", "probe_op") | ("probe", "op") => named::<ProbeOp>(code),
        ("mem_req", "op") => named::<MemOp>(code),
        ("rsp", "op") => named::<RspOp>(code),
        (channel, "op") if channel.starts_with("req") => named::<ReqOp>(code),
        (channel, "op") if channel.starts_with("wb") => named::<WbOp>(code),
        _ => return None,
    })
}

/// A line in words: its data, then its variable.
fn words(low: u64) -> String {
    let each = [low as u32, (low >> 32) as u32].map(|word| match word {
        0 => "-".to_string(),
        word => value_text(word),
    });
    each.join(" / ")
}

/// A message in words; the place is a channel `BLOCK.CHANNEL`.
pub(super) fn message(config: &Config, place: &str, form: &Form, message: &[u64]) -> String {
    let line = |number: u64| match (0..config.lines).find(|line| config.line(*line) == number) {
        Some(at) => format!("line {}", line_name(at)),
        None => format!("line {number:#x}"),
    };
    let mut parts = Vec::new();
    for leaf in &form.leaves {
        let value = message[leaf.at];
        let name = leaf.name.as_str();
        if let Some(text) = operation(place, (name, leaf.width), value) {
            // An access without an atomic has the code 0.
            if value != 0 || name == "op" || name == "probe_op" {
                parts.push(text);
            }
            continue;
        }
        let text = match name {
            "line" => line(value),
            "atomic_addr" | "addr" | "probe_addr" => line(value / 64),
            _ if value == 0 => continue,
            "mask" | "class" | "sync" | "want_ack" => continue,
            "data" if leaf.width >= 256 => words(value),
            "atomic_opnd" => format!("operand {}", value_text(value as u32)),
            name => format!("{name} {value}"),
        };
        parts.push(text);
    }
    parts.join(", ")
}
