//! The serial sender: the line's level in every clock, and what the receiver makes of it.

use weft_engine::{Design, Options, Sim};
use weft_host::uart_rx::uart_rx;
use weft_host::uart_tx::uart_tx;
use weft_rtl::ir::{Module, ModuleKind};
use weft_rtl::prelude::{Bits, Bool, instance, output};

#[test]
fn a_byte_is_ten_bits_of_equal_length() {
    let mut sim = Sim::new(&Design::new(&uart_tx(5).expect("legal"), Options::default()).expect("compiles"));
    let [valid, byte] = ["in_valid", "in_data"].map(|name| sim.input(name).expect("a port"));
    let txd = sim.output("txd").expect("a port");
    let mut line = Vec::new();
    sim.set(byte, 0b0110_0101);
    for clock in 0..70 {
        sim.set(valid, u64::from(clock == 3));
        line.push(sim.get(txd));
        sim.step();
    }
    let start = line.iter().position(|level| *level == 0).expect("a start bit");
    let bits: Vec<u64> = line[start..start + 50].chunks(5).map(|bit| bit.iter().sum()).collect();
    assert_eq!(bits, [0, 5, 0, 5, 0, 0, 5, 5, 0, 5]);
    assert!(line[..start].iter().chain(&line[start + 50..]).all(|level| *level == 1));
}

#[test]
fn the_receiver_understands_bytes_sent_without_a_pause() {
    let (sender, receiver) = (uart_tx(7).expect("legal"), uart_rx(7).expect("legal"));
    let pair = Module::build("uart_pair", ModuleKind::Fabric, || {
        let (sender, receiver) = (instance("sender", &sender), instance("receiver", &receiver));
        weft_blocks::common::join::pass_in::<Bits>(&sender, "in", "in", &8);
        weft_blocks::common::join::pass_out::<Bits>(&receiver, "out", "out", &8);
        receiver.drive_bits("rxd", sender.out_bits("txd"));
        output::<Bool>("overrun", ()).set(receiver.out::<Bool>("overrun", &()));
    });
    let mut sim = Sim::new(&Design::new(&pair.expect("builds"), Options::default()).expect("compiles"));
    let [valid, byte, ready] =
        ["in_valid", "in_data", "out_ready"].map(|name| sim.input(name).expect("a port"));
    let [taken, comes, came] =
        ["in_ready", "out_valid", "out_data"].map(|name| sim.output(name).expect("a port"));
    sim.set(ready, 1);
    let (mut sent, mut bytes) = (0u64, Vec::new());
    for _ in 0..256 * 71 + 100 {
        sim.set(valid, u64::from(sent < 256));
        sim.set(byte, sent & 0xff);
        sent += u64::from(sent < 256 && sim.get(taken) == 1);
        if sim.get(comes) == 1 {
            bytes.push(sim.get(came));
        }
        sim.step();
    }
    assert_eq!(bytes, (0..256).collect::<Vec<u64>>());
}
