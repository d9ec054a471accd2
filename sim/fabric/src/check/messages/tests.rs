//! Each way to break conservation, with its sentence; and random traffic in which one answer is changed.

use super::*;
use proptest::prelude::*;

/// Four GPUs of two compute units and four memory channels each.
fn messages() -> Messages {
    let shape = Shape { nodes: 4, gpms: 1, cus: 2, cores: 0, line: 64, homes: 4, home_bytes: 1 << 32 };
    let name = |n: u32| format!("gpu {} bank {}", n / 4, n % 4);
    Messages::new(&shape, Channels { names: (0..16).map(name).collect(), ids: 8 })
}

/// A request of memory channel `channel`, for line 0x40.
fn memory(channel: usize, op: MemOp, id: u64) -> Transfer {
    Transfer::Request { channel, op, answered: op == MemOp::Read, line: 0x40, id }
}

fn load(id: u16, mask: u128) -> CuRequest {
    CuRequest { op: CuOp::Ld, id, line: 0x40, mask, want_ack: false }
}

#[track_caller]
fn says(messages: &Messages, text: &str) {
    let all: Vec<String> = messages.violations().iter().map(|v| v.to_string()).collect();
    assert_eq!(all, [text]);
}

#[test]
fn parts_add_up_to_an_answer() {
    let mut m = messages();
    m.cu_req(5, 1, 1, &load(7, 0xff));
    m.cu_rsp(9, 1, 1, 7, 0, 0xf0);
    assert_eq!(m.open(), 1);
    m.cu_rsp(10, 1, 1, 7, 0, 0x0f);
    m.cu_req(10, 1, 1, &CuRequest { op: CuOp::Kend, mask: 0, ..load(7, 0) });
    m.cu_rsp(12, 1, 1, 7, 1, 0);
    m.cu_req(13, 1, 1, &CuRequest { op: CuOp::St, ..load(8, 3) });
    m.nothing_open(14);
    assert_eq!((m.open(), m.violations()), (0, &[][..]));
}

#[test]
fn an_answer_given_twice_is_seen() {
    let mut m = messages();
    m.cu_req(5, 0, 1, &load(7, 0xff));
    m.cu_rsp(9, 0, 1, 7, 0, 0xff);
    m.cu_rsp(11, 0, 1, 7, 0, 0xff);
    says(
        &m,
        "gpu 0 cu 1 gets data for transaction number 7 in cycle 11, but no request of this number is open: the answer was given twice, or went astray",
    );
}

#[test]
fn bytes_given_twice_or_not_asked_for_are_seen() {
    let mut m = messages();
    m.cu_req(5, 0, 1, &load(7, 0xff));
    m.cu_rsp(9, 0, 1, 7, 0, 0x0f);
    m.cu_rsp(10, 0, 1, 7, 0, 0x10f);
    says(
        &m,
        "gpu 0 cu 1 gets bytes 0x10f, which it did not ask for or got before, in cycle 10 for transaction number 7, its load of line 0x1000 taken in cycle 5",
    );
}

#[test]
fn an_answer_of_the_wrong_kind_is_seen() {
    let mut m = messages();
    m.cu_req(5, 0, 1, &CuRequest { op: CuOp::Rel, ..load(7, 0) });
    m.cu_rsp(9, 0, 1, 7, 0, 1);
    says(&m, "gpu 0 cu 1 gets data in cycle 9 for transaction number 7, its release taken in cycle 5");
    assert_eq!(m.open(), 0);
}

#[test]
fn a_number_used_twice_is_seen() {
    let mut m = messages();
    m.cu_req(5, 0, 1, &load(7, 0xff));
    m.cu_req(6, 0, 1, &load(7, 0xff));
    says(
        &m,
        "gpu 0 cu 1 reuses transaction number 7 in cycle 6 while its load of line 0x1000 taken in cycle 5 has no complete answer",
    );
    assert_eq!(m.open(), 1);
}

#[test]
fn what_is_lost_is_named_at_the_boundary() {
    let mut m = messages();
    m.cu_req(5, 3, 1, &load(7, 0xff));
    m.mem_req(4, &memory(1, MemOp::Read, 3), 1);
    m.fence_start(6, 2, 1, 2, false);
    assert_eq!(m.open(), 3);
    m.nothing_open(100);
    says(
        &m,
        "at the kernel boundary in cycle 100 a request has no answer: gpu 0 bank 1 waits for memory to answer its read of line 0x1000 from cycle 4 \
         (transaction number 3), and 2 more requests are open",
    );
}

#[test]
fn memory_answers_once_and_at_home() {
    let mut m = messages();
    m.mem_req(4, &memory(1, MemOp::Read, 3), 1);
    m.mem_rsp(8, 1, 3);
    m.mem_rsp(9, 1, 3);
    m.mem_req(10, &memory(5, MemOp::Write, 0), 1);
    let all: Vec<&str> = m.violations().iter().map(|v| v.text.as_str()).collect();
    assert_eq!(
        all,
        [
            "gpu 0 bank 1 gets memory data for transaction number 3 in cycle 9, but no request of this number is open: it was answered twice, or never asked for",
            "a write of line 0x1000 reaches the memory of gpu 1 bank 1 in cycle 10, but the line belongs to gpu 0 bank 1",
        ]
    );
}

#[test]
fn fences_are_batched() {
    let mut m = messages();
    m.fence_start(6, 2, 1, 2, false);
    m.fence_start(7, 2, 2, 2, false);
    m.fence_done(20, 2, 1, 2, false);
    assert_eq!(m.open(), 1);
    m.fence_done(30, 2, 2, 2, false);
    assert_eq!((m.open(), m.violations().len()), (0, 0));
    m.fence_done(31, 2, 2, 2, false);
    says(
        &m,
        "gpu 2 completes fence 2, a release of system scope, in cycle 31, but no fence of this kind is open",
    );
}

proptest! {
    /// Every request is answered in one or two parts in some order; then one answer is left out, given twice or changed.
    #[test]
    fn one_changed_answer_is_seen(
        requests in prop::collection::vec((0u16..64, any::<bool>(), 1u64.., any::<u32>()), 1..40),
        which in any::<prop::sample::Index>(),
        change in 0..4,
    ) {
        let mut seen = std::collections::HashSet::new();
        let requests: Vec<_> = requests.into_iter().filter(|r| seen.insert(r.0)).collect();
        let mut answers = Vec::new();
        for (id, data, mask, order) in &requests {
            let mask = u128::from(*mask);
            if !data {
                answers.push((*order, *id, 1, 0));
            } else if mask.count_ones() > 1 && order % 2 == 0 {
                let low = mask & mask.wrapping_neg();
                answers.extend([(*order, *id, 0, low), (order.wrapping_add(99), *id, 0, mask & !low)]);
            } else {
                answers.push((*order, *id, 0, mask));
            }
        }
        answers.sort();
        let run = |answers: &[(u32, u16, u8, u128)]| {
            let mut m = messages();
            for (id, data, mask, _) in &requests {
                let op = if *data { CuOp::Ld } else { CuOp::Acq };
                m.cu_req(1, 0, 0, &CuRequest { op, ..load(*id, u128::from(*mask)) });
            }
            answers.iter().for_each(|(_, id, kind, mask)| m.cu_rsp(2, 0, 0, *id, *kind, *mask));
            m.nothing_open(3);
            m.counts().violations
        };
        prop_assert_eq!(run(&answers), 0);
        let which = which.index(answers.len());
        let mut wrong = answers.clone();
        match change {
            0 => { wrong.remove(which); }
            1 => wrong.push(answers[which]),
            2 => wrong[which].1 = 4000,
            _ => wrong[which].2 ^= 1,
        }
        prop_assert!(run(&wrong) > 0);
    }
}
