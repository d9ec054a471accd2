//! The oracle of owner prediction (spandex.md section 8): in the cycle in which a Flex L1 shows a request, it names the owner that the LLC holds for the first word.

use super::SpandexSystem;
use super::banks::Banks;
use crate::port::{PortError, input, output};
use weft_engine::{InPort, OutPort, Sim};

/// Ports of a device that asks.
#[derive(Clone, Copy)]
struct Asks {
    ask: OutPort,
    line: OutPort,
    mask: OutPort,
    known: InPort,
    owner: InPort,
}

/// The devices that ask, and the banks that know.
#[derive(Clone)]
pub(super) struct Oracle {
    devices: Vec<Asks>,
    banks: Banks,
}

impl Oracle {
    /// Those of a system.
    ///
    /// # Errors
    /// A design without the ports.
    pub fn find(sim: &Sim, p: &SpandexSystem, banks: Banks) -> Result<Oracle, PortError> {
        let of = |d: u32| {
            let (gpu, unit) = p.s.unit(d);
            let name = |port: &str| format!("g{gpu}_cu{unit}_oracle_{port}");
            Ok(Asks {
                ask: output(sim, &name("ask"))?,
                line: output(sim, &name("line"))?,
                mask: output(sim, &name("mask"))?,
                known: input(sim, &name("known"))?,
                owner: input(sim, &name("owner"))?,
            })
        };
        Ok(Oracle {
            devices: (0..p.s.devs()).filter(|d| !p.devices.has(*d)).map(of).collect::<Result<_, _>>()?,
            banks,
        })
    }

    /// Names the owners of what is asked in the present cycle.
    pub fn tell(&self, sim: &mut Sim) {
        for device in &self.devices {
            if !sim.may_change(device.ask) || sim.get(device.ask) == 0 {
                continue;
            }
            let (line, mask) = (sim.get(device.line), sim.get(device.mask));
            let owner = self.banks.owner(sim, line, mask.trailing_zeros());
            sim.set(device.known, u64::from(owner.is_some()));
            sim.set(device.owner, owner.unwrap_or(0));
        }
    }
}
