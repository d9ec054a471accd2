//! DRAM channels against a plain model that looks at every cycle, and behind real ports.

use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use weft_blocks::msg::{MemReq, MemRsp};
use weft_engine::runner::Model;
use weft_engine::{Design, Options, Sim};
use weft_fabric::config::FabricConfig;
use weft_fabric::dram::{Channel, Dram, DramTiming, Request};
use weft_fabric::memory::Memory;
use weft_rtl::prelude::*;

fn timing() -> DramTiming {
    DramTiming {
        line: 64,
        bandwidth: 64,
        latency: 100,
        banks: 1,
        bank_busy: 1,
        queue: 32,
        interleave: 4096,
        channels: 4,
    }
}

fn line_of(value: u64) -> Vec<u64> {
    (0..8).map(|i| value.wrapping_mul(0x9e37_79b9) + i).collect()
}

/// What a channel did: request taken in cycle, or answer seen in cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    cycle: u64,
    id: u64,
    data: Vec<u64>,
}

/// The plain model: every cycle, in words. Answers leave one per cycle.
struct Plain {
    t: DramTiming,
    lines: HashMap<u64, Vec<u64>>,
    waiting: Vec<(u64, Option<(u64, Vec<u64>)>)>,
    busy_until: Vec<u64>,
    carried: u64,
    flying: Vec<(u64, u64, Vec<u64>)>,
}

impl Plain {
    fn new(t: DramTiming) -> Plain {
        Plain {
            t,
            lines: HashMap::new(),
            waiting: Vec::new(),
            busy_until: vec![0; t.banks as usize],
            carried: 0,
            flying: Vec::new(),
        }
    }

    fn cycle(&mut self, now: u64, request: Option<&Request>) -> (bool, Option<Answer>) {
        self.start(now);
        let taken = request.is_some() && self.waiting.len() < self.t.queue as usize;
        if let Some(request) = request.filter(|_| taken) {
            let (addr, reply) = match request {
                Request::Write { addr, data } => {
                    self.lines.insert(*addr, data.clone());
                    (*addr, None)
                }
                Request::Read { addr, id } => {
                    (*addr, Some((*id, self.lines.get(addr).cloned().unwrap_or(vec![0; 8]))))
                }
            };
            self.waiting.push((addr / 4096 / 4 % u64::from(self.t.banks), reply));
            self.start(now);
        }
        let first =
            (0..self.flying.len()).filter(|i| self.flying[*i].0 <= now).min_by_key(|i| self.flying[*i].0);
        let answer = first.map(|i| {
            let (_, id, data) = self.flying.remove(i);
            Answer { cycle: now, id, data }
        });
        (taken, answer)
    }

    fn start(&mut self, now: u64) {
        let bus = u64::from(self.t.bandwidth);
        while self.carried < (now + 1) * bus {
            let free = |bank: u64| self.busy_until[bank as usize] <= now;
            let Some(i) = self.waiting.iter().position(|(bank, _)| free(*bank)) else { break };
            let (bank, reply) = self.waiting.remove(i);
            self.busy_until[bank as usize] = now + u64::from(self.t.bank_busy);
            self.carried = self.carried.max(now * bus) + 64;
            if let Some((id, data)) = reply {
                self.flying.push(((self.carried - 1) / bus + u64::from(self.t.latency), id, data));
            }
        }
    }
}

prop_compose! {
    fn timings()(
        bandwidth in 1u32..200, latency in 1u32..40, banks in 1u32..5, bank_busy in 1u32..30, queue in 1u32..6,
    ) -> DramTiming {
        DramTiming { bandwidth, latency, banks, bank_busy, queue, ..timing() }
    }
}

/// Idle cycles before a request, its line among few, and whether it writes.
fn traffic() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    let gap = prop_oneof![4 => Just(0u64), 2 => 0u64..4, 1 => 0u64..200];
    prop::collection::vec((gap, 0u64..64, any::<bool>()), 1..60)
}

fn request(number: usize, place: u64, write: bool) -> Request {
    let addr = place % 8 * 16384 + place / 8 * 64;
    match write {
        true => Request::Write { addr, data: line_of(number as u64) },
        false => Request::Read { addr, id: number as u64 },
    }
}

proptest! {
    #[test]
    fn a_channel_that_jumps_equals_the_plain_model_that_does_not(t in timings(), traffic in traffic()) {
        let (mut plain, mut channel, mut memory) = (Plain::new(t), Channel::new(t), Memory::new());
        let mut queue = traffic.iter().enumerate().map(|(i, (gap, place, write))| (*gap, request(i, *place, *write)));
        let (mut next, mut now) = (queue.next(), 0u64);
        let mut earliest = next.as_ref().map_or(0, |(gap, _)| *gap);
        while next.is_some() || !channel.is_idle() {
            let offered = next.as_ref().filter(|_| now >= earliest).map(|(_, r)| r.clone());
            let (taken, answer) = plain.cycle(now, offered.as_ref());
            // The channel is touched only when something is offered or it asked for it.
            if offered.is_some() || channel.next_event().is_some_and(|due| due <= now) {
                channel.advance(now);
                prop_assert!(offered.is_none() || channel.has_room() == taken, "cycle {now}");
                if let Some(request) = offered.filter(|_| taken) {
                    channel.accept(now, request, &mut memory);
                    next = queue.next();
                    earliest = now + 1 + next.as_ref().map_or(0, |(gap, _)| *gap);
                }
            }
            let reply = channel.take_reply(now).map(|r| Answer { cycle: now, id: r.id, data: r.data });
            prop_assert_eq!(reply, answer);
            now += 1;
        }
        for (addr, data) in &plain.lines {
            let mut limbs = vec![0; 8];
            memory.read_limbs(*addr, &mut limbs);
            prop_assert_eq!(&limbs, data);
        }
    }
}

#[test]
fn bandwidth_latency_and_banks_are_those_of_the_parameters() {
    let last_answer = |t: DramTiming, stride: u64| {
        let (mut channel, mut memory) = (Channel::new(t), Memory::new());
        (0..8).for_each(|i| channel.accept(0, Request::Read { addr: i * stride, id: i }, &mut memory));
        let mut order = Vec::new();
        for now in 0..10_000 {
            channel.advance(now);
            while let Some(reply) = channel.take_reply(now) {
                order.push((now, reply.id));
            }
        }
        order
    };
    let ends = |t, stride| {
        let order = last_answer(t, stride);
        (order[0].0, order[7].0)
    };
    assert_eq!(ends(timing(), 64), (100, 107), "a line per cycle");
    assert_eq!(ends(DramTiming { bandwidth: 8, ..timing() }, 64), (107, 163), "a line per 8 cycles");
    assert_eq!(
        ends(DramTiming { bandwidth: 128, ..timing() }, 64),
        (100, 107),
        "a bank starts once per cycle"
    );
    let wide = DramTiming { bandwidth: 128, banks: 8, ..timing() };
    assert_eq!(ends(wide, 16384), (100, 103), "two lines per cycle from different banks");
    let slow = DramTiming { bank_busy: 10, ..timing() };
    assert_eq!(ends(slow, 64), (100, 170), "one bank, busy for 10 cycles");
    assert_eq!(ends(DramTiming { banks: 2, ..slow }, 16384), (100, 131), "two banks in turn");
    let order: Vec<u64> =
        last_answer(DramTiming { banks: 2, ..slow }, 8192).iter().map(|(_, id)| *id).collect();
    assert_eq!(
        order,
        [0, 2, 1, 3, 4, 6, 5, 7],
        "a free bank is not kept waiting by an older request to a busy one"
    );
}

/// Passes what the bench sends on to the DRAM's port and its answers back.
fn stub() -> Arc<Module> {
    let mut config = FabricConfig::load("rec-4gpu-small").expect("built in");
    // As many reads as the traffic has names for.
    ["l2_mshrs=64", "l2_pool=64"].iter().for_each(|change| config.set(change).expect("legal"));
    let sys = config.directory().expect("of this family").sys;
    Module::build("dram_bench_stub", ModuleKind::Block, || {
        let (cmd, to) = (in_channel::<MemReq>("cmd", &sys), out_channel::<MemReq>("g0_mem0_req", &sys));
        when(cmd.valid & to.free, || {
            cmd.take();
            to.send(&cmd.msg);
        });
        let (from, ans) = (in_channel::<MemRsp>("g0_mem0_rsp", &sys), out_channel::<MemRsp>("ans", &sys));
        when(from.valid & ans.free, || {
            from.take();
            ans.send(&from.msg);
        });
    })
    .expect("elaborates")
}

/// Sends requests through the stub and collects the answers; `skip` jumps over the time in which everything sleeps.
struct Bench {
    sim: Sim,
    dram: Dram,
    skip: bool,
    jumped: u64,
    held: Option<u64>,
}

impl Bench {
    fn new(t: DramTiming, skip: bool) -> Bench {
        let sim = Sim::new(&Design::new(&stub(), Options::default()).expect("flattens"));
        let dram = Dram::new(&sim, 1, 1, t, Memory::new()).expect("the ports are there");
        Bench { sim, dram, skip, jumped: 0, held: None }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.sim.input(name).expect(name);
        self.sim.set(port, value);
    }

    fn get(&mut self, name: &str) -> u64 {
        let port = self.sim.output(name).expect(name);
        self.sim.get(port)
    }

    /// One cycle, or a jump to the next event, at most to `end`.
    fn cycle(&mut self, end: u64) {
        let due = self.dram.tick(&mut self.sim).expect("has no checks").unwrap_or(end).min(end);
        let now = self.sim.cycle();
        if self.skip && self.sim.asleep() && due > now + 1 {
            self.jumped += due - now;
            self.sim.skip(due - now);
        } else {
            self.sim.step();
        }
    }

    fn run(&mut self, traffic: &[(u64, u64, bool)], holds: &[u64]) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut due = 0;
        let mut holds = holds.iter().cycle();
        for (i, (gap, place, write)) in traffic.iter().enumerate() {
            due = self.idle_until(due.max(self.sim.cycle()) + gap, &mut answers, &mut holds);
            let (addr, data, id) = match request(i, *place, *write) {
                Request::Write { addr, data } => (addr, data, 0),
                Request::Read { addr, id } => (addr, vec![0; 8], id),
            };
            self.set("cmd_write", u64::from(*write));
            self.set("cmd_line", addr / 64);
            self.set("cmd_id", id);
            let port = self.sim.input("cmd_data").expect("a port");
            self.sim.set_limbs(port, &data);
            self.set("cmd_valid", 1);
            loop {
                let sent = self.get("cmd_ready") == 1;
                self.one(&mut answers, &mut holds, u64::MAX);
                if sent {
                    break;
                }
            }
            self.set("cmd_valid", 0);
        }
        let end = self.sim.cycle() + 30_000;
        self.idle_until(end, &mut answers, &mut holds);
        answers
    }

    fn idle_until<'a>(
        &mut self,
        end: u64,
        answers: &mut Vec<Answer>,
        holds: &mut impl Iterator<Item = &'a u64>,
    ) -> u64 {
        while self.sim.cycle() < end {
            self.one(answers, holds, end);
        }
        end
    }

    /// One cycle, or a jump when nothing is sent or taken; an answer is taken after it was held for a while.
    fn one<'a>(&mut self, answers: &mut Vec<Answer>, holds: &mut impl Iterator<Item = &'a u64>, end: u64) {
        let now = self.sim.cycle();
        if self.get("ans_valid") == 0 {
            return self.cycle(end);
        }
        let until = *self.held.get_or_insert_with(|| now + holds.next().copied().unwrap_or(0));
        if now < until {
            return self.cycle(until.min(end));
        }
        self.held = None;
        self.set("ans_ready", 1);
        let port = self.sim.output("ans_data").expect("a port");
        let data = self.sim.get_bv(port).limbs().to_vec();
        answers.push(Answer { cycle: now, id: self.get("ans_id"), data });
        self.cycle(now + 1);
        self.set("ans_ready", 0);
    }
}

/// What each read must return: the last write to its line before it.
fn expected(traffic: &[(u64, u64, bool)]) -> HashMap<u64, Vec<u64>> {
    let (mut lines, mut reads) = (HashMap::new(), HashMap::new());
    for (i, (_, place, write)) in traffic.iter().enumerate() {
        match request(i, *place, *write) {
            Request::Write { addr, data } => drop(lines.insert(addr, data)),
            Request::Read { addr, id } => {
                drop(reads.insert(id, lines.get(&addr).cloned().unwrap_or(vec![0; 8])))
            }
        }
    }
    reads
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn ports_carry_every_answer_once_and_jumps_change_nothing(
        t in timings(), traffic in traffic(), holds in prop::collection::vec(prop_oneof![3 => Just(0u64), 1 => 0u64..50], 1..8),
    ) {
        let answers = Bench::new(t, false).run(&traffic, &holds);
        let mut jumping = Bench::new(t, true);
        prop_assert_eq!(&jumping.run(&traffic, &holds), &answers);
        prop_assert!(jumping.jumped > 10_000, "the long idle end is jumped over");
        prop_assert!(jumping.dram.is_idle());
        let mut reads = expected(&traffic);
        for answer in &answers {
            let want = reads.remove(&answer.id);
            prop_assert_eq!(want.as_ref(), Some(&answer.data));
        }
        prop_assert!(reads.is_empty(), "never answered: {:?}", reads.keys());
        let counters = jumping.dram.counters();
        prop_assert_eq!((counters.reads + counters.writes, counters.reads), (traffic.len() as u64, answers.len() as u64));
    }

    #[test]
    fn a_saved_run_goes_on_as_if_nothing_had_happened(t in timings().prop_map(|t| DramTiming { latency: t.latency + 20, ..t }), first in traffic(), second in traffic()) {
        let mut bench = Bench::new(t, true);
        let (mut seen, hold) = (Vec::new(), [3u64]);
        bench.run(&first, &hold);
        bench.set("cmd_id", 63);
        bench.set("cmd_write", 0);
        while seen.is_empty() && bench.get("cmd_ready") == 0 {
            bench.one(&mut seen, &mut hold.iter().cycle(), u64::MAX);
        }
        bench.set("cmd_valid", 1);
        bench.one(&mut seen, &mut hold.iter().cycle(), u64::MAX);
        bench.set("cmd_valid", 0);
        for _ in 0..t.latency / 2 + 1 {
            let end = bench.sim.cycle() + 1;
            bench.cycle(end);
        }
        prop_assert!(!bench.dram.is_idle());
        let mut again = Bench::new(t, true);
        again.sim.load(&bench.sim.save()).expect("of the same design");
        again.held = bench.held;
        again.dram.load(&bench.dram.save()).expect("of the same fabric");
        let mut copy = bench.dram.clone();
        prop_assert_eq!(copy.save(), bench.dram.save());
        let expected = bench.run(&second, &hold);
        prop_assert_eq!(again.run(&second, &hold), expected);
        prop_assert_eq!(again.dram.save(), bench.dram.save());
        prop_assert!(copy.load(&[1, 2, 3]).is_err());
    }
}

#[test]
fn an_idle_read_takes_the_latency_and_a_missing_port_is_named() {
    let mut bench = Bench::new(timing(), true);
    bench.cycle(1);
    assert_eq!(bench.get("cmd_ready"), 1);
    bench.set("cmd_valid", 1);
    bench.cycle(2);
    bench.set("cmd_valid", 0);
    let mut offered = None;
    while offered.is_none() && bench.sim.cycle() < 500 {
        bench.cycle(500);
        offered = (bench.get("ans_valid") == 1).then(|| bench.sim.cycle());
    }
    // Cycle 1: cmd; 2: request on the port; 102: answer on the port; 103: at the bench.
    assert_eq!(offered, Some(103));
    let error = Dram::new(&bench.sim, 1, 2, timing(), Memory::new()).err().expect("one bank only");
    assert!(error.to_string().starts_with("the design has no output g0_mem1_req_valid"), "{error}");
}
