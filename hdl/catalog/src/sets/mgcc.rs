//! Parameter sets of the blocks of MGPU-TSM (mgcc.md).

/// Each block of `weft_mgcc::blocks`, in its order, with three parameter sets.
pub const SETS: &[(&str, [&str; 3])] = &[
    (
        "mgcc-l1",
        [
            "size=256 ways=2 latency=3 pool=2 gpus=2 cus=2 banks=2 l1_mshrs=2 addr_bits=32",
            "size=1K ways=4 latency=7 pool=3 consistency=sc self_inc=3 cus=3 banks=1 l1_mshrs=5 ts=7 eb=3 cts=10 addr_bits=33",
            "size=512 ways=2 latency=4 pool=5 coherence=none cus=1 banks=4 lanes=1 l1_mshrs=1 l2_mshrs=3 il=6 addr_bits=40",
        ],
    ),
    (
        "mgcc-l2",
        [
            "size=256 ways=2 pool=2 gpus=2 cus=2 banks=2 l1_mshrs=2 l2_mshrs=2 addr_bits=32",
            "size=1K ways=4 pool=3 read_ts=eager gpus=1 cus=3 banks=1 l1_mshrs=5 l2_mshrs=3 ts=7 eb=3 cts=10 addr_bits=33",
            "size=128 ways=2 pool=1 coherence=none cus=1 banks=4 lanes=1 l1_mshrs=1 l2_mshrs=1 il=6 addr_bits=40",
        ],
    ),
    (
        "l2-wb",
        [
            "size=256 ways=2 pool=2 gpus=2 cus=2 banks=2 l1_mshrs=2 l2_mshrs=2 addr_bits=32",
            "size=1K ways=4 pool=3 wrsp_data=always home=36 gpus=1 cus=3 banks=1 l1_mshrs=5 l2_mshrs=3 addr_bits=33",
            "size=128 ways=2 pool=1 cus=1 banks=4 lanes=1 l1_mshrs=1 l2_mshrs=1 il=6 addr_bits=40",
        ],
    ),
    (
        "gtsc-l1",
        [
            "size=256 ways=2 latency=3 pool=2 gpus=1 cus=2 banks=2 l1_mshrs=2 addr_bits=32",
            "size=1K ways=4 latency=7 pool=3 self_inc=3 repl_ts=1 gpus=1 cus=3 banks=1 l1_mshrs=5 ts=7 eb=3 cts=10 addr_bits=33",
            "size=512 ways=2 latency=4 pool=5 gpus=1 cus=1 banks=4 lanes=1 l1_mshrs=1 l2_mshrs=3 il=6 addr_bits=40",
        ],
    ),
    (
        "gtsc-l2",
        [
            "size=256 ways=2 pool=2 gpus=1 cus=2 banks=2 l1_mshrs=2 l2_mshrs=2 addr_bits=32",
            "size=1K ways=4 pool=3 gpus=1 cus=3 banks=1 l1_mshrs=5 l2_mshrs=3 ts=7 eb=3 cts=10 addr_bits=33",
            "size=128 ways=2 pool=1 gpus=1 cus=1 banks=4 lanes=1 l1_mshrs=1 l2_mshrs=1 il=6 addr_bits=40",
        ],
    ),
    (
        "tsu",
        [
            "sets=1 ways=1 latency=2 gpus=2 cus=2 banks=2 lanes=1 addr_bits=32",
            "sets=4 ways=3 latency=5 rd_extend=cover ts=7 eb=3 cts=10 lanes=4 addr_bits=33",
            "sets=2 ways=4 latency=3 wts=bound ts=11 banks=1 addr_bits=40",
        ],
    ),
    (
        "reqtracker",
        [
            "entries=4 age_max=1 gpus=2 cus=2 banks=2 lanes=1 l2_mshrs=3 addr_bits=32",
            "entries=5 age_max=5 consistency=sc merge_raw=1 gpus=1 ts=7 eb=3 cts=10 l2_mshrs=5 addr_bits=33",
            "entries=7 age_max=3 coherence=none wrsp_data=always l2_mshrs=1 banks=1 addr_bits=40",
        ],
    ),
    (
        "umc-lane",
        [
            "entries=4 age_max=2 sets=1 ways=2 latency=2 gpus=2 cus=2 banks=2 lanes=1 l2_mshrs=3 addr_bits=32",
            "entries=5 consistency=sc merge_raw=1 sets=2 ways=3 latency=6 gpus=1 ts=7 eb=3 cts=10 addr_bits=33",
            "entries=6 coherence=none lanes=2 banks=1 addr_bits=40",
        ],
    ),
    (
        "umc",
        [
            "entries=4 age_max=2 sets=1 ways=2 latency=2 gpus=2 cus=2 banks=2 lanes=2 l2_mshrs=3 addr_bits=32",
            "entries=4 consistency=sc merge_raw=1 sets=2 ways=1 latency=4 gpus=1 lanes=4 ts=7 eb=3 cts=10 addr_bits=33",
            "entries=4 coherence=none gpus=4 lanes=1 banks=1 il=6 addr_bits=40",
        ],
    ),
    ("epoch-ctl", ["gpus=1 banks=1", "gpus=4 banks=2 ts=7 eb=3 cts=10", "gpus=2 banks=4 ts=32 cts=64"]),
    ("gpu-relay", ["leaves=1", "leaves=5 ts=7 eb=3 cts=10", "leaves=9 ts=32 cts=64"]),
    ("tsm-maint", ["banks=1", "banks=3", "banks=16"]),
    (
        "tsm-switch",
        [
            "gpus=1 link_bpc=4 latency=1 credits_req=1 credits_rsp=2 addr_bits=32 l2_mshrs=2",
            "gpus=4 link_bpc=16 latency=3 credits_req=3 credits_rsp=2 ts=7 eb=3 cts=10 addr_bits=33 l2_mshrs=5",
            "gpus=2 link_bpc=512 latency=5 credits_req=17 credits_rsp=4 coherence=none addr_bits=40",
        ],
    ),
    (
        "rdma-engine",
        [
            "gpus=2 cus=2 entries=2 slots=2 banks=2 l1_mshrs=2 addr_bits=32 home_bits=20",
            "gpus=4 cus=3 entries=5 slots=7 banks=1 l1_mshrs=4 addr_bits=33 home_bits=16",
            "gpus=16 cus=1 entries=1 slots=1 banks=4 l1_mshrs=1 il=6 addr_bits=40 home_bits=36",
        ],
    ),
    (
        "pcie-switch",
        [
            "gpus=2 link_bpc=4 latency=2 credits_req=1 credits_rsp=2 entries=3 addr_bits=32 home_bits=20",
            "gpus=4 link_bpc=32 latency=3 credits_req=3 credits_rsp=2 entries=8 addr_bits=33 home_bits=16",
            "gpus=8 link_bpc=512 latency=5 credits_req=17 credits_rsp=4 entries=1 addr_bits=40",
        ],
    ),
    (
        "dram-port",
        [
            "gpus=2 l2_mshrs=1 addr_bits=32",
            "gpus=4 l2_mshrs=5 addr_bits=33 ts=7 eb=3 cts=10",
            "gpus=16 l2_mshrs=256 addr_bits=40",
        ],
    ),
];
