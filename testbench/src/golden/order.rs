//! What a bank does for a fence marker (rec.md section 7: a release is cumulative).
//!
//! A write's data may be read before the directory has answered it. The reader may then release, and that release covers the write too, so a home's
//! marker must not pass the write's invalidations. A bank that is given a marker's token gives it back when the directory has answered every write
//! and atomic whose data could have been read when the token came. Reads invalidate nobody, and later writes belong to later markers.

use std::collections::BTreeSet;

/// Something that cannot happen between a bank and a fence unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// A token while another one is held.
    #[error("a bank is given the token of GPU {new} while it holds that of GPU {held}")]
    Second {
        /// Requester of the token held.
        held: u32,
        /// Requester of the new one.
        new: u32,
    },
    /// An answer for no write.
    #[error("the directory answers write {op}, which is not under way")]
    Unknown {
        /// Number of the operation.
        op: u64,
    },
}

/// The writes under way in one bank and the token it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BankOrder {
    writes: BTreeSet<u64>,
    token: Option<(u32, BTreeSet<u64>)>,
}

impl BankOrder {
    /// A write or atomic is accepted; from now on its data may be read.
    pub fn write(&mut self, op: u64) {
        self.writes.insert(op);
    }

    /// The directory has answered it: its invalidations are in the ordered FIFOs.
    pub fn answered(&mut self, op: u64) -> Result<(), OrderError> {
        if let Some((_, waits)) = &mut self.token {
            waits.remove(&op);
        }
        if self.writes.remove(&op) { Ok(()) } else { Err(OrderError::Unknown { op }) }
    }

    /// A marker's token comes.
    pub fn take(&mut self, requester: u32) -> Result<(), OrderError> {
        if let Some((held, _)) = self.token {
            return Err(OrderError::Second { held, new: requester });
        }
        self.token = Some((requester, self.writes.clone()));
        Ok(())
    }

    /// Writes that the token held waits for.
    pub fn waits_for(&self) -> usize {
        self.token.as_ref().map_or(0, |(_, waits)| waits.len())
    }

    /// Writes under way that a token held does not wait for: they are younger.
    pub fn younger(&self) -> usize {
        self.writes.len() - self.waits_for()
    }

    /// Gives the token back whatever it waits for, as a bank must not.
    #[cfg(test)]
    pub fn held(&mut self) -> Option<u32> {
        self.token.take().map(|(requester, _)| requester)
    }

    /// Gives the token back, if there is one and it waits for nothing.
    pub fn give_back(&mut self) -> Option<u32> {
        self.token.take_if(|(_, waits)| waits.is_empty()).map(|(requester, _)| requester)
    }
}
