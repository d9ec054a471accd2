//! Word operations, replacement and finite buffers of the golden models.

use weft_spandex_bench::golden::device::access::Hint;
use weft_spandex_bench::golden::device::table::{Act, COLUMNS, EXTERNAL};
use weft_spandex_bench::golden::device::{Device, Kind, Took};
use weft_spandex_bench::golden::llc::lines::{Frame, Lines};
use weft_spandex_bench::golden::llc::table::{COMMIT, Next};
use weft_spandex_bench::golden::msg::{Amo, AmoOp, Data, Msg, Node, Op};
use weft_spandex_bench::golden::system::families::{KINDS, threads};
use weft_spandex_bench::golden::system::program::{Instr, add, get, ld, put, st};
use weft_spandex_bench::golden::system::sc::outcomes;
use weft_spandex_bench::golden::system::schedule::Schedule;
use weft_spandex_bench::golden::system::{System, SystemParams};

#[test]
fn every_operation() {
    let result = |op, old, v| Amo { op, cmp: 5, bmask: 0b0101 }.result(old, v);
    assert_eq!(result(AmoOp::Read, 1, 2), 1);
    assert_eq!([result(AmoOp::Write, 1, 2), result(AmoOp::Exch, 1, 2)], [2, 2]);
    assert_eq!(result(AmoOp::Merge, 0x1122_3344, 0xaabb_ccdd), 0x11bb_33dd);
    assert_eq!([result(AmoOp::Add, u32::MAX, 2), result(AmoOp::Sub, 1, 2)], [1, u32::MAX]);
    assert_eq!([result(AmoOp::Inc, 3, 4), result(AmoOp::Inc, 4, 4)], [4, 0]);
    assert_eq!([result(AmoOp::Dec, 0, 4), result(AmoOp::Dec, 9, 4), result(AmoOp::Dec, 3, 4)], [4, 4, 2]);
    assert_eq!([result(AmoOp::And, 6, 3), result(AmoOp::Or, 6, 3), result(AmoOp::Xor, 6, 3)], [2, 7, 5]);
    assert_eq!([result(AmoOp::Min, u32::MAX, 1), result(AmoOp::Max, u32::MAX, 1)], [1, u32::MAX]);
    assert_eq!([result(AmoOp::Cas, 5, 2), result(AmoOp::Cas, 6, 2)], [2, 6]);
}

/// The two tables as the page has them, each row in words.
#[test]
fn the_tables_of_the_page() {
    let commit: Vec<String> =
        COMMIT.iter().map(|(row, free, held)| format!("{row:?} {:?} {:?}", free.0, held.0)).collect();
    assert_eq!(
        commit,
        [
            "V RspV FwdReqV",
            "S1 RspS Never",
            "S2 RspV FwdReqV",
            "S3 RspOData FwdReqOData",
            "Wt Write WriteFwdReqO",
            "WtFwd Write FwdReqWt",
            "O RspO FwdReqO",
            "WtData Perform Never",
            "OData RspOData FwdReqOData",
            "Wb Drop Take",
        ]
    );
    let owned = COMMIT.iter().filter(|row| row.1.1 == Next::Owned).map(|row| format!("{:?}", row.0));
    assert_eq!(owned.collect::<Vec<_>>(), ["S3", "O", "OData"]);
    let asserts = EXTERNAL.iter().filter(|row| row.1[COLUMNS - 1] == Act::Assert);
    assert_eq!(
        asserts.map(|row| format!("{:?}", row.0)).collect::<Vec<_>>(),
        ["ReqO", "ReqOData", "RvkO", "ReqS"]
    );
    let served = EXTERNAL.iter().filter(|row| row.1[1..].contains(&row.1[0]));
    let elsewhere: Vec<String> = served.map(|row| format!("{:?}", row.0)).collect();
    assert_eq!(
        elsewhere,
        ["ReqV", "ReqO", "ReqOData", "RvkO", "ReqS", "Inv"],
        "direct and forwarded writes in O only"
    );
}

/// The victim has no owner and no sharer if there is such a way; else the tree decides.
#[test]
fn victims() {
    let mut lines = Lines::new(1, 1, 4);
    for (at, line) in [10, 11, 12, 13].into_iter().enumerate() {
        assert_eq!(lines.victim(line, |_| true), Some(at), "a free way");
        lines.put(at, Frame::new(line));
    }
    assert_eq!(lines.victim(14, |_| true), Some(0));
    lines.touch(0);
    assert_eq!(lines.victim(14, |_| true), Some(2));
    let owned = |at: usize, lines: &mut Lines| lines.frame_mut(at).expect("it is there").own(1, 0);
    owned(2, &mut lines);
    assert_eq!(lines.victim(14, |_| true), Some(3));
    (0..4).for_each(|at| owned(at, &mut lines));
    assert_eq!(lines.victim(14, |_| true), Some(2));
    assert_eq!(lines.victim(14, |frame| frame.line == 11), Some(1));
    assert_eq!(lines.victim(14, |_| false), None);
}

/// One way, one TBE: a second line evicts the first, whose owner is revoked; values go through memory.
#[test]
fn a_bank_of_one_line() {
    for kind in [Kind::DeNovo, Kind::Mesi, Kind::Flex] {
        let p = SystemParams { size: (1, 1), tbes: (1, 1), ..SystemParams::tiny(&[kind, Kind::Gpu]) };
        let mut s = Schedule::new(p, &[0, 1]);
        s.run(0, st(0, 200)).run(0, st(1, 201).at(1)).run(1, ld(0)).run(1, add(1, 1).at(1)).run(0, add(0, 1));
        s.end();
        assert_eq!((s.got(0), s.got(1)), (&[200][..], &[200, 201][..]), "{kind:?}");
    }
}

/// What nobody has asked for is a fault, and a removal of a word that is not owned.
#[test]
fn unexpected_messages() {
    let message = |op| Msg::new(Node::Bank(0), Node::Dev(0), op, 0, 0b01, 0);
    let answers =
        [Op::RspV { xmask: 0 }, Op::RspS, Op::RspO, Op::RspOData { dirty: false }, Op::RspWt, Op::RspWtData];
    let others = [Op::NackV { direct: false }, Op::NackWt { direct: false }, Op::RspWb { cross: 0 }];
    let system = || System::new(SystemParams::tiny(&KINDS), Vec::new());
    for (dev, op) in (0..4).flat_map(|dev| answers.iter().chain(&others).map(move |op| (dev, *op))) {
        let mut device = (*system().devices[dev]).clone();
        device.rsp(&message(op));
        assert_eq!(device.take_faults().len(), 1, "{op:?} at device {dev}");
    }
    let removals =
        [Op::FwdReqO { for_wt: false }, Op::FwdReqO { for_wt: true }, Op::FwdReqOData, Op::RvkO, Op::FwdReqS];
    for (dev, op) in (0..4).flat_map(|dev| removals.map(move |op| (dev, op))) {
        let mut device = (*system().devices[dev]).clone();
        device.fwd(&message(op));
        assert_eq!(device.take_faults().len(), 1, "{op:?} at device {dev}");
    }
    let revoked = Op::RspRvkO { nodata: false, kept_s: false, dirty: false };
    for op in [Op::Ack, revoked] {
        let mut bank = (*system().banks[0]).clone();
        bank.rsp(&Msg::new(Node::Dev(0), Node::Bank(0), op, 0, 0b01, 0));
        assert_eq!(bank.take_faults().len(), 1, "{op:?}");
    }
}

#[test]
fn races_and_sc_outcomes() {
    let all = |programs: Vec<(u8, Vec<Instr>)>| outcomes(&threads(&programs), 2);
    assert_eq!(all(vec![(0, vec![st(0, 200)]), (1, vec![ld(0)])]), None);
    assert_eq!(all(vec![(0, vec![st(0, 200)]), (1, vec![add(0, 1)])]), None);
    let message = vec![(0, vec![st(0, 200), put(1, 201)]), (1, vec![get(1), Instr::If(201), ld(0)])];
    let found = all(message).expect("no race");
    let results: Vec<_> = found.into_iter().map(|outcome| outcome.0[1].clone()).collect();
    assert_eq!(results, [vec![101], vec![201, 200]]);
    let blind = vec![(0, vec![st(0, 200), put(1, 201)]), (1, vec![get(1), ld(0)])];
    assert_eq!(all(blind), None, "the load is not guarded");
}

/// Atomics of a device join the request of their word, also behind a removal that waits, and are done before
/// it, in their order; none joins where the removal has been answered.
#[test]
fn atomics_join_until_their_word_is_given_away() {
    let system = System::new(SystemParams::tiny(&[Kind::DeNovo, Kind::Gpu]), Vec::new());
    let (amo, hint) = (Amo { op: AmoOp::Add, cmp: 0, bmask: 0 }, Hint::default());
    let value = |v| {
        let mut data = Data::default();
        data.0[0] = v;
        data
    };
    for (removal, joins) in
        [(Op::FwdReqOData, true), (Op::RvkO, true), (Op::FwdReqO { for_wt: false }, false)]
    {
        let mut device = (*system.devices[0]).clone();
        let add = |device: &mut Device, ticket| device.atomic(Some(ticket), 0, 1, &amo, &value(1), &hint);
        assert_eq!((add(&mut device, 0), add(&mut device, 1)), (Took::Pending, Took::Pending));
        let requests: Vec<Op> = device.take_out().iter().map(|msg| msg.op).collect();
        assert_eq!(requests, [Op::ReqOData], "one request");
        let message = |op| Msg { req: 1, own: 1, ..Msg::new(Node::Bank(0), Node::Dev(0), op, 0, 1, 0) };
        device.fwd(&message(removal));
        assert_eq!(device.take_out().is_empty(), joins, "{removal:?}");
        assert_eq!(add(&mut device, 2), if joins { Took::Pending } else { Took::Wait });
        device.rsp(&message(Op::RspOData { dirty: true }).with(&value(10)));
        let replies: Vec<(u8, u32)> =
            device.take_replies().iter().map(|(ticket, data)| (*ticket, data.0[0])).collect();
        assert_eq!(replies, [(0, 10), (1, 11), (2, 12)][..2 + usize::from(joins)]);
        let given: Vec<u32> = device.take_out().iter().map(|msg| msg.data.0[0]).collect();
        assert_eq!(given, [13][..usize::from(joins)], "{removal:?}");
        assert!(device.idle() && device.take_faults().is_empty());
    }
}
