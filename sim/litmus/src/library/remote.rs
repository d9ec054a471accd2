//! Tests of L1s with scopes (srsp.md sections 1, 5, 7 and 8): remote scope promotion, scopes mixed within a CU,
//! dirty lines before a release.
//!
//! In those of remote scope promotion `@cu0` is the owner of a variable: its waves synchronise on it at the scope of
//! their CU, and others by remote operations.
//!
//! A remote operation takes much longer than a test's delays. So an acquire tries again until it finds what it waits
//! for: `?V ACCESS` stands for the access into `r1`, made again while that is not V, [`TRIES`] times in all.

/// Name, locations, threads with their places, condition, race under drf0 with scopes. What the condition asks for is
/// forbidden.
type Forbidden =
    (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

/// Times that an acquire is tried.
const TRIES: usize = 4;

const OWNER: &str = "@cu0 gpu0";
const OTHER: &str = "@cu1 gpu0";
const THIRD: &str = "@cu2 gpu0";
const FOURTH: &str = "@cu3 gpu0";

const MP: &str = "1:r1=1 /\\ 1:r2=0";
const LAST: &str = "2:r1=1 /\\ 2:r2=0";
const FIRST_AND_LAST: &str = "1:r1=1 /\\ (1:r2=0 \\/ 1:r3=0)";
const MUTEX: &str = "0:r0=0 /\\ 1:r0=0 /\\ d=1";

/// One message, between the owner and another CU.
const MESSAGES: &[Forbidden] = &[
    (
        "MPr.thief",
        "x y",
        &[(OWNER, "W.D x 1 ; W.P.cu y 1"), (OTHER, "?1 R.P.gpu.rem y ; if r1 == 1 r2 = R.D x")],
        MP,
        "none",
    ),
    (
        "MPr.owner",
        "x y",
        &[(OTHER, "W.D x 1 ; W.P.gpu.rem y 1"), (OWNER, "?1 R.P.cu y ; if r1 == 1 r2 = R.D x")],
        MP,
        "none",
    ),
    // Lines that are dirty before the release: the flush has work.
    (
        "MPr.dirty",
        "a b c d e f g h y",
        &[
            (
                OWNER,
                "W.D a 1 ; W.D b 1 ; W.D c 1 ; W.D d 1 ; W.D e 1 ; W.D f 1 ; W.D g 1 ; W.D h 1 ; W.P.cu y 1",
            ),
            (OTHER, "?1 R.P.gpu.rem y ; if r1 == 1 { r2 = R.D h ; r3 = R.D a }"),
        ],
        FIRST_AND_LAST,
        "none",
    ),
    // Lines that become dirty after it: the release leaves sFIFO and LR-TBL by overflow.
    (
        "MPr.overflow",
        "x y a b c d e f",
        &[
            (OWNER, "W.D x 1 ; W.P.cu y 1 ; W.D a 1 ; W.D b 1 ; W.D c 1 ; W.D d 1 ; W.D e 1 ; W.D f 1"),
            (OTHER, "?1 R.P.gpu.rem y ; if r1 == 1 r2 = R.D x"),
        ],
        MP,
        "none",
    ),
    // A second release of the variable takes the place of the first in the LR-TBL.
    (
        "MPr.again",
        "x z y",
        &[
            (OWNER, "W.D x 1 ; W.P.cu y 1 ; W.D z 1 ; W.P.cu y 2"),
            (OTHER, "?2 R.P.gpu.rem y ; if r1 == 2 { r2 = R.D x ; r3 = R.D z }"),
        ],
        "1:r1=2 /\\ (1:r2=0 \\/ 1:r3=0)",
        "none",
    ),
    // Two released variables; the flush for the second takes the first along.
    (
        "MPr.both",
        "x y a z",
        &[
            (OWNER, "W.D x 1 ; W.P.cu y 1 ; W.D a 1 ; W.P.cu z 1"),
            (OTHER, "?1 R.P.gpu.rem z ; if r1 == 1 { r2 = R.D x ; r3 = R.D a ; r4 = R.P.gpu.rem y }"),
        ],
        "1:r1=1 /\\ (1:r2=0 \\/ 1:r3=0 \\/ 1:r4=0)",
        "none",
    ),
    // Of two remote releases the owner is owed the first still when it looks for it.
    (
        "MPr.owed",
        "x y z",
        &[
            (OTHER, "W.D x 1 ; W.P.gpu.rem y 1 ; W.P.gpu.rem z 1"),
            (OWNER, "r0 = R.P.cu z ; ?1 R.P.cu y ; if r1 == 1 r2 = R.D x"),
        ],
        MP,
        "none",
    ),
    // To a CU that has a copy of the data, of before.
    (
        "MPr.back",
        "x y",
        &[
            (OWNER, "W.D x 1 ; W.P.cu y 1 ; ?2 R.P.cu y ; if r1 == 2 r2 = R.D x"),
            (OTHER, "?1 R.P.gpu.rem y ; if r1 == 1 { W.D x 2 ; W.P.gpu.rem y 2 }"),
        ],
        "0:r1=2 /\\ 0:r2 != 2",
        "none",
    ),
];

/// Several waves of the owner's CU.
const WAVES: &[Forbidden] = &[
    // A remote operation of one wave while another one releases.
    (
        "MPr.beside",
        "x y z",
        &[
            (OWNER, "W.D x 1 ; W.P.cu y 1"),
            (OWNER, "r0 = R.P.gpu.rem z ; r1 = R.P.gpu.rem z"),
            (OTHER, "?1 R.P.gpu.rem y ; if r1 == 1 r2 = R.D x"),
        ],
        LAST,
        "none",
    ),
    // A copy that one wave fetches while another one acquires.
    (
        "MPr.fetched",
        "x y",
        &[
            (OWNER, "r0 = R.D x"),
            (OTHER, "W.D x 1 ; W.P.gpu.rem y 1"),
            (OWNER, "?1 R.P.cu y ; if r1 == 1 r2 = R.D x"),
        ],
        LAST,
        "data",
    ),
    (
        "ISA2r.cu-rem",
        "x z y",
        &[
            (OWNER, "W.D x 1 ; W.P.cu z 1"),
            (OWNER, "?1 R.P.cu z ; if r1 == 1 W.P.cu y 1"),
            (OTHER, "?1 R.P.gpu.rem y ; if r1 == 1 r2 = R.D x"),
        ],
        "1:r1=1 /\\ 2:r1=1 /\\ 2:r2=0",
        "none",
    ),
    (
        "ISA2r.rem-cu",
        "x z y",
        &[
            (OTHER, "W.D x 1 ; W.P.gpu.rem z 1"),
            (OWNER, "?1 R.P.cu z ; if r1 == 1 W.P.cu y 1"),
            (OWNER, "?1 R.P.cu y ; if r1 == 1 r2 = R.D x"),
        ],
        "1:r1=1 /\\ 2:r1=1 /\\ 2:r2=0",
        "none",
    ),
];

/// Variables of two owners, and of several others.
const SEVERAL: &[Forbidden] = &[
    (
        "SBr.one",
        "x y",
        &[(OWNER, "W.P.cu x 1 ; r1 = R.P.cu y"), (OTHER, "W.P.gpu.rem y 1 ; r2 = R.P.gpu.rem x")],
        "0:r1=0 /\\ 1:r2=0",
        "none",
    ),
    (
        "SBr.each",
        "x y",
        &[(OWNER, "W.P.cu x 1 ; r1 = R.P.gpu.rem y"), (OTHER, "W.P.cu y 1 ; r2 = R.P.gpu.rem x")],
        "0:r1=0 /\\ 1:r2=0",
        "none",
    ),
    (
        "2+2Wr.each",
        "x y",
        &[(OWNER, "W.P.cu x 1 ; W.P.gpu.rem y 2"), (OTHER, "W.P.cu y 1 ; W.P.gpu.rem x 2")],
        "x=1 /\\ y=1",
        "none",
    ),
    (
        "IRIWr.each",
        "x y",
        &[
            (OWNER, "W.P.cu x 1"),
            (OTHER, "W.P.cu y 1"),
            (THIRD, "r1 = R.P.gpu.rem x ; r2 = R.P.gpu.rem y"),
            (FOURTH, "r3 = R.P.gpu.rem y ; r4 = R.P.gpu.rem x"),
        ],
        "2:r1=1 /\\ 2:r2=0 /\\ 3:r3=1 /\\ 3:r4=0",
        "none",
    ),
    (
        "ISA2r.rem-rem",
        "x y z",
        &[
            (OWNER, "W.D x 1 ; W.P.cu y 1"),
            (OTHER, "?1 R.P.gpu.rem y ; if r1 == 1 W.P.gpu.rem z 1"),
            (THIRD, "?1 R.P.gpu.rem z ; if r1 == 1 r2 = R.D x"),
        ],
        "1:r1=1 /\\ 2:r1=1 /\\ 2:r2=0",
        "none",
    ),
];

/// Read-modify-writes: none is lost.
const UPDATES: &[Forbidden] = &[
    ("lostr.two", "x", &[(OWNER, "ADD.P.cu x 1"), (OTHER, "ADD.P.gpu.rem x 1")], "x=1", "none"),
    (
        "lostr.three",
        "x",
        &[(OWNER, "ADD.P.cu x 1"), (OTHER, "ADD.P.gpu.rem x 1"), (THIRD, "ADD.P.gpu.rem x 1")],
        "x != 3",
        "none",
    ),
    // A store that lands between the halves of the owner's update would be undone.
    ("lostr.store", "x", &[(OWNER, "ADD.P.cu x 1"), (OTHER, "W.P.gpu.rem x 2")], "x=1", "none"),
    // The variable goes over to another owner, and its first one becomes a remote one.
    (
        "lostr.moves",
        "x",
        &[
            (OWNER, "ADD.P.cu x 1 ; ADD.P.gpu.rem x 1"),
            (OTHER, "r1 = ADD.P.gpu.rem x 1 ; if r1 == 1 ADD.P.cu x 1"),
        ],
        "1:r1=1 /\\ x != 4",
        "none",
    ),
    (
        "popsr.cas",
        "l d",
        &[
            (OWNER, "r0 = CAS.P.cu l 0 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.P.cu l 0 }"),
            (
                OTHER,
                "r0 = CAS.P.gpu.rem l 0 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.P.gpu.rem l 0 }",
            ),
        ],
        MUTEX,
        "none",
    ),
    (
        "popsr.exch",
        "l d",
        &[
            (OWNER, "r0 = EXCH.P.cu l 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.P.cu l 0 }"),
            (
                OTHER,
                "r0 = EXCH.P.gpu.rem l 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.P.gpu.rem l 0 }",
            ),
        ],
        MUTEX,
        "none",
    ),
];

/// Without remote operations.
const SCOPED: &[Forbidden] = &[
    (
        "MPs.dirty",
        "a b c d e f g h y",
        &[
            (
                OWNER,
                "W.D a 1 ; W.D b 1 ; W.D c 1 ; W.D d 1 ; W.D e 1 ; W.D f 1 ; W.D g 1 ; W.D h 1 ; W.P.gpu y 1",
            ),
            (OTHER, "?1 R.P.gpu y ; if r1 == 1 { r2 = R.D h ; r3 = R.D a }"),
        ],
        FIRST_AND_LAST,
        "none",
    ),
    (
        "MPs.fences",
        "a b c d y",
        &[
            (OWNER, "W.D a 1 ; W.D b 1 ; W.D c 1 ; W.D d 1 ; F.rel.gpu ; W.P.gpu y 1"),
            (OTHER, "?1 R.P.gpu y ; if r1 == 1 { F.acq.gpu ; r2 = R.D d ; r3 = R.D a }"),
        ],
        FIRST_AND_LAST,
        "none",
    ),
    ("losts.cu-gpu", "x", &[(OWNER, "ADD.P.cu x 1"), (OWNER, "ADD.P.gpu x 1")], "x=1", "none"),
    // A relaxed atomic of the CU behind a paired one of the GPU, which takes longer.
    (
        "MPs.PN",
        "x y",
        &[(OWNER, "W.P.gpu x 1 ; W.N.cu y 1"), (OWNER, "r1 = R.N.cu y ; if r1 == 1 r2 = R.P.cu x")],
        MP,
        "none",
    ),
    // The same where each L1 has the line of what it is to use first, if lines have owners.
    (
        "MPs.PN-owned",
        "x y",
        &[
            (OWNER, "r0 = R.N.gpu y ; W.P.gpu x 1 ; W.N.gpu y 1"),
            (OTHER, "r0 = R.P.gpu x ; r1 = R.N.gpu y ; if r1 == 1 r2 = R.P.gpu x"),
        ],
        MP,
        "none",
    ),
];

/// An access that is tried again: `?V ACCESS`, written out.
fn tried(code: &str) -> String {
    let again = |part: &str| {
        let Some((value, access)) = part.strip_prefix('?').and_then(|rest| rest.split_once(' ')) else {
            return part.to_string();
        };
        let more = format!("if r1 != {value} r1 = {access}");
        let tries = std::iter::once(format!("r1 = {access}")).chain(std::iter::repeat_n(more, TRIES - 1));
        tries.collect::<Vec<_>>().join(" ; ")
    };
    code.split(" ; ").map(again).collect::<Vec<_>>().join(" ; ")
}

/// The tests as text, name by name.
pub(super) fn texts() -> Vec<(String, String)> {
    let all = [MESSAGES, WAVES, SEVERAL, UPDATES, SCOPED].concat();
    let of = |(name, locs, threads, condition, race): Forbidden| {
        let threads: Vec<String> =
            threads.iter().map(|(place, code)| format!("{place}: {}", tried(code))).collect();
        let rest = format!("expect drf0+scopes forbidden\nrace drf0+scopes {race}\n");
        (name.to_string(), super::text(name, locs, &threads, condition, &rest))
    };
    all.into_iter().map(of).collect()
}
