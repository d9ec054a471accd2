//! `moesi-l2`: one bank of an L2 whose copies have owners (docs/moesi.md sections 5 to 7): the copies of its node, and the home side for lines of its home.
//!
//! ```text
//!  local_req ---------------> +------------------------------------------+ --> local_rsp
//!  inv ---------------------> | slot: row of the arrays, what it finds,  | --> rsp_out
//!  remote_req -> homes <----> | and everything at once, or nothing       | --> req_out
//!  pool, served MSHR -------> +------------------------------------------+ --> mem_req
//!  rsp_in, mem_rsp -> MSHRs         dir_req, dir_rsp, done <-> slice           --> inv_done
//! ```
//!
//! One operation has the slot in a cycle; it is chosen one cycle ahead, when its row is presented. In order: a line that has come is installed; INV messages; requests of other nodes
//! that the slice has answered; a way that is flushed, every other cycle at most; requests that wait here; requests of other nodes; of the node. A request of the node that cannot be performed goes into the pool, so that none
//! holds anything; a request of another node waits at its input while its line is asked for by this node.
//!
//! A line that has come is *served*: what waited for it before is performed, in its order, as far as its state allows. Then its home is told (Done), and others may ask for it.
//!
//! # Picture
//!
#![doc = include_str!("../../../../../pictures/moesi-l2.svg")]

mod act;
mod arrays;
mod choose;
mod fence;
mod homes;
mod landing;
mod mshrs;
mod observe;
mod outputs;
mod pool;
pub mod table;
mod writebacks;

use crate::cache::l2::{BankKind, L2Params, infos_of_kept, read_kept};
use crate::registry::{BlockError, BlockInfo, ParamSet};
use arrays::Arrays;
use choose::{Class, Slot};
use fence::Fence;
use homes::Homes;
use landing::Landing;
use mshrs::Mshrs;
use outputs::Outputs;
use pool::Pool;
use weft_rtl::prelude::*;
use writebacks::Writebacks;

/// The block as listed.
pub const INFO: BlockInfo = BlockInfo {
    name: "moesi-l2",
    about: "One bank of a GPU's L2 whose copies have owners: states M, O, E, S, I, and the home side",
    params: infos_of_kept,
    build: build_from,
};

/// The banks of the protocol.
pub static KIND: BankKind = BankKind {
    info: INFO,
    build: moesi_l2,
    sets: [
        "gpus=2 banks=1 sets=2 ways=2 mshrs=8 pool=8 l1s=1 l1_mshrs=2",
        "gpus=3 gpms=2 home=4 home_shift=32 banks=2 sets=6 ways=4 mshrs=12 pool=12 line=128 l1s=2 l1_mshrs=2",
        "gpus=4 home=1 banks=2 sets=3 ways=2 mshrs=16 pool=17 l1s=3 l1_mshrs=1",
    ],
};

fn build_from(set: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let p = read_kept(set)?;
    moesi_l2(&p).map_err(|errors| BlockError::Elab { block: INFO.name.into(), errors })
}

/// All parts.
struct Bank<'a> {
    p: &'a L2Params,
    arrays: Arrays,
    mshrs: Mshrs,
    pool: Pool,
    writebacks: Writebacks,
    homes: Homes,
    fence: Fence,
    outs: Outputs,
    slot: Slot,
    landing: Landing,
}

/// Builds a bank. Channels: `local_req`, `remote_req`, `rsp_in`, `inv`, `mem_rsp`, `dir_rsp`, `fence_cmd`, `order` in; `local_rsp`, `req_out`, `rsp_out`, `inv_done`, `mem_req`, `dir_req`, `done`,
/// `fence_done`, `ordered` out.
///
/// # Errors
/// Mistakes in the description; parameters are checked where they are read.
pub fn moesi_l2(p: &L2Params) -> Result<Arc<Module>, ElabErrors> {
    Module::build(&p.module_name().replace("rec_l2_bank", "moesi_l2"), ModuleKind::Block, || {
        doc("One bank of the L2 of a node: copies in M, O, E, S and I, and the home side.");
        for (name, value) in [("home", p.home), ("sets", p.sets), ("ways", p.ways), ("pool", p.pool)] {
            param(name, value);
        }
        let bank = Bank {
            p,
            arrays: Arrays::new(p),
            mshrs: Mshrs::new(p),
            pool: Pool::new(p),
            writebacks: Writebacks::new(p),
            homes: Homes::new(p),
            fence: Fence::new(p),
            outs: Outputs::new(p),
            slot: Slot::new(p),
            landing: Landing::new(p),
        };
        bank.arrays.initialise();
        bank.choose();
        bank.act();
        bank.serve();
        bank.land();
        bank.pool.connect();
        bank.mshrs.connect();
        bank.homes.connect();
        bank.writebacks.used.connect();
        let quiet = !bank.writebacks.used.now.get().any() & !bank.outs.mem.waiting().any();
        let old = bank.slot.is(Class::Local) & bank.slot.request.get().epoch.ne(bank.fence.epoch.get());
        bank.fence.connect(quiet & !bank.landing.any(), old);
        bank.outs.connect();
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elaborates() {
        for words in [
            "",
            "gpus=2 banks=1 sets=2 ways=2 mshrs=8 pool=8 l1s=2 l1_mshrs=4 home=1",
            "gpus=3 gpms=2 sets=6 line=128",
        ] {
            let given = words.split(' ').filter_map(|word| word.split_once('='));
            let given = given.map(|(key, value)| (key.to_string(), value.to_string())).collect();
            let set = ParamSet::new(&INFO, &given).expect("legal");
            build_from(&set).unwrap_or_else(|e| panic!("{words}: {e}"));
        }
    }
}
