//! Parameter sets of the blocks that everything is compared at: small ones and odd ones, where widths and indices do not fit by chance.

mod mgcc;
mod spandex;
mod srsp;

use std::collections::BTreeMap;
use weft_blocks::cache::l2;
use weft_blocks::directory::protocols::{banks, kinds};

/// A block with three parameter sets as `key=value` words.
pub type Sets = (&'static str, [&'static str; 3]);

/// Each block of the catalog, in its order, with three parameter sets. The defaults are no set of it.
pub fn all() -> impl DoubleEndedIterator<Item = Sets> {
    let bank = std::iter::once((l2::KIND.info.name, l2::KIND.sets));
    let families = [mgcc::SETS, srsp::SETS, spandex::SETS];
    let rest = REST.iter().copied().chain(bank).chain(families.into_iter().flatten().copied());
    SETS.iter().copied().chain(of_protocols()).chain(rest)
}

/// The blocks that protocols of the directory family bring, in the order in which they are listed.
pub fn of_protocols() -> impl DoubleEndedIterator<Item = Sets> {
    let directories = kinds().into_iter().map(|kind| (kind.info.name, kind.sets));
    directories.chain(banks().into_iter().map(|kind| (kind.info.name, kind.sets)))
}

/// The blocks of `weft_blocks` before its directories, whose protocols have theirs.
const SETS: &[Sets] = &[
    ("fifo", ["depth=1 width=1", "depth=3 width=65", "depth=17"]),
    ("delay-queue", ["cycles=3 width=1", "cycles=11 width=65", "cycles=40"]),
    ("round-robin-arbiter", ["inputs=1 width=3", "inputs=3", "inputs=5 width=70"]),
    ("oldest-first-arbiter", ["inputs=1 width=3", "inputs=3", "inputs=5 width=70"]),
    ("crossbar", ["inputs=1 outputs=3 width=8", "inputs=3 outputs=1 width=1", "inputs=3 outputs=5 width=33"]),
    (
        "set-assoc-array",
        ["sets=2 ways=1 key_bits=4", "sets=4 ways=3 key_bits=6 policy=fifo", "sets=2 ways=8 key_bits=64"],
    ),
    ("cam", ["entries=1 key_bits=1", "entries=7 key_bits=3", "entries=4 key_bits=64"]),
    (
        "mshr-file",
        [
            "entries=1 targets=1 line_bits=1 target_bits=1",
            "entries=3 targets=2 line_bits=3 target_bits=9",
            "entries=4 targets=5 line_bits=42",
        ],
    ),
    (
        "link-tx",
        [
            "bytes_per_cycle=6 latency=2 credits_req=1",
            "bytes_per_cycle=25 latency=9 gpus=2 credits_req=4 credits_rsp=4 credits_inv=3",
            "line=128 bytes_per_cycle=200 latency=3 credits_req=2 credits_rsp=2 credits_inv=2",
        ],
    ),
    (
        "link-rx",
        [
            "bytes_per_cycle=6 latency=2 credits_req=1 credits_rsp=2 credits_inv=3",
            "bytes_per_cycle=25 latency=9 gpus=2 credits_req=4 credits_rsp=4 credits_inv=3",
            "line=128 bytes_per_cycle=200 latency=3 credits_req=2 credits_rsp=2 credits_inv=2",
        ],
    ),
    (
        "phit-tx",
        [
            "bytes_per_cycle=6 latency=3 credits_req=1",
            "bytes_per_cycle=25 latency=9 gpus=2 credits_req=4 credits_rsp=4 credits_inv=3",
            "line=128 bytes_per_cycle=200 latency=3 credits_req=2 credits_rsp=2 credits_inv=2",
        ],
    ),
    (
        "phit-rx",
        [
            "bytes_per_cycle=6 latency=3 credits_req=1 credits_rsp=2 credits_inv=3",
            "bytes_per_cycle=25 latency=9 gpus=2 credits_req=4 credits_rsp=4 credits_inv=3",
            "line=128 bytes_per_cycle=200 latency=3 credits_req=2 credits_rsp=2 credits_inv=2",
        ],
    ),
    (
        "switch",
        [
            "gpus=2 bytes_per_cycle=25 latency=2 credits_req=2 credits_rsp=2 credits_inv=2",
            "gpus=3 bytes_per_cycle=6 latency=2 credits_req=1 credits_rsp=1 credits_inv=1 addr_bits=32 home_shift=28",
            "gpus=2 line=128 bytes_per_cycle=64 latency=4 credits_req=3 credits_rsp=2 credits_inv=1",
        ],
    ),
    (
        "traffic-gen",
        ["outstanding=1 span=2", "gpus=3 outstanding=4 span=16 interval=3", "stores=256 atomics=0 line=128"],
    ),
    (
        "dram-stub",
        [
            "rows=2 latency=1 depth=1",
            "rows=8 latency=5 depth=3 banks=4 il=256",
            "line=128 rows=4 latency=2 depth=2",
        ],
    ),
];

/// Those of the blocks after its directories.
const REST: &[Sets] = &[
    (
        "inv-egress",
        [
            "gpus=2 links=1 slices=1",
            "gpus=3 links=2 slices=3 home=1",
            "gpus=3 gpms=3 home=5 links=2 planes=1 slices=2 banks=2",
        ],
    ),
    (
        "inv-ingress",
        [
            "gpus=2 links=1 banks=1",
            "gpus=3 links=2 banks=4 home=1",
            "gpus=3 gpms=3 home=5 links=2 planes=1 banks=2",
        ],
    ),
    ("fence-unit", ["gpus=2 banks=1", "gpus=3 banks=2 home=1 flush=off", "gpus=5 banks=4 home=4"]),
    (
        "hier-fence-unit",
        [
            "gpus=2 gpms=2 banks=1 flush=on",
            "gpus=3 gpms=3 banks=2 home=5 line=64",
            "gpus=2 gpms=4 banks=1 home=6 scheme=sw-hierarchical",
        ],
    ),
    (
        "l1-cache",
        [
            "size=256 ways=2 mshrs=2 targets=1 stores=1 latency=3",
            "size=1K ways=4 mshrs=4 targets=3 stores=5 latency=7 gpus=2 gpms=3 bypass_remote=1",
            "size=1K line=128 ways=4 mshrs=3 targets=2 stores=3 latency=4 scoped=1 store_scope=1",
        ],
    ),
];

/// Further sets of blocks that have more sorts than three sets show.
pub fn more() -> impl DoubleEndedIterator<Item = Sets> {
    [MORE, spandex::MORE].into_iter().flatten().copied()
}

/// Those of the blocks of `weft_blocks`.
const MORE: &[Sets] = &[
    (
        "l2-bank",
        [
            "gpus=2 gpms=2 home=2 home_shift=32 hier=1 sets=2 ways=2 mshrs=4 pool=6 banks=1 l1s=2 l1_mshrs=2 group=2",
            "gpus=4 gpms=2 home=3 hier=1 drops=1 dir=0 sets=24 ways=2 mshrs=5 pool=8 banks=2 group=1",
            "gpus=2 gpms=4 home=6 scoped=1 drops=1 dir=0 caching=own_gpu sets=4 ways=4 mshrs=4 pool=4 banks=2",
        ],
    ),
    (
        "l2-bank",
        [
            "gpus=2 gpms=2 home=1 hier=1 drops=1 drops_all=1 dir=0 sets=16 ways=2 mshrs=4 pool=6 banks=2",
            "gpus=2 gpms=2 home=3 hier=1 drops=1 drops_all=1 dir=0 write_back=1 sets=6 ways=4 mshrs=4 pool=8 banks=1",
            "gpus=3 gpms=2 home=2 scoped=1 drops=1 drops_all=1 dir=0 sets=4 ways=4 mshrs=5 pool=6 banks=2 line=128",
        ],
    ),
    (
        "inv-egress",
        [
            "gpus=2 gpms=2 home=3 links=2 planes=1 far=1 slices=1 banks=1",
            "gpus=3 gpms=3 home=5 links=2 planes=1 far=1 slices=2 banks=2",
            "gpus=1 gpms=4 home=2 links=2 planes=1 far=1 slices=2 banks=1",
        ],
    ),
    (
        "inv-ingress",
        [
            "gpus=2 gpms=2 home=3 links=2 planes=1 far=1 banks=1",
            "gpus=3 gpms=3 home=5 links=2 planes=1 far=1 banks=2 acks=1",
            "gpus=1 gpms=4 home=2 links=2 planes=1 far=1 banks=1",
        ],
    ),
    (
        "hier-fence-unit",
        [
            "gpus=2 gpms=2 banks=1 scheme=drain flush=on",
            "gpus=3 gpms=3 home=5 banks=2 scheme=drain line=64",
            "gpus=1 gpms=4 home=2 banks=1 scheme=drain",
        ],
    ),
    (
        "l2-bank",
        [
            "gpus=2 gpms=2 home=2 scoped=1 acks=1 sets=4 ways=2 mshrs=4 pool=6 banks=2 l1s=2 l1_mshrs=2 group=2",
            "gpus=3 gpms=1 home=1 acks=1 sets=2 ways=2 mshrs=4 pool=4 banks=1 line=128",
            "gpus=2 gpms=4 home=6 scoped=1 acks=1 sets=3 ways=2 mshrs=5 pool=8 banks=2 group=1",
        ],
    ),
    (
        "hier-fence-unit",
        [
            "gpus=2 gpms=2 banks=1 scheme=flat flush=on",
            "gpus=3 gpms=3 home=5 banks=2 scheme=flat line=64",
            "gpus=4 gpms=1 home=2 banks=1 scheme=hmg",
        ],
    ),
    (
        "hier-fence-unit",
        [
            "gpus=2 gpms=2 banks=1 scheme=joined flush=on",
            "gpus=3 gpms=3 home=5 banks=2 scheme=joined line=64",
            "gpus=4 gpms=2 home=6 banks=1 scheme=joined",
        ],
    ),
];

/// The parameters that `key=value` words name.
///
/// # Panics
/// When a word has no `=`.
pub fn given(words: &str) -> BTreeMap<String, String> {
    let pairs = words.split_whitespace().map(|w| w.split_once('=').expect("key=value"));
    pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect()
}
