//! What the rules let pass, each with its reason.

/// Settings beside which a parameter has further values: block (empty: all that have the parameters),
/// settings, reason.
pub const COMPANIONS: &[(&str, &str, &str)] = &[
    ("", "home_shift=24", "the node's number must fit above it into 32 address bits"),
    (
        "",
        "addr_bits=64 banks=1 home_shift=40",
        "only so many address bits have room above 60, so few banks below 12",
    ),
    ("traffic-gen", "addr_bits=64 banks=1 span=2", "its lines fit the memory of a GPU"),
    ("l1-cache", "addr_bits=64", "only so many address bits have room above 60"),
    ("", "gpms=2", "a system has at least two nodes, so a single GPU has GPMs"),
    ("", "pool=256 gpms=1", "it is no smaller than the number of MSHRs"),
    ("l2-bank", "hier=1", "a bank that stores stay in has GPU homes"),
    ("stash", "line=16", "a bank holds at most one word of a line"),
    ("pcie-switch", "il=6 banks=1", "bits that choose the bank lie inside the memory of a GPU"),
];

/// Parameters that are not in the name because they do not change the hardware, of which the test makes
/// sure: keys, blocks, reason.
pub const NO_PART_OF: &[(&[&str], &[&str], &str)] = &[
    (
        &["home_shift", "il", "l1_mshrs", "l1s"],
        &["link-tx", "link-rx", "switch", "fence-unit", "hier-fence-unit", "inv-egress"],
        "messages between nodes do not name an L1, nor does what passes them on look at addresses",
    ),
    (&["home_shift", "l1_mshrs", "l1s"], &["inv-ingress"], "so do invalidations; it looks for the bank"),
    (&["home_shift", "l1_mshrs", "l1s"], &["dram-stub"], "a bank asks, not an L1; the channel has no home"),
    (&["il", "l1_mshrs", "l1s"], &["traffic-gen"], "a CU knows neither banks nor L1s"),
    (&["home_shift"], &["l1-cache"], "only a cache that does not keep all lines looks at their home"),
    (&["far"], &["inv-egress", "inv-ingress"], "it is how far a plane reaches, without planes nothing"),
    (&["read_ts"], &["mgcc-l1"], "auto is one of the others"),
    (&["entries"], &["tu-flex"], "only one way to predict has a table"),
    (
        &["banks", "mshrs", "wbt"],
        &["lock-tbl", "sel-hub"],
        "its messages lack these numbers of an L1 and a bank",
    ),
    (&["line"], &["sel-hub"], "probes name words, not lines"),
];

/// Blocks whose legal values are joined by one sum, which a range for each cannot say: block, reason.
pub const JOINED: &[(&str, &str)] = &[
    ("phit-tx", "numbers of GPUs, banks, requests and lines share a header; a refusal says what would fit"),
    ("phit-rx", "as phit-tx"),
];

/// Blocks whose picture is not that of their defaults: block, settings, reason.
pub const PICTURED: &[(&str, &str, &str)] = &[(
    "tu-flex",
    "mshrs=16 addr_bits=40 n_fail=3 opred=table",
    "the predictor is shown, which defaults lack",
)];

/// What is legal, told in words: only a few values are tried.
pub const IN_WORDS: &[&str] = &[
    "a node {GPU, GPM} that exists",
    "banks * ways * c * 2^k, c odd, at most 15",
    "power of two, 2 to 64 lines, at most il",
    "power of two, at least a group and at least 4 lines",
    "power of two, at least a line",
    "power of two, at least a range and at least 4 lines",
];

/// Values that are legal, but not beside others: block, settings, the parameter that is refused, words of
/// the refusal.
pub const APART: &[(&str, &str, &str, &str)] = &[
    ("mgcc-l1", "size=12K ways=3", "ways", "2, 4, 8, 16"),
    ("mgcc-l1", "consistency=sc read_ts=deferred", "read_ts", "eager with sc"),
    ("mgcc-l1", "consistency=sc self_inc=0", "self_inc", "2..65535"),
    ("srsp-l1", "size=12K ways=3", "ways", "2, 4, 8, 16"),
    ("hlrc-l1", "size=12K ways=3", "ways", "2, 4, 8, 16"),
    ("denovo-b-l1", "size=12K ways=3", "ways", "2, 4, 8, 16"),
    ("gpu-l1", "size=12K ways=3", "ways", "2, 4, 8, 16"),
    ("mesi-l1", "size=12K ways=3", "ways", "2, 4, 8, 16"),
    ("tu-mesi", "size=12K ways=3", "ways", "2, 4, 8, 16"),
    ("stash", "stash_banks=8", "stash_banks", "at least the words of a line"),
    ("spandex-router", "gpus=4 cus=6", "cus", "a multiple of gpus = 4"),
    ("spandex-llc", "cpus=1 cus=1 sharers=3", "sharers", "0..cpus + cus"),
    ("set-assoc-array", "sets=256 key_bits=8", "key_bits", "log2(sets)+1..64"),
    ("traffic-gen", "stores=200 atomics=57", "atomics", "256 - stores"),
    ("l2-bank", "hier=1 acks=1", "acks", "without hier"),
    ("l2-bank", "write_back=1", "write_back", "only with hier"),
    ("l2-bank", "downgrade=1", "downgrade", "only with hier"),
    ("l2-bank", "pool=63", "pool", "mshrs..1024"),
    ("l2-wb", "home=47", "home", "0, addr_bits..64"),
    ("srsp-l2", "banks=8 sfifo=8", "sfifo", "a multiple of banks"),
];

/// Ports that are of no channel and have no sentence where they are declared, as inputs never have: end of
/// the name without number, sentence.
pub const LONE: &[(&str, &str)] = &[
    ("own", "number of this block in its system"),
    ("own_gpu", "number of the GPU that the block belongs to"),
    ("own_l1", "number of this L1 in its GPU"),
    ("x", "column of this router in its mesh"),
    ("y", "row of this router in its mesh"),
    ("gpu", "number of the GPU whose mesh the router belongs to"),
    ("lease", "logical time that a read or a write is granted"),
    ("epoch", "epoch of logical time"),
    ("enable", "requests are made"),
    ("seed", "where the random numbers begin"),
    ("idle", "no request is under way"),
    ("same_line", "the request that left in the cycle before is of a line under way"),
    ("phit", "bytes that cross the link in this cycle"),
    ("phit_head", "a message begins in this phit"),
    ("credit_req", "a place for a request has become free at the far end"),
    ("credit_rsp", "a place for a response has become free at the far end"),
    ("credit_inv", "a place for an invalidation has become free at the far end"),
    ("credit_fwd", "a place for a forward has become free at the far end"),
    ("credit_wb", "a place for a write-back has become free at the far end"),
    ("look_line", "line whose owner is asked for"),
    ("likely", "the guess is worth something"),
    ("owner", "the guess, a cycle after the question"),
    ("heard", "a device has answered for a line, or refused"),
    ("heard_line", "the line"),
    ("heard_device", "the device"),
    ("heard_refused", "it has refused"),
];
