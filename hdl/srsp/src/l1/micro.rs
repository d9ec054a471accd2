//! Operations that take several steps, as data (srsp.md section 5.1): a list of micro-steps for each, and the ROM that the sync unit reads.

use super::params::Inject;
use crate::params::Impl;
use crate::write_combining::steps::Rom;
use std::fmt::Write;
use weft_rtl::prelude::*;

/// A micro-step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 5)]
pub enum Micro {
    /// The CU is answered; the operation ends.
    Reply,
    /// The CU gate closes.
    Close,
    /// The CU gate opens.
    Open,
    /// F: everything dirty is written to the L2, and acknowledged.
    Flush,
    /// O: the own copy of the line leaves; nobody here touches the line until the answer.
    OwnLine,
    /// A2: the atomic at the L2.
    Atm,
    /// Am: the atomic at memory.
    AtmSys,
    /// LK: the line is locked at the L2.
    Lock,
    /// bRSP with a token: the right to a remote operation.
    Token,
    /// SF: SEL_FLUSH to all other L1s, or to the one that is predicted.
    CastFlush,
    /// SI: SEL_INV to all other L1s; left out when the atomic has not written.
    CastInv,
    /// bRSP with a token: LOCK_FLUSH to all other L1s.
    CastLock,
    /// bRSP with a token: INV_UNLOCK to all other L1s.
    CastUnlock,
    /// bRSP: INV_ALL to all other L1s; left out when the atomic has not written.
    CastAll,
    /// bRSP: FLUSH_ALL to all other L1s.
    CastFlushAll,
    /// All PACKs of the last cast are in.
    Collect,
    /// OP: the atomic at the L2 under the lock, which ends.
    RemOp,
    /// OP with `keep`: the lock stays if it writes.
    RemKeep,
    /// The lock ends; left out when the atomic has not written.
    Unlock,
    /// bRSP with a token: the right is given back.
    TokenRel,
    /// All L2 banks write their dirty bytes to memory.
    SysFlush,
    /// All L2 banks do the same and drop their lines.
    SysInv,
    /// Flash-inv, tables emptied.
    Drop,
    /// The same, and the predictor is emptied.
    Forget,
}

/// An operation with steps other than the atomic here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 5)]
#[allow(missing_docs)]
pub enum Program {
    /// An acquire at work-group scope whose address is in the PA-TBL.
    PromotedAcq,
    /// The same of an operation that also releases.
    PromotedAr,
    RlxCmp,
    AcqCmp,
    RelCmp,
    ArCmp,
    RlxSys,
    AcqSys,
    RelSys,
    ArSys,
    RemAcq,
    RemRel,
    RemAr,
    FenceAcqCmp,
    FenceRelCmp,
    FenceAcqSys,
    FenceRelSys,
    Kbegin,
    Kend,
}

impl Program {
    /// Remote operations.
    pub const REMOTE: [Program; 3] = [Program::RemAcq, Program::RemRel, Program::RemAr];

    /// Releases beyond the CU that acquire nothing, and are not remote.
    pub const RELEASES: [Program; 4] =
        [Program::RelCmp, Program::RelSys, Program::FenceRelCmp, Program::FenceRelSys];

    /// Name in tables and covers.
    pub fn name(self) -> String {
        let (variants, code) = (Program::enum_type().variants.clone(), self.encoding());
        variants.iter().find(|v| v.1 == code).map_or(String::new(), |v| v.0.to_string())
    }
}

/// The steps of an operation in a system; nothing where the system has no such operation.
///
/// Decisions: an acquire of system scope drops the own lines before the L2's, with the gate closed over both, so that no fill between them stays; a relaxed access of system scope is
/// performed at memory; a kernel's begin flushes first, which finds nothing dirty after a kernel's end; bRSP's rem_rel drops the own line after its
/// own I, for the register that keeps other wavefronts off it; bRSP's rem_acq invalidates every L1, as its
/// rem_ar does and as published, though what it writes publishes nothing else.
pub fn steps(system: Impl, program: Program) -> Vec<Micro> {
    use Micro::*;
    use Program::*;
    let remote = Program::REMOTE.contains(&program);
    if remote {
        return remote_steps(system, program);
    }
    let promoted = [PromotedAcq, PromotedAr].contains(&program);
    if promoted && !system.selective() {
        return vec![];
    }
    match program {
        RlxCmp => vec![OwnLine, Atm, Reply],
        AcqCmp | PromotedAcq => vec![OwnLine, Atm, Close, Flush, Drop, Open, Reply],
        RelCmp => vec![Flush, OwnLine, Atm, Reply],
        ArCmp | PromotedAr => vec![Flush, OwnLine, Atm, Close, Flush, Drop, Open, Reply],
        RlxSys => vec![OwnLine, AtmSys, Reply],
        AcqSys => vec![OwnLine, AtmSys, Close, Flush, Drop, SysInv, Open, Reply],
        RelSys => vec![Flush, SysFlush, OwnLine, AtmSys, Reply],
        ArSys => vec![Flush, SysFlush, OwnLine, AtmSys, Close, Flush, Drop, SysInv, Open, Reply],
        FenceAcqCmp => vec![Close, Flush, Drop, Open, Reply],
        FenceRelCmp | Kend => vec![Flush, Reply],
        FenceAcqSys => vec![Close, Flush, Drop, SysInv, Open, Reply],
        FenceRelSys => vec![Flush, SysFlush, Reply],
        Kbegin => vec![Close, Flush, Forget, Open, Reply],
        RemAcq | RemRel | RemAr => unreachable!("above"),
    }
}

fn remote_steps(system: Impl, program: Program) -> Vec<Micro> {
    use Micro::*;
    let release = program == Program::RemRel;
    match (system, program) {
        (Impl::Base, _) => vec![],
        (Impl::Brsp, _) if release => {
            vec![Flush, Lock, CastAll, Close, Flush, Drop, Open, OwnLine, Collect, RemOp, Reply]
        }
        (Impl::Brsp, _) => vec![
            Lock,
            Close,
            CastFlushAll,
            Flush,
            OwnLine,
            Collect,
            RemKeep,
            CastAll,
            Collect,
            Unlock,
            Drop,
            Open,
            Reply,
        ],
        (Impl::BrspToken, _) if release => {
            vec![
                Flush, Token, Lock, CastAll, Close, Flush, Drop, Open, OwnLine, Collect, RemOp, TokenRel,
                Reply,
            ]
        }
        (Impl::BrspToken, _) => vec![
            Token, Close, CastLock, Flush, OwnLine, Collect, RemOp, Drop, CastUnlock, Collect, TokenRel,
            Open, Reply,
        ],
        (_, Program::RemAcq) => {
            vec![Lock, Close, CastFlush, Flush, OwnLine, Collect, RemOp, Drop, Open, Reply]
        }
        (_, Program::RemRel) => {
            vec![Flush, Lock, Close, OwnLine, CastInv, Collect, RemOp, Open, Reply]
        }
        _ => vec![
            Lock, Close, CastFlush, Flush, OwnLine, Collect, RemKeep, CastInv, Collect, Unlock, Drop, Open,
            Reply,
        ],
    }
}

/// The fault: the lock of the line at the L2 is given up before the invalidations under it are collected.
fn unlocks_early(list: &mut [Micro]) {
    let invalidates = |step: &Micro| matches!(step, Micro::CastInv | Micro::CastAll);
    let cast = list.iter().position(invalidates);
    let collect =
        cast.and_then(|from| list[from..].iter().position(|s| *s == Micro::Collect).map(|i| from + i));
    if let Some(at) = collect
        && matches!(list.get(at + 1), Some(Micro::RemOp | Micro::Unlock))
    {
        list.swap(at, at + 1);
    }
}

/// The ROM of a system's programs.
pub(super) fn rom(system: Impl, inject: Inject) -> Rom<Program, Micro> {
    Rom::new(|program| {
        let mut of_program = steps(system, program);
        if inject == Inject::EarlyUnlock {
            unlocks_early(&mut of_program);
        }
        of_program
    })
}

/// The programs of all systems as Markdown.
pub fn to_markdown() -> String {
    let mut out =
        String::from("| operation | base | brsp | brsp-token | srsp, srsp-opt |\n|---|---|---|---|---|\n");
    for program in Program::VARIANTS.iter().copied() {
        let _ = write!(out, "| `{}` |", program.name());
        for system in [Impl::Base, Impl::Brsp, Impl::BrspToken, Impl::Srsp] {
            let words: Vec<String> = steps(system, program).iter().map(|s| format!("{s:?}")).collect();
            let _ = write!(out, " {} |", if words.is_empty() { "-".into() } else { words.join(", ") });
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_ends_once_and_opens_what_it_closes() {
        for (system, _) in Impl::WORDS {
            for program in Program::VARIANTS.iter().copied() {
                let list = steps(*system, program);
                let count = |step| list.iter().filter(|s| **s == step).count();
                assert_eq!(count(Micro::Reply), usize::from(!list.is_empty()), "{system:?} {program:?}");
                assert!(list.is_empty() || list.last() == Some(&Micro::Reply));
                assert_eq!(count(Micro::Close), count(Micro::Open));
                assert_eq!(
                    program.encoding(),
                    Program::VARIANTS.iter().position(|p| *p == program).unwrap() as u64
                );
                // A drop finds nothing dirty: the gate is closed, and a flush lies between.
                for (i, _) in list.iter().enumerate().filter(|(_, s)| **s == Micro::Drop) {
                    let close = list[..i].iter().rposition(|s| *s == Micro::Close).expect("closed");
                    assert!(list[close..i].contains(&Micro::Flush), "{system:?} {program:?}");
                }
            }
        }
    }

    /// A remote operation without a token holds its line's lock from before its first probe, and to the end
    /// of the invalidations that it collects.
    #[test]
    fn locks_are_held_around_probes() {
        use Micro::*;
        for system in [Impl::Brsp, Impl::Srsp, Impl::SrspOpt] {
            assert!(system.locks_lines());
            for program in Program::REMOTE {
                let list = steps(system, program);
                let at = |step| list.iter().position(|s| *s == step);
                let ends = at(Unlock).or(at(RemOp)).expect("unlocked");
                let probes = [CastFlush, CastInv, CastAll, CastFlushAll, Collect];
                let inside = |i: usize| at(Lock).is_some_and(|lock| lock < i) && i < ends;
                for (i, _) in list.iter().enumerate().filter(|(_, s)| probes.contains(s)) {
                    assert!(inside(i), "{system:?} {program:?}");
                }
                assert_eq!((at(Token), at(TokenRel)), (None, None));
            }
        }
    }
}
