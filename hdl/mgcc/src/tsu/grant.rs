//! Lookup and arithmetic of a TSU operation (mgcc.md section 6).

use super::{Held, RdExtend, Sets, TsuAct, TsuParams};
use crate::choice::Inject;
use crate::time::max;
use weft_rtl::prelude::*;

/// What the operation's set holds.
pub(super) struct Found {
    pub hit: Bool,
    /// The entry's way, or the one that a new entry takes.
    pub way: Bits,
    /// Every way is taken: a new entry replaces one.
    pub full: Bool,
    pub floor: Bits,
    /// Stamps in `way`; the wts of entries that store none is their memts.
    pub way_memts: Bits,
    pub memts: Bits,
    /// What the grant builds on: the line's last lease, or a bound of it, and of the last write's stamp.
    base: Bits,
    wbase: Bits,
    way_wts: Bits,
    wfloor: Bits,
}

impl Found {
    /// `active`: an operation is there.
    pub fn look_up(p: &TsuParams, sets: &Sets, active: Bool, tag: Bits) -> Found {
        let row = sets.entries.port.row();
        let memts = sets.memts.port.row();
        let valid: Vec<Bool> = row.iter().map(|e| e.valid).collect();
        let same: Vec<Bool> = row.iter().map(|e| e.valid & e.tag.eq(tag)).collect();
        let (valid, same) = (pack_bools(&valid).named("s1_valid_ways"), pack_bools(&same).named("s1_match"));
        let hit = same.any().named("s1_hit");
        let full = valid.all().named("s1_full");
        let replaced = mux(full, lowest(&memts), (!valid).lowest_set());
        let way = mux(hit, same.lowest_set(), replaced).named("s1_way");
        let way_memts = select(&memts, way).named("s1_way_memts");
        let floor = sets.floors.port.lane(0);
        let (way_wts, wfloor) = match &sets.wts {
            Some((wts, wfloors)) => (select(&wts.port.row(), way), wfloors.port.lane(0)),
            None => (way_memts, floor),
        };
        let forget = p.inject == Inject::LitNoFloor;
        let bound = |floor: Bits| if forget { lit(0, p.tsm.ts) } else { floor };
        let one = same.popcount().le(1);
        assert_always("one_entry_per_line", !active | one, "at most one entry of a set holds a line");
        Found {
            base: mux(hit, way_memts, bound(floor)).named("s1_base"),
            wbase: mux(hit, way_wts, bound(wfloor)).named("s1_wbase"),
            memts: way_memts,
            hit,
            way,
            full,
            floor,
            way_memts,
            way_wts,
            wfloor,
        }
    }

    /// The line's leases reach the greatest stamp: no write fits this epoch.
    pub fn exhausted(&self, p: &TsuParams) -> Bool {
        self.base.eq(p.tsm.ts_max())
    }

    pub fn raised_floor(&self) -> Bits {
        max(self.floor, self.way_memts)
    }

    pub fn raised_wfloor(&self) -> Bits {
        max(self.wfloor, self.way_wts)
    }
}

/// The number of the lowest of the stamps, the first of equal ones.
fn lowest(stamps: &[Bits]) -> Bits {
    let index_bits = bits_for(stamps.len() as u64);
    let first = (stamps[0], lit(0, index_bits));
    let (_, index) = stamps.iter().enumerate().skip(1).fold(first, |(least, index), (i, stamp)| {
        let less = stamp.lt(least);
        (mux(less, *stamp, least), mux(less, lit(i as u64, index_bits), index))
    });
    index
}

/// The interval granted.
pub(super) struct Grant {
    pub wts: Bits,
    pub rts: Bits,
    /// Something was granted.
    pub granted: Bool,
    read: Bool,
    write: Bool,
}

impl Grant {
    /// `clock` is the requester's, in this epoch; `leases` those of reads and writes.
    pub fn new(
        p: &TsuParams,
        row: &Decoded<Held, TsuAct>,
        f: &Found,
        clock: Bits,
        leases: (Bits, Bits),
    ) -> Grant {
        let ts = p.tsm.ts;
        let wide = |v: Bits| v.zext(ts + 1);
        let (rd_lease, wr_lease) = (wide(leases.0), wide(leases.1));
        let capped = |v: Bits| mux(v.bit(ts), lit(p.tsm.ts_max(), ts), v.slice(0, ts));
        let lease_end = match p.rd_extend {
            RdExtend::Accumulate => capped(wide(max(f.base, clock)) + rd_lease),
            RdExtend::Cover => max(f.base, capped(wide(clock) + rd_lease)),
        };
        let jump = max(wide(f.base) + 1, wide(clock));
        let (stamp, end) = match p.inject {
            // Mrts = memts + WrLease, Mwts = Mrts - WrLease.
            Inject::LitMwts => {
                let instant = wide(max(f.base, clock));
                (instant, instant + wr_lease)
            }
            Inject::LitReinit => {
                let stamp = mux(f.exhausted(p), lit(1, ts + 1), jump);
                (stamp, stamp - 1 + wr_lease)
            }
            _ => (jump, jump - 1 + wr_lease),
        };
        let (read, write) = (row.does(TsuAct::Read), row.does(TsuAct::Write));
        Grant {
            wts: mux(read, f.wbase, stamp.slice(0, ts)).named("s1_grant_wts"),
            rts: mux(read, lease_end, capped(end)).named("s1_grant_rts"),
            granted: (read | write).named("s1_granted"),
            read,
            write,
        }
    }

    /// Assertions of mgcc.md section 13; a published slip breaks some of them, and is for others to find.
    pub fn check(&self, p: &TsuParams, valid: Bool, f: &Found, clock: Bits, leases: (Bits, Bits)) {
        let granted = valid & self.granted;
        let legal = |lease: Bits| lease.any() & lease.le(1 << (p.tsm.ts - 2));
        assert_always(
            "leases_legal",
            !granted | (legal(leases.0) & legal(leases.1)),
            "a lease is 1..2^(TS-2)",
        );
        assert_always("wts_below_rts", !granted | self.wts.le(self.rts), "wts <= rts");
        assert_always(
            "lease_covers_reader",
            !(granted & self.read) | clock.le(self.rts),
            "a granted rts is at least the requester's clock",
        );
        if p.inject != Inject::None {
            return;
        }
        let write = granted & self.write;
        assert_always(
            "write_past_leases",
            !write | f.base.lt(self.wts),
            "a write's stamp is past every lease given",
        );
        assert_always("writes_increase", !write | f.wbase.lt(self.wts), "stamps of a line's writes increase");
        assert_always(
            "write_not_early",
            !write | clock.le(self.wts),
            "a write's stamp is not before its clock",
        );
        assert_always("memts_grows", !granted | f.base.le(self.rts), "memts never decreases within an epoch");
        assert_always(
            "bounds_ordered",
            !granted | f.wbase.le(f.base),
            "no write is later than the last lease",
        );
    }
}
