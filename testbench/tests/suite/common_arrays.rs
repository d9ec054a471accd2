//! Set-associative array, CAM and miss registers against plain models.

use crate::common_bench;
use common_bench::*;
use proptest::prelude::*;
use rand::Rng;
use std::collections::{HashMap, VecDeque};
use weft_blocks::common::cam::{CamParams, CamReq, CamRsp, cam};
use weft_blocks::common::mshr::{Fetch, Fill, Miss, MshrParams, mshr_file};
use weft_blocks::common::set_assoc::{ArrayParams, ArrayReq, ArrayRsp, Policy, set_assoc_array};
use weft_rtl::prelude::*;

fn numbers(msg: &Msg) -> Vec<u64> {
    msg.iter().map(Bv::low_u64).collect()
}

/// One set in plain Rust: keys by way, ways from the youngest to the oldest.
#[derive(Clone)]
struct Set {
    keys: Vec<Option<u64>>,
    order: Vec<usize>,
}

/// Expected answer: hit, way, evicted key.
fn array_step(set: &mut Set, policy: Policy, op: u64, key: u64) -> (bool, Option<usize>, Option<u64>) {
    let found = set.keys.iter().position(|k| *k == Some(key));
    let youngest = |order: &mut Vec<usize>, way: usize| {
        order.retain(|w| *w != way);
        order.insert(0, way);
    };
    match (op, found) {
        (1 | 2, Some(way)) => {
            if policy == Policy::Lru {
                youngest(&mut set.order, way);
            }
            (true, Some(way), None)
        }
        (2, None) => {
            let free = set.keys.iter().position(Option::is_none);
            let way = free.unwrap_or_else(|| *set.order.last().expect("a set has ways"));
            let old = set.keys[way].replace(key);
            youngest(&mut set.order, way);
            (false, Some(way), old)
        }
        (3, Some(way)) => {
            set.keys[way] = None;
            (true, Some(way), None)
        }
        (_, found) => (found.is_some(), found, None),
    }
}

fn run_array(p: ArrayParams, give: f64, take: f64, seed: u64) {
    let mut b = Bench::new(&set_assoc_array(p).unwrap(), seed);
    b.source::<ArrayReq>("req", &p);
    b.sink::<ArrayRsp>("rsp", &p);
    (b.sources[0].chance, b.sinks[0].chance) = (give, take);
    // Few keys per set, so that sets fill and keys come back.
    let keys = u64::from(p.sets * p.ways * 2).min(1 << p.key_bits);
    for _ in 0..400 {
        let op = [0, 1, 1, 2, 2, 2, 2, 3][b.rng.random_range(0..8)];
        let key = b.rng.random_range(0..keys);
        b.sources[0].queue.push_back(vec![Bv::from_u64(op, 2), Bv::from_u64(key, p.key_bits)]);
    }
    let requests = b.sources[0].queue.clone();
    b.run(u64::from(p.sets) + (500.0 / (give * take)) as u64 * 2);
    assert_eq!(b.sinks[0].got.len(), requests.len());
    let fresh = Set { keys: vec![None; p.ways as usize], order: (0..p.ways as usize).collect() };
    let mut sets = vec![fresh; p.sets as usize];
    for (i, (request, (_, answer))) in requests.iter().zip(&b.sinks[0].got).enumerate() {
        let (op, key) = (request[0].low_u64(), request[1].low_u64());
        let set = &mut sets[(key % u64::from(p.sets)) as usize];
        let (hit, way, evicted) = array_step(set, p.policy, op, key);
        let got = numbers(answer);
        assert_eq!((got[0] == 1, got[2] == 1), (hit, evicted.is_some()), "request {i}");
        if let Some(way) = way {
            assert_eq!(got[1], way as u64, "way of request {i}");
        }
        if let Some(old) = evicted {
            assert_eq!(got[3], old, "key evicted by request {i}");
        }
    }
}

fn run_cam(p: CamParams, seed: u64) {
    let mut b = Bench::new(&cam(p).unwrap(), seed);
    b.source::<CamReq>("req", &p);
    b.sink::<CamRsp>("rsp", &p);
    (b.sources[0].chance, b.sinks[0].chance) = (0.8, 0.8);
    let keys = u64::from(p.entries * 3 / 2 + 1).min(1 << p.key_bits);
    for _ in 0..400 {
        let op = [0, 1, 1, 2][b.rng.random_range(0..4)];
        let key = b.rng.random_range(0..keys);
        b.sources[0].queue.push_back(vec![Bv::from_u64(op, 2), Bv::from_u64(key, p.key_bits)]);
    }
    let requests = b.sources[0].queue.clone();
    b.run(1000);
    assert_eq!(b.sinks[0].got.len(), requests.len());
    let mut entries: Vec<Option<u64>> = vec![None; p.entries as usize];
    for (request, (_, answer)) in requests.iter().zip(&b.sinks[0].got) {
        let (op, key) = (request[0].low_u64(), request[1].low_u64());
        let found = entries.iter().position(|k| *k == Some(key));
        let free = entries.iter().position(Option::is_none);
        assert_eq!((answer[0].bit(0), answer[3].bit(0)), (found.is_some(), free.is_none()));
        let matches: Vec<u32> = (0..p.entries).filter(|i| answer[1].bit(*i)).collect();
        assert_eq!(matches, found.map(|i| i as u32).into_iter().collect::<Vec<_>>());
        if let Some(index) = found.or(free) {
            assert_eq!(answer[2].low_u64(), index as u64);
        }
        match (op, found, free) {
            (1, None, Some(index)) => entries[index] = Some(key),
            (2, Some(index), _) => entries[index] = None,
            _ => {}
        }
    }
}

const MISSES: u64 = 150;

/// A memory that answers fetches in random order, and the checks on what the miss registers do.
fn run_mshrs(p: MshrParams, seed: u64) -> u64 {
    let mut b = Bench::new(&mshr_file(p).unwrap(), seed);
    let (miss, fill) = (b.source::<Miss>("miss", &p), b.source::<Fill>("fill", &p));
    let (fetch, done) = (b.sink::<Fetch>("fetch", &p), b.sink::<Miss>("done", &p));
    (b.sources[miss].chance, b.sinks[fetch].chance, b.sinks[done].chance) = (0.9, 0.7, 0.8);
    let mut waiting: HashMap<u64, VecDeque<u64>> = HashMap::new();
    for target in 0..MISSES {
        let line = b.rng.random_range(0..u64::from(p.entries) * 2);
        b.sources[miss]
            .queue
            .push_back(vec![Bv::from_u64(line, p.line_bits), Bv::from_u64(target, p.target_bits)]);
        waiting.entry(line).or_default().push_back(target);
    }
    // Entries that are being fetched, with their lines.
    let mut open: Vec<(u64, u64)> = Vec::new();
    let (mut fetched, mut answered, mut since_fill, mut pause) = (0, 0, 0, 0);
    for _ in 0..20_000 {
        b.drive();
        b.clock();
        for (_, msg) in std::mem::take(&mut b.sinks[fetch].got) {
            let (line, id) = (msg[0].low_u64(), msg[1].low_u64());
            assert!(id < u64::from(p.entries));
            assert!(open.iter().all(|(l, i)| *l != line && *i != id), "one fetch per line and entry");
            open.push((line, id));
            fetched += 1;
        }
        for (_, msg) in std::mem::take(&mut b.sinks[done].got) {
            let first = waiting.get_mut(&msg[0].low_u64()).and_then(VecDeque::pop_front);
            assert_eq!(first, Some(msg[1].low_u64()), "targets of a line are answered in order");
            answered += 1;
            since_fill += 1;
            assert!(since_fill <= u64::from(p.targets), "no more targets than the list holds");
        }
        // The next line comes well after the answers of the one before are out, so that they can be told apart.
        pause = u64::saturating_sub(pause, 1);
        if pause == 0 && !open.is_empty() && b.rng.random_bool(0.2) {
            let (_, id) = open.swap_remove(b.rng.random_range(0..open.len()));
            (since_fill, pause) = (0, 8 * u64::from(p.targets) + 20);
            b.sources[fill].queue.push_back(vec![Bv::from_u64(id, bits_for(u64::from(p.entries)))]);
        }
        if answered == MISSES {
            return fetched;
        }
    }
    panic!("only {answered} of {MISSES} misses were answered");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn array_follows_the_model(
        sets in prop::sample::select(vec![2u32, 4, 16]),
        ways in prop::sample::select(vec![1u32, 2, 3, 4, 8]),
        lru: bool, give in 0.3f64..1.0, take in 0.3f64..1.0, seed: u64,
    ) {
        let policy = if lru { Policy::Lru } else { Policy::Fifo };
        run_array(ArrayParams { sets, ways, key_bits: 12, policy }, give, take, seed);
    }

    #[test]
    fn cam_follows_the_model(entries in 1u32..20, key_bits in 5u32..40, seed: u64) {
        run_cam(CamParams { entries, key_bits }, seed);
    }

    #[test]
    fn miss_registers_answer_everyone(entries in 1u32..9, targets in 1u32..6, seed: u64) {
        run_mshrs(MshrParams { entries, targets, line_bits: 20, target_bits: 16 }, seed);
    }
}

#[test]
fn back_to_back_operations_on_one_set() {
    let p = ArrayParams { sets: 2, ways: 4, key_bits: 4, policy: Policy::Lru };
    for seed in 0..5 {
        run_array(p, 1.0, 1.0, seed);
    }
}

#[test]
fn misses_are_merged() {
    let fetched = run_mshrs(MshrParams { entries: 4, targets: 8, line_bits: 20, target_bits: 16 }, 1);
    assert!(fetched < MISSES * 2 / 3, "{fetched} fetches for {MISSES} misses");
}
