//! Top-level ports by name.

use weft_rtl::netlist::NetPort;

/// The numbers of a list of ports in order of their names.
pub(crate) struct ByName(Vec<u32>);

impl ByName {
    pub fn new(ports: &[NetPort]) -> ByName {
        let mut order: Vec<u32> = (0..ports.len() as u32).collect();
        order.sort_unstable_by_key(|port| &ports[*port as usize].name);
        ByName(order)
    }

    /// Number of the port of this name in the list from which this was made.
    pub fn number(&self, ports: &[NetPort], name: &str) -> Option<usize> {
        let found = self.0.binary_search_by_key(&name, |port| &ports[*port as usize].name).ok()?;
        Some(self.0[found] as usize)
    }
}

/// Top-level ports by name.
pub(crate) struct PortNames {
    pub inputs: ByName,
    pub outputs: ByName,
}
