//! Races (moesi.md section 9), and the count of rows and races of all that was run.

use super::table::{names, plain_row};
use std::collections::BTreeMap;

/// A race. The first 20 are those of the ledger; the others need more than one block to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Race {
    /// A Put waits behind a row that asks its sender's copy.
    PutBehindRow,
    /// An OwnHome waits behind a row of another node's GetM.
    OwnHomeWaits,
    /// An Ack of a replaced entry comes while an operation of its line waits.
    AcksMeetRequest,
    /// GetM of a third node at an owner with sharers: Acks first, then FwdM.
    TwoPhases,
    /// An operation waits behind the row of a Put.
    WaitsForMemory,
    /// An operation needs a way, and all have rows.
    WaitsForWay,
    /// An operation needs a row, and none is free.
    RowsFull,
    /// Recall of a replaced entry has waited for the Acks of its sharers.
    RecallAfterAcks,
    /// The queue is full, and the input waits.
    QueueFull,
    /// A ReadHome waits behind a GetM.
    ReadBehindDrop,
    /// FwdS meets the line in the write-back buffer.
    FwdSInBuffer,
    /// FwdM meets the line in the write-back buffer.
    FwdMInBuffer,
    /// Recall meets the line in the write-back buffer.
    RecallInBuffer,
    /// Inv meets a GetM from S.
    InvMeetsGetM,
    /// FwdS meets a GetM from O.
    FwdSMeetsGetM,
    /// FwdM meets a GetM from O.
    FwdMMeetsGetM,
    /// Recall meets a GetM from O.
    RecallMeetsGetM,
    /// Inv meets a GetS of a copy that was dropped in silence.
    InvMeetsGetS,
    /// An operation of the node comes for a line in the buffer.
    WaitsForPutAck,
    /// A miss finds every frame reserved.
    AllReserved,
    /// FwdS was answered by the buffer, and the Put is taken.
    FwdSThenTaken,
    /// FwdM was answered by the buffer, and the Put is stale.
    FwdMThenStale,
    /// Recall was answered by the buffer, and the Put of the replaced entry is stale.
    ReplacedPut,
    /// An OwnHome from O waits in the queue, and a GetM before it takes the own copy.
    OwnHomeLosesCopy,
    /// The own copy in M answers a GetS.
    OwnMReads,
    /// The own copy in E answers a GetM.
    OwnEWrites,
    /// Two nodes in S ask for M: the first has it of the home, the second of the first.
    TwoUpgrades,
    /// A Put has waited in the queue behind a row that its buffer's place has answered.
    PutBehindAnswered,
    /// The slice has ended the row and sent the next Inv or forward before the bank's next event.
    NextAfterDone,
    /// A GetM has dropped the own S copy when it entered, and the owner gets FwdM.
    DroppedAtEntry,
    /// An entry is replaced while an operation of another line waits for the way.
    ReplacedForWay,
    /// A Put is clean, and FwdS was answered by its place: the home has an S copy when it is taken.
    CleanPutShared,
    /// A GetS or GetM of another node waits until the own MSHR of the home is done.
    RemoteWaitsOwn,
    /// An own request enters the slice behind an operation of another node for the line.
    OwnBehindRemote,
    /// An own read enters behind a GetM that has dropped the own S copy.
    ReadBehindDropped,
    /// A GetS is answered "alone" while the own bank has asked for the line behind it.
    AskedBehindAlone,
    /// The own copy has gone since a GetS entered: S is granted though nobody else has a copy.
    FlagOutlived,
}

impl Race {
    /// All, with identifiers.
    pub const ALL: [(Race, &'static str); 37] = [
        (Race::PutBehindRow, "moesi.race.put_behind_row"),
        (Race::OwnHomeWaits, "moesi.race.own_home_waits"),
        (Race::AcksMeetRequest, "moesi.race.acks_meet_request"),
        (Race::TwoPhases, "moesi.race.two_phases"),
        (Race::WaitsForMemory, "moesi.race.waits_for_memory"),
        (Race::WaitsForWay, "moesi.race.waits_for_way"),
        (Race::RowsFull, "moesi.race.rows_full"),
        (Race::RecallAfterAcks, "moesi.race.recall_after_acks"),
        (Race::QueueFull, "moesi.race.queue_full"),
        (Race::ReadBehindDrop, "moesi.race.read_behind_drop"),
        (Race::FwdSInBuffer, "moesi_l2.race.fwds_in_buffer"),
        (Race::FwdMInBuffer, "moesi_l2.race.fwdm_in_buffer"),
        (Race::RecallInBuffer, "moesi_l2.race.recall_in_buffer"),
        (Race::InvMeetsGetM, "moesi_l2.race.inv_meets_getm"),
        (Race::FwdSMeetsGetM, "moesi_l2.race.fwds_meets_getm"),
        (Race::FwdMMeetsGetM, "moesi_l2.race.fwdm_meets_getm"),
        (Race::RecallMeetsGetM, "moesi_l2.race.recall_meets_getm"),
        (Race::InvMeetsGetS, "moesi_l2.race.inv_meets_gets"),
        (Race::WaitsForPutAck, "moesi_l2.race.waits_for_put_ack"),
        (Race::AllReserved, "moesi_l2.race.all_reserved"),
        (Race::FwdSThenTaken, "fwds_then_taken"),
        (Race::FwdMThenStale, "fwdm_then_stale"),
        (Race::ReplacedPut, "replaced_put"),
        (Race::OwnHomeLosesCopy, "own_home_loses_copy"),
        (Race::OwnMReads, "own_m_reads"),
        (Race::OwnEWrites, "own_e_writes"),
        (Race::TwoUpgrades, "two_upgrades"),
        (Race::PutBehindAnswered, "put_behind_answered"),
        (Race::NextAfterDone, "next_after_done"),
        (Race::DroppedAtEntry, "dropped_at_entry"),
        (Race::ReplacedForWay, "replaced_for_way"),
        (Race::CleanPutShared, "clean_put_shared"),
        (Race::RemoteWaitsOwn, "remote_waits_own"),
        (Race::OwnBehindRemote, "own_behind_remote"),
        (Race::ReadBehindDropped, "read_behind_dropped"),
        (Race::AskedBehindAlone, "asked_behind_alone"),
        (Race::FlagOutlived, "flag_outlived"),
    ];
}

/// How often each row and race was met.
#[derive(Clone, Debug)]
pub struct Tally {
    rows: Vec<u64>,
    races: [u64; Race::ALL.len()],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { rows: vec![0; names().len()], races: [0; Race::ALL.len()] }
    }
}

impl Tally {
    /// A row, by the number that a lookup gives.
    pub fn row(&mut self, number: usize) {
        self.rows[number] += 1;
    }

    /// A row without a choice.
    pub fn plain(&mut self, id: &str) {
        self.rows[plain_row(id)] += 1;
    }

    /// A race.
    pub fn race(&mut self, race: Race) {
        self.races[race as usize] += 1;
    }

    /// Adds what another run met.
    pub fn add(&mut self, other: &Tally) {
        self.rows.iter_mut().zip(&other.rows).for_each(|(sum, more)| *sum += more);
        self.races.iter_mut().zip(&other.races).for_each(|(sum, more)| *sum += more);
    }

    /// Counts of rows and races by identifier; rows with the same are counted together.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        let rows = names().into_iter().zip(&self.rows).map(|((id, _), count)| (id, *count));
        let races = Race::ALL.iter().map(|(race, id)| (*id, self.races[*race as usize]));
        rows.chain(races).for_each(|(id, count)| *counts.entry(id).or_default() += count);
        counts
    }

    /// Rows, each for itself, and races that were never met.
    pub fn missing(&self) -> Vec<String> {
        let rows = names().into_iter().zip(&self.rows).filter(|(_, count)| **count == 0);
        let races = Race::ALL.iter().filter(|(race, _)| self.races[*race as usize] == 0);
        rows.map(|((id, name), _)| format!("{id} {name}")).chain(races.map(|(_, id)| (*id).into())).collect()
    }
}
