//! Miss registers (MSHRs): one entry per line that is being fetched, with a list of those who wait for it.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/mshr-file.svg")]

use super::cam::Cam;
use super::fifo::wrapping_next;
use weft_rtl::prelude::*;

/// A file of `n` miss registers inside a block; each holds a line number and up to `m` targets of type `T` in order. In one cycle: at most one call of
/// [`allocate`](MshrFile::allocate) or [`merge`](MshrFile::merge) and one of [`free`](MshrFile::free), for different entries.
pub struct MshrFile<T: Data> {
    m: u32,
    lines: Cam,
    counts: Memory<Bits>,
    count_writer: LaneWriter<Bits>,
    targets: Memory<T>,
    target_writer: LaneWriter<T>,
}

/// What a search in the file found.
pub struct MshrMatch {
    /// An entry waits for the line.
    pub hit: Bool,
    /// The entry, meaningful with `hit`.
    pub index: Bits,
    /// The entry can take another target.
    pub room: Bool,
}

impl<T: Data> MshrFile<T> {
    /// Declares a file of `n` entries (1..256) with up to `m` targets (1..64) each; its signals are called `NAME_*`.
    #[track_caller]
    pub fn new(name: &str, n: u32, m: u32, line_bits: u32, shape: &T::Shape) -> MshrFile<T> {
        if !(1..=64).contains(&m) {
            elab_error(format!("miss registers {name} of {m} targets; legal: 1..64"));
        }
        let m = m.clamp(1, 64);
        let lines = Cam::new(name, n, line_bits);
        let count_bits = bits_for(u64::from(m) + 1);
        let counts = regfile::<Bits>(&format!("{name}_counts"), n.clamp(1, 256), count_bits)
            .fields(&[("control", count_bits)]);
        let count_writer = counts.lane_writer("in");
        let targets = regfile_lanes::<T>(&format!("{name}_targets"), n.clamp(1, 256), m, shape.clone())
            .fields(&[("queue", width_of::<T>(shape))]);
        let target_writer = targets.lane_writer("in");
        MshrFile { m, lines, counts, count_writer, targets, target_writer }
    }

    /// Width of an entry number.
    pub fn index_bits(&self) -> u32 {
        self.lines.index_bits()
    }

    /// Looks for the entry that waits for a line.
    #[track_caller]
    pub fn find(&self, line: Bits) -> MshrMatch {
        let matches = self.lines.matches(line);
        let index = matches.lowest_set();
        MshrMatch { hit: matches.any(), index, room: self.count(index).lt(u64::from(self.m)) }
    }

    /// Valid bits of the entries.
    pub fn valid(&self) -> Bits {
        self.lines.valid()
    }

    /// No entry is free.
    #[track_caller]
    pub fn full(&self) -> Bool {
        self.lines.full()
    }

    /// The entry that [`allocate`](MshrFile::allocate) takes.
    #[track_caller]
    pub fn free_index(&self) -> Bits {
        self.lines.free_index()
    }

    /// Line of an entry.
    #[track_caller]
    pub fn line(&self, index: Bits) -> Bits {
        self.lines.key(index)
    }

    /// Number of targets of an entry.
    #[track_caller]
    pub fn count(&self, index: Bits) -> Bits {
        self.counts.read(index)
    }

    /// Target number `place` of an entry, in order of arrival.
    #[track_caller]
    pub fn target(&self, index: Bits, place: Bits) -> T {
        self.targets.read_lane(index, place)
    }

    /// Opens the free entry for a line with a first target; call it under `when(!full & ...)`.
    #[track_caller]
    pub fn allocate(&self, line: Bits, target: &T) {
        let index = self.free_index();
        self.lines.write(index, line);
        self.put(index, lit(0, self.counts_width()), target);
    }

    /// Adds a target to an entry; call it under `when(room & ...)`.
    #[track_caller]
    pub fn merge(&self, index: Bits, target: &T) {
        self.put(index, self.count(index), target);
    }

    /// Closes an entry.
    #[track_caller]
    pub fn free(&self, index: Bits) {
        self.lines.remove_at(index);
    }

    fn counts_width(&self) -> u32 {
        bits_for(u64::from(self.m) + 1)
    }

    #[track_caller]
    fn put(&self, index: Bits, place: Bits, target: &T) {
        self.target_writer.write_lane(index, place.resize(self.targets.lane_bits()), target);
        self.count_writer.write(index, &(place + 1));
    }
}

/// Parameters of the miss register block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MshrParams {
    /// Entries, 1..256.
    pub entries: u32,
    /// Targets per entry, 1..64.
    pub targets: u32,
    /// Bits of a line number.
    pub line_bits: u32,
    /// Bits of a target.
    pub target_bits: u32,
}

impl MshrParams {
    fn id_bits(&self) -> u32 {
        bits_for(u64::from(self.entries))
    }
}

/// A miss (channel `miss`) and a waiting target answered (channel `done`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MshrParams)]
pub struct Miss {
    /// Line number.
    #[width(p.line_bits)]
    pub line: Bits,
    /// Who waits.
    #[width(p.target_bits)]
    pub target: Bits,
}

/// A line to fetch (channel `fetch`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MshrParams)]
pub struct Fetch {
    /// Line number.
    #[width(p.line_bits)]
    pub line: Bits,
    /// Entry.
    #[width(p.id_bits())]
    pub id: Bits,
}

/// A line has come (channel `fill`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MshrParams)]
pub struct Fill {
    /// Entry.
    #[width(p.id_bits())]
    pub id: Bits,
}

/// Miss registers as a block: a miss opens an entry and sends `fetch`, or joins the entry of its line; `fill` answers an entry's targets on `done`, in order, one
/// per cycle. A miss waits while all entries are taken, its entry's list is full, or its entry is being answered.
///
/// # Errors
/// A parameter outside its range.
pub fn mshr_file(p: MshrParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("mshr_file_n{}_m{}_l{}_t{}", p.entries, p.targets, p.line_bits, p.target_bits);
    Module::build(&name, ModuleKind::Block, || {
        doc("Miss registers: fetches each line once and answers everyone who waits for it.");
        for (key, value) in [("entries", p.entries), ("targets", p.targets)] {
            param(key, value);
        }
        let miss = in_channel::<Miss>("miss", &p);
        let fill = in_channel::<Fill>("fill", &p);
        let fetch = out_channel::<Fetch>("fetch", &p);
        let done = out_channel::<Miss>("done", &p);
        let file = MshrFile::<Bits>::new("mshr", p.entries, p.targets, p.line_bits, &p.target_bits);
        let draining = reg::<Bool>("draining", ());
        let entry = reg::<Bits>("drain_entry", p.id_bits());
        let place = reg::<Bits>("drain_place", bits_for(u64::from(p.targets)));
        drain(&p, &fill, &done, &file, (&draining, &entry, &place));
        let found = file.find(miss.msg.line);
        let busy = draining.get() & found.index.eq(entry.get());
        let merge = (miss.valid & found.hit & found.room & !busy).named("merge");
        let open = (miss.valid & !found.hit & !file.full() & fetch.free).named("open");
        when(merge, || file.merge(found.index, &miss.msg.target));
        when(open, || {
            file.allocate(miss.msg.line, &miss.msg.target);
            fetch.send(&Fetch { line: miss.msg.line, id: file.free_index() });
        });
        when(merge | open, || miss.take());
        count(
            "list_full",
            miss.valid & found.hit & !found.room,
            "cycles in which a miss waited because its line's list was full",
        );
        count(
            "file_full",
            miss.valid & !found.hit & file.full(),
            "cycles in which a miss waited because all entries were taken",
        );
    })
}

fn drain(
    p: &MshrParams,
    fill: &InChannel<Fill>,
    done: &OutChannel<Miss>,
    file: &MshrFile<Bits>,
    (draining, entry, place): (&Reg<Bool>, &Reg<Bits>, &Reg<Bits>),
) {
    let last = (place.get().zext(bits_for(u64::from(p.targets) + 1)) + 1).eq(file.count(entry.get()));
    when(draining.get(), || {
        when(done.free, || {
            done.send(&Miss { line: file.line(entry.get()), target: file.target(entry.get(), place.get()) });
            place.set(wrapping_next(place.get(), p.targets));
            when(last, || {
                file.free(entry.get());
                draining.set(false);
                place.set(0);
            });
        });
    })
    .elsewhen(fill.valid, || {
        fill.take();
        draining.set(true);
        entry.set(fill.msg.id);
    });
    assert_always(
        "fill_expected",
        !(fill.valid & !draining.get()) | file.valid().bit_at(fill.msg.id),
        "a line comes only for an entry that waits for it",
    );
}
