//! Crossbar: N input channels, M output channels, each output with its own round-robin arbiter.
//!
//! ```text
//!  in0 -> skid --+--> arbiter 0 -> out0
//!  in1 -> skid --+--> arbiter 1 -> out1
//!  ...           +--> ...
//! ```
//! Messages between one input and one output keep their order; one message per input and per output and cycle.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/crossbar.svg")]

use super::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// A crossbar as a block: channels `in0`..., `out0`...; `dest` gives a message's output number (any width). With one output it merges.
///
/// `name` must tell message type, parameters and destination rule apart, since names identify modules.
///
/// # Errors
/// A number of inputs or outputs outside 1..256.
pub fn crossbar<T: Data>(
    name: &str,
    n: u32,
    m: u32,
    shape: &T::Shape,
    dest: impl Fn(&T) -> Bits,
) -> Result<Arc<Module>, ElabErrors> {
    Module::build(name, ModuleKind::Block, || {
        doc("Crossbar: each output takes one message per cycle from the inputs in turn.");
        param("inputs", n);
        param("outputs", m);
        if !(1..=256).contains(&n) || !(1..=256).contains(&m) {
            elab_error(format!("a crossbar of {n} inputs and {m} outputs; legal: 1..256 each"));
            return;
        }
        let ins: Vec<InChannel<T>> = (0..n).map(|i| in_channel::<T>(&format!("in{i}"), shape)).collect();
        let wants: Vec<Bits> =
            ins.iter().enumerate().map(|(i, channel)| wanted(i, channel, m, &dest)).collect();
        let asked = wants[1..].iter().fold(wants[0], |all, w| all | *w).named("asked");
        let grants: Vec<Bits> = (0..m).map(|j| output_port(j, n, shape, &ins, &wants, asked)).collect();
        let granted = grants[1..].iter().fold(grants[0], |all, g| all | *g).named("granted");
        for (i, channel) in ins.iter().enumerate() {
            when(granted.bit(i as u32), || channel.take());
        }
    })
}

/// The output that input `i` asks for, one-hot; zero without a message.
fn wanted<T: Data>(i: usize, channel: &InChannel<T>, m: u32, dest: &impl Fn(&T) -> Bits) -> Bits {
    if m == 1 {
        return channel.valid.bits();
    }
    let to = dest(&channel.msg);
    let wants = (to.one_hot(m) & channel.valid.repeat(m)).named(&format!("wants{i}"));
    assert_always(
        &format!("in{i}_dest_exists"),
        !channel.valid | wants.any(),
        "a message's destination is an output of the crossbar",
    );
    wants
}

/// One output with its arbiter; returns the inputs granted, one-hot.
fn output_port<T: Data>(
    j: u32,
    n: u32,
    shape: &T::Shape,
    ins: &[InChannel<T>],
    wants: &[Bits],
    asked: Bits,
) -> Bits {
    let out = out_channel::<T>(&format!("out{j}"), shape);
    let requests: Vec<Bool> = wants.iter().map(|w| w.bit(j)).collect();
    let turn = RoundRobin::new(&format!("turn{j}"), n);
    let pick = turn.pick(pack_bools(&requests));
    let grant = wire_zero::<Bits>(&format!("grant{j}"), n);
    when(asked.bit(j) & out.free, || {
        grant.set(pick.index.one_hot(n));
        turn.granted(pick.index);
        switch_bits(pick.index, |arms| {
            for (i, channel) in ins.iter().enumerate() {
                arms.case(i as u64, || out.send(&channel.msg));
            }
        });
    });
    count(
        &format!("out{j}_conflicts"),
        asked.bit(j) & !out.free,
        "cycles in which a message waited for an output",
    );
    grant.get()
}
