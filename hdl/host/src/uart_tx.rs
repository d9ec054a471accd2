//! `uart-tx`: bytes to a serial line; a start bit, 8 data bits from the lowest on, a stop bit.
//!
//! ```text
//!  in -> shift: stop, data 7..0 -> txd
//! ```

use crate::error::HostError;
use crate::uart_rx::{CLOCKS, LEGAL};
use weft_rtl::prelude::*;

/// Bits on the line for a byte.
const BITS: u64 = 10;

/// The sender: channel `in`, output `txd`.
///
/// # Errors
/// [`HostError::Baud`]: `clocks_per_bit` outside [`CLOCKS`].
pub fn uart_tx(clocks_per_bit: u64) -> Result<Arc<Module>, HostError> {
    if !CLOCKS.contains(&clocks_per_bit) {
        return Err(HostError::Baud { value: clocks_per_bit, legal: LEGAL });
    }
    let name = format!("uart_tx_{clocks_per_bit}");
    let built = Module::build(&name, ModuleKind::Block, || {
        doc("Bytes to a serial line: a start bit, 8 data bits from the lowest on, a stop bit.");
        param("clocks_per_bit", clocks_per_bit);
        let byte = in_channel::<Bits>("in", &8);
        let txd = output_reg::<Bool>("txd", ()).reset(&[1]);
        let clocks = reg::<Bits>("clocks", bits_for(clocks_per_bit)).doc("Clocks until the next bit.");
        let left = reg::<Bits>("left", bits_for(BITS + 1)).doc("Bits whose time is not over.");
        let shift = reg::<Bits>("shift", 9);
        let now = clocks.get().none().named("now");
        when(!now, || clocks.set(clocks.get() - 1));
        when(left.get().none() & byte.valid, || {
            byte.take();
            shift.set(cat(&[lit(1, 1), byte.msg]));
            txd.set(false);
            left.set(BITS);
            clocks.set(clocks_per_bit - 1);
        })
        .elsewhen(left.get().any() & now, || {
            left.set(left.get() - 1);
            txd.set(shift.get().bit(0));
            shift.set(cat(&[lit(1, 1), shift.get().slice(1, 8)]));
            clocks.set(clocks_per_bit - 1);
        });
    });
    built.map_err(|errors| HostError::Elab { module: name, errors })
}
