//! Parameters of hardware, drawn: legal ones, tiny and odd ones among them.

use rand::Rng;
use rand::rngs::SmallRng;
use weft_fabric::config::{FabricConfig, KeyInfo, Legal};

/// Keys that say what is compared, what a program is, or where time is told: they stay as they are given.
pub const KEPT: &[&str] = &[
    "addr_bits",
    "alu_width",
    "call_copy",
    "call_launch",
    "call_sync",
    "checks",
    "clock_ghz",
    "cta_schedule",
    "dram_bytes",
    "gpms",
    "gpus",
    "gsi",
    "host_link_bytes",
    "host_link_latency",
    "inject",
    "inject_cu",
    "lanes",
    "launch",
    "lds_bytes",
    "local_memory",
    "model",
    "page",
    "protocol",
    "runtime",
    "scopes",
    "starve",
    "watchdog",
];

/// Share of keys, of 256, that a variant changes.
const CHANGED: [u8; 3] = [16, 48, 110];

/// A value of a key as text: near its least, near what it has, or one of its names.
fn value(rng: &mut SmallRng, key: &KeyInfo, now: Option<&serde_json::Value>) -> Option<String> {
    let pick = |rng: &mut SmallRng, of: &[u64]| of[rng.random_range(0..of.len())];
    let number = now.and_then(serde_json::Value::as_u64);
    match key.legal {
        Legal::Within(lo, hi) | Legal::WithinOrOff(lo, hi) | Legal::WithinOffOrAuto(lo, hi) => {
            let now = number.unwrap_or(lo);
            let near = [lo, lo + 1, lo + 2, 2 * lo + 3, now / 4, now / 2, now.saturating_sub(1), now + 1];
            Some(pick(rng, &near).clamp(lo, hi.min(2 * now.max(lo + 4))).to_string())
        }
        Legal::Power(lo, hi) => {
            let now = number.unwrap_or(lo).max(1);
            let near = [lo, 2 * lo, now / 4, now / 2, 2 * now];
            Some(pick(rng, &near).clamp(lo, hi).to_string())
        }
        Legal::Switch => Some(rng.random::<bool>().to_string()),
        Legal::OneOf(names) => Some(names[rng.random_range(0..names.len())].to_string()),
        Legal::Real(..) | Legal::Form(_) => None,
    }
}

/// Keys of a variant as KEY=VALUE: each is legal together with those before it. `given` are keys that the user has set, which stay.
pub fn draw(rng: &mut SmallRng, config: &FabricConfig, given: &[String]) -> Vec<String> {
    let set = |name: &str| given.iter().any(|word| word.split('=').next() == Some(name));
    let keys = config.keys();
    let some = CHANGED[rng.random_range(0..CHANGED.len())];
    let (mut config, mut changed) = (config.clone(), Vec::new());
    for key in keys.iter().filter(|key| !KEPT.contains(&key.name) && !set(key.name)) {
        // Drawn in any case, so that the values of later keys do not depend on it.
        let (take, value) = (rng.random::<u8>() < some, value(rng, key, config.get(key.name).as_ref()));
        let Some(word) = value.filter(|_| take).map(|value| format!("{}={value}", key.name)) else {
            continue;
        };
        let mut with = config.clone();
        if with.set(&word).is_ok() && with.validate().is_ok() && with != config {
            config = with;
            changed.push(word);
        }
    }
    changed
}
