//! The check told by hand: two GPUs of two compute units.

use super::*;
use crate::config::FabricConfig;
use crate::cu::{KIND_ACK, Who};

/// Events in order; transaction numbers are given out one after the other.
struct Bench {
    times: Times,
    id: u16,
    operations: BTreeMap<(u32, u32, u32), u32>,
}

/// A unit and a wave in it.
type Wave = (u32, u32, u32);

const A: Wave = (0, 0, 0);
const B: Wave = (1, 1, 0);

impl Bench {
    fn new(protocol: &str) -> Bench {
        let mut config = FabricConfig::load("tsm-4gpu-small").expect("built in");
        for change in ["gpus=2", "cus=2", &format!("protocol={protocol}")] {
            config.set(change).expect("legal");
        }
        let times = Times::bare(&config.tsm().expect("of this family"));
        Bench { times, id: 0, operations: BTreeMap::new() }
    }

    /// The L1 takes an access of the wave's next operation.
    fn take(&mut self, (gpu, cu, wave): Wave, access: LineAccess) -> (Wave, u16) {
        let operation = self.operations.entry((gpu, cu, wave)).or_default();
        let who = Who { gpu, gpms: 1, cu, kernel: 0, block: 0, wave };
        let issuer = Issuer { who, operation: *operation };
        *operation += 1;
        self.id += 1;
        let access = LineAccess { id: self.id, ..access };
        self.times.request(0, gpu, cu, &access, Some(&issuer));
        ((gpu, cu, wave), self.id)
    }

    fn answer(&mut self, ((gpu, cu, _), id): (Wave, u16), value: u64, time: u64) {
        let mut data = [0; 16];
        data[0] = value;
        let reply = LineReply { id, kind: KIND_ACK, mask: 0, data, src: 0, merged: false };
        self.times.answer(0, gpu, cu, &reply, Some(time));
    }

    fn store(&mut self, wave: Wave, line: u64, value: u64) -> (Wave, u16) {
        let mut access = LineAccess { line, mask: 0xff, want_ack: true, ..LineAccess::bare(CuOp::St) };
        access.data[0] = value;
        self.take(wave, access)
    }

    fn load(&mut self, wave: Wave, line: u64) -> (Wave, u16) {
        self.take(wave, LineAccess { line, mask: 0xff, ..LineAccess::bare(CuOp::Ld) })
    }

    fn stored(&mut self, wave: Wave, line: u64, value: u64, time: u64) {
        let store = self.store(wave, line, value);
        self.answer(store, 0, time);
    }

    fn loaded(&mut self, wave: Wave, line: u64, value: u64, time: u64) {
        let load = self.load(wave, line);
        self.answer(load, value, time);
    }

    fn fence(&mut self, wave: Wave, time: u64) {
        let fence = self.take(wave, LineAccess::bare(CuOp::Acq));
        self.answer(fence, 0, time);
    }

    /// Nothing is wrong, or a sentence with these words.
    fn expect(&self, words: &[&str]) {
        let text = self.times.wrong();
        assert_eq!(text.is_some(), !words.is_empty(), "{text:?}");
        assert!(words.iter().all(|word| text.unwrap_or_default().contains(word)), "{text:?}");
    }
}

#[test]
fn a_lease_may_show_the_value_before_a_later_write() {
    let mut bench = Bench::new("wt-c-rc");
    bench.stored(A, 5, 1, 3);
    bench.loaded(B, 5, 1, 8);
    bench.stored(A, 5, 2, 14);
    bench.loaded(B, 5, 1, 13);
    bench.loaded(A, 5, 2, 14);
    bench.expect(&[]);
    bench.loaded(B, 5, 1, 14);
    bench.expect(&["gpu 1 cu 1", "0x01 in byte 0 of line 0x140 at time 14", "(gpu 0 cu 0) at 14", "0x02"]);
}

#[test]
fn a_read_waits_for_the_times_of_writes_under_way() {
    for (value, words) in [(9, &[][..]), (0, &["finds 0x00", "left 0x09"][..])] {
        let mut bench = Bench::new("wt-c-rc");
        let store = bench.store(A, 5, 9);
        // The value travels faster than the answer to its writer.
        bench.loaded(B, 5, value, 7);
        bench.expect(&[]);
        bench.answer(store, 0, 6);
        bench.expect(words);
    }
}

#[test]
fn a_write_must_be_later_than_what_was_read_before_it() {
    let mut bench = Bench::new("wt-c-rc");
    bench.loaded(B, 5, 0, 10);
    bench.stored(A, 5, 1, 10);
    bench.expect(&["writes line 0x140 at time 10", "bound at 10"]);
}

#[test]
fn two_writes_of_a_line_have_two_times() {
    let mut bench = Bench::new("wt-c-rc");
    let (one, two) = (bench.store(A, 5, 1), bench.store(B, 5, 2));
    bench.answer(one, 0, 4);
    bench.answer(two, 0, 4);
    bench.expect(&["at one time, 4"]);
}

#[test]
fn an_atomic_sees_what_was_before_it() {
    for (old, words) in [(7, &[][..]), (8, &["finds 0x08", "left 0x07"][..])] {
        let mut bench = Bench::new("wt-c-rc");
        bench.stored(A, 5, 7, 3);
        let mut access = LineAccess { line: 5, mask: 0xff, ..LineAccess::bare(CuOp::Amo) };
        access.data[0] = 5;
        let amo = bench.take(B, access);
        bench.answer(amo, old, 4);
        bench.expect(words);
        if words.is_empty() {
            bench.loaded(A, 5, 12, 4);
            bench.expect(&[]);
        }
    }
}

#[test]
fn time_does_not_go_back_along_a_wave_or_across_its_fences() {
    let go = |protocol: &str, fence: Option<u64>| {
        let mut bench = Bench::new(protocol);
        bench.loaded(A, 5, 0, 20);
        if let Some(time) = fence {
            bench.fence(A, time);
        }
        bench.loaded(A, 6, 0, 12);
        bench.times.wrong().map(str::to_string)
    };
    assert_eq!(go("wt-c-rc", None), None);
    assert!(go("wt-c-rc", Some(20)).is_some_and(|text| text.contains("binds at time 12, before 20")));
    assert!(
        go("wt-c-rc", Some(19)).is_some_and(|text| text.contains("a fence of") && text.contains("time 19"))
    );
    assert!(go("wt-c-sc", None).is_some_and(|text| text.contains("binds at time 12, before 20")));
}

#[test]
fn a_wave_sees_the_versions_of_a_line_in_its_order() {
    let go = |swapped: bool| {
        let mut bench = Bench::new("wt-c-rc");
        bench.stored(A, 5, 1, 10);
        let (first, second) = (bench.load(B, 5), bench.load(B, 5));
        let (old, new) = if swapped { (second, first) } else { (first, second) };
        bench.answer(new, 1, 12);
        bench.answer(old, 0, 4);
        bench.times.wrong().is_some()
    };
    assert_eq!([false, true].map(go), [false, true]);
}

#[test]
fn a_kernel_begins_beyond_all_that_was_before() {
    let mut bench = Bench::new("wt-c-rc");
    let mut access = LineAccess::bare(CuOp::Kbegin);
    access.data[0] = 30;
    let begin = bench.take(A, access);
    bench.answer(begin, 0, 30);
    bench.loaded(A, 5, 0, 29);
    bench.expect(&["binds at time 29, before 30"]);
    let mut bench = Bench::new("wt-c-rc");
    bench.loaded(A, 5, 0, 9);
    let end = bench.take(A, LineAccess::bare(CuOp::Kend));
    bench.answer(end, 8, 8);
    bench.expect(&["ends its kernel at time 8", "bound at 9"]);
}

#[test]
fn versions_that_no_clock_can_reach_are_dropped() {
    let mut bench = Bench::new("wt-c-rc");
    let units = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)];
    for i in 0..400 {
        bench.stored(units[i as usize % 4], 5, i + 1, 10 * i + 10);
        bench.loaded(units[i as usize % 4], 5, i + 1, 10 * i + 11);
    }
    bench.expect(&[]);
    let page = &bench.times.s.pages[&0];
    let log = postcard::to_stdvec(&page.logs[&5]).expect("plain data");
    assert!(log.len() < 130 * 100, "{} bytes", log.len());
    let saved = bench.times.save();
    assert!(bench.times.resume(&saved));
    assert_eq!(bench.times.save(), saved);
    // All clocks have passed that.
    bench.loaded(B, 5, 1, 10);
    bench.expect(&["binds at time 10, before"]);
}

#[test]
fn a_short_clock_is_told_in_full() {
    // Epochs of 3 bits, stamps of 6: 8 times 64.
    let told = |full: u64| full & 511;
    for near in [0u64, 63, 64, 500, 511, 512, 5_000] {
        for ahead in -200i64..=200 {
            let Some(full) = near.checked_add_signed(ahead) else { continue };
            assert_eq!(full_time(told(full), near, 9), full, "{ahead} from {near}");
        }
    }
    assert_eq!(full_time(u64::MAX, 7, 64), u64::MAX, "a clock of 64 bits is as it is told");
}
