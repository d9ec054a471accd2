//! Measures rust-hdl's own simulator on a directory under random requests and prints one line of JSON.
//!
//! The simulator is driven by its engine's step (`simulate`), without the threads of its test benches, so that it is at
//! its best. Every decision is compared with a plain model: a figure is printed only for a directory that works.

mod directory;
mod model;

use directory::Directory;
use rust_hdl::prelude::*;
use std::process::ExitCode;
use std::time::Instant;

/// Delta cycles that a clock edge may take to settle.
const MAX_DELTAS: usize = 100;

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, String> {
    let cycles: u64 = match std::env::args().nth(1) {
        None => 200_000,
        Some(text) => text
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or(format!("'{text}' is no number of cycles: give 1 or more"))?,
    };
    let mut block = Directory::default();
    connect_inputs(&mut block);
    block.connect_all();
    check_all(&block).map_err(|error| format!("rust-hdl refuses the directory: {error:?}"))?;

    let mut model = model::Model::default();
    let mut random = model::Random(0x9e37_79b9_7f4a_7c15);
    let mut pending = None;
    let (mut hits, mut evictions) = (0u64, 0u64);
    let start = Instant::now();
    for cycle in 0..cycles {
        let request = model::Request::random(&mut random);
        block.valid.next = true;
        block.set.next = bits(request.set as u64);
        block.tag.next = bits(request.tag as u64);
        block.requester.next = bits(request.requester as u64);
        block.store.next = request.store;
        settle(&mut block, false, cycle)?;
        if block.done.val() {
            let taken: model::Request =
                pending.take().ok_or(format!("cycle {cycle}: a reply without a request"))?;
            let seen = model::Decision {
                hit: block.hit.val(),
                evict: block.evict.val(),
                invalidate: block.invalidate.val().index() as u8,
            };
            let expected = model.decide(&taken);
            if seen != expected {
                return Err(format!("cycle {cycle}: {taken:?} gives {seen:?}, the model {expected:?}"));
            }
            hits += u64::from(seen.hit);
            evictions += u64::from(seen.evict);
        }
        if block.ready.val() {
            pending = Some(request);
        }
        settle(&mut block, true, cycle)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!(
        "{{\"name\":\"rust-hdl 0.46\",\"cycles\":{cycles},\"hits\":{hits},\"evictions\":{evictions},\
         \"wall_seconds\":{seconds:.6},\"cycles_per_second\":{:.1}}}",
        cycles as f64 / seconds
    ))
}

fn connect_inputs(block: &mut Directory) {
    block.clock.connect();
    block.valid.connect();
    block.set.connect();
    block.tag.connect();
    block.requester.connect();
    block.store.connect();
}

fn settle(block: &mut Directory, level: bool, cycle: u64) -> Result<(), String> {
    block.clock.next = level.into();
    match simulate(block, MAX_DELTAS) {
        true => Ok(()),
        false => {
            Err(format!("cycle {cycle}: the directory does not settle within {MAX_DELTAS} delta cycles"))
        }
    }
}
