//! The golden scenario (mgcc.md section 12) step by step on the golden system: intra- and inter-GPU, exact and bound, SC.

use weft_mgcc_bench::golden::array::{State, Way};
use weft_mgcc_bench::golden::l1::CuRsp;
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::Data;
use weft_mgcc_bench::golden::system::{Message, System, SystemParams, WaveOp};
use weft_mgcc_bench::golden::time::Time;

/// Both in bank 0.
const X: u64 = 0;
const Y: u64 = 4;

fn fresh(line: u64) -> Data {
    Data([if line == X { 0xaa } else { 0xbb }; 64])
}

fn written(line: u64) -> Data {
    Data([if line == X { 0x11 } else { 0x22 }; 64])
}

struct Scenario {
    system: System,
    /// GPU and L1 of CU1.
    second: (usize, usize),
}

impl Scenario {
    fn new(second: (usize, usize), exact: bool) -> Scenario {
        let p = SystemParams {
            l1: (4, 2),
            l2: (4, 2),
            tsu: (4, 2),
            l1_mshrs: (4, 4),
            l2_mshrs: (4, 4),
            self_inc: 100,
            layout: Layout { banks: 2, lanes: 1, il: 7 },
            exact,
            initial: fresh,
            ..SystemParams::small(true, 16)
        };
        Scenario { system: System::new(p, Vec::new()), second }
    }
    fn place(&self, cu: usize) -> (usize, usize) {
        if cu == 0 { (0, 0) } else { self.second }
    }
    /// RdLease is 7 whenever Y is read.
    fn read(&mut self, cu: usize, line: u64) -> (CuRsp, Vec<Message>) {
        self.system.set_leases((if line == Y { 7 } else { 10 }, 5));
        self.run(cu, WaveOp::Load { line, mask: u64::MAX, sync: false })
    }
    fn write(&mut self, cu: usize, line: u64) -> (CuRsp, Vec<Message>) {
        self.run(cu, WaveOp::Store { line, mask: u64::MAX, data: written(line) })
    }
    fn run(&mut self, cu: usize, op: WaveOp) -> (CuRsp, Vec<Message>) {
        let (gpu, cu) = self.place(cu);
        let (rsp, messages) = self.system.execute(gpu, cu, op);
        (rsp.expect("the CU is answered"), messages)
    }
    /// Block of a line in the L1 of a CU: [wts, rts].
    fn l1(&self, cu: usize, line: u64) -> Option<(u64, u64)> {
        let (gpu, cu) = self.place(cu);
        stamps(self.system.l1(gpu, cu).array().iter(), line)
    }
    /// Block of a line in the bank of a CU's GPU.
    fn l2(&self, cu: usize, line: u64) -> Option<(u64, u64)> {
        let bank = self.system.params().layout.bank(line);
        stamps(self.system.l2(self.place(cu).0, bank).array().iter(), line)
    }
    /// {cts of a CU's L1, cts of its bank}.
    fn clocks(&self, cu: usize) -> (u64, u64) {
        let (gpu, cu) = self.place(cu);
        (self.system.l1(gpu, cu).cts().ts, self.system.l2(gpu, 0).cts().ts)
    }
    fn memts(&self, line: u64) -> u64 {
        let lane = self.system.lane(line);
        let entry = lane.tsu().entry(self.system.params().layout.in_lane(line));
        entry.expect("the line has an entry").memts
    }
    /// Nothing the models or the checker could see is wrong.
    fn coherent(&self) {
        assert_eq!(self.system.faults(), &[] as &[String]);
        assert_eq!(self.system.checker().check(fresh), vec![]);
    }
}

fn stamps<'a>(mut ways: impl Iterator<Item = &'a Way>, line: u64) -> Option<(u64, u64)> {
    let way = ways.find(|way| way.line == line && way.state == State::Valid)?;
    Some((way.wts, way.rts))
}

/// Timestamps on the requests of L1s and of banks.
fn sent(messages: &[Message]) -> (Vec<Option<u64>>, Vec<u64>) {
    let up = messages.iter().filter_map(|message| match message {
        Message::Up { req, .. } => Some(req.ts),
        _ => None,
    });
    let link = messages.iter().filter_map(|message| match message {
        Message::Link { req, .. } => Some(req.ts),
        _ => None,
    });
    (up.collect(), link.collect())
}

/// Steps 1 to 20, alike in both scenarios.
fn beginning(s: &mut Scenario) {
    let (rsp, messages) = s.read(0, X);
    assert_eq!((rsp.data, rsp.time), (fresh(X), Time::new(0, 0)));
    assert_eq!(sent(&messages), (vec![None], vec![0]), "no clock has moved: no timestamp to the bank");
    assert_eq!((s.memts(X), s.l2(0, X), s.l1(0, X)), (10, Some((0, 10)), Some((0, 10))));

    let (rsp, _) = s.read(1, Y);
    assert_eq!((rsp.data, rsp.time), (fresh(Y), Time::new(0, 0)));
    assert_eq!((s.memts(Y), s.l2(1, Y), s.l1(1, Y)), (7, Some((0, 7)), Some((0, 7))));
    assert_eq!((s.clocks(0), s.clocks(1)), ((0, 0), (0, 0)));

    let (rsp, messages) = s.write(0, Y);
    assert_eq!(rsp.time, Time::new(0, 8));
    assert_eq!(sent(&messages), (vec![None], vec![0]));
    assert_eq!((s.memts(Y), s.l2(0, Y), s.l1(0, Y)), (12, Some((8, 12)), Some((8, 12))));
    assert_eq!(s.clocks(0), (8, 8));
}

fn intra(exact: bool) {
    let mut s = Scenario::new((0, 1), exact);
    beginning(&mut s);
    let (rsp, messages) = s.write(1, X);
    assert_eq!(rsp.time, Time::new(0, 11));
    assert_eq!(sent(&messages), (vec![None], vec![8]), "b is behind the bank; the bank asks at 8");
    assert_eq!((s.memts(X), s.l2(0, X), s.l1(1, X)), (15, Some((11, 15)), Some((11, 15))));
    assert_eq!((s.clocks(0), s.clocks(1)), ((8, 11), (11, 11)));

    let (rsp, messages) = s.read(0, X);
    assert_eq!((rsp.data, rsp.time, rsp.src), (fresh(X), Time::new(0, 8), 0), "the old X, at 8");
    assert_eq!(sent(&messages), (vec![], vec![]));

    let (rsp, messages) = s.read(1, Y);
    assert_eq!((rsp.data, rsp.time, rsp.src), (written(Y), Time::new(0, 11), 1));
    assert_eq!(sent(&messages), (vec![None], vec![]), "the bank is known to be at 11, and hits");
    assert_eq!((s.l1(1, Y), s.clocks(1)), (Some((8, 12)), (11, 11)));
    s.coherent();
}

#[test]
fn intra_gpu() {
    intra(true);
    intra(false);
}

fn inter(exact: bool) {
    let mut s = Scenario::new((1, 0), exact);
    beginning(&mut s);
    let (rsp, messages) = s.write(1, X);
    assert_eq!(rsp.time, Time::new(0, 11));
    assert_eq!(sent(&messages), (vec![None], vec![0]), "the second GPU's clocks have not moved");
    assert_eq!((s.memts(X), s.l2(1, X), s.l1(1, X)), (15, Some((11, 15)), Some((11, 15))));
    assert_eq!((s.clocks(0), s.clocks(1)), ((8, 8), (11, 11)));

    let (rsp, _) = s.read(0, X);
    assert_eq!((rsp.data, rsp.time, rsp.src), (fresh(X), Time::new(0, 8), 0), "the old X, at 8");

    let (rsp, messages) = s.read(1, Y);
    assert_eq!((rsp.data, rsp.src), (written(Y), 3));
    assert_eq!(sent(&messages), (vec![None], vec![11]), "b and its bank have expired; base 12");
    let (block, clock) = if exact { ((8, 19), 11) } else { ((12, 19), 12) };
    assert_eq!((s.memts(Y), s.l2(1, Y), s.l1(1, Y)), (19, Some(block), Some(block)));
    assert_eq!((rsp.time, s.clocks(1)), (Time::new(0, clock), (clock, clock)));
    s.coherent();
}

#[test]
fn inter_gpu() {
    inter(true);
    inter(false);
}

/// Logical order of the scenario: rd X, rd Y, wr Y, rd X, wr X, rd Y.
#[test]
fn the_times_give_the_published_order() {
    for second in [(0, 1), (1, 0)] {
        let mut s = Scenario::new(second, true);
        let times = [
            s.read(0, X).0.time,
            s.read(1, Y).0.time,
            s.write(0, Y).0.time,
            s.write(1, X).0.time,
            s.read(0, X).0.time,
            s.read(1, Y).0.time,
        ];
        let mut order: Vec<usize> = (0..6).collect();
        order.sort_by_key(|i| times[*i]);
        assert_eq!(order, vec![0, 1, 2, 4, 3, 5], "times {times:?}");
    }
}

/// The published message sizes with coherence on the way of the scenario (section 10): a request with a timestamp 14 and 78, an answer 84 and 80.
#[test]
fn bytes_of_the_scenario() {
    let mut s = Scenario::new((1, 0), true);
    let (_, read) = s.read(0, X);
    let (_, write) = s.write(0, X);
    let bytes = |messages: &[Message]| -> Vec<(u64, u64)> {
        messages
            .iter()
            .filter_map(|message| match message {
                Message::Up { req, .. } => Some((req.bytes(), req.bytes())),
                Message::Link { req, .. } => Some((req.bytes(false), req.bytes(true))),
                Message::Back { rsp, .. } => Some((rsp.bytes(false), rsp.bytes(true))),
                Message::Down { rsp, .. } => Some((rsp.bytes(false), rsp.bytes(true))),
                _ => None,
            })
            .collect()
    };
    assert_eq!(bytes(&read), vec![(12, 12), (12, 14), (80, 84), (80, 84)]);
    assert_eq!(bytes(&write), vec![(76, 76), (76, 78), (12, 16), (12, 16)]);
}
