//! A first block: written, simulated, exported, counted. `cargo run --release --features tutorial --bin peak [FOLDER]`; files go into the folder.

use std::error::Error;
use std::path::PathBuf;
use weft_engine::wave::Trace;
use weft_engine::{Design, Options, Sim};
use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;

/// What the block is doing.
#[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
pub enum State {
    /// Takes numbers.
    Collect,
    /// Has an answer to send.
    Send,
}

/// Sends the largest of every `count` numbers of `width` bits.
pub fn peak(width: u32, count: u64) -> Result<Arc<Module>, ElabErrors> {
    Module::build(&format!("peak_{width}x{count}"), ModuleKind::Block, || {
        doc("Sends the largest of every few numbers.");
        let number = in_channel::<Bits>("number", &width);
        let largest = out_channel::<Bits>("largest", &width);
        let state = reg::<Enum<State>>("state", ());
        let best = reg::<Bits>("best", width).field("result");
        let seen = reg::<Bits>("seen", bits_for(count)).field("control");
        switch(state.get(), |s| {
            s.case(State::Collect, || {
                when(number.valid, || {
                    number.take();
                    when(number.msg.gt(best.get()), || best.set(number.msg));
                    seen.set(seen.get() + 1);
                    when(seen.get().eq(count - 1), || {
                        seen.set(0);
                        state.set(State::Send);
                    });
                });
            });
            s.case(State::Send, || {
                when(largest.free, || {
                    largest.send(&best.get());
                    best.set(0);
                    state.set(State::Collect);
                });
            });
        });
        assert_always("counts", seen.get().lt(count), "no more numbers are taken than asked for");
        cover(
            "late_receiver",
            state.is(State::Send) & !largest.free,
            "an answer waits for the one before it",
        );
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    run(std::env::args().nth(1).map(PathBuf::from))
}

/// The way of a block, with files in a folder if there is one.
pub fn run(folder: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    // Write: a mistake in the description is an error here, with its line.
    let block = peak(8, 3)?;

    // Simulate: drive inputs, look at outputs, step.
    let mut sim = Sim::new(&Design::new(&block, Options::default())?);
    let (valid, number) = (sim.input("number_valid").unwrap(), sim.input("number_data").unwrap());
    let ready = sim.output("number_ready").unwrap();
    let (sent, largest) = (sim.output("largest_valid").unwrap(), sim.output("largest_data").unwrap());
    sim.set(sim.input("largest_ready").unwrap(), 1);
    let mut wave = match &folder {
        Some(folder) => Some(Trace::create(&folder.join("peak.vcd"), &sim, &[])?),
        None => None,
    };
    let mut numbers = [3, 9, 4, 200, 17, 56].into_iter().peekable();
    let mut answers = Vec::new();
    while answers.len() < 2 {
        sim.set(valid, u64::from(numbers.peek().is_some()));
        sim.set(number, numbers.peek().copied().unwrap_or(0));
        if let Some(wave) = &mut wave {
            wave.sample(&mut sim)?;
        }
        if sim.get(sent) == 1 {
            println!("cycle {:2}: the largest is {}", sim.cycle(), sim.get(largest));
            answers.push(sim.get(largest));
        }
        if sim.get(ready) == 1 {
            numbers.next();
        }
        sim.step();
    }
    assert_eq!(answers, [9, 200]);
    assert!(sim.failures().is_empty(), "{:?}", sim.failures());
    if let Some(wave) = wave {
        wave.finish(sim.cycle(), None)?;
    }

    // Count: every register and memory bit belongs to a field.
    let bits = area(&block);
    for field in &bits.fields {
        println!("{:4} bits of {}", field.bits, field.field);
    }
    println!("{:4} bits", bits.total_bits);

    // Export: one file per module; and a picture.
    for file in emit(&block) {
        println!("{}: {} lines of Verilog", file.name, file.text.lines().count());
        if let Some(folder) = &folder {
            std::fs::write(folder.join(&file.name), &file.text)?;
            std::fs::write(folder.join("peak.svg"), Picture::of(&block).svg())?;
        }
    }
    Ok(())
}
