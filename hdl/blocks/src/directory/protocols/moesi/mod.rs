//! `moesi-directory`: the directory slice of a protocol with owners (docs/moesi.md section 4). It knows which other nodes hold lines of its home and who owns them, and has one
//! transaction of a line under way.
//!
//! ```text
//!  req -> skid --+-> S0 present set -> S1 compare, update, victim -> S2 write back
//!                |                       |     |     \------------------------------> rsp (a Put)
//!   +- queue, head first, when ----------+     | starts
//!   |  its line is free            (must wait) v
//!   +------------------------ pending table {line, count, requester, owner, ...} ---> rsp
//!                                  ^ ack: Ack, Done      ^ done: the own node    \--> FIFO of Invs, forwards, recalls -> inv
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `req` | in | op, src, line, id, owner | operations of a line are performed in their order |
//! | `rsp` | out | id, hit, evicted, empty, owner | in any order; when no Inv is awaited any more |
//! | `inv` | out | line, dest, cause, grp, owner | to the egress |
//! | `ack` | in | an end of the RSP network: the line in the lowest bits of `data`, owner | Ack, Done; always taken |
//! | `done` | in | line, written | of the home's own bank: it has the line, or memory has it (of a Put or a Recall); always taken |
//!
//! An operation that needs an entry and finds its set full replaces one first: that is a transaction of its own, of the line that loses its entry. Its row begins in one
//! cycle, the operation's in the next.
//!
//! # Deadlock
//! Rows wait for INV and RSP; operations wait for rows. No row waits for an operation: a Put that waits here stands in a buffer of its node that answers forwards and recalls.
//!
//! # Picture
//!
#![doc = include_str!("../../../../pictures/moesi-directory.svg")]

pub mod bank;
mod observe;
mod pending;
mod steps;
pub mod table;

use super::{Features, Protocol};
use crate::cache::l2::BankKind;
use crate::common::fifo::Fifo;
use crate::directory::evb::Victim;
use crate::directory::index::*;
use crate::directory::keys::dir_param_infos;
use crate::directory::lookup::*;
use crate::directory::params::{Covers, DirKind, DirParams, Layout, Policy, Sharers};
use crate::directory::recv::next_set;
use crate::directory::slice;
use crate::directory::stage2::{DirState, stage2, write_back};
use crate::directory::types::{Lookup, Plan, Source, Stage2};
use crate::directory::wait_queue::{Next, Stage1, WaitQueue};
use crate::msg::*;
use crate::registry::BlockInfo;
use pending::{Pending, Transaction};
use steps::plan;
use table::{Act, Comes, Found, Line, OwnComes, RowKind, machine, operations};
use weft_rtl::prelude::*;

static LAYOUT: Layout = Layout {
    name: "moesi",
    table: "moesi_table",
    info: BlockInfo {
        name: "moesi-directory",
        about: "directory slice of a protocol with owners: who owns a line, who shares it, one transaction of a line at a time",
        params: || dir_param_infos(DirKind::MOESI),
        build: |p| slice::build(DirKind::MOESI, p),
    },
    sharers: Sharers::Nodes,
    covers: Covers::Lines(1),
    acked: true,
    owners: true,
    operations: &[],
    published: (12288, 12, Policy::Lru),
    slice: describe,
    sets: [
        "gpus=2 gpms=1 entries=2 ways=1 pending=2",
        "gpus=2 gpms=3 home=5 entries=8 ways=4 evb_depth=1 pending=3",
        "gpus=3 gpms=2 home=1 entries=12 ways=2 line=64 tag_style=minimal banks=2 policy=fifo pending=4",
    ],
};

impl DirKind {
    /// Owner and sharers of a line among the other nodes (`moesi-directory`, docs/moesi.md).
    pub const MOESI: DirKind = DirKind::of(&LAYOUT);
}

struct MoesiFeatures;

impl Features for MoesiFeatures {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::MOESI)
    }

    fn bank(&self) -> &'static BankKind {
        &bank::KIND
    }
}

impl Protocol {
    /// MOESI: lines are owned by the L2 that writes them, data goes from owner to requester (docs/moesi.md).
    pub const MOESI: Protocol = Protocol::new("moesi", &MoesiFeatures);
}

/// An entry's owner and sharers.
#[derive(Clone, Copy)]
struct Holders {
    sharers: Bits,
    owned: Bool,
    owner: Bits,
}

impl Holders {
    /// Of an entry, or of none.
    fn of(p: &DirParams, entry: Bits, hit: Bool) -> Holders {
        let s = p.sharers();
        Holders {
            sharers: entry.slice(0, s) & hit.repeat(s),
            owned: entry.bit(s) & hit,
            owner: entry.slice(s + 1, p.sys.node_bits()),
        }
    }

    /// As an entry has them.
    fn bits(&self) -> Bits {
        pack(&[self.sharers, self.owned.bits(), self.owner & self.owned.repeat(self.owner.width())])
    }

    /// Somebody has a copy.
    fn any(&self) -> Bool {
        self.sharers.any() | self.owned
    }

    /// As a requester sees them.
    fn found(&self, hit: Bool, requester: Bits, src: Bits) -> Enum<Found> {
        let others = (self.sharers & !requester).any();
        let own = self.owned & self.owner.eq(src);
        let of = |alone, shared| mux(others, enum_lit(shared), enum_lit(alone));
        let owned = mux(own, of(Found::Own, Found::OwnShared), of(Found::Owned, Found::OwnedShared));
        mux(hit, mux(self.owned, owned, of(Found::Sole, Found::Shared)), enum_lit(Found::Miss))
    }
}

/// What S1 decides beside a [`Plan`].
struct Deed {
    before: Holders,
    /// The line has an entry afterwards.
    stays: Bool,
    told: Bits,
    row: Bool,
    asks: Bool,
    ask: Enum<Ask>,
    answer: Enum<HomeAnswer>,
    /// A Put is answered at once.
    stale: Bool,
    wait: Bool,
}

/// What a slice holds, and its channels.
struct Moesi<'a> {
    p: &'a DirParams,
    entries: Memory<Bits>,
    port: SramPort<Bits>,
    state: Reg<Enum<DirState>>,
    init_set: Reg<Bits>,
    run: Bool,
    req: InChannel<DirReq>,
    rsp: OutChannel<DirRsp>,
    inv: OutChannel<DirInv>,
    invs: Fifo<DirInv>,
    ages: Option<Ages>,
    queue: WaitQueue,
    rows: Pending,
    s1_valid: Reg<Bool>,
    s1: Reg<DirReq>,
    /// What is in S1 is the head of the queue, tried again.
    s1_again: Reg<Bool>,
    s2: Stage2,
    /// The Inv in S2 is of a replaced entry.
    s2_replaced: Reg<Bool>,
}

/// What keeps S1 from being performed.
struct Stops {
    /// The set is full: an entry is replaced first.
    full: Bool,
    no_way: Bool,
    rows_full: Bool,
    invs_full: Bool,
    rsp_blocked: Bool,
    /// One of the last four.
    stall: Bool,
}

fn describe(p: &DirParams) {
    param("pending", p.pending);
    let d = Moesi::new(p);
    let (valid, req) = (d.s1_valid.get(), d.s1.get());
    let op = req.owner.expect("messages of a slice with owners carry them");
    let source = Source { valid, any: valid, req, event: op.op.bits(), line: req.line };
    let look = lookup(p, source, &d.port, &d.s2);
    let (look, none) = d.with_way(look);
    let busy = d.rows.of_line(look.base).any();
    let behind = d.queue.of_group(look.base).any() & !d.s1_again.get();
    let line = mux(busy, enum_lit(Line::Busy), mux(behind, enum_lit(Line::Behind), enum_lit(Line::Free)));
    let decided = wire::<Bool>("s1_decided", ());
    let (plan, deed) = plan(p, &look, op, line.named("line"), decided.get());
    machine().check(&[]);
    let asks = d.go_on();
    let stops = d.stops(&look, &plan, &deed, (none, asks));
    let go = (valid & !deed.wait & !stops.stall & !stops.full).named("s1_go");
    let replaces = (valid & !deed.wait & !stops.stall & stops.full).named("s1_replaces");
    let joins = (valid & deed.wait & !d.s1_again.get()).named("s1_joins");
    let back = (valid & deed.wait & d.s1_again.get()).named("s1_back");
    decided.set(go | joins);
    d.perform((go, replaces), &look, &plan, &deed);
    when(joins, || d.queue.push(&look.req));
    when(go & d.s1_again.get(), || d.queue.pop());
    d.accept(go | joins | back, look.set);
    d.send(go & deed.stale);
    let answered = d.hear();
    d.queue.connect();
    d.rows.connect();
    write_back(p, &d.entries, (&d.state, &d.init_set), d.ages.as_ref(), &d.s2, || {});
    observe::observe(&observe::View {
        d: &d,
        look: &look,
        op,
        plan: &plan,
        deed: &deed,
        stops: &stops,
        go,
        replaces,
        joins,
        owned: Holders::of(p, look.old, bool_lit(true)).owned,
        answered: &answered,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::ParamSet;

    #[test]
    fn elaborates_at_its_sets() {
        for words in LAYOUT.sets {
            let given: std::collections::BTreeMap<String, String> = words
                .split(' ')
                .filter_map(|word| word.split_once('='))
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .collect();
            let set = ParamSet::new(&LAYOUT.info, &given).expect("legal");
            slice::build(DirKind::MOESI, &set).unwrap_or_else(|e| panic!("{words}: {e}"));
        }
    }
}
