//! Parameter sets of the blocks of Spandex (spandex.md).

/// Each block of `weft_spandex::blocks`, in its order, with three parameter sets.
pub const SETS: &[(&str, [&str; 3])] = &[
    (
        "spandex-llc",
        [
            "cpus=2 cus=2 sharers=2 addr_bits=32 line=16 banks=1 mshrs=4 sb=4 wbb=2 tbes=2 size=256 ways=2 n_stall=2",
            "cpus=1 cus=5 sharers=3 addr_bits=37 line=32 banks=4 mshrs=5 sb=3 wbb=2 tbes=3 size=1K ways=4 n_stall=5 reqs_policy=opt1 rvko_gran=word flex_rsp=0 sharer_mode=broadcast",
            "cpus=0 cus=7 sharers=0 addr_bits=40 line=8 banks=2 mshrs=8 sb=2 wbb=3 tbes=5 size=512 ways=8 n_stall=17",
        ],
    ),
    (
        "gpu-l1",
        [
            "size=64 ways=2 line=8 targets=1 releases=1 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32 sb_drain=eager",
            "size=2K ways=4 line=32 latency=3 targets=3 releases=3 mshrs=5 sb=7 cpus=3 cus=2 sharers=3 sb_drain=highwater",
            "size=8K mshrs=16 sb=16 latency=2 addr_bits=40",
        ],
    ),
    (
        "tu-gpu",
        [
            "line=8 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32 n_fail=7",
            "line=32 mshrs=5 sb=7 cpus=3 cus=2 sharers=3 n_fail=2",
            "mshrs=16 sb=16 addr_bits=40 n_fail=3",
        ],
    ),
    (
        "denovo-l1",
        [
            "size=64 ways=2 line=8 targets=1 releases=1 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32 sb_drain=eager",
            "size=2K ways=4 line=32 latency=3 targets=3 releases=3 mshrs=5 sb=7 wbb=3 cpus=3 cus=2 sharers=3 sb_drain=highwater",
            "size=8K mshrs=16 sb=16 wbb=4 latency=2 addr_bits=40",
        ],
    ),
    (
        "tu-denovo",
        [
            "line=8 mshrs=1 sb=1 banks=1 cpus=0 cus=1 sharers=0 n_fail=7",
            "line=32 mshrs=5 sb=7 cpus=3 cus=2 sharers=3 n_fail=2",
            "mshrs=16 addr_bits=40 n_fail=3",
        ],
    ),
    (
        "stash",
        [
            "size=16 stash_banks=2 maps=2 line=8 targets=1 releases=1 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32 sb_drain=eager",
            "size=1K stash_banks=16 maps=8 line=32 targets=3 releases=3 mshrs=5 sb=7 wbb=3 cpus=3 cus=2 sharers=3 sb_drain=highwater",
            "size=4K stash_banks=64 maps=16 mshrs=16 sb=16 wbb=4 addr_bits=40",
        ],
    ),
    (
        "flex-l1",
        [
            "size=64 ways=2 line=8 targets=1 releases=1 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=1 addr_bits=32 sb_drain=eager",
            "size=2K ways=4 line=32 latency=3 targets=3 releases=3 mshrs=5 sb=7 wbb=3 cpus=3 cus=2 sharers=5 sb_drain=highwater",
            "size=8K mshrs=16 sb=16 wbb=4 latency=2 sharers=24 addr_bits=40",
        ],
    ),
    (
        "owner-predictor",
        [
            "entries=2 cpus=0 cus=1 sharers=0 addr_bits=32",
            "entries=16 cpus=3 cus=2 sharers=3 line=32",
            "sharers=24 addr_bits=40",
        ],
    ),
    (
        "tu-flex",
        [
            "line=8 mshrs=1 sb=1 banks=1 cpus=0 cus=1 sharers=1 n_fail=7",
            "line=32 mshrs=5 sb=7 cpus=3 cus=2 sharers=5 n_fail=2 opred=table entries=4",
            "mshrs=16 sharers=24 addr_bits=40 n_fail=3",
        ],
    ),
    (
        "spandex-router",
        [
            "columns=1 rows=1 line=8 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32",
            "columns=3 rows=5 gpus=2 line=32 mshrs=5 sb=7 wbb=3 cpus=4 cus=6 sharers=3 banks=4 addr_bits=37",
            "columns=2 rows=8 line=16 mshrs=16 sb=16 wbb=4 cpus=2 cus=16 sharers=2 banks=8",
        ],
    ),
    (
        "spandex-link-tx",
        [
            "bytes=5 latency=2 credits=1 line=8 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32",
            "bytes=7 latency=9 credits=5 line=32 mshrs=5 sb=7 wbb=3 cpus=3 cus=6 sharers=3 banks=4 addr_bits=37",
            "bytes=100 latency=3 credits=16 mshrs=16 sb=16 wbb=4 cpus=2 cus=16 sharers=2 banks=8",
        ],
    ),
    (
        "spandex-link-rx",
        [
            "latency=2 credits=1 line=8 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32",
            "latency=9 credits=5 line=32 mshrs=5 sb=7 wbb=3 cpus=3 cus=6 sharers=3 banks=4 addr_bits=37",
            "latency=3 credits=16 mshrs=16 sb=16 wbb=4 cpus=2 cus=16 sharers=2 banks=8",
        ],
    ),
    (
        "mesi-l1",
        [
            "size=128 ways=2 line=32 cpus=2 cus=2 sharers=2 addr_bits=32 banks=2 mshrs=3 sb=6 wbb=2 tbes=4",
            "size=2K ways=8 line=64 cpus=3 cus=2 sharers=3 addr_bits=40 banks=1 mshrs=5 sb=11 wbb=3 tbes=5 sync_own=0 weak_reads=1",
            "size=1K ways=4 line=16 cpus=1 cus=1 sharers=1 addr_bits=48 banks=4 mshrs=1 sb=2 wbb=1 tbes=1",
        ],
    ),
    (
        "tu-mesi",
        [
            "size=128 ways=2 line=32 cpus=2 cus=2 sharers=2 addr_bits=32 banks=2 mshrs=3 sb=6 wbb=2 tbes=4",
            "size=2K ways=8 line=64 cpus=3 cus=2 sharers=3 addr_bits=40 banks=1 mshrs=5 sb=11 wbb=3 tbes=5 flex_rsp=0",
            "size=1K ways=4 line=16 cpus=1 cus=1 sharers=1 addr_bits=48 banks=4 mshrs=1 sb=2 wbb=1 tbes=1",
        ],
    ),
    (
        "hmesi-client",
        [
            "size=128 ways=2 line=32 cpus=2 cus=2 sharers=2 addr_bits=32 banks=2 mshrs=3 sb=6 wbb=2 tbes=4",
            "size=2K ways=8 line=64 cpus=3 cus=2 sharers=3 addr_bits=40 banks=1 mshrs=5 sb=11 wbb=3 tbes=5",
            "size=1K ways=4 line=16 cpus=1 cus=1 sharers=1 addr_bits=48 banks=4 mshrs=1 sb=2 wbb=1 tbes=1",
        ],
    ),
    (
        "mesi-llc",
        [
            "cpus=2 cus=2 sharers=2 addr_bits=32 line=16 banks=1 mshrs=4 sb=4 wbb=2 tbes=2 size=256 ways=2 n_stall=2",
            "cpus=5 cus=1 sharers=5 addr_bits=37 line=32 banks=4 mshrs=5 sb=3 wbb=2 tbes=3 size=1K ways=4 n_stall=5",
            "cpus=0 cus=7 sharers=0 addr_bits=40 line=8 banks=2 mshrs=8 sb=2 wbb=3 tbes=5 size=512 ways=8 n_stall=17",
        ],
    ),
    (
        "gpu-l2",
        [
            "cpus=2 cus=2 sharers=2 addr_bits=32 line=16 banks=1 mshrs=4 sb=4 wbb=2 tbes=2 size=256 ways=2 n_stall=2",
            "cpus=1 cus=5 sharers=1 addr_bits=37 line=32 banks=4 mshrs=5 sb=3 wbb=2 tbes=3 size=1K ways=4 n_stall=5 rvko_gran=word flex_rsp=0",
            "cpus=0 cus=7 sharers=0 addr_bits=40 line=8 banks=2 mshrs=8 sb=2 wbb=3 tbes=5 size=512 ways=8 n_stall=17",
        ],
    ),
];

/// Sets whose transition tables have rows that those of [`SETS`] lack.
pub const MORE: &[(&str, [&str; 3])] = &[
    (
        "spandex-llc",
        [
            "cpus=2 cus=2 sharers=2 addr_bits=32 line=16 banks=1 mshrs=4 sb=4 wbb=2 tbes=2 size=256 ways=2 n_stall=2 reqs_policy=opt2",
            "cpus=1 cus=5 sharers=3 addr_bits=37 line=32 banks=4 mshrs=5 sb=3 wbb=2 tbes=3 size=1K ways=4 n_stall=5 reqs_policy=opt2 rvko_gran=word flex_rsp=0",
            "cpus=3 cus=4 sharers=7 addr_bits=40 line=8 banks=2 mshrs=8 sb=2 wbb=3 tbes=5 size=512 ways=8 n_stall=17 reqs_policy=opt3 sharer_mode=broadcast",
        ],
    ),
    (
        "gpu-l1",
        [
            "scopes=1 size=64 ways=2 line=8 targets=1 releases=1 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=0 cus=1 sharers=0 addr_bits=32 sb_drain=eager",
            "scopes=1 hold=1 size=2K ways=4 line=32 latency=3 targets=3 releases=3 mshrs=5 sb=7 cpus=3 cus=2 sharers=3 sb_drain=highwater",
            "hold=1 size=8K mshrs=16 sb=16 latency=2 addr_bits=40",
        ],
    ),
    (
        "denovo-l1",
        [
            "atomics=through size=64 ways=2 line=8 targets=1 releases=1 mshrs=1 sb=1 wbb=1 tbes=1 banks=1 cpus=1 cus=1 sharers=0 addr_bits=32",
            "atomics=through regions=1 size=2K ways=4 line=32 latency=3 targets=3 releases=3 mshrs=5 sb=7 wbb=3 cpus=3 cus=2 sharers=3 sb_drain=highwater",
            "regions=1 scopes=1 hold=1 size=1K mshrs=16 sb=16 wbb=4 latency=2 addr_bits=40",
        ],
    ),
];
