//! Small runs of the synchronisation microbenchmarks.

/// As [`super::small::SMALL`]; half-waves, parts of the machine and stacks that are not full.
pub const SYNC: &[(&str, &[(&str, &str)])] = &[
    ("fam-g", &[("cus", "3"), ("per_cu", "2"), ("group", "40"), ("iterations", "3"), ("accesses", "4")]),
    ("fam-l", &[("cus", "4"), ("per_cu", "2"), ("gpus", "2"), ("iterations", "3"), ("accesses", "4")]),
    ("slm-g", &[("cus", "3"), ("per_cu", "2"), ("group", "20"), ("iterations", "3"), ("accesses", "4")]),
    ("slm-l", &[("cus", "2"), ("per_cu", "3"), ("gpus", "2"), ("iterations", "3"), ("accesses", "4")]),
    ("spm-g", &[("cus", "3"), ("per_cu", "2"), ("group", "7"), ("iterations", "3"), ("accesses", "12")]),
    ("spm-l", &[("cus", "4"), ("per_cu", "2"), ("gpms", "2"), ("iterations", "3"), ("accesses", "4")]),
    ("spmbo-g", &[("cus", "3"), ("per_cu", "2"), ("group", "70"), ("iterations", "3"), ("accesses", "1")]),
    ("spmbo-l", &[("cus", "4"), ("per_cu", "2"), ("line", "128"), ("iterations", "3"), ("accesses", "4")]),
    ("ss-l", &[("cus", "4"), ("per_cu", "3"), ("iterations", "3"), ("accesses", "13")]),
    (
        "ssbo-l",
        &[("cus", "2"), ("per_cu", "4"), ("gpus", "2"), ("group", "20"), ("iterations", "3"), ("max", "2")],
    ),
    ("tb-lg", &[("cus", "3"), ("per_cu", "2"), ("group", "20"), ("iterations", "3"), ("accesses", "4")]),
    (
        "tbex-lg",
        &[
            ("cus", "4"),
            ("per_cu", "2"),
            ("gpus", "2"),
            ("gpms", "2"),
            ("iterations", "3"),
            ("accesses", "4"),
        ],
    ),
    (
        "uts",
        &[("cus", "2"), ("per_cu", "2"), ("gpus", "2"), ("group", "10"), ("nodes", "200"), ("stack", "7")],
    ),
];
