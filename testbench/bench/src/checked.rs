//! A block in simulation that begins as hardware does when it is switched on, and whose receiving ends are watched.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use weft_engine::{Design, Options, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;

/// The registers of a receiving end ([`weft_rtl::channel::in_channel`]) in the state of a unit.
struct End {
    name: String,
    unit: usize,
    /// First limbs of `ready` and of the valid bits of its two places.
    ready: usize,
    places: [usize; 2],
    /// It has been ready, so it is not held closed any more.
    open: bool,
}

/// A simulation whose memories hold anything at first: what a block does not clear must not matter. In every cycle each receiving end must be ready exactly if its second place
/// is free, and have nothing in its second place alone.
pub struct Checked {
    sim: Sim,
    ends: Vec<End>,
}

impl Checked {
    /// Compiles a block.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn new(module: &Arc<Module>) -> Checked {
        Checked::of(&Design::new(module, Options::default()).expect("the block compiles"))
    }

    /// A block that is compiled.
    pub fn of(design: &Arc<Design>) -> Checked {
        let mut sim = Sim::new(design);
        switch_on(&mut sim);
        let ends = ends(design);
        Checked { sim, ends }
    }

    /// One cycle.
    ///
    /// # Panics
    /// When a receiving end is not as it must be.
    pub fn step(&mut self) {
        self.sim.step();
        for end in &mut self.ends {
            let state = self.sim.state(end.unit);
            let [ready, first, second] = [end.ready, end.places[0], end.places[1]].map(|at| state[at] == 1);
            end.open |= ready;
            let right = if second { first && !ready } else { ready || !end.open };
            assert!(right, "{}: ready {ready}, places {first} and {second}", end.name);
        }
    }

    /// Whole cycles.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// A cycle in reset, behind which ends may be closed again.
    pub fn step_in_reset(&mut self) {
        self.sim.step_in_reset();
        self.ends.iter_mut().for_each(|end| end.open = false);
    }
}

impl Deref for Checked {
    type Target = Sim;

    fn deref(&self) -> &Sim {
        &self.sim
    }
}

impl DerefMut for Checked {
    fn deref_mut(&mut self) -> &mut Sim {
        &mut self.sim
    }
}

/// Every memory holds anything, the same in every run.
fn switch_on(sim: &mut Sim) {
    let design = sim.design().clone();
    let mut rng = SmallRng::seed_from_u64(1);
    for unit in &design.units {
        for mem in &design.types[unit.ty].netlist.mems {
            let path =
                if unit.path.is_empty() { mem.path.clone() } else { format!("{}.{}", unit.path, mem.path) };
            for (row, lane) in (0..mem.rows).flat_map(|row| (0..mem.lanes).map(move |lane| (row, lane))) {
                let limbs: Vec<u64> = (0..mem.lane_width.div_ceil(64)).map(|_| rng.random()).collect();
                assert!(sim.poke_mem(&path, row, lane, &Bv::from_limbs(&limbs, mem.lane_width)), "{path}");
            }
        }
    }
}

fn ends(design: &Design) -> Vec<End> {
    let of_unit = |(unit, of): (usize, &weft_engine::design::Unit)| {
        let ty = &design.types[of.ty];
        let place = |name: &str| Some(ty.layout.regs[ty.netlist.regs.iter().position(|r| r.path == name)?]);
        let names = ty.netlist.regs.iter().filter_map(|r| r.path.strip_suffix("_skid1_valid"));
        let end = |name: &str| {
            let places = [place(&format!("{name}_skid0_valid"))?, place(&format!("{name}_skid1_valid"))?];
            let ready = place(&format!("{name}_ready"))?;
            let name = if of.path.is_empty() { name.to_string() } else { format!("{}.{name}", of.path) };
            Some(End { name, unit, ready, places, open: false })
        };
        names.filter_map(end).collect::<Vec<_>>()
    };
    design.units.iter().enumerate().flat_map(of_unit).collect()
}
