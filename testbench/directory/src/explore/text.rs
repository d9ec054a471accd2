//! Messages in words.

use super::ops::value_text;
use weft_blocks::msg::ReqKind;
use weft_explore::form::Form;
use weft_rtl::value::HwEnum;

/// Width of a kind of requests; other kinds are narrower.
const KIND_BITS: u32 = 3;

const CU_OPS: [&str; 7] = ["LD", "ST", "AMO", "REL", "ACQ", "KBEGIN", "KEND"];

/// A message in words; the place is a channel `BLOCK.CHANNEL`, `lines` the numbers of X, Y, Z.
pub(super) fn message(lines: &[u64], place: &str, form: &Form, message: &[u64]) -> String {
    let mut parts = Vec::new();
    for leaf in &form.leaves {
        let value = message[leaf.at];
        let text = match leaf.name.as_str() {
            "op" if place.ends_with("cu_req") => {
                CU_OPS.get(value as usize).copied().unwrap_or("?").to_string()
            }
            "kind" if leaf.width == KIND_BITS => kind(value),
            "line" => match lines.iter().position(|line| *line == value) {
                Some(at) => format!("line {}", char::from(b"XYZABCDEFGHIJKLM"[at])),
                None => format!("line {value:#x}"),
            },
            _ if value == 0 && leaf.name != "id" => continue,
            "data" if leaf.width >= 256 && value <= u64::from(u32::MAX) => {
                format!("data {}", value_text(value as u32))
            }
            "mask" => continue,
            name => format!("{name} {value}"),
        };
        parts.push(text);
    }
    parts.join(", ")
}

fn kind(value: u64) -> String {
    let found = ReqKind::VARIANTS.iter().find(|kind| kind.encoding() == value);
    found.map_or_else(|| "?".to_string(), |kind| format!("{kind:?}"))
}
