//! Rules of the interface.

use super::waivers::LONE;
use super::*;
use weft_rtl::ir::{SigKind, Signal};

/// Channels by the end of their ports' names: what is sent goes with `valid`, `ready` against it. Without
/// `ready` it is taken at once.
fn channel<'a>(module: &'a Module, port: &str) -> Option<(&'a Signal, Option<&'a Signal>)> {
    let named = |name: String| module.port(&name).map(|id| module.signal(id));
    let cuts = port.match_indices('_').map(|(at, _)| at).chain([port.len()]);
    let mut found = cuts.filter_map(|at| {
        let name = &port[..at];
        named(format!("{name}_valid")).map(|valid| (valid, named(format!("{name}_ready"))))
    });
    found.next_back()
}

#[test]
fn every_port_is_of_a_channel_or_tells_what_it_is() {
    every_block(|info, found| {
        for Context { module, .. } in contexts(info) {
            let inward = |s: &Signal| s.kind == SigKind::Input;
            let mut own: Vec<String> = Vec::new();
            for (_, port) in module.ports() {
                let name = port.name.trim_end_matches(char::is_numeric).trim_end_matches('_');
                let is = |lone: &str| {
                    [name, &port.name].iter().any(|n| *n == lone || n.ends_with(&format!("_{lone}")))
                };
                match channel(&module, &port.name) {
                    Some((valid, ready)) => {
                        let against = ready.is_some_and(|r| r.name == port.name);
                        if (inward(port) == inward(valid)) == against {
                            own.push(format!("{} goes the wrong way", port.name));
                        }
                        if !port.name.ends_with("_valid") || ready.is_some() {
                            continue;
                        }
                        if !port.name.contains("wire_") {
                            own.push(format!("{} has no ready", port.name));
                        }
                    }
                    None if !port.doc.is_empty() || LONE.iter().any(|(lone, _)| is(lone)) => {}
                    None => own.push(format!("{} is of no channel and says nothing", port.name)),
                }
            }
            if module.doc.is_empty() {
                own.push("it says nothing".into());
            }
            found.extend(own);
        }
        found.sort();
        found.dedup();
    });
}
