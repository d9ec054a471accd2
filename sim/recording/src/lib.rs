//! Recorded executions (cu-and-consistency.md section 6): what every wave has done to memory in a run, in a file that is written and read as a stream.
//!
//! ```text
//! file     "WEFTRECD"  version u32  head bytes u32  CRC-32 of the head u32  | head | section ... | end         (numbers little-endian)
//! head     JSON: Head
//! section  bytes unpacked u32, not 0   bytes packed u32   CRC-32 of the packed bytes u32   | raw DEFLATE of records
//! end      0 u32  0 u32  number of records u64; nothing follows
//! record   a Record, its numbers as differences (see pack), in the varint encoding of the crate postcard
//! ```
//!
//! Records are in the order in which things are complete: an access stands where its last answer has come (a store without acknowledgement where the L1 has accepted it), a
//! fence where all of it is done. Accesses of one thread have their places in program order in [`Access::index`]. Between [`Record::Kernel`] and [`Record::Boundary`] lies one kernel;
//! all of it is complete at the boundary. Addresses are the program's, so that pages may move.
//!
//! A file that ends before its end, or is damaged, is told with the byte at which that shows ([`RecordingError`]).

mod error;
mod pack;
mod read;
mod record;
mod write;

pub use error::RecordingError;
pub use read::Reader;
pub use record::{Access, Fence, Head, Kind, Record, Thread};
pub use write::Writer;

/// Version of the files that this program writes and reads.
pub const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"WEFTRECD";

/// Bytes before the head.
const FIXED: usize = 20;

/// Bytes of records after which a section is closed.
const SECTION: usize = 1 << 18;

/// Most bytes of a section, packed or not: a record is at most a page of memory, and a section is closed behind the record that fills it.
const MOST: u32 = 1 << 24;
