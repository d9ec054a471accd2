//! Parameter sets of the blocks of sRSP, bRSP, hLRC and DeNovo-B (srsp.md).

/// Each block of `weft_srsp::blocks`, in its order, with three parameter sets.
pub const SETS: &[(&str, [&str; 3])] = &[
    (
        "srsp-l1",
        [
            "impl=brsp-token size=256 ways=2 latency=2 sfifo=2 pa=1 targets=1 sq=1 cus=2 banks=2 mshrs=2 wbt=2 addr_bits=32",
            "impl=srsp-opt size=1K ways=4 latency=5 sfifo=5 pa=3 aff=8 targets=3 sq=2 cus=5 banks=1 mshrs=3 wbt=3 addr_bits=33",
            "impl=brsp size=512 line=128 ways=2 sfifo=4 targets=2 sq=3 cus=1 banks=4 mshrs=1 wbt=4 addr_bits=40",
        ],
    ),
    ("sfifo", ["entries=2 addr_bits=32 line=128", "entries=6", "entries=24 addr_bits=64"]),
    ("lr-tbl", ["entries=2 addr_bits=32", "entries=5", "entries=16 addr_bits=64"]),
    ("pa-tbl", ["entries=1 addr_bits=32", "entries=5", "entries=16 addr_bits=64"]),
    ("sel-hub", ["cus=2 queue=1 addr_bits=32", "cus=5 queue=3 addr_bits=33", "cus=1 queue=4"]),
    ("lock-tbl", ["locks=1 cus=2 addr_bits=32", "locks=5 cus=3 line=128 addr_bits=33", "locks=8 cus=1"]),
    (
        "srsp-l2",
        [
            "size=512 ways=2 sfifo=4 locks=1 latency=5 l2_mshrs=2 targets=1 writes=1 cus=2 banks=2 mshrs=2 wbt=2 addr_bits=32",
            "impl=brsp-token size=1K ways=4 sfifo=3 locks=3 latency=9 l2_mshrs=3 targets=3 writes=3 cus=3 banks=1 mshrs=3 wbt=3 addr_bits=33",
            "impl=base size=4K line=128 ways=8 sfifo=8 locks=2 latency=7 l2_mshrs=5 targets=2 writes=5 cus=1 banks=4 mshrs=1 wbt=4 addr_bits=40",
        ],
    ),
    (
        "hlrc-l1",
        [
            "size=256 ways=2 latency=2 sfifo=2 targets=1 sq=1 cus=2 banks=2 mshrs=2 wbt=2 addr_bits=32",
            "size=1K ways=4 latency=5 sfifo=5 targets=3 sq=2 owned_aware=0 cus=5 banks=1 mshrs=3 wbt=3 addr_bits=33",
            "size=512 line=128 ways=2 sfifo=4 targets=2 sq=3 cus=1 banks=4 mshrs=1 wbt=4 addr_bits=40",
        ],
    ),
    (
        "hlrc-l2",
        [
            "size=512 ways=2 sfifo=4 revokes=1 latency=5 l2_mshrs=2 targets=1 writes=1 cus=2 banks=2 mshrs=2 wbt=2 addr_bits=32",
            "l2_write=combine owned_aware=0 size=1K ways=4 sfifo=3 revokes=3 latency=9 l2_mshrs=3 targets=3 writes=3 cus=3 banks=1 mshrs=3 wbt=3 addr_bits=33",
            "l2_write=combine size=4K line=128 ways=8 sfifo=8 revokes=5 latency=7 l2_mshrs=5 targets=2 writes=5 cus=1 banks=4 mshrs=1 wbt=4 addr_bits=40",
        ],
    ),
    (
        "denovo-b-l1",
        [
            "size=256 ways=2 latency=2 sfifo=2 targets=1 sq=1 cus=2 banks=2 mshrs=2 wbt=2 addr_bits=32",
            "size=1K ways=4 latency=5 sfifo=5 targets=3 sq=2 owned_aware=0 cus=5 banks=1 mshrs=3 wbt=3 addr_bits=33",
            "size=512 line=128 ways=2 sfifo=4 targets=2 sq=3 cus=1 banks=4 mshrs=1 wbt=4 addr_bits=40",
        ],
    ),
    (
        "denovo-b-l2",
        [
            "size=512 ways=2 sfifo=4 revokes=1 latency=5 l2_mshrs=2 targets=1 writes=1 cus=2 banks=2 mshrs=2 wbt=2 addr_bits=32",
            "owned_aware=0 size=1K ways=4 sfifo=3 revokes=3 latency=9 l2_mshrs=3 targets=3 writes=3 cus=3 banks=1 mshrs=3 wbt=3 addr_bits=33",
            "size=4K line=128 ways=8 sfifo=8 revokes=5 latency=7 l2_mshrs=5 targets=2 writes=5 cus=1 banks=4 mshrs=1 wbt=4 addr_bits=40",
        ],
    ),
];
