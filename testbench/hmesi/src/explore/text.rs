//! Messages in words.

use weft_explore::form::Form;
use weft_rtl::value::HwEnum;
use weft_spandex::hmesi::msg::{HFwdOp, HRspOp};
use weft_spandex::mesi_port::Get;
use weft_spandex_bench::explore::report;

/// Name of a code.
fn named<E: HwEnum>(code: u64) -> String {
    let found = E::VARIANTS.iter().find(|of| of.encoding() == code);
    found.map_or_else(|| code.to_string(), |of| of.label().to_string())
}

/// A message in words; the place is a channel `BLOCK.CHANNEL`. What goes between the L3 and its clients is
/// told here, the rest is Spandex's.
pub(super) fn message(place: &str, form: &Form, message: &[u64]) -> String {
    let (block, channel) = place.split_once('.').unwrap_or(("", place));
    let of_cpu = block.starts_with("cpu") && !channel.starts_with("cu_");
    let channel = match channel.strip_prefix("l3_") {
        Some(channel) => channel,
        None if of_cpu || block == "l3" => channel,
        None => return report::message(place, form, message),
    };
    let name = match channel {
        "req" => named::<Get>(form.get(message, "op")),
        "fwd" => named::<HFwdOp>(form.get(message, "op")),
        "wb" => return format!("Put {}", form.text(message)),
        name if name.starts_with("rsp") => named::<HRspOp>(form.get(message, "op")),
        _ => return form.text(message),
    };
    let mut rest = message.to_vec();
    form.set(&mut rest, "op", &[0]);
    format!("{name} {}", form.text(&rest)).trim_end().to_string()
}
