//! What programs, users and caches can do wrong, and the sentences for it.

use weft_workload::{LdsAccess, Values};

use super::*;

const WHO: &str = "kernel k work-group 0 wave 0 (gpu 0 cu 0)";

fn sentence(ops: Vec<Op>) -> String {
    let script = Script { lds: 16, ..Script::once(8, ops) };
    script.bench(&CuParams::default(), Port::FAST).run().expect_err("refused").to_string()
}

#[test]
fn program_errors_are_one_sentence() {
    let strided = |base| Addrs::Strided { base, stride: 4 };
    let load = |size, base, mask| {
        vec![Op::Load { token: 0, access: Access::data(size, strided(base), mask) }, Op::End]
    };
    assert_eq!(
        sentence(load(4, 6, 3)),
        format!("{WHO} accesses 4 bytes at 0x6, expected a size of 1, 2, 4 or 8 and a multiple of it")
    );
    assert_eq!(
        sentence(load(8, 0, 3)),
        format!("{WHO} accesses 8 bytes at 0x4, expected a size of 1, 2, 4 or 8 and a multiple of it")
    );
    assert_eq!(
        sentence(load(3, 0, 1)),
        format!("{WHO} accesses 3 bytes at 0x0, expected a size of 1, 2, 4 or 8 and a multiple of it")
    );
    assert_eq!(sentence(load(4, 0, 0x100)), format!("{WHO} activates lanes 0x100, expected at most 8 lanes"));
    let amo = add(0, Access::data(2, strided(0), 1), true);
    assert_eq!(
        sentence(vec![amo, Op::End]),
        format!("{WHO} makes an atomic access of 2 bytes, expected 4 or 8 on this fabric")
    );
    let lds = LdsAccess { size: 4, addrs: strided(12), mask: 3 };
    assert_eq!(
        sentence(vec![Op::LdsStore { access: lds, values: Values::Const(0) }, Op::End]),
        format!("{WHO} accesses 4 scratchpad bytes at 0x10, expected an address below 0x10")
    );
    let shape = "at a wrong place, expected Await, Barrier or End to close it";
    assert_eq!(sentence(vec![]), format!("{WHO} made a step with nothing {shape}"));
    assert_eq!(sentence(vec![Op::End, Op::Barrier]), format!("{WHO} made a step with End {shape}"));
}

#[test]
fn atomics_that_the_caches_do_not_perform_are_refused() {
    let said = |atomics, op: Op| {
        let mode = CuMode { atomics, ..CuMode::default() };
        let script = Script::once(8, vec![op, Op::End]);
        script.bench(&CuParams::default(), Port::FAST).with_mode(mode).run().err().map(|e| e.to_string())
    };
    let access =
        |size, class| Access { class, ..Access::data(size, Addrs::Strided { base: 0, stride: 8 }, 1) };
    let load = |size, class| Op::Load { token: 0, access: access(size, class) };
    let refused = |size, legal| {
        Some(format!("{WHO} makes an atomic access of {size} bytes, expected {legal} on this fabric"))
    };
    let (data, paired) = (weft_workload::Class::D, weft_workload::Class::P);
    assert_eq!(said(Atomics::Words, load(2, paired)), refused(2, "4 or 8"));
    assert_eq!(said(Atomics::Word, load(1, paired)), refused(1, "4 or 8"));
    assert_eq!(said(Atomics::Words, add(0, access(8, paired), true)), refused(8, "4"));
    for legal in [load(2, data), load(8, paired), add(0, access(4, paired), true)] {
        assert_eq!(said(Atomics::Words, legal.clone()), None, "{legal:?}");
    }
    assert_eq!(said(Atomics::Data, load(1, paired)), None);
    assert_eq!(said(Atomics::Word, add(0, access(8, paired), true)), None);
    let float = Op::Amo {
        token: 0,
        access: access(4, paired),
        kind: AmoKind::Fadd32,
        signed: false,
        values: Values::Const(0),
        compare: 0,
        ret: true,
    };
    let text = format!("{WHO} adds floating-point numbers atomically, expected whole numbers on this fabric");
    assert_eq!(said(Atomics::Words, float), Some(text));
}

#[test]
fn operations_without_lanes_are_complete_at_once() {
    let none = Access::data(4, Addrs::Strided { base: 2, stride: 0 }, 0);
    let script = Script::of(8, 1, move |frame, values| match frame.pc {
        1 => vec![
            Op::Load {
                token: 0,
                access: Access { addrs: Addrs::Strided { base: 0, stride: 0 }, ..none.clone() },
            },
            add(1, Access { class: weft_workload::Class::P, ..none.clone() }, true),
            Op::LdsLoad { token: 2, access: LdsAccess { size: 4, addrs: none.addrs.clone(), mask: 0 } },
            Op::Await { tokens: vec![0, 1, 2] },
        ],
        _ => {
            assert!((0..3).all(|t| values.get(t) == [0; 8]));
            vec![Op::End]
        }
    });
    let mut bench = script.bench(&CuParams::default(), Port::FAST);
    bench.run().expect("runs");
    assert!(bench.taken().is_empty());
}

#[test]
fn wrong_answers_are_reported_by_the_next_tick() {
    let program: Arc<dyn Program> = Arc::new(Script::once(8, vec![Op::End]));
    let reply = |id, kind| LineReply { id, kind, mask: 0, data: [0; 16], src: 0, merged: false };
    let report = |prepare: fn(&mut Cu), answer: LineReply| {
        let mut cu = Cu::new(CuParams::default(), Arc::clone(&program), 2, 5).expect("legal");
        prepare(&mut cu);
        cu.reply(&answer, 7, &mut NoObserver);
        assert_eq!(cu.next_event(7), Some(7));
        cu.tick(7, &|addr| addr, &mut NoObserver).expect_err("reported").to_string()
    };
    let start = "the L1 of gpu 2 cu 5 answered transaction";
    let number = "the number of an access that the L1 has taken";
    assert_eq!(report(|_| (), reply(3, 1)), format!("{start} 3 with kind 1, expected {number}"));
    assert_eq!(
        report(|cu| cu.begin_kernel(0, 0), reply(0, 1)),
        format!("{start} 0 with kind 1, expected {number}")
    );
    let begun = |cu: &mut Cu| {
        cu.begin_kernel(0, 0);
        cu.accepted(0, &mut NoObserver);
    };
    assert_eq!(report(begun, reply(0, 0)), format!("{start} 0 with kind 0, expected an acknowledgement"));
    let twice = |cu: &mut Cu| {
        cu.begin_kernel(0, 0);
        cu.accepted(0, &mut NoObserver);
        cu.reply(
            &LineReply { id: 0, kind: 1, mask: 0, data: [0; 16], src: 0, merged: false },
            3,
            &mut NoObserver,
        );
    };
    assert_eq!(report(twice, reply(0, 1)), format!("{start} 0 with kind 1, expected {number}"));
}

#[test]
fn illegal_parameters_are_refused_with_their_range() {
    let base = CuParams::default();
    let message = |params: CuParams| params.validate().expect_err("refused").to_string();
    let start = "compute unit:";
    assert_eq!(base.validate(), Ok(()));
    assert_eq!(
        message(CuParams { lanes: 65, ..base.clone() }),
        format!("{start} lanes = 65 is illegal, expected a whole number 1..64")
    );
    assert_eq!(
        message(CuParams { lsu_rate: 0, ..base.clone() }),
        format!("{start} lsu_rate = 0 is illegal, expected a whole number 1..4")
    );
    assert_eq!(
        message(CuParams { lds_banks: 33, ..base.clone() }),
        format!("{start} lds_banks = 33 is illegal, expected a power of two 1..128")
    );
    assert_eq!(
        message(CuParams { line: 256, ..base.clone() }),
        format!("{start} line = 256 is illegal, expected 64 or 128")
    );
    assert_eq!(
        message(CuParams { starve: Some(15), ..base.clone() }),
        format!("{start} starve = 15 is illegal, expected a whole number of at least 16, or off")
    );
    let wide: Arc<dyn Program> = Arc::new(Script::once(64, vec![Op::End]));
    let error = Cu::new(CuParams { lanes: 32, ..base }, wide, 0, 0).err().expect("refused");
    assert_eq!(
        error.to_string(),
        "program script has 64 lanes per wave, expected at most the compute unit's 32"
    );
}

#[test]
fn a_foreign_state_is_refused() {
    let program: Arc<dyn Program> = Arc::new(Script::once(8, vec![Op::End]));
    let new = |waves| {
        Cu::new(CuParams { waves, ..CuParams::default() }, Arc::clone(&program), 0, 1).expect("legal")
    };
    let other = new(9).save().expect("saved");
    let mut cu = new(8);
    let before = cu.save();
    let start = "the saved state of gpu 0 cu 1 is unusable:";
    assert!(cu.load(&other).expect_err("refused").to_string().starts_with(start));
    assert!(cu.load(&other[..other.len() / 2]).expect_err("refused").to_string().starts_with(start));
    assert_eq!(cu.save(), before);
}

#[test]
fn open_accesses_name_their_wave_and_when_they_were_taken() {
    let program: Arc<dyn Program> = Arc::new(Script::once(8, vec![load(0, 64), load(1, 128), Op::End]));
    let mut cu =
        Cu::new(CuParams { launch: 0, ..CuParams::default() }, Arc::clone(&program), 3, 4).expect("legal");
    let Some(HostStep::Launch(kernel)) = program.host_step(0, &|_, n| vec![0; n]) else { panic!("launch") };
    cu.launch(&Arc::new(kernel), 0, 0, 0).expect("fits");
    cu.tick(0, &|addr| addr, &mut NoObserver).expect("runs");
    cu.accepted(1, &mut NoObserver);
    cu.tick(1, &|addr| addr, &mut NoObserver).expect("runs");
    let who = Some(Who { gpu: 3, gpms: 1, cu: 4, kernel: 0, block: 0, wave: 0 });
    let open: Vec<_> = cu.open_accesses().map(|(a, who, taken)| (a.line, who, taken)).collect();
    assert_eq!(open, [(1, who, Some(1)), (2, who, None)]);
    assert_eq!((cu.outstanding(), cu.wave_at(0), cu.wave_at(1)), (2, who, None));
}
