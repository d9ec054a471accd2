//! `denovo_b_l2`: what reads of owners add to the bank of hLRC.

use super::super::core::Took;
use super::super::hlrc::owner::Owner;
use super::super::l2::{L2, Waiter};
use super::super::msg::{ProbeKind, Req, ReqKind, RspKind};
use super::super::slip::Slip;
use super::super::word::Data;

impl L2 {
    /// A message of VN0.
    pub(in super::super) fn req_denovo(&mut self, req: &Req) -> Took {
        match req.kind {
            ReqKind::Rd { line, mshr } => self.read_denovo(req.src, line, mshr),
            ReqKind::Reg { line, mshr } => self.register(req.src, line, mshr),
            _ => {
                self.fault(format!("L1 {} asks what DeNovo-B does not know", req.src));
                Took::Done
            }
        }
    }
    fn read_denovo(&mut self, src: u8, line: u64, mshr: u8) -> Took {
        let owner = self.owners.get(&line).copied().filter(|_| self.p.slip != Some(Slip::ReadFromBank));
        match owner {
            Some(Owner { revoke: Some(_), .. }) => Took::Wait,
            Some(Owner { cu, revoke: None }) => {
                if cu == src {
                    self.fault(format!("L1 {src} reads line {line:#x}, which it has"));
                }
                self.probe(line, cu, ProbeKind::Read, Some((src, mshr)));
                Took::Done
            }
            None if self.read(src, line, Waiter::Read(mshr)) => Took::Done,
            None => Took::Wait,
        }
    }
    /// READ_ACK, with the bytes that the owner has written or, after an UNREG, without.
    pub(in super::super) fn owner_read(&mut self, src: u8, line: u64, has: Option<(u64, Data)>) {
        let owner = self.owners.get(&line).copied().filter(|owner| owner.cu == src);
        let Some(read) = owner.and_then(|owner| owner.revoke).filter(|revoke| revoke.read) else {
            return self.fault(format!("READ_ACK of L1 {src}, which was not asked for line {line:#x}"));
        };
        match (has, read.unreg) {
            (Some((mask, data)), None) => {
                self.merge(line, mask, data);
                self.owners.insert(line, Owner { cu: src, revoke: None });
            }
            (None, Some(wbt)) => {
                self.send(src, RspKind::UnregAck { wbt });
                self.give_back(line);
            }
            _ => self.fault(format!("line {line:#x} comes twice or not at all")),
        }
        let data = self.lines.get(line).map_or(Data::default(), |frame| frame.data);
        if let Some((reader, mshr)) = read.req {
            self.send(reader, RspKind::Fill { mshr, data });
        }
    }
}
