//! The device: an L1 on its translation unit.

use crate::words::small_spandex;
use std::sync::Arc;
use weft_rtl::ir::Module;
use weft_spandex::fabric::mesi_device;
use weft_spandex::mesi_l1::{MesiL1Inject, MesiL1Params};
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::params::Spandex;
use weft_spandex::tu_mesi::{TuMesiInject, TuMesiParams};

/// Number of the device under test.
pub const OWN: u64 = 1;

/// What is built.
#[derive(Clone)]
pub struct DeviceParams {
    pub l1: MesiL1Params,
    pub tu: TuMesiParams,
}

impl DeviceParams {
    pub fn new(port: MesiPort) -> DeviceParams {
        DeviceParams { l1: MesiL1Params::new(port.clone()), tu: TuMesiParams::new(port) }
    }

    pub fn spandex(&self) -> &Spandex {
        &self.l1.port.spandex
    }

    pub fn with_l1(mut self, inject: MesiL1Inject) -> DeviceParams {
        self.l1.inject = inject;
        self
    }

    pub fn with_tu(mut self, inject: TuMesiInject) -> DeviceParams {
        self.tu.inject = inject;
        self
    }
}

/// A small device: 2 sets of 2 ways, lines of 8 words, short queues.
pub fn small() -> DeviceParams {
    let spandex = Spandex { sb: 6, ..small_spandex() };
    DeviceParams::new(MesiPort { spandex, size: 128, ways: 2 })
}

/// Builds it.
pub fn device(p: &DeviceParams) -> Arc<Module> {
    mesi_device(&p.l1, &p.tu).expect("legal parameters")
}
