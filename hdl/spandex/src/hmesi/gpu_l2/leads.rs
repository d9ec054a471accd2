//! That words, lines and TBEs become what the tables say.

use super::table::Client;
use super::tbes::Left;
use super::types::*;
use crate::bank::words::Word;
use weft_rtl::prelude::*;

/// The value whose condition holds, else `rest`.
fn chosen<E: HwEnum>(pairs: &[(Bool, E)], rest: Enum<E>) -> Enum<E> {
    pairs.iter().rev().fold(rest, |rest, (now, value)| mux(*now, enum_lit(*value), rest))
}

/// Declares the assertions.
pub(super) fn connect(act: &Act) {
    let (n, d, tbes) = (act.n, act.d, act.with.tbes);
    let (line, owned) = act.words_lead("gpu_l2", |_| enum_lit(Word::V));
    d.decided.needs.leads_to(mux(n.here, line.perm, enum_lit(Perm::I)));
    d.frames.leads_to(line.perm);
    let searches = n.is(Kind::Req) | n.is(Kind::Replay);
    let blocked = d.blocked.clone();
    tbes.on_left(mux(searches, n.look.by, n.index), move |tbe| blocked.leads_to(tbe.kind));
    let (client, seen) = (d.decided.client.clone(), seen(act, line, owned));
    tbes.on_left(n.index, move |tbe| client.leads_to(seen.after(tbe)));
}

/// What tells the state of a message's line after the cycle.
struct Seen {
    /// It leaves for the L3.
    leaves: Bool,
    /// It comes from there.
    comes: Bool,
    /// State of the line in its way.
    here: Enum<Client>,
}

fn seen(act: &Act, line: L2Tag, owned: Bits) -> Seen {
    let n = act.n;
    let is = |perm| line.perm.is(perm);
    let pairs = [
        (is(Perm::S), Client::S),
        (is(Perm::E), Client::E),
        (is(Perm::M) & owned.any(), Client::O),
        (is(Perm::M), Client::M),
    ];
    let way = chosen(&pairs, enum_lit(Client::I));
    let settles = act.installs() | n.known.revoked;
    let of_tbe = (n.op.kind.is(Kind::Answer) | n.look.blocked) & n.tbe.kind.is(TbeKind::Fill);
    Seen {
        leaves: n.known.leaves,
        comes: of_tbe & !settles,
        here: mux(settles | n.look.hit, way, enum_lit(Client::I)),
    }
}

impl Seen {
    fn after(&self, tbe: &Left) -> Enum<Client> {
        let leaving = [(tbe.leaving.is(Leaving::Mi), Client::Mi), (tbe.leaving.is(Leaving::Ii), Client::Ii)];
        let getting = [
            (tbe.getting.is(Getting::Is), Client::Is),
            (tbe.getting.is(Getting::Isi), Client::Isi),
            (tbe.getting.is(Getting::Im), Client::Im),
        ];
        let comes = mux(self.comes, chosen(&getting, enum_lit(Client::Sm)), self.here);
        mux(self.leaves, chosen(&leaving, enum_lit(Client::I)), comes)
    }
}
