//! Two Weft queues with rust-hdl logic between and behind them.

use super::Bench;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;
use weft_rust_hdl::{Prepared, weft_block};

weft_block! {
    /// The block `fifo` with messages of 16 bits.
    pub struct Queue {
        pub in_valid: Signal<In, Bit>,
        pub in_data: Signal<In, Bits<16>>,
        pub in_ready: Signal<Out, Bit>,
        pub out_valid: Signal<Out, Bit>,
        pub out_data: Signal<Out, Bits<16>>,
        pub out_ready: Signal<In, Bit>,
    }
}

/// What leaves the first queue is counted up by one on its way into the second; what leaves the second is summed.
#[derive(LogicBlock)]
pub struct Chain {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub push: Signal<In, Bit>,
    pub value: Signal<In, Bits<16>>,
    pub take: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
    pub valid: Signal<Out, Bit>,
    pub front: Signal<Out, Bits<16>>,
    pub sum: Signal<Out, Bits<16>>,
    first: Queue,
    second: Queue,
    total: DFF<Bits<16>>,
}

impl Chain {
    /// A chain of two queues of one depth.
    pub fn new(depth: &str) -> Chain {
        let prepared =
            Prepared::new(&super::block("fifo", &[("depth", depth), ("width", "16")])).expect("a block");
        let queue = || Queue::of(&prepared).expect("the ports of a queue");
        Chain {
            clock: Default::default(),
            reset: Default::default(),
            push: Default::default(),
            value: Default::default(),
            take: Default::default(),
            ready: Default::default(),
            valid: Default::default(),
            front: Default::default(),
            sum: Default::default(),
            first: queue(),
            second: queue(),
            total: Default::default(),
        }
    }
}

impl Logic for Chain {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, first, second);
        dff_setup!(self, clock, total);
        self.first.reset.next = self.reset.val();
        self.first.in_valid.next = self.push.val();
        self.first.in_data.next = self.value.val();
        self.ready.next = self.first.in_ready.val();
        self.second.reset.next = self.reset.val();
        self.second.in_valid.next = self.first.out_valid.val();
        self.second.in_data.next = self.first.out_data.val() + 1;
        self.first.out_ready.next = self.second.in_ready.val();
        self.second.out_ready.next = self.take.val();
        self.valid.next = self.second.out_valid.val();
        self.front.next = self.second.out_data.val();
        self.sum.next = self.total.q.val();
        if self.second.out_valid.val() & self.take.val() {
            self.total.d.next = self.total.q.val() + self.second.out_data.val();
        }
        if self.reset.val() {
            self.total.d.next = bits::<16>(0);
        }
    }
}

impl Bench for Chain {
    const INPUTS: &'static [(&'static str, u32)] = &[("reset", 1), ("push", 1), ("value", 16), ("take", 1)];
    const OUTPUTS: &'static [(&'static str, u32)] = &[("ready", 1), ("valid", 1), ("front", 16), ("sum", 16)];

    fn tick(&mut self) {
        self.clock.next = !self.clock.val();
    }

    fn drive(&mut self, inputs: &[u64]) {
        self.reset.next = inputs[0] == 1;
        self.push.next = inputs[1] == 1;
        self.value.next = inputs[2].into();
        self.take.next = inputs[3] == 1;
    }

    fn read(&self) -> Vec<u64> {
        vec![self.ready.val().into(), self.valid.val().into(), self.front.val().into(), self.sum.val().into()]
    }
}
