//! A block: it sends the largest of every few numbers.

use std::sync::Arc;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::ir::Module;
use weft_rtl::prelude::*;

/// The block as commands list it.
pub const INFO: BlockInfo = BlockInfo {
    name: "peak",
    about: "Sends the largest of every few numbers",
    params,
    build: |set| {
        let width = set.within("width", 1, 64)? as u32;
        peak(width, set.within("count", 2, 1024)?)
    },
};

fn params() -> Vec<ParamInfo> {
    let of = |name, default: &str, legal, about| ParamInfo {
        name,
        default: default.into(),
        legal,
        about,
    };
    vec![
        of("width", "16", "1..64", "bits of a number"),
        of(
            "count",
            "8",
            "2..1024",
            "numbers of which the largest is sent",
        ),
    ]
}

/// What the block is doing.
#[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
enum State {
    /// Takes numbers.
    Collect,
    /// Has an answer to send.
    Send,
}

/// Builds it: channel `number` in, channel `largest` out.
fn peak(width: u32, count: u64) -> Result<Arc<Module>, BlockError> {
    let built = Module::build(&format!("peak_{width}x{count}"), ModuleKind::Block, || {
        doc("Sends the largest of every few numbers.");
        param("width", width);
        param("count", count);
        let number = in_channel::<Bits>("number", &width);
        let largest = out_channel::<Bits>("largest", &width);
        let state = reg::<Enum<State>>("state", ());
        let best = reg::<Bits>("best", width).field("result");
        let seen = reg::<Bits>("seen", bits_for(count + 1)).field("control");
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
        assert_always(
            "counts",
            seen.get().lt(count),
            "no more numbers are taken than asked for",
        );
    });
    built.map_err(|errors| BlockError::Elab {
        block: INFO.name.into(),
        errors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_engine::{Design, Options, Sim};

    #[test]
    fn the_largest_of_three_is_sent() {
        let block = peak(8, 3).expect("legal");
        let mut sim = Sim::new(&Design::new(&block, Options::default()).expect("compiles"));
        let input = |sim: &Sim, name: &str| sim.input(name).expect("a port");
        let output = |sim: &Sim, name: &str| sim.output(name).expect("a port");
        let (valid, number) = (input(&sim, "number_valid"), input(&sim, "number_data"));
        let (sent, largest) = (output(&sim, "largest_valid"), output(&sim, "largest_data"));
        let ready = output(&sim, "number_ready");
        let free = input(&sim, "largest_ready");
        sim.set(free, 1);
        let mut numbers = [3, 9, 4, 200, 17, 56].into_iter().peekable();
        let mut answers = Vec::new();
        for _ in 0..40 {
            sim.set(valid, u64::from(numbers.peek().is_some()));
            sim.set(number, numbers.peek().copied().unwrap_or(0));
            if sim.get(sent) == 1 {
                answers.push(sim.get(largest));
            }
            if sim.get(ready) == 1 {
                numbers.next();
            }
            sim.step();
        }
        assert_eq!(answers, [9, 200]);
        assert!(sim.failures().is_empty(), "{:?}", sim.failures());
    }
}
