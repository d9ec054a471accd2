//! A block with its host port, and the two behind a UART.

use crate::error::HostError;
use crate::interface::{Interface, Kind};
use crate::message::Message;
use crate::port::host_port;
use crate::uart_rx::uart_rx;
use crate::uart_tx::uart_tx;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_rtl::prelude::*;

/// The block `block` and its port `port` in a fabric with byte channels `rx` and `tx`.
///
/// # Errors
/// [`HostError`].
pub fn hosted(module: &Arc<Module>) -> Result<(Arc<Module>, Interface), HostError> {
    let interface = Interface::of(module)?;
    let port_module = host_port(&interface)?;
    let name = format!("host_{}", module.name);
    let built = Module::build(&name, ModuleKind::Fabric, || {
        doc("A block behind a port of bytes.");
        let (port, _) = join(&interface, &port_module, module);
        pass_in::<Bits>(&port, "host_rx", "rx", &8);
        pass_out::<Bits>(&port, "host_tx", "tx", &8);
    });
    let built = built.map_err(|errors| HostError::Elab { module: name, errors })?;
    Ok((built, interface))
}

/// The same with a UART: input `rxd`, outputs `txd` and `overrun` (a byte was lost).
///
/// # Errors
/// [`HostError`]; [`HostError::Baud`] for a UART of `clocks_per_bit` that cannot be.
pub fn with_uart(module: &Arc<Module>, clocks_per_bit: u64) -> Result<(Arc<Module>, Interface), HostError> {
    let interface = Interface::of(module)?;
    let port_module = host_port(&interface)?;
    let (receiver, sender) = (uart_rx(clocks_per_bit)?, uart_tx(clocks_per_bit)?);
    let name = format!("uart_{}", module.name);
    let built = Module::build(&name, ModuleKind::Fabric, || {
        doc("A block behind a UART.");
        param("clocks_per_bit", clocks_per_bit);
        let (port, _) = join(&interface, &port_module, module);
        let (receiver, sender) = (instance("receiver", &receiver), instance("sender", &sender));
        connect::<Bits>(&receiver, "out", &port, "host_rx", &8);
        connect::<Bits>(&port, "host_tx", &sender, "in", &8);
        receiver.drive_bits("rxd", input::<Bool>("rxd", ()).bits());
        output::<Bool>("txd", ()).set(sender.out::<Bool>("txd", &()));
        output::<Bool>("overrun", ()).set(receiver.out::<Bool>("overrun", &()));
    });
    let built = built.map_err(|errors| HostError::Elab { module: name, errors })?;
    Ok((built, interface))
}

/// Instances of port and block, joined by every entry.
fn join(interface: &Interface, port: &Arc<Module>, block: &Arc<Module>) -> (InstanceRef, InstanceRef) {
    let (port, block) = (instance("host", port), instance("device", block));
    for entry in &interface.entries {
        let (name, shape) = (&entry.name, &entry.leaves);
        match entry.kind {
            Kind::Into => connect::<Message>(&port, name, &block, name, shape),
            Kind::OutOf => connect::<Message>(&block, name, &port, name, shape),
            Kind::Set => block.drive_bits(name, port.out_bits(name)),
            Kind::Get => port.drive_bits(name, block.out_bits(name)),
        }
    }
    (port, block)
}
