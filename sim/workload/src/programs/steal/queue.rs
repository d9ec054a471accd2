//! Work queues with lock-free stealing: the queue of Arora, Blumofe and Plaxton in the form of Cederman and Tsigas, one for each work-group (srsp.md section 11).
//!
//! The owner takes tasks at the tail, thieves at the head. A kernel begins with full queues and ends when all are empty; nothing is put in meanwhile.
//!
//! ```text
//! pop(q):   t = my_tail; if t == 0 -> empty;  t -= 1; ST tail = t              (P1)
//!           h = LD head                                                        (P2)
//!           if t > h.idx -> task t;  n = {0, h.ctr + 1};  ST tail = 0          (P3)
//!           if t == h.idx and CAS head h -> n                                  (P4)  -> task t
//!           ST head = n                                                        (P5);  empty
//! steal(v): a = tail, b = head, relaxed                                        (H);   if a <= b.idx -> empty
//!           h = LD head (S1); t = LD tail (S2);  if t <= h.idx -> empty
//!           CAS head h -> {h.idx + 1, h.ctr}                                   (S3):  won -> task h.idx, lost -> abort
//! ```
//! A work-group whose own queue is empty looks at `victims` others in turn, again if it lost a task to another,
//! and then ends: each queue is emptied by its owner if by nobody else, so that no task is left.
//!
//! The first thread of a work-group does this; the other lanes of its wave follow its steps and see what it loads, the other waves wait at the barrier.
//!
//! Every execution of a task is noted: each task holds the number of the last kernel that executed it, and each work-group the tasks that it took.

use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::round::{Atomic, Round};
use super::super::simt::{Base, Memory, Thread};
use super::sync::Sync;
use crate::op::{AmoKind, Sem};
use crate::program::VerifyError;

/// Parameter `queues`; `weft run` sets it to the fabric's CUs.
pub const QUEUES: ParamSpec =
    size("queues", "16", 4096, "queues", "Work queues, and so work-groups (the fabric's CUs unless given).");

/// Parameter `waves`.
pub const WAVES: ParamSpec = size(
    "waves",
    "4",
    16,
    "waves",
    "Waves of a work-group; a task has as many vertices as a work-group has lanes, unless parameter task says otherwise.",
);

/// Parameter `task`.
pub const TASK: ParamSpec = ParamSpec {
    name: "task",
    default: "0",
    legal: Legal::Integer { min: 0, max: 65536 },
    unit: "vertices",
    about: "Vertices of a task: below the work-group's lanes some stay idle, above them each visits several; 0: as many as it has lanes.",
};

/// Threads of a work-group.
pub fn group(params: &Params) -> u64 {
    params.integer("waves") * params.integer("lanes")
}

/// Parameter `victims`.
pub const VICTIMS: ParamSpec = ParamSpec {
    name: "victims",
    default: "0",
    legal: Legal::Integer { min: 0, max: 4095 },
    unit: "queues",
    about: "Queues that a work-group looks at when its own is empty, from the next one on; 0: all others.",
};

/// Parameter `hint`.
pub const HINT: ParamSpec = ParamSpec {
    name: "hint",
    default: "on",
    legal: Legal::Choice(&["on", "off"]),
    unit: "",
    about: "Thieves look at a queue by relaxed loads before they synchronise with its owner.",
};

/// Parameter `pad`.
pub const PAD: ParamSpec = ParamSpec {
    name: "pad",
    default: "on",
    legal: Legal::Choice(&["on", "off"]),
    unit: "",
    about: "Each head and each tail has a line of its own.",
};

/// Slots of the leader's loads.
const S_HEAD: u64 = 0;
const S_TAIL: u64 = 1;
const S_TASK: u64 = 2;
const S_CAS: u64 = 3;
const S_DONE: u64 = 4;
/// Slots of its stores.
const S_PUT: u64 = 5;
const S_PUT2: u64 = 6;

/// Registers of the queue code.
pub const REGISTERS: usize = 9;
const R_STATE: usize = 0;
const R_MINE: usize = 1;
const R_VICTIM: usize = 2;
const R_ABORTED: usize = 3;
const R_TASK: usize = 4;
const R_HEAD: usize = 5;
const R_POPPED: usize = 6;
const R_STOLEN: usize = 7;
const R_LOST: usize = 8;

/// States of the queue code: what the values loaded in the last round are for.
const BEGIN: u64 = 0;
const POP: u64 = 1;
const POPPED: u64 = 2;
const LAST: u64 = 3;
const LOOK: u64 = 4;
const HINTED: u64 = 5;
const LOOKED: u64 = 6;
const TAKEN: u64 = 7;
const NOTE: u64 = 8;

/// What the queue code has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// Not yet anything: another round.
    Nothing,
    /// A task: its first vertex and the one after its last.
    Task(u64, u64),
    /// Its own queue and those that it looks at are empty.
    End,
}

/// The queues of a program.
#[derive(Clone, Debug)]
pub struct Queues {
    /// Queues.
    pub count: u64,
    sync: Sync,
    hint: bool,
    /// Queues that a thief looks at, 0 unless it steals.
    victims: u64,
    vertices: u64,
    tasks: u64,
    /// Elements from one head to the next, and from one tail to the next.
    stride: (u64, u64),
    head: usize,
    tail: usize,
    /// Of each task: its first vertex and the one after its last.
    task: usize,
    /// Of each task: the last queue kernel that executed it, counted from 1.
    done: usize,
    /// Of each work-group, over all queue kernels: tasks popped, tasks stolen, steals lost to another, tasks that had been executed already.
    tally: usize,
}

/// Numbers of a work-group in `tally`.
const TALLY: u64 = 4;

impl Queues {
    /// Adds the arrays of the queues for tasks over `vertices` vertices.
    pub fn new(params: &Params, base: &mut Base, vertices: u64) -> Queues {
        let count = params.integer("queues");
        let chunk = match params.integer("task") {
            0 => group(params),
            task => task,
        };
        let tasks = vertices.div_ceil(chunk);
        let stride = if params.text("pad") == "on" { (16, 32) } else { (1, 1) };
        let sync = Sync::new(params);
        let victims = match params.integer("victims") {
            _ if !sync.steals() => 0,
            0 => count - 1,
            some => some.min(count - 1),
        };
        let ends = (0..tasks).flat_map(|k| [k * chunk, ((k + 1) * chunk).min(vertices)]);
        let ends: Vec<u32> = ends.map(|v| v as u32).collect();
        Queues {
            count,
            sync,
            hint: params.text("hint") == "on",
            victims,
            vertices,
            tasks,
            stride,
            head: base.add_wide("queue_head", count * stride.0, vec![]),
            tail: base.zeros("queue_tail", count * stride.1),
            task: base.input("queue_task", crate::data::u32_bytes(&ends)),
            done: base.zeros("queue_done", tasks),
            tally: base.zeros("queue_tally", count * TALLY),
        }
    }

    /// Tasks of queue `q`: they are cut contiguously.
    fn first(&self, q: u64) -> u64 {
        q * self.tasks / self.count
    }

    fn length(&self, q: u64) -> u64 {
        self.first(q + 1) - self.first(q)
    }

    fn head(&self, base: &Base, q: u64) -> u64 {
        base.at(self.head, q * self.stride.0)
    }

    fn tail(&self, base: &Base, q: u64) -> u64 {
        base.at(self.tail, q * self.stride.1)
    }

    /// Kernel before each queue kernel: the first thread of each work-group fills its queue. One round.
    pub fn fill(&self, base: &Base, t: &Thread, io: &mut Round) {
        let order = self.sync.owner(Sem::Release);
        if t.local == 0 {
            io.atomic(S_PUT, Atomic::Store, 8, order, self.head(base, t.block), 0);
            io.atomic(S_PUT2, Atomic::Store, 4, order, self.tail(base, t.block), self.length(t.block));
        }
    }

    /// One round of the queue code in the first wave of a work-group: all its lanes call it, the first accesses memory. `kernel` counts queue kernels from 1.
    pub fn round(&self, base: &Base, t: &Thread, kernel: u64, r: &mut [u64], io: &mut Round) -> Got {
        let leads = t.local == 0;
        let own = t.block;
        if r[R_STATE] == BEGIN {
            r[R_MINE] = self.length(own);
            r[R_STATE] = POP;
        }
        loop {
            match r[R_STATE] {
                POP if r[R_MINE] == 0 => self.look_elsewhere(r),
                POP => {
                    r[R_MINE] -= 1;
                    if leads {
                        let (release, acquire) =
                            (self.sync.owner(Sem::Release), self.sync.owner(Sem::Acquire));
                        io.atomic(S_PUT, Atomic::Store, 4, release, self.tail(base, own), r[R_MINE]);
                        io.atomic(S_HEAD, Atomic::Load, 8, acquire, self.head(base, own), 0);
                    }
                    r[R_STATE] = POPPED;
                    return Got::Nothing;
                }
                POPPED => {
                    if !self.popped(base, t, r, io) {
                        return Got::Nothing;
                    }
                }
                LAST => {
                    if t.first(S_CAS) == r[R_HEAD] {
                        self.take(own, 0, r);
                        r[R_POPPED] += 1;
                    } else {
                        self.put_head(base, t, r, io);
                    }
                }
                LOOK => {
                    if r[R_VICTIM] > self.victims {
                        if r[R_ABORTED] == 0 {
                            return Got::End;
                        }
                        (r[R_VICTIM], r[R_ABORTED]) = (1, 0);
                    }
                    self.look(base, t, r, io);
                    return Got::Nothing;
                }
                HINTED => {
                    if t.first(S_TAIL) <= t.first(S_HEAD) & INDEX {
                        self.next_victim(r);
                    } else {
                        self.synchronise(base, t, r, io);
                        return Got::Nothing;
                    }
                }
                LOOKED => {
                    let head = t.first(S_HEAD);
                    if t.first(S_TAIL) <= head & INDEX {
                        self.next_victim(r);
                    } else {
                        r[R_HEAD] = head;
                        if leads {
                            let order = self.sync.other(Sem::AcquireRelease);
                            let cas = Atomic::Amo(AmoKind::Cas, head);
                            io.atomic(S_CAS, cas, 8, order, self.head(base, self.victim(t, r)), head + 1);
                        }
                        r[R_STATE] = TAKEN;
                        return Got::Nothing;
                    }
                }
                TAKEN => {
                    if t.first(S_CAS) == r[R_HEAD] {
                        self.take(self.victim(t, r), r[R_HEAD] & INDEX, r);
                        r[R_STOLEN] += 1;
                    } else {
                        r[R_ABORTED] = 1;
                        r[R_LOST] += 1;
                        self.next_victim(r);
                    }
                }
                _ => return self.note(base, t, kernel, r, io),
            }
        }
    }

    /// After P2; whether the code goes on without another round.
    fn popped(&self, base: &Base, t: &Thread, r: &mut [u64], io: &mut Round) -> bool {
        let (head, mine) = (t.first(S_HEAD), r[R_MINE]);
        if mine > head & INDEX {
            self.take(t.block, mine, r);
            r[R_POPPED] += 1;
            return true;
        }
        r[R_HEAD] = head;
        let leads = t.local == 0;
        if leads {
            io.atomic(S_PUT, Atomic::Store, 4, self.sync.owner(Sem::Release), self.tail(base, t.block), 0);
        }
        r[R_MINE] = 0;
        if mine != head & INDEX {
            self.put_head(base, t, r, io);
            return true;
        }
        if leads {
            let order = self.sync.owner(Sem::AcquireRelease);
            let cas = Atomic::Amo(AmoKind::Cas, head);
            io.atomic(S_CAS, cas, 8, order, self.head(base, t.block), emptied(head));
        }
        // The task at the head is the last one: its number is needed once the swap has been won.
        r[R_TASK] = mine;
        r[R_STATE] = LAST;
        false
    }

    /// P5.
    fn put_head(&self, base: &Base, t: &Thread, r: &mut [u64], io: &mut Round) {
        if t.local == 0 {
            let (order, value) = (self.sync.owner(Sem::Release), emptied(r[R_HEAD]));
            io.atomic(S_PUT2, Atomic::Store, 8, order, self.head(base, t.block), value);
        }
        self.look_elsewhere(r);
    }

    fn look_elsewhere(&self, r: &mut [u64]) {
        (r[R_VICTIM], r[R_ABORTED]) = (1, 0);
        r[R_STATE] = LOOK;
    }

    fn victim(&self, t: &Thread, r: &[u64]) -> u64 {
        (t.block + r[R_VICTIM]) % self.count
    }

    fn next_victim(&self, r: &mut [u64]) {
        r[R_VICTIM] += 1;
        r[R_STATE] = LOOK;
    }

    fn look(&self, base: &Base, t: &Thread, r: &mut [u64], io: &mut Round) {
        if !self.hint {
            return self.synchronise(base, t, r, io);
        }
        if t.local == 0 {
            let (q, order) = (self.victim(t, r), self.sync.hint());
            io.atomic(S_TAIL, Atomic::Load, 4, order, self.tail(base, q), 0);
            io.atomic(S_HEAD, Atomic::Load, 8, order, self.head(base, q), 0);
        }
        r[R_STATE] = HINTED;
    }

    fn synchronise(&self, base: &Base, t: &Thread, r: &mut [u64], io: &mut Round) {
        if t.local == 0 {
            let (q, order) = (self.victim(t, r), self.sync.other(Sem::Acquire));
            io.atomic(S_HEAD, Atomic::Load, 8, order, self.head(base, q), 0);
            io.atomic(S_TAIL, Atomic::Load, 4, order, self.tail(base, q), 0);
        }
        r[R_STATE] = LOOKED;
    }

    /// Task `index` of queue `q` is this work-group's.
    fn take(&self, q: u64, index: u64, r: &mut [u64]) {
        let index = if r[R_STATE] == LAST { r[R_TASK] } else { index };
        r[R_TASK] = self.first(q) + index;
        r[R_STATE] = NOTE;
    }

    /// Reads what the task is and who executed it last, then notes that this kernel has.
    fn note(&self, base: &Base, t: &Thread, kernel: u64, r: &mut [u64], io: &mut Round) -> Got {
        let (leads, task) = (t.local == 0, r[R_TASK]);
        if r[R_STATE] == NOTE {
            if leads {
                io.load_wide(S_TASK, base.at(self.task, 2 * task));
                io.load(S_DONE, base.at(self.done, task));
            }
            r[R_STATE] = NOTE + 1;
            return Got::Nothing;
        }
        if leads {
            io.store(S_PUT, base.at(self.done, task), kernel);
            if t.first(S_DONE) + 1 != kernel {
                io.store(S_PUT2, self.tally_at(base, t, 3), 1);
            }
        }
        // A stolen task leaves the thief at the same victim, a popped one the owner at its own queue.
        r[R_STATE] = if r[R_VICTIM] == 0 { POP } else { LOOK };
        let ends = t.first(S_TASK);
        Got::Task(ends & INDEX, ends >> 32)
    }

    fn tally_at(&self, base: &Base, t: &Thread, which: u64) -> u64 {
        base.at(self.tally, t.block * TALLY + which)
    }

    /// At a work-group's end: loads its tally in one round and stores it in the next. To be called by its first thread.
    pub fn tally(&self, base: &Base, t: &Thread, r: &[u64], first: bool, io: &mut Round) {
        for (which, own) in (0..3).zip([r[R_POPPED], r[R_STOLEN], r[R_LOST]]) {
            let addr = self.tally_at(base, t, which);
            if first {
                io.load(S_HEAD + which, addr);
            } else {
                io.store(S_HEAD + which, addr, t.bits(S_HEAD + which) + own);
            }
        }
    }

    /// Each task was executed once by each of `kernels` queue kernels.
    pub fn verify(&self, base: &Base, kernels: u64, memory: &Memory) -> Result<(), VerifyError> {
        base.check(self.done, &vec![kernels as u32; self.tasks as usize], memory)?;
        let tally = |q: u64, which| u64::from(base.word(self.tally, q * TALLY + which, memory));
        let taken: u64 = (0..self.count).map(|q| tally(q, 0) + tally(q, 1)).sum();
        let again = (0..self.count).find(|q| tally(*q, 3) != 0);
        if taken == self.tasks * kernels && again.is_none() {
            return Ok(());
        }
        Err(VerifyError {
            program: base.name().to_owned(),
            array: "queue_tally".to_owned(),
            index: again.map_or(0, |q| q * TALLY + 3),
            found: format!("{taken} tasks taken{}", if again.is_some() { ", one out of turn" } else { "" }),
            expected: format!("{} tasks taken, each once by each of {kernels} kernels", self.tasks * kernels),
            wrong: 1,
            total: self.vertices,
        })
    }
}

/// The index of a head, or the low half of a task.
const INDEX: u64 = 0xffff_ffff;

/// Head of a queue that its owner has found empty.
fn emptied(head: u64) -> u64 {
    ((head >> 32) + 1) << 32
}
