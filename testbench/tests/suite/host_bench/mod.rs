//! Requests for the blocks that are put behind a host port, and what comes back by channel.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_host::{Interface, Kind, Received};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_tools::cosim::Xorshift;
use weft_tools::host::Bare;

/// Cycles without a message after which a block is at rest: longer than a small directory clears itself.
pub const QUIET: u64 = 200;

/// A request: values by leaf of channel `req`.
pub type Request = Vec<(&'static str, u64)>;

/// A block of the list.
pub fn block(name: &str, params: &[(&str, &str)]) -> Arc<Module> {
    let given: BTreeMap<String, String> =
        params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    weft_catalog::build(name, &given).unwrap_or_else(|e| panic!("{e}"))
}

/// Requests of the other GPUs and local writes, on few lines, so that they meet.
pub fn directory_requests(count: u64) -> Vec<Request> {
    let mut random = Xorshift::new(3);
    let mut request = |n: u64| {
        let op = random.below(4);
        let src = if op == 2 { 0 } else { 1 + random.below(3) };
        vec![("op", op), ("src", src), ("line", random.below(24) * 16 + random.below(4)), ("id", n % 64)]
    };
    (0..count).map(&mut request).collect()
}

/// Releases in the order in which an sFIFO of 16 places takes them, with lookups between: before a place is used again it is popped.
pub fn lr_requests(count: u64) -> Vec<Request> {
    let mut random = Xorshift::new(4);
    let mut place = 0;
    let mut out = Vec::new();
    while (out.len() as u64) < count {
        let word = random.below(24) << 20;
        match random.below(40) {
            0 => out.push(vec![("op", 3)]),
            1..16 => out.push(vec![("op", 0), ("word", word)]),
            _ => {
                out.push(vec![("op", 2), ("ptr", place)]);
                out.push(vec![("op", 1), ("word", word), ("ptr", place)]);
                place = (place + 1) % 16;
            }
        }
    }
    out
}

/// Lookups, insertions and few clears.
pub fn pa_requests(count: u64) -> Vec<Request> {
    let mut random = Xorshift::new(5);
    let mut request = || {
        let op = [0, 0, 1, 1, 1, 1, 1, 2][if random.below(10) == 0 { 7 } else { random.below(7) as usize }];
        vec![("op", op), ("word", random.below(24) << 30)]
    };
    (0..count).map(|_| request()).collect()
}

/// Messages of each channel in order; what is said of the order of different channels is left out.
pub fn by_channel(messages: impl IntoIterator<Item = Received>) -> BTreeMap<usize, Vec<Bv>> {
    let mut out: BTreeMap<usize, Vec<Bv>> = BTreeMap::new();
    for received in messages {
        out.entry(received.number).or_default().push(received.message);
    }
    out
}

/// What the block alone answers to each request.
pub fn alone(module: &Arc<Module>, interface: &Interface, requests: &[Request]) -> Vec<Vec<Received>> {
    let mut bare = Bare::new(module, interface, QUIET).expect("compiles");
    let number = interface.number(Kind::Into, "req").expect("a channel");
    requests
        .iter()
        .map(|request| bare.ask(number, &interface.message(number, request).expect("legal")))
        .collect()
}
