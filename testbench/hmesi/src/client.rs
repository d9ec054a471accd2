//! A client of the L3 for benches, by the table of spandex.md section 9: one state per line, one transaction of a line at a time. It keeps all rules, whatever order messages come in.

use std::collections::BTreeMap;

/// States of a line. `SM` and `IM` wait for DataM and InvAcks, `MI` and `II` for WBAck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum St {
    /// Invalid.
    I,
    /// Shared.
    S,
    /// Exclusive, clean.
    E,
    /// Exclusive, written.
    M,
    /// GetS is out.
    Is,
    /// GetS is out, Inv has come.
    Isi,
    /// GetM is out.
    Im,
    /// GetM is out, a shared copy is here.
    Sm,
    /// Put is out.
    Mi,
    /// Put is out, another has the line.
    Ii,
}

/// A line at a client.
#[derive(Clone, Debug)]
pub struct Line {
    /// State.
    pub st: St,
    /// Version of the data, where the state has any.
    pub value: u64,
    /// Put was of M.
    pub dirty: bool,
    /// Transaction.
    pub tag: u64,
    /// InvAcks still to come; negative if they came before DataM.
    pub acks: i64,
    /// DataM has come.
    pub data: bool,
    /// Versions written when the request left.
    pub floor: u64,
    /// Cycle in which the request or Put left.
    pub since: u64,
}

/// What a client says to others because of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// To the client that asked.
    DataS(u64),
    /// To the client that asked.
    DataM(u64),
    /// To the client that asked.
    InvAck,
    /// To the L3: version if dirty; kept.
    WbData(Option<u64>, bool),
    /// To the L3.
    InvAckHome,
    /// To the L3.
    Unblock,
    /// To the L3.
    UnblockX,
    /// Nothing is said: a line is read, strictly the newest version.
    Reads(u64),
    /// Nothing is said: a line is used once, a version not older than the floor.
    ReadsOnce(u64, u64),
}

/// A client.
#[derive(Clone, Default, Debug)]
pub struct Client {
    /// Lines that are not in I, and some that are.
    pub lines: BTreeMap<u64, Line>,
    /// Forwards are held back on their way.
    pub hold_fwd: bool,
    /// Responses are held back on their way.
    pub hold_rsp: bool,
}

impl Client {
    /// State of a line.
    pub fn st(&self, line: u64) -> St {
        self.lines.get(&line).map_or(St::I, |l| l.st)
    }

    /// Transactions under way.
    pub fn tags(&self) -> Vec<u64> {
        let open = |l: &&Line| !matches!(l.st, St::I | St::S | St::E | St::M);
        self.lines.values().filter(open).map(|l| l.tag).collect()
    }

    /// A request or Put leaves.
    pub fn leaves(&mut self, line: u64, st: St, tag: u64, floor: u64, now: u64) {
        let old = self.lines.get(&line);
        let (value, dirty) = old.map_or((0, false), |l| (l.value, l.st == St::M));
        self.lines.insert(line, Line { st, value, dirty, tag, acks: 0, data: false, floor, since: now });
    }

    /// A forward by name; what is said. `recall`: of Inv.
    ///
    /// # Errors
    /// One that cannot come in this state.
    pub fn forwarded(&mut self, op: &str, line: u64, recall: bool) -> Result<Vec<Say>, String> {
        let st = self.st(line);
        let Some(l) = self.lines.get_mut(&line) else {
            let acks = if recall { Say::InvAckHome } else { Say::InvAck };
            return if op == "Inv" { Ok(vec![acks]) } else { Err(format!("{op} meets I")) };
        };
        if op == "Inv" {
            l.st = match st {
                St::S => St::I,
                St::Is => St::Isi,
                St::Sm => St::Im,
                other => other,
            };
            return Ok(vec![if recall { Say::InvAckHome } else { Say::InvAck }]);
        }
        let dirty = st == St::M || (st == St::Mi && l.dirty);
        if !matches!(st, St::E | St::M | St::Mi) {
            return Err(format!("{op} meets {st:?}"));
        }
        let (kept, put) = (op == "FwdGetS" && st != St::Mi, st == St::Mi);
        l.st = if put {
            St::Ii
        } else if kept {
            St::S
        } else {
            St::I
        };
        let back = Say::WbData(dirty.then_some(l.value), kept);
        Ok(match op {
            "FwdGetS" => vec![Say::DataS(l.value), back],
            "FwdGetM" => vec![Say::DataM(l.value)],
            _ => vec![back],
        })
    }

    /// A response by name; what is said.
    ///
    /// # Errors
    /// One that cannot come in this state.
    pub fn answered(
        &mut self,
        op: &str,
        line: u64,
        (tag, acks, peer): (u64, i64, bool),
        value: u64,
    ) -> Result<Vec<Say>, String> {
        let st = self.st(line);
        let wrong = Err(format!("{op} meets {st:?}"));
        let Some(l) = self.lines.get_mut(&line) else {
            return wrong;
        };
        if l.tag != tag {
            return Err(format!("{op} of {line:#x} names transaction {tag}, not {}", l.tag));
        }
        let mut said = Vec::new();
        match (op, st) {
            ("DataS", St::Is) => {
                (l.st, l.value) = (St::S, value);
                said.push(Say::Reads(value));
            }
            ("DataS", St::Isi) => {
                l.st = St::I;
                said.push(Say::ReadsOnce(value, l.floor));
            }
            ("DataE", St::Is | St::Isi) => {
                (l.st, l.value) = (St::E, value);
                said.extend([Say::Reads(value), Say::UnblockX]);
            }
            ("DataM", St::Im | St::Sm) if !l.data => {
                (l.data, l.value) = (true, value);
                l.acks += acks;
            }
            ("InvAck", St::Im | St::Sm) => l.acks -= 1,
            ("WbAck", St::Mi | St::Ii) => l.st = St::I,
            _ => return wrong,
        }
        if op == "DataS" && peer {
            said.push(Say::Unblock);
        }
        if matches!(st, St::Im | St::Sm) && l.data && l.acks == 0 {
            l.st = St::M;
            said.push(Say::UnblockX);
        }
        if l.data && l.acks < 0 {
            return Err("more InvAcks than were announced".into());
        }
        Ok(said)
    }
}
