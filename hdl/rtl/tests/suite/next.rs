//! What a cycle leaves in registers, as observers see it.

use weft_engine::design::{Design, Options};
use weft_engine::sim::Sim;
use weft_rtl::prelude::*;

/// Two registers that swap under a condition, one of them in a switch; `told`: the sum of what they have after a cycle is asserted to be this.
fn swap(told: u64) -> Arc<Module> {
    let module = Module::build("swap", ModuleKind::Block, || {
        let go = input::<Bool>("go", ());
        let (a, b) = (output_reg::<Bits>("a", 4).reset(&[3]), output_reg::<Bits>("b", 4).reset(&[5]));
        // Declared before the assignments, and one inside the other.
        let other = b.clone();
        a.on_next(move |a| other.on_next(move |b| assert_always("sum", (a + b).eq(told), "they swap")));
        let both = (a.clone(), b.clone());
        after_cycle(move |after| {
            let sum = after.of(&both.0) + after.of(&both.1);
            assert_always("sum_at_once", sum.eq(told), "the same, of both together");
        });
        when(go, || a.set(b.get()));
        switch_bits(go.bits(), |s| {
            s.case(1, || b.set(a.get()));
        });
    });
    module.expect("elaborates")
}

#[test]
fn the_value_after_a_cycle_follows_assignments_that_come_later() {
    for (told, holds) in [(8, true), (10, false)] {
        let module = swap(told);
        assert_eq!(module.probes.len(), 2, "an observer inside another is declared");
        let mut sim = Sim::new(&Design::new(&module, Options::default()).expect("a design"));
        sim.set(sim.input("go").expect("a port"), 1);
        (0..3).for_each(|_| sim.step());
        assert_eq!(sim.failures().is_empty(), holds, "{told}");
    }
}
