//! Hits of the race ledger.

use super::{text, texts};
use crate::{Target, scratch};
use weft_ledger::{Entry, EntryKind, Ledger};

fn entry(id: &str) -> Entry {
    Entry {
        id: id.into(),
        block: "l1".into(),
        kind: EntryKind::Row,
        text: "what".into(),
        source: "rec.md 4.1".into(),
    }
}

fn ledger(input: &[u8]) -> Result<(), String> {
    scratch::file("hits.jsonl", input, |path| {
        let mut ledger = Ledger::new(vec![entry("l1.I.load"), entry("rec.race.twice")]);
        ledger.merge_file(path).map_err(|error| error.to_string())?;
        drop((ledger.render(None), ledger.complaints(None)));
        Ok(())
    })
}

pub(super) fn targets() -> Vec<Target> {
    vec![text(
        "ledger",
        "hits of the race ledger (JSON lines)",
        || {
            texts(&[
                "{\"id\":\"l1.I.load\",\"count\":3,\"seed\":9,\"test\":\"a::b\"}\n\n{\"id\":\"rec.race.twice\",\"count\":18446744073709551615,\
                     \"seed\":0,\"test\":\"c\"}\n{\"id\":\"rec.race.twice\",\"count\":2,\"seed\":1,\"test\":\"c\"}\n",
            ])
        },
        "null  [  {  \"id\"  \"more\":1",
        ledger,
    )]
}
