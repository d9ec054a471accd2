//! The serial receiver: bytes of every value, at rates a little off; noise, a missing stop bit, and bytes that nobody takes.

use weft_engine::{Design, Options, Sim};
use weft_host::uart_rx::uart_rx;

/// The receiver with what it gave.
struct Bench {
    sim: Sim,
    taking: bool,
    bytes: Vec<u8>,
}

impl Bench {
    fn new(clocks_per_bit: u64) -> Bench {
        let module = uart_rx(clocks_per_bit).expect("legal");
        let sim = Sim::new(&Design::new(&module, Options::default()).expect("compiles"));
        let mut bench = Bench { sim, taking: true, bytes: Vec::new() };
        bench.line(1, 20);
        bench
    }

    fn read(&mut self, output: &str) -> u64 {
        let port = self.sim.output(output).expect("a port");
        self.sim.get(port)
    }

    /// The line at a level for some clocks.
    fn line(&mut self, level: u64, clocks: u64) {
        let [rxd, ready] = ["rxd", "out_ready"].map(|name| self.sim.input(name).expect("a port"));
        self.sim.set(rxd, level);
        self.sim.set(ready, self.taking.into());
        for _ in 0..clocks {
            if self.read("out_valid") == 1 && self.taking {
                let byte = self.read("out_data") as u8;
                self.bytes.push(byte);
            }
            self.sim.step();
        }
    }

    fn byte(&mut self, byte: u8, clocks_per_bit: u64) {
        self.line(0, clocks_per_bit);
        (0..8).for_each(|bit| self.line(u64::from(byte >> bit & 1), clocks_per_bit));
        self.line(1, clocks_per_bit);
    }
}

#[test]
fn every_byte_arrives_back_to_back_and_at_rates_four_percent_off() {
    let all: Vec<u8> = (0..=255).collect();
    for (clocks_per_bit, sent) in [(4, 4), (25, 24), (25, 25), (25, 26)] {
        let mut bench = Bench::new(clocks_per_bit);
        all.iter().for_each(|byte| bench.byte(*byte, sent));
        bench.line(1, 2 * clocks_per_bit);
        assert_eq!(bench.bytes, all, "{clocks_per_bit} clocks per bit, {sent} sent");
    }
}

#[test]
fn a_short_pulse_and_a_byte_without_stop_bit_are_no_bytes() {
    let mut bench = Bench::new(16);
    bench.line(0, 6);
    bench.line(1, 200);
    assert!(bench.bytes.is_empty());
    bench.line(0, 16 * 10);
    bench.line(1, 16 * 12);
    assert!(!bench.bytes.contains(&0), "a line that is held low sends no byte: {:?}", bench.bytes);
    bench.bytes.clear();
    bench.byte(0x5a, 16);
    bench.line(1, 32);
    assert_eq!(bench.bytes, [0x5a]);
}

#[test]
fn a_byte_that_nobody_takes_is_kept_and_the_next_is_reported_lost() {
    let mut bench = Bench::new(8);
    bench.taking = false;
    bench.byte(0x11, 8);
    bench.line(1, 16);
    assert_eq!((bench.read("out_valid"), bench.read("overrun")), (1, 0));
    bench.byte(0x22, 8);
    bench.line(1, 16);
    assert_eq!(bench.read("overrun"), 1);
    bench.taking = true;
    bench.line(1, 4);
    bench.byte(0x33, 8);
    bench.line(1, 16);
    assert_eq!(bench.read("overrun"), 1, "it stays");
    assert_eq!(bench.bytes, [0x11, 0x33]);
}

#[test]
fn rates_that_no_receiver_can_sample_are_refused() {
    for clocks_per_bit in [3, 65_536] {
        let error = uart_rx(clocks_per_bit).expect_err("refused").to_string();
        assert!(
            error.contains(&format!("{clocks_per_bit} clocks per bit")) && error.contains("4..65535"),
            "{error}"
        );
    }
}
