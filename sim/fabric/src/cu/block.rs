//! Work-groups: dispatch, barrier, end (section 1.2).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_workload::{Kernel, LoadedValues, Scope};

use super::dma::Mapped;
use super::wave::{Status, Wave};
use super::{Cu, CuError, CuObserver, Who};

/// A resident work-group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Block {
    pub kernel: Arc<Kernel>,
    /// Work-group in flattened order.
    pub block: u32,
    /// Wave slots, by wave; an ended wave's slot may already hold another.
    pub waves: Vec<u16>,
    /// Waves that have not ended.
    pub live: u32,
    /// Waves at the barrier.
    pub arrived: u32,
    /// Widest scope of a store of the waves at the barrier that no release covers: when it opens, such a store comes before all that its waves do.
    pub posted: Scope,
    /// Scratchpad contents.
    pub lds: Vec<u8>,
    /// Its mappings, in order of their first execution.
    pub maps: Vec<Mapped>,
}

impl Cu {
    /// Whether a work-group of `kernel` fits now: a block slot, its waves and its scratchpad.
    pub fn has_room(&self, kernel: &Kernel) -> bool {
        self.fits(kernel.waves_per_block, kernel.lds_bytes)
    }

    fn fits(&self, waves: u32, lds_bytes: u32) -> bool {
        self.s.free_blocks > 0 && self.s.free_waves >= waves && self.s.lds_free >= lds_bytes
    }

    /// Makes work-group `block` resident. `number` is its launch number, which gives its age; its waves may issue from
    /// `launch` ticks after cycle `now` on.
    ///
    /// # Errors
    /// It does not fit ([`Cu::has_room`]).
    pub fn launch(&mut self, kernel: &Arc<Kernel>, block: u32, number: u64, now: u64) -> Result<(), CuError> {
        let slot = self.s.blocks.iter().position(Option::is_none);
        let (waves, lds) = (kernel.waves(block), if kernel.on_cpu(block) { 0 } else { kernel.lds_bytes });
        let (Some(slot), true) = (slot, self.fits(waves, lds)) else {
            return Err(CuError::NoRoom {
                kernel: kernel.name.clone(),
                waves,
                lds,
                max_waves: self.s.free_waves,
                max_lds: self.s.lds_free,
            });
        };
        self.inspect_change(now);
        let now = self.params.pace.tick(now);
        if self.s.free_waves as usize == self.s.waves.len() {
            self.s.active_since = now;
        }
        let mut slots = Vec::with_capacity(waves as usize);
        let mut index = 0;
        for w in 0..self.s.waves.len() {
            if index == waves {
                break;
            }
            let wave = &mut self.s.waves[w];
            if wave.status != Status::Free {
                continue;
            }
            *wave = Wave {
                age: number << 16 | u64::from(index),
                block: slot as u16,
                index,
                frame: self.program.start(kernel, block, index),
                values: LoadedValues::new(),
                ..Wave::free()
            };
            self.sleep(w as u16, now + u64::from(self.params.launch));
            slots.push(w as u16);
            index += 1;
        }
        self.s.free_waves -= waves;
        self.s.free_blocks -= 1;
        self.s.lds_free -= lds;
        self.s.blocks[slot] = Some(Block {
            kernel: Arc::clone(kernel),
            block,
            waves: slots,
            live: waves,
            arrived: 0,
            posted: Scope::Cu,
            lds: vec![0; lds as usize],
            maps: Vec::new(),
        });
        Ok(())
    }

    /// A wave has arrived at the barrier.
    pub(super) fn arrive(&mut self, w: u16, now: u64, obs: &mut dyn CuObserver) -> Result<(), CuError> {
        let wave = &self.s.waves[usize::from(w)];
        let slot = usize::from(wave.block);
        if let Some(block) = self.s.blocks[slot].as_mut() {
            block.arrived += 1;
            block.posted = block.posted.max(wave.posted);
        }
        self.open_barrier(slot, self.who(w), now, obs)
    }

    /// Opens the barrier one tick after the last live wave's arrival.
    fn open_barrier(
        &mut self,
        slot: usize,
        who: Who,
        now: u64,
        obs: &mut dyn CuObserver,
    ) -> Result<(), CuError> {
        let Some(block) = self.s.blocks[slot].as_mut() else { return Ok(()) };
        if block.arrived == 0 || block.arrived < block.live {
            return Ok(());
        }
        block.arrived = 0;
        let posted = std::mem::replace(&mut block.posted, Scope::Cu);
        let short = block.live < block.waves.len() as u32;
        self.s.counters.barriers_short += u64::from(short);
        let waves = std::mem::take(&mut block.waves);
        obs.barrier(&who, self.params.pace.cycle(now));
        for &w in &waves {
            let wave = &mut self.s.waves[usize::from(w)];
            if wave.status == Status::Barrier && usize::from(wave.block) == slot {
                wave.posted = posted;
                self.settle(w, now + 1)?;
            }
        }
        if let Some(block) = self.s.blocks[slot].as_mut() {
            block.waves = waves;
        }
        Ok(())
    }

    /// A wave has ended: its slot is free; it counts as arrived at the barrier.
    pub(super) fn end_wave(
        &mut self,
        w: u16,
        slot: usize,
        now: u64,
        obs: &mut dyn CuObserver,
    ) -> Result<(), CuError> {
        let who = self.who(w);
        let wave = &mut self.s.waves[usize::from(w)];
        let (group, posted) = (usize::from(wave.block), wave.posted);
        self.s.counters.failed_locks += self.program.failed_attempts(&wave.frame);
        *wave = Wave::free();
        self.s.slots[slot].last = None;
        self.s.free_waves += 1;
        let Some(block) = self.s.blocks[group].as_mut() else { return Ok(()) };
        block.live -= 1;
        block.posted = block.posted.max(posted);
        if block.live > 0 {
            return self.open_barrier(group, who, now, obs);
        }
        if let Some(cause) = Cu::unmapped(&block.maps, block.waves.len()) {
            let (kernel, block) = (block.kernel.name.clone(), block.block);
            return Err(CuError::Mapping { who: format!("kernel {kernel} work-group {block}"), cause });
        }
        self.s.lds_free += block.lds.len() as u32;
        self.s.blocks[group] = None;
        self.s.free_blocks += 1;
        self.s.counters.blocks += 1;
        if self.s.free_waves as usize == self.s.waves.len() {
            self.s.counters.active_ticks += now + 1 - self.s.active_since;
        }
        Ok(())
    }
}
