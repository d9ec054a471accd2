//! Small runs of the programs of the study of relaxed atomics.

/// As [`super::small::SMALL`].
pub const RELAXED: &[(&str, &[(&str, &str)])] = &[
    ("bc-gpu", &[("source", "karate"), ("sources", "2"), ("blocks", "3"), ("group", "5")]),
    (
        "flags",
        &[
            ("cus", "2"),
            ("per_cu", "2"),
            ("gpus", "2"),
            ("group", "10"),
            ("repeats", "3"),
            ("main_work", "50"),
        ],
    ),
    ("hist", &[("values", "1001"), ("bins", "37"), ("blocks", "3"), ("group", "20")]),
    ("histg", &[("values", "1001"), ("bins", "37"), ("blocks", "3"), ("group", "20")]),
    ("histg-no", &[("values", "1001"), ("bins", "37"), ("blocks", "3"), ("group", "20")]),
    ("pr-push", &[("source", "karate"), ("blocks", "3"), ("group", "5"), ("iterations", "3")]),
    ("reference-counter", &[("sharers", "7"), ("blocks", "3"), ("group", "20"), ("work", "5")]),
    ("seqlocks", &[("locks", "2"), ("iterations", "6"), ("every", "3"), ("blocks", "7"), ("group", "20")]),
    ("split-counter", &[("adds", "5"), ("sums", "3"), ("blocks", "3"), ("group", "15")]),
    ("work-queue", &[("tasks", "4"), ("blocks", "5"), ("group", "20"), ("work", "5")]),
];
