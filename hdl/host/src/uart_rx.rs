//! `uart-rx`: a serial line to bytes; a start bit, 8 data bits from the lowest on, a stop bit.
//!
//! ```text
//!  rxd -> early -> line (two registers: rxd is of no clock) -> sampled in the middle of each bit -> out
//! ```
//! | state | until |
//! | --- | --- |
//! | Idle | the line falls |
//! | Start | half a bit later; back to Idle if the line is high again |
//! | Data | eight bits are sampled |
//! | Stop | the stop bit is sampled: the byte is sent, or dropped if the line is low |
//!
//! There is no way to make the other side wait: a byte that comes while the one before is not taken is lost, and `overrun` stays high from then on.

use crate::error::HostError;
use weft_rtl::prelude::*;

/// Clocks that a bit may take.
pub const CLOCKS: std::ops::RangeInclusive<u64> = 4..=65_535;

/// [`CLOCKS`], as text.
pub(crate) const LEGAL: &str = "4..65535";

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum State {
    Idle,
    Start,
    Data,
    Stop,
}

/// The receiver: input `rxd`, channel `out`, output `overrun`.
///
/// # Errors
/// [`HostError::Baud`]: `clocks_per_bit` outside [`CLOCKS`].
pub fn uart_rx(clocks_per_bit: u64) -> Result<Arc<Module>, HostError> {
    if !CLOCKS.contains(&clocks_per_bit) {
        return Err(HostError::Baud { value: clocks_per_bit, legal: LEGAL });
    }
    let name = format!("uart_rx_{clocks_per_bit}");
    let built = Module::build(&name, ModuleKind::Block, || {
        doc("Serial line to bytes: a start bit, 8 data bits from the lowest on, a stop bit.");
        param("clocks_per_bit", clocks_per_bit);
        let rxd = input::<Bool>("rxd", ());
        let byte = out_channel::<Bits>("out", &8);
        let overrun = output_reg::<Bool>("overrun", ()).doc("A byte was lost.");
        let early = reg::<Bool>("early", ()).reset(&[1]);
        let line = reg::<Bool>("line", ()).reset(&[1]);
        early.set(rxd);
        line.set(early.get());
        let state = reg::<Enum<State>>("state", ());
        let clocks = reg::<Bits>("clocks", bits_for(clocks_per_bit)).doc("Clocks until the next sample.");
        let count = reg::<Bits>("count", 3).doc("Data bits sampled.");
        let data = reg::<Bits>("data", 8);
        let now = clocks.get().none().named("now");
        when(!now, || clocks.set(clocks.get() - 1));
        let line = line.get();
        switch(state.get(), |s| {
            s.case(State::Idle, || {
                when(!line, || {
                    state.set(State::Start);
                    clocks.set(clocks_per_bit / 2 - 1);
                });
            });
            s.case(State::Start, || {
                when(now, || {
                    clocks.set(clocks_per_bit - 1);
                    count.set(0);
                    state.set(mux(line, enum_lit(State::Idle), enum_lit(State::Data)));
                });
            });
            s.case(State::Data, || {
                when(now, || {
                    clocks.set(clocks_per_bit - 1);
                    data.set(cat(&[line.bits(), data.get().slice(1, 7)]));
                    count.set(count.get() + 1);
                    when(count.get().all(), || state.set(State::Stop));
                });
            });
            s.case(State::Stop, || {
                when(now, || {
                    state.set(State::Idle);
                    when(line & byte.free, || byte.send(&data.get()));
                    when(line & !byte.free, || overrun.set(true));
                });
            });
        });
    });
    built.map_err(|errors| HostError::Elab { module: name, errors })
}
