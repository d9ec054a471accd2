//! The golden slices step as the hardware does.

use super::bench::{ANSWERS, Bench, Cycle, Entered, LINES, Row, Set, Told};
use weft_blocks::directory::{Policy, TagStyle};
use weft_blocks::msg::{Ask, Cause};
use weft_rtl::prelude::HwEnum;
use weft_testbench::golden::moesi::msg::{Action, Answer, Asks, Line, Msg, Node, Packet, SliceOp};
use weft_testbench::golden::moesi::slice::{Phase, Waiting};

impl Bench {
    /// What the operation in S1 has done in the cycle.
    pub(super) fn decided(&mut self, again: bool) {
        if self.queued.moved(&self.sim) {
            let entered = self.taken.pop_front().expect("an operation was taken");
            self.made_wait(entered);
        }
        if self.replaced.moved(&self.sim) {
            let from = if again { &self.waiting } else { &self.taken };
            let entered = *from.front().expect("an operation wants the way");
            self.replace(entered);
        }
        if self.ops.moved(&self.sim) {
            let waited = self.retried.moved(&self.sim);
            let from = if waited { &mut self.waiting } else { &mut self.taken };
            let entered = from.pop_front().expect("an operation was taken");
            self.perform(entered, waited);
        }
    }

    fn made_wait(&mut self, entered: Entered) {
        let Entered { set: number, op, .. } = entered;
        let set = &mut self.sets[number];
        let older = set.slice.queue.iter().any(|waiting| waiting.op.line == op.line);
        assert!(older || set.row(op.line).is_some(), "{op:?} waits for nothing");
        set.slice.offer(op, &set.p, &mut set.f, &mut set.tally);
        self.waiting.push_back(entered);
        assert!(self.waiting.len() <= 8, "the ninth waits");
        self.collect(number);
    }

    /// An entry is replaced for an operation. The row that begins says whose.
    fn replace(&mut self, entered: Entered) {
        let Entered { set: number, op, .. } = entered;
        let began = self.peek("pending_used");
        let began = (0..self.rows.len()).find(|row| began >> row & 1 == 1 && self.rows[*row].is_none());
        let bits = self.sim.peek_mem("pending", began.expect("a row") as u32, 0).unwrap();
        let base = bits.slice(0, self.p.base_bits()).low_u64();
        // Rows whose line has no entry keep a way for nothing.
        let idle = self.rows.iter().flatten().filter(|row| row.set == number && row.idle).count();
        let set = &mut self.sets[number];
        let wants = set.row(op.line).is_none() && set.slice.entries[usize::from(op.line)].is_none();
        let full = set.ways.iter().all(Option::is_some);
        assert!(wants && full && matches!(op.asks, Asks::GetS | Asks::GetM), "{op:?} needs no way");
        let line = set.lines.iter().position(|line| *line == base).expect("a line of the set") as Line;
        assert!(set.slice.replaceable(line, &set.p, &set.f), "an entry with a row is no victim");
        let way = set.ways.iter().position(|way| *way == Some(line)).expect("a line that has a way");
        let older = (0..set.ways.len()).filter(|other| set.ages[*other] > set.ages[way]);
        let older = older.filter(|other| set.ways[*other].is_some_and(|line| set.row(line).is_none()));
        assert!(older.count() <= idle, "the oldest entry without a row is replaced, not that of line {line}");
        set.ways[way] = None;
        set.slice.replace(line, &set.p, &mut set.f, &mut set.tally);
        self.started = Some(Row { set: number, line, idle: false });
        self.collect(number);
    }

    fn perform(&mut self, entered: Entered, waited: bool) {
        let Entered { set: number, op, .. } = entered;
        let lru = self.p.policy == Policy::Lru;
        let set = &mut self.sets[number];
        if !waited {
            let older = set.slice.queue.iter().any(|waiting| waiting.op.line == op.line);
            assert!(!older, "{op:?} passes an older operation of its line");
            set.slice.queue.insert(0, Waiting { op, behind: false });
        }
        assert_eq!(set.slice.queue.first().map(|waiting| waiting.op), Some(op), "the oldest first");
        assert!(set.slice.ready(0, &set.p, &set.f), "{op:?} goes on: {:?}", set.row(op.line));
        set.use_way(op, lru);
        set.numbers.insert((op.line, op.src), (entered.id, entered.mshr));
        set.slice.serve(0, &set.p, &mut set.f, &mut set.tally);
        if set.row(op.line).is_some() {
            let idle = !set.ways.contains(&Some(op.line));
            self.started = Some(Row { set: number, line: op.line, idle });
        }
        self.collect(number);
    }

    /// What has come is there for the golden slice, too.
    pub(super) fn come(&mut self, now: &Cycle) {
        if let Some((number, Packet { from, line, msg, .. })) = now.ack {
            let set = &mut self.sets[number];
            let row = set.row(line).unwrap_or_else(|| panic!("{msg:?} of line {line} finds no row"));
            match msg {
                Msg::Done => set.slice.done(line, from, &mut set.f, &mut set.tally),
                _ if row.phase == Phase::Replaced && row.acks == 1 && row.recall.is_none() => {
                    self.ending.push((number, line));
                }
                _ => set.slice.ack(line, &set.p, &mut set.f, &mut set.tally),
            }
            self.collect(number);
        }
        if let Some((number, line, written)) = now.done {
            let set = &mut self.sets[number];
            let put = set.row(line).is_some_and(|row| row.phase == Phase::Written);
            match (written, put) {
                (false, _) => set.slice.done(line, set.p.home(line), &mut set.f, &mut set.tally),
                (true, true) => set.slice.written(line, &mut set.f, &mut set.tally),
                (true, false) => set.slice.back(line, &mut set.f, &mut set.tally),
            }
            self.collect(number);
        }
    }

    /// What the golden slice has done is due.
    fn collect(&mut self, number: usize) {
        let set = &mut self.sets[number];
        assert_eq!(set.f.wrong, None);
        for action in set.f.take() {
            match action {
                Action::Answer(op, answer) => {
                    let id = set.numbers[&(op.line, op.src)].0;
                    assert!(self.answers.insert(id, (number, op, answer)).is_none(), "{op:?}");
                }
                Action::Send(Packet { to, line, msg, .. }) => {
                    let told = told(set, line, msg, &self.nodes);
                    let dest = 1 << self.nodes[usize::from(to)];
                    let due = set.invs.entry(line).or_insert(told);
                    assert!(
                        *due == Told { dest: due.dest, ..told },
                        "{due:?} has not left, and {told:?} must"
                    );
                    due.dest |= dest;
                }
                other => panic!("a slice does not do {other:?}"),
            }
        }
    }

    /// An answer has left.
    pub(super) fn answer(&mut self, m: &[u64]) -> (usize, SliceOp, Answer) {
        let [id, evicted, empty, code] = m[..] else { panic!("four fields") };
        let due = self.answers.remove(&id);
        let (set, op, answer) = due.unwrap_or_else(|| panic!("no answer to operation {id} is due"));
        let (_, expected) = ANSWERS.iter().find(|(golden, _)| *golden == answer).expect("known");
        assert_eq!((evicted, empty, code), (0, 0, expected.encoding()), "{op:?} is answered {answer:?}");
        self.ids.push_back(id);
        self.answered += 1;
        (set, op, answer)
    }

    /// An INV message has left.
    pub(super) fn told(&mut self, m: &[u64]) -> Vec<(usize, Packet)> {
        let [number, dest, cause, grp, ask, requester, id] = m[..] else { panic!("seven fields") };
        let at = |set: &Set| set.lines.iter().position(|line| *line == number);
        let mut all = self.sets.iter().enumerate();
        let (at, line) = all.find_map(|(i, set)| Some((i, at(set)? as Line))).expect("a line of the test");
        let set = &mut self.sets[at];
        let told =
            set.invs.remove(&line).unwrap_or_else(|| panic!("nobody is told of line {line} of set {at}"));
        let expected = if told.evicts { Cause::Evict } else { Cause::Write };
        let found = (dest, cause, grp, ask);
        assert_eq!(found, (told.dest, expected.encoding(), 0, told.ask.encoding()), "{told:?}");
        if let Some(of) = told.requester {
            assert_eq!((requester, id), of, "{told:?}");
        }
        let from = set.p.home(line);
        let nodes = (0..).zip(&self.nodes).filter(|(_, node)| dest >> **node & 1 == 1);
        nodes.map(|(to, _)| (at, Packet { from, to, line, msg: told.msg })).collect()
    }

    /// Rows of the pending table begin and end with those of the golden slices.
    pub(super) fn compare_rows(&mut self) {
        let used = self.peek("pending_used");
        for number in 0..self.rows.len() {
            let now = used >> number & 1 == 1;
            match self.rows[number] {
                None if now => {
                    self.rows[number] = Some(self.started.take().expect("a row that begins"));
                }
                Some(row) if !now => {
                    self.rows[number] = None;
                    self.ends(row);
                }
                _ => {}
            }
        }
        assert!(self.started.is_none(), "{:?} has no row", self.started);
        let mut golden: Vec<(usize, Line)> = Vec::new();
        for (at, set) in self.sets.iter().enumerate() {
            golden.extend((0..LINES).filter(|line| set.row(*line).is_some()).map(|line| (at, line)));
        }
        let mut rows: Vec<(usize, Line)> =
            self.rows.iter().flatten().map(|row| (row.set, row.line)).collect();
        rows.sort_unstable();
        assert_eq!(rows, golden, "lines under way");
    }

    fn ends(&mut self, Row { set: number, line, .. }: Row) {
        let Some(at) = self.ending.iter().position(|ending| *ending == (number, line)) else { return };
        self.ending.swap_remove(at);
        let set = &mut self.sets[number];
        set.slice.ack(line, &set.p, &mut set.f, &mut set.tally);
        self.collect(number);
    }

    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        let quiet = |set: &Set| {
            set.invs.is_empty() && set.slice.queue.is_empty() && set.slice.rows.iter().all(Option::is_none)
        };
        let empty = self.taken.is_empty() && self.waiting.is_empty() && self.answers.is_empty();
        empty && self.req.idle() && self.sets.iter().all(quiet)
    }

    /// The memory has the entries of the golden slices, each in its way, and the table is empty.
    pub fn compare_memory(&self) {
        assert_eq!((self.peek("pending_used"), self.peek("wait_count"), self.peek("s1_valid")), (0, 0, 0));
        let (p, sharers) = (&self.p, self.p.sharers());
        let others: Vec<u32> = self.nodes.iter().copied().filter(|node| *node != p.home).collect();
        for set in &self.sets {
            for (way, line) in set.ways.iter().enumerate() {
                let bits = self.sim.peek_mem("entries", set.number as u32, way as u32).unwrap();
                let at = format!("set {} way {way}", set.number);
                assert_eq!(bits.bit(bits.width() - 1), line.is_some(), "valid: {at}");
                let Some(line) = line else { continue };
                let entry = set.slice.entries[usize::from(*line)].expect("an entry in a way");
                let recorded = |node: &u32| {
                    let golden = self.nodes.iter().position(|other| other == node).expect("a node");
                    u64::from(entry.sharers >> golden & 1)
                };
                let mask = (0..).zip(&others).map(|(bit, node)| recorded(node) << bit).sum::<u64>();
                let owner = entry.owner.map_or(0, |owner| self.nodes[usize::from(owner)]);
                let width = p.sys.node_bits();
                let found = (
                    bits.slice(0, sharers).low_u64(),
                    bits.bit(sharers),
                    bits.slice(sharers + 1, width).low_u64(),
                );
                assert_eq!(found, (mask, entry.owner.is_some(), owner.into()), "{at}");
                if p.tag_style == TagStyle::Published {
                    let tag = bits.slice(p.slots_width(), p.sys.addr_bits).low_u64();
                    assert_eq!(tag / u64::from(p.sys.line), set.lines[usize::from(*line)], "tag: {at}");
                }
            }
            let used = set.slice.entries.iter().flatten().count();
            assert_eq!(used, set.ways.iter().flatten().count(), "every entry has a way");
        }
    }
}

/// What a message of the golden slice is in the hardware, without its destination.
fn told(set: &Set, line: Line, msg: Msg, nodes: &[u32]) -> Told {
    let evicts = set.row(line).is_some_and(|row| row.op.is_none());
    let (ask, requester) = match msg {
        Msg::Inv => (Ask::Inv, None),
        Msg::Recall => (Ask::Recall, None),
        Msg::FwdS(node) => (Ask::FwdS, Some(node)),
        Msg::FwdM(node) => (Ask::FwdM, Some(node)),
        other => panic!("a slice does not send {other:?}"),
    };
    let of = |node: Node| (u64::from(nodes[usize::from(node)]), set.numbers[&(line, node)].1);
    Told { dest: 0, ask, evicts, requester: requester.map(of), msg }
}
