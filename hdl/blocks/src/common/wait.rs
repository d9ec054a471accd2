//! Channels that take a number of cycles.

use super::delay_queue::delay_queue;
use super::fifo::fifo;
use crate::registry::BlockError;
use weft_rtl::prelude::*;

/// Modules that a message passes one after the other, in so many cycles together; one message can pass in every cycle.
pub struct Wait {
    stages: Vec<Arc<Module>>,
}

impl Wait {
    /// `cycles` 0..1021; `name` tells message type and parameters apart; `block`: where the modules are placed.
    ///
    /// # Errors
    /// More cycles.
    pub fn new<T: Data>(block: &str, name: &str, cycles: u32, shape: &T::Shape) -> Result<Wait, BlockError> {
        let made = match cycles {
            0 => Ok(Vec::new()),
            // A queue of two rows and its output register are one cycle.
            1 | 2 => fifo::<T>(&format!("{name}_stage"), 2, shape).map(|stage| vec![stage; cycles as usize]),
            _ => delay_queue::<T>(&format!("{name}_d{cycles}"), cycles, shape).map(|queue| vec![queue]),
        };
        let stages = made.map_err(|errors| BlockError::Elab { block: block.into(), errors })?;
        Ok(Wait { stages })
    }

    /// Places the modules, `NAME`, `NAME_1`..., between a sending and a receiving channel.
    #[track_caller]
    pub fn join<T: Data>(
        &self,
        name: &str,
        from: (&InstanceRef, &str),
        to: (&InstanceRef, &str),
        shape: &T::Shape,
    ) {
        let placed: Vec<InstanceRef> = self
            .stages
            .iter()
            .enumerate()
            .map(|(i, stage)| instance(&if i == 0 { name.to_string() } else { format!("{name}_{i}") }, stage))
            .collect();
        let mut last = from;
        for stage in &placed {
            connect::<T>(last.0, last.1, stage, "in", shape);
            last = (stage, "out");
        }
        connect::<T>(last.0, last.1, to.0, to.1, shape);
    }
}
