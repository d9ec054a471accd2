//! What must hold in every state, and when everything is at rest (spandex.md sections 11 and 13).

use crate::machine::Machine;
use crate::state::{NONE, State};

/// Nothing is outstanding: all devices in stable states, an empty network, the line not blocked.
pub fn at_rest(machine: &Machine, state: &State) -> bool {
    let devices = &state.device[..state.devices];
    state.net.is_empty()
        && machine.open >> state.llc.state & 1 != 0
        && devices.iter().all(|device| machine.stable >> device.state & 1 != 0)
}

/// # Errors
/// What does not hold.
pub fn check(machine: &Machine, state: &State) -> Result<(), String> {
    if machine.protocol.strict {
        single_writer(machine, state)?;
    }
    removals(machine, state)?;
    if machine.has_values() {
        values(machine, state)?;
    }
    if at_rest(machine, state) { rest(machine, state) } else { Ok(()) }
}

/// Devices whose state is in a set.
fn within(state: &State, set: u32) -> impl Iterator<Item = usize> {
    let devices = state.device[..state.devices].iter().enumerate();
    devices.filter(move |(_, device)| set >> device.state & 1 != 0).map(|(i, _)| i)
}

/// One owner at every instant, and no sharer beside it.
fn single_writer(machine: &Machine, state: &State) -> Result<(), String> {
    let owners = within(state, machine.owning).count();
    let sharers = within(state, machine.shared).count();
    match (owners, sharers) {
        (2.., _) => Err("two devices own the line".into()),
        (1, 1..) => Err("one device owns the line, another shares it".into()),
        _ => Ok(()),
    }
}

/// At most one owner that the LLC has not told to give the line up: any other one has exactly one ownership-removing forward before it. Two owners at one
/// instant are legal in Spandex: after a ReqWT the old owner stays in O until the forward arrives.
fn removals(machine: &Machine, state: &State) -> Result<(), String> {
    let removes = |op: u8| machine.protocol.messages[usize::from(op) - 1].removes;
    for owner in within(state, machine.owning) {
        let coming =
            state.net.iter().filter(|packet| usize::from(packet.dst) == owner && removes(packet.op)).count();
        if coming > 1 {
            return Err(format!("two messages take ownership from device {owner}"));
        }
        // An open line has told nobody but former owners; the owner of a blocked one may be unknown until it unblocks the line.
        let open = machine.open >> state.llc.state & 1 != 0;
        if open && coming == 0 && usize::from(state.llc.owner) != owner {
            return Err(format!("device {owner} owns the line, but the LLC does not know it"));
        }
    }
    Ok(())
}

fn values(machine: &Machine, state: &State) -> Result<(), String> {
    let judge = &state.judge;
    let stale = |i: &usize| state.device[*i].value != judge.latest;
    if let Some(i) = within(state, machine.owning).filter(|i| judge.alive >> i & 1 != 0).find(stale) {
        return Err(format!("device {i} owns the line with stale data"));
    }
    if let Some(i) = within(state, machine.shared).find(stale) {
        return Err(format!("device {i} shares stale data"));
    }
    Ok(())
}

/// The LLC knows the owner and every sharer, and the last value is where it says.
fn rest(machine: &Machine, state: &State) -> Result<(), String> {
    let llc = &state.llc;
    let name = machine.protocol.llc_states[usize::from(llc.state)];
    let (owned, sharing) = (name == machine.protocol.owned, name == machine.protocol.sharing);
    let owners: Vec<usize> = within(state, machine.owning).collect();
    match (owned, &owners[..]) {
        (false, []) => {}
        (true, [owner]) if usize::from(llc.owner) == *owner => {}
        _ => {
            let known = if llc.owner == NONE { "none".to_string() } else { llc.owner.to_string() };
            return Err(format!("at rest the LLC in {name} knows owner {known}, owners are {owners:?}"));
        }
    }
    if (llc.owner != NONE) != owned || (llc.sharers != 0) != sharing || llc.acks != 0 || llc.request != 0 {
        return Err(format!("at rest the LLC's entry is not that of {name}"));
    }
    if let Some(i) = within(state, machine.shared).find(|i| llc.sharers >> i & 1 == 0) {
        return Err(format!("at rest device {i} shares the line and is not recorded"));
    }
    if !machine.has_values() {
        return Ok(());
    }
    let (judge, now) = (&state.judge, 1 << u8::from(state.judge.latest));
    let last = owners.first().map_or(llc.value, |owner| state.device[*owner].value);
    if last != judge.latest {
        return Err("lost update: at rest the last value is not where the LLC looks for it".into());
    }
    if judge.writer != NONE || judge.now != now {
        return Err("at rest a store that is complete is still open to the judge".into());
    }
    Ok(())
}
