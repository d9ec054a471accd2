//! The coherence order of a location's writes, as far as it is known.

use crate::kernel::Id;
use std::collections::HashMap;

/// What is known of a location's order.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Writes, in an order that is possible; all of them, [`crate::kernel::INIT`] left out.
    pub writes: Vec<Id>,
    /// There is no other.
    pub total: bool,
    /// Pairs of writes known to be in this order, if it is not total.
    pub known: Vec<(Id, Id)>,
    /// Read-modify-writes, each with what it follows at once.
    pub chains: HashMap<Id, Id>,
}
