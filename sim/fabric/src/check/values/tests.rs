//! Hand-made accesses with the sentence each violation gives, and a small weakly ordered memory whose runs must pass and whose falsified runs must not.

use super::*;
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};
use weft_blocks::msg::{AmoOp, CuOp};

fn who(gpu: u32, cu: u32, wave: u32) -> Who {
    Who { gpu, gpms: 1, cu, kernel: 0, block: 3, wave }
}

/// One word at byte `offset` of a line: mask and data.
fn word(offset: u32, value: u32) -> (u128, [u64; 16]) {
    let mut data = [0; 16];
    data[(offset / 8) as usize] = u64::from(value) << (8 * (offset % 8));
    (0xf << offset, data)
}

/// A scoreboard with shorthands: everything happens in words of line 16, at address 0x400.
struct Bench(Values);

impl Bench {
    fn new() -> Bench {
        let mut values = Values::new(64, 1);
        values.host_write(0x400, &[1, 0, 0, 0, 2, 0, 0, 0]);
        values.kernel_boundary(5);
        Bench(values)
    }
    fn load(&mut self, who: Who, offset: u32, value: u32, issued: u64, done: u64) {
        let (mask, data) = word(offset, value);
        self.0.load(&who, 16, mask, &data, issued, done);
    }
    fn store(&mut self, who: Who, offset: u32, value: u32, now: u64) {
        let (mask, data) = word(offset, value);
        self.0.store(&who, 16, mask, &data, now);
    }
    fn amo(&mut self, who: Who, offset: u32, op: AmoOp, operand: u32, old: u32, issued: u64, done: u64) {
        let (mask, data) = word(offset, operand);
        let access = access(op, 16, mask, data);
        self.0.amo(&who, &access, &word(offset, old).1, issued, done);
    }
    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.0.violations(), []);
    }
    #[track_caller]
    fn says(&self, text: &str) {
        let all: Vec<String> = self.0.violations().iter().map(|v| v.to_string()).collect();
        assert_eq!(all, [text]);
    }
}

fn access(op: AmoOp, line: u64, mask: u128, data: [u64; 16]) -> LineAccess {
    LineAccess {
        op: CuOp::Amo,
        line,
        mask,
        data,
        amo: op,
        sgn: false,
        cmp: 0,
        id: 0,
        want_ack: false,
        sync: false,
        sem: 0,
        scope: 2,
        remote: false,
        class: 0,
        region: false,
        hint: 0,
        dma: false,
    }
}

#[test]
fn memory_is_what_the_host_wrote_and_zero_elsewhere() {
    let mut b = Bench::new();
    b.load(who(0, 0, 0), 0, 1, 10, 20);
    b.load(who(3, 1, 0), 4, 2, 10, 20);
    b.load(who(3, 1, 0), 8, 0, 10, 20);
    b.is_clean();
    b.load(who(1, 2, 7), 4, 3, 11, 21);
    b.says(
        "load of address 0x404 by gpu 1 cu 2 kernel 0 block 3 wave 7 issued at cycle 11 and answered at cycle 21 returned 0x00000003; \
         allowed: 0x00000002 (in memory at the kernel boundary in cycle 5)",
    );
    assert_eq!(b.0.counts().loads, 4);
}

#[test]
fn only_the_loaded_bytes_count() {
    let mut b = Bench::new();
    let mut data = [0; 16];
    data[0] = 0xdead_0002_beef_0001;
    b.0.load(&who(0, 0, 0), 16, 0x33, &data, 1, 2);
    b.is_clean();
    b.0.load(&who(0, 0, 0), 16, 0x34, &data, 1, 2);
    b.says(
        "load of address 0x400 by gpu 0 cu 0 kernel 0 block 3 wave 0 issued at cycle 1 and answered at cycle 2 returned 0x..ef....; \
         allowed: 0x..00.... (in memory at the kernel boundary in cycle 5)",
    );
}

#[test]
fn a_wave_sees_its_own_last_store() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 7, 10);
    b.load(who(0, 0, 0), 0, 7, 12, 15);
    b.store(who(0, 0, 0), 0, 8, 20);
    b.load(who(0, 0, 0), 0, 8, 22, 25);
    b.is_clean();
    for stale in [1, 7] {
        let mut b = Bench(b.0.clone());
        b.load(who(0, 0, 0), 0, stale, 22, 25);
        b.says(&format!(
            "load of address 0x400 by gpu 0 cu 0 kernel 0 block 3 wave 0 issued at cycle 22 and answered at cycle 25 returned {stale:#010x}; \
             allowed: 0x00000008 (store of gpu 0 cu 0 kernel 0 block 3 wave 0 in cycle 20)"
        ));
    }
}

#[test]
fn a_race_may_show_the_old_value_or_any_written_one() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 7, 10);
    b.store(who(0, 0, 0), 0, 8, 20);
    b.store(who(0, 1, 0), 4, 9, 20);
    for value in [1, 7, 8] {
        b.load(who(1, 0, 0), 0, value, 30, 40);
    }
    b.load(who(1, 0, 0), 4, 9, 30, 40);
    b.load(who(1, 0, 0), 4, 2, 30, 40);
    b.is_clean();
    b.load(who(1, 0, 0), 0, 9, 30, 40);
    b.says(
        "load of address 0x400 by gpu 1 cu 0 kernel 0 block 3 wave 0 issued at cycle 30 and answered at cycle 40 returned 0x00000009; \
         allowed: 0x00000001 (in memory at the kernel boundary in cycle 5), 0x00000007 (store of gpu 0 cu 0 kernel 0 block 3 wave 0 in cycle 10), \
         0x00000008 (store of gpu 0 cu 0 kernel 0 block 3 wave 0 in cycle 20)",
    );
}

#[test]
fn waves_of_a_compute_unit_share_its_l1() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 7, 10);
    b.load(who(0, 0, 1), 0, 7, 11, 15);
    b.load(who(0, 0, 1), 0, 1, 9, 15);
    b.load(who(0, 1, 1), 0, 1, 11, 15);
    b.is_clean();
    b.load(who(0, 0, 1), 0, 1, 10, 15);
    assert_eq!(b.0.counts().violations, 1);
}

#[test]
fn after_a_boundary_the_old_value_is_gone() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 7, 10);
    b.0.kernel_boundary(50);
    b.load(who(1, 0, 0), 0, 7, 60, 70);
    b.is_clean();
    b.load(who(1, 0, 0), 0, 1, 60, 70);
    assert!(
        b.0.violations()[0]
            .text
            .ends_with("allowed: 0x00000007 (in memory at the kernel boundary in cycle 50)")
    );
}

#[test]
fn after_unordered_stores_one_of_them_holds_for_all() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 6, 10);
    b.store(who(0, 0, 0), 0, 7, 11);
    b.store(who(1, 0, 0), 0, 8, 10);
    b.0.kernel_boundary(50);
    let mut first = Bench(b.0.clone());
    first.load(who(2, 0, 0), 0, 6, 60, 70);
    assert!(first.0.violations()[0].text.contains("allowed: 0x00000007 (in memory"), "not its unit's last");
    b.load(who(2, 0, 0), 0, 8, 60, 70);
    b.load(who(3, 0, 0), 0, 8, 60, 70);
    b.is_clean();
    b.load(who(3, 0, 0), 0, 7, 60, 70);
    assert_eq!(b.0.counts().violations, 1, "another unit has seen 8");
}

#[test]
fn bytes_written_apart_are_told_apart() {
    let mut b = Bench::new();
    b.0.store(&who(0, 0, 0), 16, 0x1, &word(0, 0xaa).1, 10);
    b.0.store(&who(1, 0, 0), 16, 0x2, &word(0, 0xbb00).1, 10);
    b.load(who(2, 0, 0), 0, 0xbbaa, 20, 30);
    b.load(who(2, 0, 0), 0, 0xbb01, 20, 30);
    b.load(who(0, 0, 0), 0, 0x00aa, 20, 30);
    b.is_clean();
    let mut wrong = Bench(b.0.clone());
    wrong.load(who(0, 0, 0), 0, 0xbb01, 20, 30);
    assert_eq!(wrong.0.counts().violations, 1);
    b.0.kernel_boundary(40);
    b.load(who(0, 0, 0), 0, 0xbbaa, 50, 60);
    b.is_clean();
    b.load(who(0, 0, 0), 0, 0x00aa, 50, 60);
    assert_eq!(b.0.counts().violations, 1);
}

#[test]
fn a_word_is_never_torn() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 0x1111_1111, 10);
    b.store(who(1, 0, 0), 0, 0x2222_2222, 10);
    b.load(who(2, 0, 0), 0, 0x2222_1111, 20, 30);
    assert_eq!(b.0.counts().violations, 1);
}

#[test]
fn atomics_form_a_chain_in_any_order() {
    let mut b = Bench::new();
    (0..6).for_each(|_| b.0.amo_taken(16));
    for (cu, old) in [(0, 3), (1, 1), (2, 2)] {
        b.amo(who(0, cu, 0), 0, AmoOp::Add, 1, old, 10, 30);
        b.amo(who(1, cu, 0), 4, AmoOp::Max, 10 * cu, if cu == 0 { 20 } else { 2 + 8 * (cu - 1) }, 10, 30);
    }
    b.is_clean();
    b.0.kernel_boundary(50);
    b.load(who(1, 0, 0), 0, 4, 60, 61);
    b.load(who(1, 0, 0), 4, 20, 60, 61);
    b.is_clean();
}

#[test]
fn a_lost_update_is_seen() {
    let mut b = Bench::new();
    b.0.amo_taken(16);
    b.0.amo_taken(16);
    b.amo(who(0, 0, 0), 0, AmoOp::Add, 1, 1, 10, 30);
    b.amo(who(1, 0, 0), 0, AmoOp::Add, 1, 1, 10, 30);
    b.is_clean();
    b.0.kernel_boundary(50);
    b.says(
        "the 2 atomics on address 0x400 between the kernel boundaries in cycles 5 and 50 have no order: 2 of them returned 0x1, a value that was in \
         memory 1 times",
    );
}

#[test]
fn atomics_apart_from_memory_are_seen() {
    let mut b = Bench::new();
    // 5 -> 6 -> 5 explains itself, but nothing put 5 there.
    b.0.amo_taken(16);
    b.0.amo_taken(16);
    b.amo(who(0, 0, 0), 0, AmoOp::Add, 1, 5, 10, 30);
    b.amo(who(1, 0, 0), 0, AmoOp::Sub, 1, 6, 10, 30);
    b.0.kernel_boundary(50);
    assert!(
        b.0.violations()[0].text.contains("those that returned 0x5 do not follow"),
        "{:?}",
        b.0.violations()
    );
}

#[test]
fn a_load_may_see_an_atomic_that_is_not_answered_yet() {
    let mut b = Bench::new();
    b.0.amo_taken(16);
    b.load(who(0, 0, 0), 0, 11, 10, 20);
    b.load(who(2, 0, 0), 0, 12, 10, 20);
    b.is_clean();
    b.amo(who(1, 0, 0), 0, AmoOp::Add, 10, 1, 9, 30);
    b.says(
        "load of address 0x400 by gpu 2 cu 0 kernel 0 block 3 wave 0 issued at cycle 10 and answered at cycle 20 returned 0x0000000c; allowed: 0x00000001 \
         (in memory at the kernel boundary in cycle 5), 0x0000000b (atomic of gpu 1 cu 0 kernel 0 block 3 wave 0 in cycle 9)",
    );
}

#[test]
fn what_an_atomic_finds_may_be_of_one_that_is_not_answered_yet() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 1, 6);
    b.store(who(1, 0, 0), 0, 3, 6);
    b.0.kernel_boundary(9);
    // Memory holds 1 or 3. The first atomic makes 3 of 1; the second one, which finds that, is answered before it.
    b.0.amo_taken(16);
    b.0.amo_taken(16);
    b.amo(who(2, 0, 0), 0, AmoOp::Or, 0, 3, 11, 20);
    b.amo(who(3, 0, 0), 0, AmoOp::Or, 2, 1, 10, 30);
    b.0.kernel_boundary(40);
    b.is_clean();
}

#[test]
fn a_circle_of_atomics_ends_where_it_began() {
    // Memory holds 0 or 2, and the atomics have two orders: from 2 to 0 and back, or from 0 to 2 and back.
    let ending = |value: u32, right: bool| {
        let mut b = Bench::new();
        b.store(who(0, 0, 0), 0, 0, 6);
        b.store(who(1, 0, 0), 0, 2, 6);
        b.0.kernel_boundary(9);
        b.0.amo_taken(16);
        b.0.amo_taken(16);
        b.amo(who(2, 0, 0), 0, AmoOp::Inc, 2, 2, 10, 30);
        b.amo(who(3, 0, 0), 0, AmoOp::Exch, 2, 0, 10, 30);
        b.0.kernel_boundary(40);
        b.load(who(1, 0, 0), 0, value, 50, 51);
        assert_eq!(b.0.violations().is_empty(), right, "{value}: {:?}", b.0.violations());
        // The load has shown which.
        b.load(who(2, 0, 0), 0, 2 - value, 52, 53);
        assert!(!b.0.violations().is_empty());
    };
    ending(0, true);
    ending(2, true);
    ending(1, false);
}

#[test]
fn wide_atomics_are_one_word() {
    let mut b = Bench::new();
    let mut data = [0; 16];
    data[0] = 0xffff_ffff;
    let add = access(AmoOp::Add, 16, 0xff, data);
    let mut old = [0; 16];
    old[0] = 0x2_0000_0001;
    b.0.amo_taken(16);
    b.0.amo(&who(0, 0, 0), &add, &old, 1, 2);
    b.0.kernel_boundary(10);
    b.load(who(1, 0, 0), 0, 0, 20, 21);
    b.load(who(1, 0, 0), 4, 3, 20, 21);
    b.is_clean();
}

#[test]
fn results_of_atomics() {
    let f = |op, old, operand| amo_result(op, false, old, operand, 7, 4);
    assert_eq!((f(AmoOp::Inc, 4, 5), f(AmoOp::Inc, 5, 5)), (5, 0));
    assert_eq!((f(AmoOp::Dec, 0, 5), f(AmoOp::Dec, 6, 5), f(AmoOp::Dec, 5, 5)), (5, 5, 4));
    assert_eq!((f(AmoOp::Cas, 7, 1), f(AmoOp::Cas, 8, 1)), (1, 8));
    assert_eq!(f(AmoOp::Sub, 0, 1), 0xffff_ffff);
    assert_eq!(amo_result(AmoOp::Sub, false, 0, 1, 0, 8), u64::MAX);
    assert_eq!(amo_result(AmoOp::Min, true, 0xffff_ffff, 1, 0, 4), 0xffff_ffff);
    assert_eq!(amo_result(AmoOp::Min, false, 0xffff_ffff, 1, 0, 4), 1);
    let sum = f(AmoOp::Fadd32, u64::from(1.5f32.to_bits()), u64::from(2.0f32.to_bits()));
    assert_eq!(f32::from_bits(sum as u32), 3.5);
}

#[test]
fn the_host_and_the_end_of_a_run() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 6, 10);
    b.store(who(1, 0, 0), 0, 7, 10);
    b.0.kernel_boundary(50);
    let memory = |value: u8| {
        move |addr: u64, bytes: &mut [u8]| {
            bytes.fill(0);
            assert_eq!(addr, 0);
            bytes[0x400] = value;
            bytes[0x404] = 2;
        }
    };
    b.0.compare_memory(60, &memory(7));
    b.is_clean();
    b.0.host_write(0x400, &[9]);
    b.0.compare_memory(60, &memory(9));
    b.is_clean();
    b.0.compare_memory(60, &memory(7));
    b.says(
        "memory at address 0x400 holds 0x00000007 in cycle 60; allowed: 0x00000009 (written before the kernel boundary in cycle 50)",
    );
}

/// A memory whose compute units have copies that may be stale until the boundary, and stores on their way.
#[derive(Default)]
struct Weak {
    home: HashMap<u64, u32>,
    copies: HashMap<(u32, u64), u32>,
    stores: HashMap<u32, VecDeque<(u64, u32)>>,
}

impl Weak {
    fn drain(&mut self, cu: u32) {
        while let Some((addr, value)) = self.stores.entry(cu).or_default().pop_front() {
            self.home.insert(addr, value);
        }
    }
    fn load(&mut self, cu: u32, addr: u64) -> u32 {
        if let Some(copy) = self.copies.get(&(cu, addr)) {
            return *copy;
        }
        self.drain(cu);
        let value = *self.home.get(&addr).unwrap_or(&0);
        self.copies.insert((cu, addr), value);
        value
    }
    fn store(&mut self, cu: u32, addr: u64, value: u32) {
        self.copies.insert((cu, addr), value);
        self.stores.entry(cu).or_default().push_back((addr, value));
    }
    fn add(&mut self, cu: u32, addr: u64) -> u32 {
        self.drain(cu);
        self.copies.remove(&(cu, addr));
        let word = self.home.entry(addr).or_default();
        *word += 1;
        *word - 1
    }
}

/// Runs random accesses; with `falsify` the answer of that access is changed. Returns the violations counted.
fn weak_run(choices: &[(u8, u8, u8)], falsify: Option<usize>) -> (u64, Values) {
    let (mut weak, mut values) = (Weak::default(), Values::new(64, 1));
    let mut answers: VecDeque<(Who, LineAccess, [u64; 16], u64)> = VecDeque::new();
    for (i, (what, cu, at)) in choices.iter().enumerate() {
        let (cu, offset) = (u32::from(cu % 3), u32::from(at % 4) * 4);
        let (addr, now) = (0x400 + u64::from(offset), 10 * i as u64 + 10);
        let unit = who(cu, 0, u32::from(what % 2));
        let wrong = if falsify == Some(i) { 0x8000_0000 } else { 0 };
        match what % 12 {
            0..=4 => {
                let (mask, data) = word(offset, weak.load(cu, addr) ^ wrong);
                values.load(&unit, 16, mask, &data, now, now + 1);
            }
            5..=8 => {
                let value = 1000 + 100 * i as u32;
                let (mask, data) = word(offset, value);
                weak.store(cu, addr, value);
                values.store(&unit, 16, mask, &data, now);
            }
            9 | 10 => {
                let (mask, data) = word(offset, 1);
                values.amo_taken(16);
                let old = word(offset, weak.add(cu, addr) ^ wrong).1;
                answers.push_back((unit, access(AmoOp::Add, 16, mask, data), old, now));
                if what % 2 == 0 {
                    continue;
                }
            }
            _ => {
                (0..3).for_each(|cu| weak.drain(cu));
                weak.copies.clear();
                answer(&mut values, &mut answers, now);
                values.kernel_boundary(now);
            }
        }
        if at % 3 == 0 {
            answer(&mut values, &mut answers, now);
        }
    }
    answer(&mut values, &mut answers, 1 << 20);
    values.kernel_boundary(1 << 20);
    (values.counts().violations, values)
}

fn answer(values: &mut Values, answers: &mut VecDeque<(Who, LineAccess, [u64; 16], u64)>, now: u64) {
    while let Some((unit, access, old, issued)) = answers.pop_back() {
        values.amo(&unit, &access, &old, issued, now);
    }
}

/// Unit (0, 0) writes 7 and releases it with `scope`; unit (`gpu`, 1) acquires with `scope` and loads.
fn after_release(scope: u8, gpu: u32, value: u32, issued: u64) -> usize {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 7, 10);
    b.0.synchronised(0, 0, false, scope, (11, 20));
    b.0.synchronised(gpu, 1, true, scope, (20, 30));
    b.load(who(gpu, 1, 2), 0, value, issued, issued + 9);
    b.0.violations().len()
}

#[test]
fn what_a_release_has_made_visible_must_be_found_after_an_acquire() {
    for (scope, gpu) in [(2, 1), (2, 0), (1, 0)] {
        assert_eq!(after_release(scope, gpu, 7, 30), 0);
        assert_eq!(
            after_release(scope, gpu, 1, 30),
            1,
            "the value before the kernel, scope {scope}, GPU {gpu}"
        );
        assert_eq!(after_release(scope, gpu, 1, 29), 0, "loaded before the acquire was complete");
    }
    assert_eq!(after_release(1, 1, 1, 30), 0, "another GPU is not in the release's scope");
    assert_eq!(after_release(0, 0, 1, 30), 0, "nor is another compute unit");
}

#[test]
fn a_value_overwritten_before_a_release_is_not_found_after_the_acquire() {
    for (second, first_release, allowed) in
        [(who(0, 0, 1), None, false), (who(2, 0, 0), Some((11, 14)), false), (who(2, 0, 0), None, true)]
    {
        let mut b = Bench::new();
        b.store(who(0, 0, 0), 0, 7, 10);
        if let Some(span) = first_release {
            b.0.synchronised(0, 0, false, 2, span);
        }
        b.store(second, 0, 8, 15);
        b.0.synchronised(second.gpu, 0, false, 2, (16, 20));
        b.0.synchronised(1, 0, true, 2, (21, 25));
        b.load(who(1, 0, 0), 0, 8, 26, 30);
        b.is_clean();
        b.load(who(1, 0, 0), 0, 7, 31, 33);
        assert_eq!(
            b.0.violations().is_empty(),
            allowed,
            "7 may{} be the last",
            if allowed { "" } else { " not" }
        );
    }
}

#[test]
fn a_kernel_boundary_forgets_releases() {
    let mut b = Bench::new();
    b.store(who(0, 0, 0), 0, 7, 10);
    b.0.synchronised(0, 0, false, 2, (11, 20));
    b.0.synchronised(1, 0, true, 2, (20, 30));
    b.0.kernel_boundary(40);
    b.store(who(0, 0, 0), 0, 9, 50);
    b.load(who(1, 0, 0), 0, 7, 60, 70);
    b.is_clean();
}

proptest! {
    #[test]
    fn a_weakly_ordered_memory_passes_and_a_falsified_one_fails(
        choices in prop::collection::vec(any::<(u8, u8, u8)>(), 1..150),
        falsify in any::<prop::sample::Index>(),
    ) {
        let (violations, values) = weak_run(&choices, None);
        prop_assert_eq!(violations, 0, "{:?}", values.violations());
        let reads: Vec<usize> = (0..choices.len()).filter(|i| matches!(choices[*i].0 % 12, 0..=4 | 9 | 10)).collect();
        if !reads.is_empty() {
            let (violations, _) = weak_run(&choices, Some(reads[falsify.index(reads.len())]));
            prop_assert!(violations > 0);
        }
    }

    #[test]
    fn a_saved_scoreboard_goes_on_as_the_original(choices in prop::collection::vec(any::<(u8, u8, u8)>(), 1..80)) {
        let (_, mut values) = weak_run(&choices, None);
        let bytes = postcard::to_stdvec(&values).expect("plain data");
        let mut copy: Values = postcard::from_bytes(&bytes).expect("its own bytes");
        prop_assert_eq!(copy.counts(), values.counts());
        for v in [&mut values, &mut copy] {
            for offset in 0..4 {
                let (mask, data) = word(4 * offset, 77);
                v.load(&who(0, 0, 0), 16, mask, &data, 1 << 21, 1 << 21);
            }
        }
        prop_assert_eq!(copy.violations(), values.violations());
    }
}
