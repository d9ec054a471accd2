//! Checks that only one family has.

use super::Surroundings;
use crate::check::CheckError;
use crate::cu::{CuObserver, Issuer, LineAccess, LineReply};
use weft_engine::Sim;

/// A check of a family's own. Beside what waves do ([`CuObserver`]) it is told what the ports of compute units carry. It is cloned and saved with the run and changes
/// nothing in it.
pub trait FamilyCheck: CuObserver + Send {
    /// The L1 of a compute unit takes an access; without an issuer it begins or ends a kernel, or is a store of the host. What waves do by it ([`CuObserver`]) follows.
    fn request(&mut self, now: u64, node: u32, cu: u32, access: &LineAccess, issuer: Option<&Issuer>) {
        let _ = (now, node, cu, access, issuer);
    }

    /// The L1 of a compute unit answers, with the time at port `gN_cuC_time` if the fabric has one. What waves see of this answer follows before the next one.
    fn answer(&mut self, now: u64, node: u32, cu: u32, reply: &LineReply, time: Option<u64>) {
        let _ = (now, node, cu, reply, time);
    }

    /// The host replaces memory at a physical byte address, before the run or after a boundary.
    fn host_write(&mut self, addr: u64, bytes: &[u8]) {
        let _ = (addr, bytes);
    }

    /// To be called once per cycle that is clocked, after everything of the cycle was told.
    ///
    /// # Errors
    /// The first violation.
    fn judge(&mut self) -> Result<(), CheckError> {
        Ok(())
    }

    /// It looks at the simulation in every cycle from this one on, until it has.
    fn looks(&self) -> u64 {
        u64::MAX
    }

    /// To be called in such a cycle after [`FamilyCheck::judge`].
    ///
    /// # Errors
    /// The first violation.
    fn look(&mut self, sim: &Sim) -> Result<(), CheckError> {
        let _ = sim;
        Ok(())
    }

    /// A failure is looked for: what looks now and then looks often from now on.
    fn look_closely(&mut self) {}

    /// All releases of a kernel or host copy are complete and no compute unit has anything open.
    ///
    /// # Errors
    /// The first violation.
    fn boundary(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError>;

    /// The run is over and the fabric at rest.
    ///
    /// # Errors
    /// The first violation.
    fn end(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError>;

    /// How much was checked, by name.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// The whole state as bytes.
    fn save(&self) -> Vec<u8>;

    /// Goes on from what [`FamilyCheck::save`] gave for the same fabric; false when the bytes are damaged or of another one.
    #[must_use]
    fn resume(&mut self, bytes: &[u8]) -> bool;

    /// A copy.
    fn boxed(&self) -> Box<dyn FamilyCheck>;
}

impl Clone for Box<dyn FamilyCheck> {
    fn clone(&self) -> Box<dyn FamilyCheck> {
        (**self).boxed()
    }
}
