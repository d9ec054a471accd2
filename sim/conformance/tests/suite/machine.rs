//! Threads have every compute unit of a fabric to be on, and every core.

use weft_conformance::machine;
use weft_fabric::config::FabricConfig;

#[test]
fn every_unit_of_a_fabric_is_one_of_the_machine() {
    for fabric in FabricConfig::list() {
        let config = FabricConfig::load(fabric).expect("a fabric");
        let (machine, shape) = (machine(&config), config.hardware().shape());
        assert_eq!(machine.blocks(), shape.nodes * shape.cus, "{fabric}");
        assert_eq!(machine.gpus(), config.common.gpus, "{fabric}");
    }
}

#[test]
fn cores_are_shared_out_among_gpus() {
    let mut config = FabricConfig::load("spandex-4gpu-small").expect("a fabric");
    let of = |config: &FabricConfig| machine(config).cus;
    assert_eq!(of(&config), 4);
    config.set("cus=1").expect("a key");
    assert_eq!((of(&config), machine(&config).cores), (1, 4), "fewer CUs of a GPU than cores in all");
}
