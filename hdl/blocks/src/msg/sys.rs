//! What fixes the widths of all messages: counts of a system, and how its nodes and addresses are numbered (rec.md section 2, hmg.md section 1).

use weft_rtl::prelude::*;

/// What fixes the widths of all messages of a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sys {
    /// GPUs, 2..16 (1..16 with several GPMs each).
    pub gpus: u32,
    /// GPU modules of a GPU, 1..8 (in a whole fabric a power of two); with 1 a GPU is one node.
    pub gpms: u32,
    /// Address bits, 32..64.
    pub addr_bits: u32,
    /// Line size in bytes, 64 or 128.
    pub line: u32,
    /// L2 banks (and directory slices) per GPU, a power of two.
    pub banks: u32,
    /// L1 caches (CUs) per GPU.
    pub l1s: u32,
    /// MSHRs per L2 bank.
    pub l2_mshrs: u32,
    /// MSHRs per L1.
    pub l1_mshrs: u32,
    /// Bank interleave in bytes: bank = (address / il) mod banks.
    pub il: u32,
    /// Home partition: home node = address >> home_shift.
    pub home_shift: u32,
    /// Messages carry what a protocol with owners needs ([`super::owners`]).
    pub owners: bool,
}

impl Sys {
    /// The shape of what messages carry of owners; none for other protocols.
    pub fn of_owners(&self) -> Option<Sys> {
        self.owners.then(|| self.clone())
    }
    /// The same of parts that need no widths.
    pub fn with_owners(&self) -> Option<()> {
        self.owners.then_some(())
    }
    /// Width of a line number: address bits - log2(line).
    pub fn line_bits(&self) -> u32 {
        self.addr_bits - self.line.trailing_zeros()
    }
    /// Width of a GPM's number inside its GPU; 0 where a GPU is one node.
    pub fn gpm_bits(&self) -> u32 {
        self.gpms.next_power_of_two().trailing_zeros()
    }
    /// Node numbers, used or not: GPUs x GPMs rounded up to a power of two.
    pub fn nodes(&self) -> u32 {
        self.gpus << self.gpm_bits()
    }
    /// Width of a node's number {GPU, GPM}.
    pub fn node_bits(&self) -> u32 {
        bits_for(u64::from(self.nodes()))
    }
    /// Number of a node.
    pub fn node(&self, gpu: u32, gpm: u32) -> u32 {
        gpu << self.gpm_bits() | gpm
    }
    /// GPU of a node.
    pub fn gpu_of_node(&self, node: u32) -> u32 {
        node >> self.gpm_bits()
    }
    /// Number of a node inside its GPU.
    pub fn gpm_of_node(&self, node: u32) -> u32 {
        node & ((1 << self.gpm_bits()) - 1)
    }
    /// The nodes that exist, in order.
    pub fn all_nodes(&self) -> Vec<u32> {
        (0..self.nodes()).filter(|node| self.gpm_of_node(*node) < self.gpms).collect()
    }
    /// Instance name of a node: `gpu2`, or `gpu2_gpm1` where GPUs have several GPMs.
    pub fn node_name(&self, node: u32) -> String {
        let gpu = format!("gpu{}", self.gpu_of_node(node));
        if self.gpms == 1 { gpu } else { format!("{gpu}_gpm{}", self.gpm_of_node(node)) }
    }
    /// A node in a sentence: `gpu 2`, or `gpu 2 gpm 1` where GPUs have several GPMs.
    pub fn node_text(&self, node: u32) -> String {
        node_text(node, self.gpms)
    }
    /// Node whose instance a path begins with.
    pub fn node_of_path(&self, path: &str) -> Option<u32> {
        let name = path.split('.').next()?;
        (0..self.nodes()).find(|node| self.node_name(*node) == name)
    }
    /// Width of a bank number.
    pub fn bank_bits(&self) -> u32 {
        bits_for(u64::from(self.banks))
    }
    /// Width of an L1 number.
    pub fn l1_bits(&self) -> u32 {
        bits_for(u64::from(self.l1s))
    }
    /// Width of an L2 transaction number.
    pub fn l2_id_bits(&self) -> u32 {
        bits_for(u64::from(self.l2_mshrs))
    }
    /// Width of an L1 transaction number: one number per MSHR, and two for stores whose answer only the L1 itself counts.
    pub fn l1_id_bits(&self) -> u32 {
        bits_for(u64::from(self.l1_mshrs) + 2)
    }
    /// Width of a transaction number of a directory operation; wide enough for the bank's operation table.
    pub fn dir_id_bits(&self) -> u32 {
        self.l2_id_bits()
    }
    /// Data bits of a line.
    pub fn data_bits(&self) -> u32 {
        8 * self.line
    }
    /// Bank of a line number: bits above the interleave.
    pub fn bank_of(&self, line: Bits) -> Bits {
        if self.banks == 1 {
            return lit(0, 1);
        }
        line.slice(self.il.trailing_zeros() - self.line.trailing_zeros(), self.banks.trailing_zeros())
    }
    /// GPU of a node number.
    pub fn gpu_of(&self, node: Bits) -> Bits {
        if self.gpus == 1 {
            lit(0, 1)
        } else {
            node.slice(self.gpm_bits(), self.node_bits() - self.gpm_bits())
        }
    }
    /// Number of a node inside its GPU.
    pub fn gpm_of(&self, node: Bits) -> Bits {
        if self.gpms == 1 { lit(0, 1) } else { node.slice(0, self.gpm_bits()) }
    }
    /// Home node of a line number.
    pub fn home_of(&self, line: Bits) -> Bits {
        line.slice(self.home_shift - self.line.trailing_zeros(), self.node_bits())
    }
}

/// [`Sys::node_text`] where no more than the number of GPMs of a GPU is known.
pub fn node_text(node: u32, gpms: u32) -> String {
    let bits = gpms.next_power_of_two().trailing_zeros();
    let gpu = format!("gpu {}", node >> bits);
    if gpms == 1 { gpu } else { format!("{gpu} gpm {}", node & ((1 << bits) - 1)) }
}
