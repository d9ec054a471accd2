//! All interleavings of remote operations of two CUs at once, on one line and on two: no deadlock, and every
//! promise kept.

use crate::golden_explore::{BESIDE, BRSP, SRSP, TOKEN, X, Y, Z, all, holds, tiny};
use weft_srsp::msg::SyncOp;
use weft_srsp_bench::golden::msg::Sem;
use weft_srsp_bench::golden::system::program::{atomic, cas, get, put, remote, wg};
use weft_srsp_bench::golden::system::{Instr, Protocol, SystemParams};

/// Remote operations of two CUs at once, each of every kind, on one line and on two, in the same bank and
/// behind data of the other: nothing but locks of lines keeps them apart, and each L1 answers the other's
/// probes with its own gate closed. With `more`, a third CU keeps its own copies of both variables.
fn remote_pairs(protocol: Protocol, addrs: [u64; 2], more: bool) {
    let ops = |addr: u64, new: u64| {
        [
            remote(cas(addr, 0, new), Sem::Acq),
            remote(put(addr, new), Sem::Rel),
            remote(atomic(SyncOp::Add, addr, new, 0), Sem::AcqRel),
            remote(cas(addr, 7, new), Sem::AcqRel),
        ]
    };
    let mut states = 0;
    for mine in ops(addrs[0], 1) {
        for theirs in ops(addrs[1], 2) {
            let first = vec![Instr::St(Y, 7), Instr::Sync(mine), Instr::Ld(BESIDE)];
            let second = vec![Instr::St(BESIDE, 9), Instr::Sync(theirs), Instr::Ld(Y)];
            let mut programs = vec![(0, first), (1, second)];
            if more {
                let keeps = |addr: u64| Instr::Sync(wg(get(addr), Sem::Acq));
                programs.push((2, vec![keeps(addrs[0]), keeps(addrs[1])]));
            }
            let p = SystemParams { cus: 2 + u8::from(more), ..tiny(protocol) };
            let found = all(p, &programs);
            states += found.states;
            holds(&found, &format!("{protocol:?} {mine:?} {theirs:?}"));
        }
    }
    println!("{protocol:?}, {addrs:?}, {more}: {states} states");
}

#[test]
fn two_remote_operations_on_one_line() {
    for protocol in [SRSP, BRSP, TOKEN] {
        remote_pairs(protocol, [X, X], false);
        remote_pairs(protocol, [X, X + 8], false);
    }
}

#[test]
fn two_remote_operations_on_two_lines() {
    for protocol in [SRSP, BRSP, TOKEN] {
        remote_pairs(protocol, [X, Z], false);
    }
}

#[test]
fn long_two_remote_operations_beside_a_third_cu() {
    for protocol in [BRSP, TOKEN] {
        for addrs in [[X, X], [X, Z]] {
            remote_pairs(protocol, addrs, true);
        }
    }
}

/// One CU passes data on by a remote release, or by a remote operation that also releases, while another
/// one's remote acquire of another variable invalidates the same L1s: who finds the flag finds the data.
fn release_beside_acquire(protocol: Protocol) {
    for release in [remote(put(X, 1), Sem::Rel), remote(cas(X, 0, 1), Sem::AcqRel)] {
        let giver = vec![Instr::St(Y, 7), Instr::Sync(release)];
        let taker = vec![Instr::Sync(remote(cas(Z, 0, 1), Sem::Acq)), Instr::Ld(BESIDE)];
        let finder =
            vec![Instr::Ld(BESIDE), Instr::Sync(wg(get(X), Sem::Acq)), Instr::Unless(1, 1), Instr::Ld(Y)];
        let p = SystemParams { cus: 3, ..tiny(protocol) };
        let found = all(p, &[(0, giver), (1, taker), (2, finder)]);
        holds(&found, &format!("release beside acquire, {protocol:?}, {release:?}"));
    }
}

#[test]
fn a_remote_release_beside_a_remote_acquire() {
    release_beside_acquire(BRSP);
}

#[test]
fn long_a_remote_release_beside_a_remote_acquire() {
    [SRSP, TOKEN].into_iter().for_each(release_beside_acquire);
}
