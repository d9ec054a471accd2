//! What a recording holds.

use serde::{Deserialize, Serialize};
use weft_workload::AmoKind;
use weft_workload::op::{Class, Scope, Sem};

/// What was run, and what the fabric promises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Name of the fabric.
    pub fabric: String,
    /// Name of the program.
    pub workload: String,
    /// Words of the command line that makes the same run without recording, the program's name left out.
    pub command: Vec<String>,
    /// Consistency model: `sc`, `drf0`, `drf1` or `drfrlx`.
    pub model: String,
    /// Scopes are honoured.
    pub scopes: bool,
    /// Data are coherent within a location, not only atomics.
    pub data_coherent: bool,
    /// An acknowledged store may not yet be performed as far as its scope.
    pub posted: bool,
    /// Bytes of a line.
    pub line: u32,
    /// Nodes of a GPU.
    pub gpms: u32,
    /// Compute units of a node that are CPU cores, the first ones.
    pub cores: u32,
}

/// A wave of the present kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Thread {
    /// Node: the GPU, or {GPU, GPM}.
    pub node: u32,
    /// Compute unit of the node.
    pub cu: u32,
    /// Work-group in flattened order.
    pub block: u32,
    /// Wave in its work-group.
    pub wave: u32,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Reads, modifies and writes each word; a compare-and-swap that fails writes nothing.
    Amo(AmoKind),
}

/// A line access: all bytes of one line that an operation of a wave accesses at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Thread of the present kernel, counted from 0 in order of [`Record::Thread`].
    pub thread: u32,
    /// Place of its operation among those of the thread, in program order; line accesses of one operation share it.
    pub index: u32,
    /// Loads, stores or both.
    pub kind: Kind,
    /// Class as the program says.
    pub class: Class,
    /// What a paired access orders; `Relaxed` of all others.
    pub sem: Sem,
    /// Scope as the program says.
    pub scope: Scope,
    /// Remote scope promotion.
    pub remote: bool,
    /// The program wants the values read.
    pub wanted: bool,
    /// The L1 tells when a store is performed, and `done` is that cycle.
    pub acked: bool,
    /// Bytes of each of its elements.
    pub size: u8,
    /// Byte address of the line.
    pub addr: u64,
    /// One bit for each byte accessed.
    pub mask: u128,
    /// The bytes read, lowest address first; none of a store.
    pub read: Vec<u8>,
    /// The bytes written; none of a load or of a compare-and-swap that fails.
    pub written: Vec<u8>,
    /// Cycle in which the L1 took it.
    pub taken: u64,
    /// Cycle of its last answer, or in which the L1 accepted it.
    pub done: u64,
    /// Operations of the thread whose values it stores, by place.
    pub data: Vec<u32>,
    /// Operations of the thread whose values the program has awaited since its operation before.
    pub awaited: Vec<u32>,
}

/// A fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Thread.
    pub thread: u32,
    /// Place in program order, as of accesses.
    pub index: u32,
    /// Acquire, release or both.
    pub sem: Sem,
    /// How far.
    pub scope: Scope,
    /// Cycle of its issue.
    pub taken: u64,
    /// Cycle in which all of it is done.
    pub done: u64,
    /// As of accesses.
    pub awaited: Vec<u32>,
}

/// One thing that is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The host puts bytes into memory, at most a page; before the first of them memory is zero.
    Memory {
        /// Byte address.
        addr: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A kernel begins.
    Kernel {
        /// Its name.
        name: String,
        /// Cycle of the first KBEGIN.
        cycle: u64,
    },
    /// The next thread of the kernel.
    Thread(Thread),
    /// The barrier of a work-group opens: everything before it of the group's threads is complete.
    Barrier {
        /// Work-group.
        block: u32,
        /// Cycle.
        cycle: u64,
    },
    /// An access.
    Access(Box<Access>),
    /// A fence.
    Fence(Fence),
    /// An access that was under way when the recording ended: its bytes may have been written, or not.
    Open(Box<Access>),
    /// The kernel is complete.
    Boundary {
        /// Cycle of its last fence.
        cycle: u64,
    },
    /// The run has ended.
    End {
        /// Last cycle.
        cycle: u64,
        /// Why it failed, if it has.
        failure: Option<String>,
    },
}
