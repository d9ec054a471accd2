//! Content-addressed memory: all entries are compared with a key at once.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/cam.svg")]

use weft_rtl::prelude::*;

/// A CAM inside a block: `n` entries of a key and a valid bit. At most one entry is written and any number removed per cycle.
pub struct Cam {
    n: u32,
    keys: Memory<Bits>,
    writer: LaneWriter<Bits>,
    valid: Reg<Bits>,
    set: Wire<Bits>,
    clear: Wire<Bits>,
}

impl Cam {
    /// Declares a CAM of `n` entries (1..256) of `width` bits; its signals are called `NAME_*`. Declare it outside every `when`.
    #[track_caller]
    pub fn new(name: &str, n: u32, width: u32) -> Cam {
        if !(1..=256).contains(&n) {
            elab_error(format!("CAM {name} of {n} entries; legal: 1..256"));
        }
        let n = n.clamp(1, 256);
        let keys = regfile::<Bits>(&format!("{name}_keys"), n, width).fields(&[("tag", width)]);
        let writer = keys.lane_writer("in");
        let valid = reg::<Bits>(&format!("{name}_valid"), n).field("valid");
        let set = wire_zero::<Bits>(&format!("{name}_set"), n);
        let clear = wire_zero::<Bits>(&format!("{name}_clear"), n);
        when(set.get().any() | clear.get().any(), || valid.set((valid.get() & !clear.get()) | set.get()));
        Cam { n, keys, writer, valid, set, clear }
    }

    /// Width of an entry number.
    pub fn index_bits(&self) -> u32 {
        self.keys.addr_bits()
    }

    /// The valid bits.
    pub fn valid(&self) -> Bits {
        self.valid.get()
    }

    /// One bit per entry that is valid and holds `key`; the number of the lowest is its `lowest_set()`.
    #[track_caller]
    pub fn matches(&self, key: Bits) -> Bits {
        let equal: Vec<Bool> = (0..self.n).map(|i| self.keys.entry(i).eq(key)).collect();
        pack_bools(&equal) & self.valid.get()
    }

    /// The key of an entry.
    #[track_caller]
    pub fn key(&self, index: Bits) -> Bits {
        self.keys.read(index)
    }

    /// No entry is free.
    #[track_caller]
    pub fn full(&self) -> Bool {
        self.valid.get().all()
    }

    /// The lowest free entry, meaningful while not full.
    #[track_caller]
    pub fn free_index(&self) -> Bits {
        (!self.valid.get()).lowest_set()
    }

    /// Writes an entry in this cycle and makes it valid.
    #[track_caller]
    pub fn write(&self, index: Bits, key: Bits) {
        self.writer.write(index, &key);
        self.set.set(index.one_hot(self.n));
    }

    /// Removes the entries of a mask in this cycle.
    #[track_caller]
    pub fn remove(&self, mask: Bits) {
        self.clear.set(mask);
    }

    /// Removes one entry in this cycle.
    #[track_caller]
    pub fn remove_at(&self, index: Bits) {
        self.clear.set(index.one_hot(self.n));
    }
}

/// Operations of the CAM block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum CamOp {
    /// Finds a key.
    Find,
    /// Writes a key into the lowest free entry, unless it is there or all are taken.
    Write,
    /// Removes a key.
    Remove,
}

/// Parameters of the CAM block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CamParams {
    /// Entries, 1..256.
    pub entries: u32,
    /// Bits of a key.
    pub key_bits: u32,
}

/// Request to the CAM block (channel `req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = CamParams)]
pub struct CamReq {
    /// Operation.
    pub op: Enum<CamOp>,
    /// Key.
    #[width(p.key_bits)]
    pub key: Bits,
}

/// Answer of the CAM block (channel `rsp`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = CamParams)]
pub struct CamRsp {
    /// The key was there.
    pub hit: Bool,
    /// Entries that held the key.
    #[width(p.entries)]
    pub matches: Bits,
    /// Entry of the key, or the one written.
    #[width(bits_for(u64::from(p.entries)))]
    pub index: Bits,
    /// All entries were taken.
    pub full: Bool,
}

/// A CAM as a block: channel `req`, channel `rsp`; one operation per cycle, answered in the next.
///
/// # Errors
/// A number of entries outside 1..256.
pub fn cam(p: CamParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("cam_{}x{}", p.entries, p.key_bits);
    Module::build(&name, ModuleKind::Block, || {
        doc("Content-addressed memory of keys.");
        param("entries", p.entries);
        param("key_bits", p.key_bits);
        let req = in_channel::<CamReq>("req", &p);
        let rsp = out_channel::<CamRsp>("rsp", &p);
        let store = Cam::new("cam", p.entries, p.key_bits);
        let matches = store.matches(req.msg.key).named("key_matches");
        let hit = matches.any();
        let index = mux(hit, matches.lowest_set(), store.free_index()).named("index");
        let full = store.full().named("full");
        when(req.valid & rsp.free, || {
            req.take();
            rsp.send(&CamRsp { hit, matches, index, full });
            switch(req.msg.op, |arms| {
                arms.case(CamOp::Write, || {
                    when(!hit & !full, || store.write(index, req.msg.key));
                });
                arms.case(CamOp::Remove, || store.remove(matches));
            });
        });
        assert_always("keys_differ", matches.popcount().le(1), "no two entries hold one key");
    })
}
