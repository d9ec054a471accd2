//! An input that shows a fault, made small.

use super::exec::{Outcome, Read};
use super::fault::What;
use crate::{Kind, Part, Target};

/// Times that an input is read to make it small.
const TRIES: u32 = 3000;

/// The smallest input found that fails in the same way at the same place.
pub fn small(
    target: &Target,
    input: Vec<u8>,
    what: What,
    place: &str,
    read: &mut dyn FnMut(&[u8]) -> Read,
) -> Vec<u8> {
    let mut tries = TRIES;
    let mut fails = |input: &[u8]| {
        tries = tries.saturating_sub(1);
        tries > 0
            && matches!(read(input).outcome, Outcome::Failed(now, _, at) if (now, at.as_str()) == (what, place))
    };
    // Of a file with checksums its parts become smaller, as long as it fails when it is put together again.
    let parts = target.form.open(&input).filter(|parts| fails(&target.form.close(parts)));
    let Some(mut parts) = parts else {
        return shrunk(input, &mut |bytes| fails(bytes));
    };
    for at in 0..parts.len() {
        if parts[at].kind != Kind::Derived {
            let own = parts[at].clone();
            let mut with = |bytes: &[u8]| {
                let mut parts = parts.clone();
                parts[at] = Part { kind: own.kind, bytes: bytes.to_vec() };
                fails(&target.form.close(&parts))
            };
            parts[at].bytes = shrunk(own.bytes.clone(), &mut with);
        }
    }
    target.form.close(&parts)
}

/// Leaves out pieces, from halves to single bytes, as long as what is left fails.
fn shrunk(mut bytes: Vec<u8>, fails: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut piece = bytes.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        let before = bytes.len();
        while at < bytes.len() {
            let end = (at + piece).min(bytes.len());
            let less = [&bytes[..at], &bytes[end..]].concat();
            if fails(&less) { bytes = less } else { at = end }
        }
        if bytes.len() == before || piece > 1 {
            piece /= 2;
        }
    }
    bytes
}
