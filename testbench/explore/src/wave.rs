//! A way through a net as a waveform: the registers of all blocks, with the number of the action as time.

use crate::guess::OfNet;
use crate::net::Event;
use std::path::Path;
use weft_engine::wave::{WaveError, WaveVar, WaveWriter};

/// Writes the registers of all blocks along a path (`.vcd` or `.fst`); a block that was not clocked stands still.
///
/// # Errors
/// A file that cannot be written.
pub fn write(space: &mut impl OfNet, path: &[u64], file: &Path) -> Result<(), WaveError> {
    let start = space.start();
    let net = space.net();
    let (mut vars, mut starts) = (Vec::new(), Vec::new());
    for block in &net.blocks {
        starts.push(vars.len());
        for reg in &block.design.types[0].netlist.regs {
            let name = format!("{}.{}", block.name, reg.path);
            vars.push(WaveVar::new("explore", &name, reg.width, reg.ty.clone(), true));
        }
    }
    let mut writer = WaveWriter::create(file, &vars)?;
    let Ok(mut state) = start else { return writer.finish(0) };
    for time in 0..=path.len() as u64 {
        for (place, first) in starts.iter().enumerate() {
            let mut failed = None;
            net.blocks[place].registers(state[place], |reg, limbs| {
                failed = failed.take().or(writer.change(time, first + reg, limbs).err());
            });
            failed.map_or(Ok(()), Err)?;
        }
        let Some(action) = path.get(time as usize) else { break };
        // The last action may be the one that goes wrong: the state before it is the last to be seen.
        let Ok(next) = net.act(&state, *action, &mut Event::default()) else { break };
        state = next;
    }
    writer.finish(path.len() as u64 + 1)
}
