//! A small REC directory whose invalidations rust-hdl logic counts.

use super::Bench;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;
use std::sync::Arc;
use weft_rtl::ir::Module;
use weft_rust_hdl::weft_block;

weft_block! {
    /// The block `rec-directory` for four GPUs.
    pub struct Directory {
        pub req_valid: Signal<In, Bit>,
        pub req_op: Signal<In, Bits<3>>,
        pub req_src: Signal<In, Bits<2>>,
        pub req_line: Signal<In, Bits<42>>,
        pub req_id: Signal<In, Bits<6>>,
        pub req_ready: Signal<Out, Bit>,
        pub rsp_valid: Signal<Out, Bit>,
        pub rsp_id: Signal<Out, Bits<6>>,
        pub rsp_hit: Signal<Out, Bit>,
        pub rsp_evicted: Signal<Out, Bit>,
        pub rsp_empty: Signal<Out, Bit>,
        pub rsp_ready: Signal<In, Bit>,
        pub inv_valid: Signal<Out, Bit>,
        pub inv_line: Signal<Out, Bits<42>>,
        pub inv_dest: Signal<Out, Bits<4>>,
        pub inv_cause: Signal<Out, Bit>,
        pub inv_grp: Signal<Out, Bit>,
        pub inv_ready: Signal<In, Bit>,
    }
}

/// The directory with a counter of the invalidations that it sends.
#[derive(LogicBlock)]
pub struct Guard {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub req_valid: Signal<In, Bit>,
    pub req_op: Signal<In, Bits<3>>,
    pub req_src: Signal<In, Bits<2>>,
    pub req_line: Signal<In, Bits<42>>,
    pub req_id: Signal<In, Bits<6>>,
    pub rsp_ready: Signal<In, Bit>,
    pub inv_ready: Signal<In, Bit>,
    pub req_ready: Signal<Out, Bit>,
    pub rsp_valid: Signal<Out, Bit>,
    pub rsp_id: Signal<Out, Bits<6>>,
    pub rsp_hit: Signal<Out, Bit>,
    pub rsp_evicted: Signal<Out, Bit>,
    pub rsp_empty: Signal<Out, Bit>,
    pub inv_valid: Signal<Out, Bit>,
    pub inv_line: Signal<Out, Bits<42>>,
    pub inv_dest: Signal<Out, Bits<4>>,
    pub inv_cause: Signal<Out, Bit>,
    pub inv_grp: Signal<Out, Bit>,
    pub invalidations: Signal<Out, Bits<16>>,
    directory: Directory,
    count: DFF<Bits<16>>,
}

impl Guard {
    /// Around a directory's module.
    pub fn new(module: &Arc<Module>) -> Guard {
        Guard {
            clock: Default::default(),
            reset: Default::default(),
            req_valid: Default::default(),
            req_op: Default::default(),
            req_src: Default::default(),
            req_line: Default::default(),
            req_id: Default::default(),
            rsp_ready: Default::default(),
            inv_ready: Default::default(),
            req_ready: Default::default(),
            rsp_valid: Default::default(),
            rsp_id: Default::default(),
            rsp_hit: Default::default(),
            rsp_evicted: Default::default(),
            rsp_empty: Default::default(),
            inv_valid: Default::default(),
            inv_line: Default::default(),
            inv_dest: Default::default(),
            inv_cause: Default::default(),
            inv_grp: Default::default(),
            invalidations: Default::default(),
            directory: Directory::new(module).expect("the ports of a directory"),
            count: Default::default(),
        }
    }
}

impl Logic for Guard {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, directory);
        dff_setup!(self, clock, count);
        self.directory.reset.next = self.reset.val();
        self.directory.req_valid.next = self.req_valid.val();
        self.directory.req_op.next = self.req_op.val();
        self.directory.req_src.next = self.req_src.val();
        self.directory.req_line.next = self.req_line.val();
        self.directory.req_id.next = self.req_id.val();
        self.directory.rsp_ready.next = self.rsp_ready.val();
        self.directory.inv_ready.next = self.inv_ready.val();
        self.req_ready.next = self.directory.req_ready.val();
        self.rsp_valid.next = self.directory.rsp_valid.val();
        self.rsp_id.next = self.directory.rsp_id.val();
        self.rsp_hit.next = self.directory.rsp_hit.val();
        self.rsp_evicted.next = self.directory.rsp_evicted.val();
        self.rsp_empty.next = self.directory.rsp_empty.val();
        self.inv_valid.next = self.directory.inv_valid.val();
        self.inv_line.next = self.directory.inv_line.val();
        self.inv_dest.next = self.directory.inv_dest.val();
        self.inv_cause.next = self.directory.inv_cause.val();
        self.inv_grp.next = self.directory.inv_grp.val();
        self.invalidations.next = self.count.q.val();
        if self.directory.inv_valid.val() & self.inv_ready.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.reset.val() {
            self.count.d.next = bits::<16>(0);
        }
    }
}

impl Bench for Guard {
    const INPUTS: &'static [(&'static str, u32)] = &[
        ("reset", 1),
        ("req_valid", 1),
        ("req_op", 3),
        ("req_src", 2),
        ("req_line", 42),
        ("req_id", 6),
        ("rsp_ready", 1),
        ("inv_ready", 1),
    ];
    const OUTPUTS: &'static [(&'static str, u32)] = &[
        ("req_ready", 1),
        ("rsp_valid", 1),
        ("rsp_id", 6),
        ("rsp_hit", 1),
        ("rsp_evicted", 1),
        ("rsp_empty", 1),
        ("inv_valid", 1),
        ("inv_line", 42),
        ("inv_dest", 4),
        ("inv_cause", 1),
        ("inv_grp", 1),
        ("invalidations", 16),
    ];

    fn tick(&mut self) {
        self.clock.next = !self.clock.val();
    }

    fn drive(&mut self, inputs: &[u64]) {
        self.reset.next = inputs[0] == 1;
        self.req_valid.next = inputs[1] == 1;
        self.req_op.next = inputs[2].into();
        self.req_src.next = inputs[3].into();
        self.req_line.next = inputs[4].into();
        self.req_id.next = inputs[5].into();
        self.rsp_ready.next = inputs[6] == 1;
        self.inv_ready.next = inputs[7] == 1;
    }

    fn read(&self) -> Vec<u64> {
        vec![
            self.req_ready.val().into(),
            self.rsp_valid.val().into(),
            self.rsp_id.val().into(),
            self.rsp_hit.val().into(),
            self.rsp_evicted.val().into(),
            self.rsp_empty.val().into(),
            self.inv_valid.val().into(),
            self.inv_line.val().into(),
            self.inv_dest.val().into(),
            self.inv_cause.val().into(),
            self.inv_grp.val().into(),
            self.invalidations.val().into(),
        ]
    }
}
