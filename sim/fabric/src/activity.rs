//! What the models around the hardware do, as [`weft_engine::activity`] notes it.

use weft_engine::activity::Activity;

/// Fences of nodes go on.
pub const FENCES: Activity = Activity::model(0);
/// The command processor launches, copies and waits.
pub const PROCESSOR: Activity = Activity::model(1);
/// Compute units issue, coalesce and finish operations.
pub const CUS: Activity = Activity::model(2);
/// The class of a tick without an issue.
pub const STALLS: Activity = Activity::model(3);
/// Messages between compute units and the hardware.
pub const PORTS: Activity = Activity::model(4);
/// DRAM, and what else stands around the fabric.
pub const MEMORY: Activity = Activity::model(5);
/// Values, messages and sharers are checked, and what the family measures is counted.
pub const CHECKS: Activity = Activity::model(6);

/// Name of an activity of these.
pub fn name(activity: Activity) -> Option<&'static str> {
    Some(match activity {
        FENCES => "fences",
        PROCESSOR => "command processor",
        CUS => "compute units",
        STALLS => "stall classes",
        PORTS => "ports of compute units",
        MEMORY => "memory",
        CHECKS => "checks",
        _ => return None,
    })
}
