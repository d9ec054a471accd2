//! A synchronisation access that one thread of a core makes for all of them: a work-group's first thread makes it and
//! hands what it loads to the others through the scratchpad.

use super::super::round::Round;
use super::super::simt::Thread;
use super::phases::Step;

/// Scratchpad bytes: two words, used in turn, so that one may be written while slow threads still read the other.
pub const LDS: u64 = 8;

/// Registers.
pub const REGISTERS: usize = 2;
const R_STATE: usize = 0;
const R_TURN: usize = 1;

const ASK: u64 = 0;
const ASKED: u64 = 1;
const READ: u64 = 2;
const DONE: u64 = 3;

/// Slots: what the access loads, and the scratchpad word. Programs have those below.
pub const S_ASKED: u64 = 240;
const S_WORD: u64 = 241;

/// What has been loaded, or the thread's step until it is. All threads of the core call it until they have the answer;
/// one of them calls `access`, which makes the access in slot [`S_ASKED`].
pub fn ask(t: &Thread, r: &mut [u64], io: &mut Round, access: impl FnOnce(&mut Round)) -> Result<u64, Step> {
    let word = r[R_TURN] * 4;
    match r[R_STATE] {
        ASK if t.cpu || t.local == 0 => {
            access(io);
            r[R_STATE] = ASKED;
            Err(Step::Next)
        }
        ASKED if t.cpu => {
            r[R_STATE] = ASK;
            Ok(t.index(S_ASKED))
        }
        ASKED => {
            io.lds_store(S_WORD, word, t.index(S_ASKED));
            r[R_STATE] = READ;
            Err(Step::Meet)
        }
        ASK => {
            r[R_STATE] = READ;
            Err(Step::Meet)
        }
        READ => {
            io.lds_load(S_WORD, word);
            r[R_STATE] = DONE;
            Err(Step::Next)
        }
        _ => {
            (r[R_STATE], r[R_TURN]) = (ASK, 1 - r[R_TURN]);
            Ok(t.index(S_WORD))
        }
    }
}
