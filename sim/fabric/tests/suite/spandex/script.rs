//! Threads that do what a list says, word by word, and keep some of what they read.

use weft_workload::op::Hint;
use weft_workload::{
    Access, Addrs, AmoKind, Array, Class, Frame, HostStep, Kernel, Layout, LoadedValues, Op, Program, Unit,
    Values, VerifyError,
};

/// Words of a line, bytes of a word.
const LINE: u64 = 16;
const WORD: u8 = 4;
/// Lines, whose words begin as 0, and values that a thread can keep, each in a line of its own.
const LINES: u64 = 64;
const KEPT: u64 = 4;
/// Token of pauses and of flags that are looked at.
const OWN: u32 = 31;

/// A word of a line.
pub type Place = (u64, u64);

/// One thing that a thread does.
#[derive(Clone, Copy, Debug)]
pub enum Do {
    /// Loads a word; the value goes to the token.
    Load(u32, Place, Hint),
    /// Stores a word.
    Store(Place, u64, Hint),
    /// Adds 1 to a word by an atomic; the old value goes to the token.
    Add(u32, Place, Hint),
    /// Waits for tokens up to this one.
    Await(u32),
    /// Waits for so many ticks.
    Pause(u32),
    /// Stores a flag, which publishes all before.
    Say(Place),
    /// Looks at a flag until it is there.
    Hear(Place),
    /// Keeps the value of a token, which shall be this one.
    Keep(u32, u64),
}

/// Threads of CPU cores, then waves of CUs, as many for each.
pub struct Script {
    arrays: Vec<Array>,
    cores: u32,
    cus: u32,
    waves: u32,
    threads: Vec<Vec<Do>>,
}

fn access(addr: u64, class: Class, hint: Hint) -> Access {
    let addrs = Addrs::Strided { base: addr, stride: 0 };
    Access { class, hint: hint.bits(), ..Access::data(WORD, addrs, 1) }
}

impl Script {
    /// For a fabric with so many cores and CUs, of two waves each. Threads that are not listed do nothing.
    pub fn new((cores, cus): (u32, u32), given: &[(u32, Vec<Do>)]) -> Script {
        let waves = 2;
        let mut threads = vec![Vec::new(); (cores + cus * waves) as usize];
        given.iter().for_each(|(thread, list)| threads[*thread as usize].clone_from(list));
        let mut layout = Layout::new();
        layout.add("words", u64::from(WORD), LINES * LINE, false, vec![]);
        layout.add("kept", u64::from(WORD), threads.len() as u64 * KEPT * LINE, false, vec![]);
        Script { arrays: layout.arrays().to_vec(), cores, cus, waves, threads }
    }

    fn at(&self, (line, word): Place) -> u64 {
        self.arrays[0].at(line * LINE + word)
    }

    /// Where a thread keeps its next value.
    fn kept(&self, thread: u64, number: u64) -> u64 {
        self.arrays[1].at((thread * KEPT + number) * LINE)
    }

    /// The operation, if it is one that the next can follow at once.
    fn op(&self, thread: u64, frame: &mut Frame, what: Do) -> Op {
        match what {
            Do::Load(token, place, hint) => {
                Op::Load { token, access: access(self.at(place), Class::D, hint) }
            }
            Do::Store(place, value, hint) => {
                Op::Store { access: access(self.at(place), Class::D, hint), values: Values::Const(value) }
            }
            Do::Add(token, place, hint) => Op::Amo {
                token,
                access: access(self.at(place), Class::C, hint),
                kind: AmoKind::Add,
                signed: false,
                values: Values::Const(1),
                compare: 0,
                ret: true,
            },
            Do::Pause(latency) => {
                Op::Compute { unit: Unit::Alu, latency, occupancy: 0, needs: vec![], token: Some(OWN) }
            }
            Do::Say(place) => Op::Store {
                access: access(self.at(place), Class::P, Hint::default()),
                values: Values::Const(1),
            },
            Do::Hear(place) => {
                Op::Load { token: OWN, access: access(self.at(place), Class::P, Hint::default()) }
            }
            Do::Keep(token, _) => {
                frame.vars[1] += 1;
                let addr = self.kept(thread, frame.vars[1] - 1);
                Op::Store { access: access(addr, Class::D, Hint::default()), values: Values::Token(token) }
            }
            Do::Await(last) => Op::Await { tokens: (1..=last).collect() },
        }
    }
}

impl Program for Script {
    fn name(&self) -> &str {
        "script"
    }
    fn lanes(&self) -> u32 {
        1
    }
    fn arrays(&self) -> &[Array] {
        &self.arrays
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "script".to_owned(),
                blocks: self.cores + self.cus,
                cpus: self.cores,
                waves_per_block: self.waves,
                lds_bytes: 0,
                args: vec![],
                co_resident: true,
            })
        })
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let thread =
            if block < self.cores { block } else { self.cores + (block - self.cores) * self.waves + wave };
        Frame { kernel: kernel.id, block, wave, pc: 0, vars: vec![u64::from(thread), 0] }
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let thread = frame.vars[0];
        let list = &self.threads[thread as usize];
        let before = frame.pc.checked_sub(1).and_then(|pc| list.get(pc as usize));
        if matches!(before, Some(Do::Hear(_))) && values.lane(OWN, 0) != 1 {
            frame.pc -= 1;
        }
        let mut ops = Vec::new();
        while let Some(what) = list.get(frame.pc as usize).copied() {
            frame.pc += 1;
            ops.push(self.op(thread, frame, what));
            match what {
                Do::Await(_) => return ops,
                Do::Pause(_) | Do::Hear(_) => {
                    ops.push(Op::Await { tokens: vec![OWN] });
                    return ops;
                }
                _ => {}
            }
        }
        ops.push(Op::End);
        ops
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        for (thread, list) in (0..).zip(&self.threads) {
            let wanted = list
                .iter()
                .filter_map(|what| if let Do::Keep(_, value) = what { Some(*value) } else { None });
            for (number, value) in (0..).zip(wanted) {
                let bytes = memory(self.kept(thread, number), usize::from(WORD));
                let found = bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                if found != value {
                    return Err(VerifyError {
                        program: "script".to_owned(),
                        array: "kept".to_owned(),
                        index: (thread * KEPT + number) * LINE,
                        found: found.to_string(),
                        expected: value.to_string(),
                        wrong: 1,
                        total: 1,
                    });
                }
            }
        }
        Ok(())
    }
}
