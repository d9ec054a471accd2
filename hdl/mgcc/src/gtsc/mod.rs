//! G-TSC: coherence by timestamps inside one GPU, the ancestor of MGCC and what it is compared with (mgcc.md section 14).
//!
//! | | MGCC | G-TSC |
//! | --- | --- | --- |
//! | who gives leases | the TSU at memory | the L2 bank, where all operations of a line meet |
//! | the requester's time | the L1's clock, 2 bytes when the bank may not know it | `warpts` of the CU, 8 bytes in every request |
//! | a block whose lease is over | is fetched again | is *renewed* without its data if nobody has written it |
//! | L2 | write-through | write-back |
//! | stores that miss the L1 | a full line takes a way | change nothing there |
//! | atomics | at memory | at the bank |
//!
//! The blocks are `mgcc-l1` and `l2-wb` with other rows and stamps: [`gtsc_l1`] has the ports of `mgcc-l1` (`up_req` is [`GtscReq`]), [`gtsc_l2`] those of `l2-wb` and, beside them, the
//! input `lease` (the lease register, 1..2^(TS-2), sampled at each grant) and the channel `roll_ask`.
//!
//! What the specification leaves open is decided as follows:
//! - Every request tells the wts of the L1's block, a store's too. A store of some bytes into a block that others have written since gets the line with its WrAck; the published
//!   WrAck never has it, and leaves the others' bytes old in a block that counts as new (mgcc.md section 11, Alg. 5). An L1 without the block gets none.
//! - LD_SYNC asks the bank also if its block is live. Atomics are answered with the line, as in MGCC, and the L1 keeps it.
//! - `warpts` rises with every answer (READ_TS `eager`) and by SELF_INC.
//! - A line that comes into the bank for a store or atomic has [wts, rts] = [max(1, mem_ts), the same] before it; a store of a whole line needs no fetch. A victim goes, and raises mem_ts, before the new line gets
//!   its stamps. When every way of a set is kept a request goes past the bank to memory; its stamps are those of a miss, and mem_ts rises to its rts.
//! - A wts of an older epoch is worth nothing. Renew of an older epoch finds no block: the load is asked again.
//! - A bank asks for a roll as a TSU does. When a lease has reached TS_MAX nothing enters it until the roll.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/gtsc.md")]
//!
//! # Pictures
//!
//! `gtsc-l1`:
//!
#![doc = include_str!("../../pictures/gtsc-l1.svg")]
//!
//! `gtsc-l2`:
//!
#![doc = include_str!("../../pictures/gtsc-l2.svg")]

mod msg;
mod params;

pub use crate::l1::gtsc_l1;
pub use crate::l2::gtsc_l2;
pub use msg::GtscReq;

use weft_blocks::registry::BlockInfo;

/// L2 bank to L1: the same message as everywhere; a read's without the line is a Renew.
pub type GtscRsp = crate::msg::UpRsp;

/// The L1 as listed.
pub fn l1_info() -> BlockInfo {
    BlockInfo {
        name: "gtsc-l1",
        about: "Write-through L1 of one CU with leases that the L2 renews (G-TSC)",
        params: params::l1_infos,
        build: |set| gtsc_l1(&params::l1_from(set)?),
    }
}

/// The bank as listed.
pub fn l2_info() -> BlockInfo {
    BlockInfo {
        name: "gtsc-l2",
        about: "Write-back bank of the L2, ordering point that gives leases (G-TSC)",
        params: params::l2_infos,
        build: |set| gtsc_l2(&params::l2_from(set)?),
    }
}
