//! Small runs of the programs with CPU threads, which only machines with CPU cores run as they are meant.

/// As [`super::small::SMALL`].
pub const CPU_GPU: &[(&str, &[(&str, &str)])] = &[
    ("bc", &[("source", "karate"), ("sources", "2"), ("cpu_threads", "2"), ("blocks", "3"), ("group", "4")]),
    (
        "flex-odwtd",
        &[
            ("cpu_threads", "2"),
            ("blocks", "3"),
            ("cpu_tile", "1"),
            ("tile", "2"),
            ("sparse", "7"),
            ("iterations", "3"),
        ],
    ),
    (
        "flex-owt",
        &[
            ("cpu_threads", "2"),
            ("blocks", "3"),
            ("cpu_tile", "1"),
            ("tile", "2"),
            ("sparse", "7"),
            ("iterations", "3"),
        ],
    ),
    (
        "flex-vs",
        &[
            ("cpu_threads", "2"),
            ("blocks", "3"),
            ("shared", "1"),
            ("tile", "1"),
            ("group", "50"),
            ("iterations", "3"),
        ],
    ),
    ("hsti", &[("values", "3001"), ("chunk", "100"), ("cpu_threads", "2"), ("blocks", "3"), ("group", "50")]),
    (
        "indirection",
        &[("n", "32"), ("cpu_threads", "2"), ("blocks", "3"), ("group", "50"), ("iterations", "2")],
    ),
    (
        "pr",
        &[("source", "karate"), ("cpu_threads", "2"), ("blocks", "3"), ("group", "10"), ("iterations", "3")],
    ),
    (
        "reuse-o",
        &[
            ("cpu_threads", "2"),
            ("blocks", "3"),
            ("cpu_tile", "1"),
            ("tile", "2"),
            ("sparse", "7"),
            ("iterations", "3"),
        ],
    ),
    (
        "reuse-s",
        &[("cpu_threads", "2"), ("blocks", "3"), ("shared", "1"), ("group", "50"), ("iterations", "3")],
    ),
    ("rsct", &[("cpu_threads", "2"), ("blocks", "3"), ("models", "25"), ("vectors", "101"), ("group", "50")]),
    ("torn-lines", &[("cpu_threads", "2"), ("gpus", "1"), ("cus", "3"), ("lines", "12"), ("rounds", "4")]),
    (
        "tqh",
        &[
            ("blocks", "3"),
            ("frames", "9"),
            ("height", "7"),
            ("width", "11"),
            ("bins", "16"),
            ("task_queues", "2"),
            ("queue_size", "2"),
            ("group", "50"),
        ],
    ),
    ("trns", &[("rows", "5"), ("columns", "7"), ("words", "10"), ("cpu_threads", "2"), ("blocks", "3")]),
];
