//! Storage bits of the directories against the published table (rec.md section 3), from the hardware's own declarations.

use std::collections::BTreeMap;
use weft_rtl::area::{Area, MemoryArea, Storage, area};

fn counted(block: &str, params: &[(&str, &str)]) -> Area {
    let given: BTreeMap<String, String> =
        params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    area(&weft_catalog::build(block, &given).unwrap_or_else(|e| panic!("{e}")))
}

fn directory(found: &Area) -> &MemoryArea {
    let mut all = found.directories();
    let one = all.next().expect("a memory that tracks sharers");
    assert!(all.next().is_none(), "one directory");
    one
}

/// Block, parameters, then base or tag, position, sharers, valid, bits of an entry, and kB (1024 bytes) of 8192 entries.
type Row = (&'static str, &'static [(&'static str, &'static str)], [u64; 4], u64, u64);

const PUBLISHED: &[Row] = &[
    ("baseline-directory", &[], [48, 0, 3, 1], 52, 52),
    ("rec-directory", &[("range", "128")], [41, 2, 6, 1], 50, 50),
    ("rec-directory", &[("range", "256")], [40, 4, 12, 1], 57, 57),
    ("rec-directory", &[("range", "512")], [39, 8, 24, 1], 72, 72),
    ("rec-directory", &[("range", "1024")], [38, 16, 48, 1], 103, 103),
    ("rec-directory", &[("range", "2048")], [37, 32, 96, 1], 166, 166),
    ("rec-directory", &[("range", "4096")], [36, 64, 192, 1], 293, 293),
    ("rec-directory", &[("gpus", "8")], [38, 16, 112, 1], 167, 167),
    ("rec-directory", &[("gpus", "16")], [38, 16, 240, 1], 295, 295),
    ("baseline-directory", &[("gpus", "8")], [48, 0, 7, 1], 56, 56),
    ("baseline-directory", &[("gpus", "16")], [48, 0, 15, 1], 64, 64),
    ("rec-directory", &[("range", "2048"), ("line", "128")], [37, 16, 48, 1], 102, 102),
    ("group-directory", &[], [48, 0, 3, 1], 52, 52),
];

#[test]
fn entries_have_the_published_bits() {
    for (block, params, fields, bits, kilobytes) in PUBLISHED {
        let found = counted(block, params);
        let dir = directory(&found);
        let tag = if *block == "rec-directory" { "base" } else { "tag" };
        let names = [tag, "position", "sharers", "valid"];
        let expected = names.iter().map(|n| n.to_string()).zip(*fields);
        let expected: Vec<(String, u64)> = expected.filter(|(_, bits)| *bits > 0).collect();
        assert_eq!(dir.fields, expected, "{block} {params:?}");
        assert_eq!((dir.lane_bits, dir.entries()), (*bits, 8192), "{block} {params:?}");
        assert_eq!(dir.bits, kilobytes * 8192, "{block} {params:?}");
        for (name, bits) in names.iter().zip(fields) {
            let row = found.fields.iter().find(|f| f.field == *name && f.storage == Storage::Sram);
            assert_eq!(row.map_or(0, |r| r.bits), bits * 8192, "{block} {params:?} {name}");
        }
    }
}

#[test]
fn sixteen_slices_hold_what_one_directory_holds() {
    for (block, _, _, bits, _) in [PUBLISHED[0], PUBLISHED[4]] {
        let slice = counted(block, &[("banks", "16")]);
        assert_eq!(directory(&slice).bits * 16, bits * 8192, "{block}");
    }
}

#[test]
fn larger_directories_have_the_published_size() {
    for (entries, kilobytes) in [("98304", 624), ("49152", 312), ("16384", 104)] {
        let found = counted("baseline-directory", &[("entries", entries)]);
        assert_eq!(directory(&found).bits, kilobytes * 8192, "{entries} entries");
    }
}

#[test]
fn everything_beside_the_entries_is_counted_under_other_fields() {
    let found = counted("rec-directory", &[]);
    let names: Vec<&str> = found.fields.iter().map(|f| f.field.as_str()).collect();
    for name in ["replacement", "eviction buffer", "pipeline", "queue", "control"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    let sum: u64 = found.fields.iter().map(|f| f.bits).sum();
    assert_eq!((found.total_bits, found.memory_bits + found.register_bits), (sum, sum));
    // Ages: log2(8) bits for each of 8 ways of 1024 sets.
    let ages = found.fields.iter().find(|f| f.field == "replacement").expect("listed");
    assert_eq!(ages.bits, 8192 * 3);
}

/// Entry bits by the formulas of hmg.md section 3: 48 + (N*M - 1) + 1 for NHCC, 48 + (M + N - 2) + 1 for HMG.
#[test]
fn hierarchical_entries_have_the_published_bits() {
    let published = counted("hmg-directory", &[]);
    let dir = directory(&published);
    assert_eq!((dir.lane_bits, dir.entries(), dir.bits / 8), (55, 12288, 84_480));
    let fields = [("tag", 48), ("sharers", 6), ("valid", 1)];
    assert_eq!(dir.fields, fields.map(|(name, bits)| (name.to_string(), bits)));
    let names: Vec<&str> = published.fields.iter().map(|f| f.field.as_str()).collect();
    for name in ["replacement", "eviction buffer", "pipeline"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert_eq!(directory(&counted("nhcc-directory", &[])).lane_bits, 64);
    let acked = counted("gpu-vi-directory", &[]);
    assert_eq!(directory(&acked).lane_bits, 64, "W is not in the entry");
    let table: u64 = acked.fields.iter().filter(|f| f.field == "pending table").map(|f| f.bits).sum();
    // {group 39, what 2, id 6, set 10, way 4} and a count of 0..15 in each of 32 rows, and a bit for its answer.
    assert_eq!(table, 32 * (39 + 2 + 6 + 10 + 4 + 4 + 1));
    for (gpus, gpms) in [(1, 2), (1, 8), (2, 1), (2, 4), (3, 3), (4, 1), (8, 4), (16, 4), (12, 5)] {
        for group in ["1", "2", "4", "8"] {
            let (n, m) = (gpus.to_string(), gpms.to_string());
            let given = [("gpus", n.as_str()), ("gpms", m.as_str()), ("group", group)];
            let flat = counted("nhcc-directory", &given);
            assert_eq!(directory(&flat).lane_bits, 48 + gpus * gpms - 1 + 1, "{given:?}");
            assert_eq!(directory(&counted("gpu-vi-directory", &given)).lane_bits, directory(&flat).lane_bits);
            let hierarchy = counted("hmg-directory", &given);
            assert_eq!(directory(&hierarchy).lane_bits, 48 + gpms + gpus - 2 + 1, "{given:?}");
        }
    }
    for entries in ["3K", "6K", "24K"] {
        let found = counted("hmg-directory", &[("entries", entries)]);
        let number: u64 = entries.trim_end_matches('K').parse().expect("a number");
        assert_eq!(directory(&found).bits, 55 * 1024 * number, "{entries}");
    }
}

/// Entry bits by the formula of rec.md section 8.1: A - log2 R + n * (M + N - 1) + 1.
#[test]
fn entries_of_ranges_in_two_levels_have_the_published_bits() {
    let published = counted("hmg-rec-directory", &[]);
    let dir = directory(&published);
    assert_eq!((dir.lane_bits, dir.entries()), (38 + 112 + 1, 8192));
    let fields = [("base", 38), ("position", 16), ("sharers", 16 * 6), ("valid", 1)];
    assert_eq!(dir.fields, fields.map(|(name, bits)| (name.to_string(), bits)));
    for (gpus, gpms) in [(1, 2), (1, 8), (2, 1), (2, 4), (3, 3), (4, 1), (8, 4), (16, 4)] {
        for (range, line) in [(128u64, 64u64), (512, 64), (4096, 64), (256, 128), (2048, 128)] {
            let [n, m, r, l] = [gpus, gpms, range, line].map(|v| v.to_string());
            let given = [("gpus", n.as_str()), ("gpms", &m), ("range", &r), ("line", &l)];
            let found = counted("hmg-rec-directory", &given);
            let bits = 48 - u64::from(range.ilog2()) + range / line * (gpms + gpus - 1) + 1;
            assert_eq!(directory(&found).lane_bits, bits, "{given:?}");
        }
    }
    let wide = counted("hmg-rec-directory", &[("addr_bits", "40"), ("home_shift", "33")]);
    assert_eq!(directory(&wide).lane_bits, 151 - 8);
    // 1024 sets take 10 of the 38 bits of the range number.
    let minimal = counted("hmg-rec-directory", &[("tag_style", "minimal")]);
    assert_eq!(directory(&minimal).lane_bits, 151 - 10);
}

/// What a line of the Spandex LLC takes beside its data, by spandex.md section 4.1.
#[test]
fn lines_of_a_spandex_bank_have_the_published_bits() {
    let sram = |params: &[(&str, &str)], field: &str| -> u64 {
        let found = counted("spandex-llc", params);
        let rows = found.fields.iter().filter(|f| f.field == field && f.storage == Storage::Sram);
        rows.map(|f| f.bits).sum()
    };
    let (sets, ways, words) = (512, 16, 16);
    let lines = sets * ways;
    let whole =
        [("tag", 29), ("state", 2), ("owned", words), ("sharers", 8), ("dirty", 1), ("data", 32 * words)];
    for (field, bits) in whole {
        assert_eq!(sram(&[], field), lines * bits, "{field}");
    }
    assert_eq!(sram(&[], "replacement"), sets * (ways - 1));
    // "1 bit per 32-bit word, about 3 %" (section 12), sharers 1.6 % of a line (section 4.1).
    let percent =
        |params: &[(&str, &str)], field| 100.0 * sram(params, field) as f64 / sram(params, "data") as f64;
    assert_eq!(
        (percent(&[], "owned"), percent(&[], "sharers"), percent(&[], "state")),
        (3.125, 1.5625, 0.390_625)
    );
    assert_eq!(percent(&[("line", "128")], "owned"), 3.125);
    assert_eq!(sram(&[("sharers", "24")], "sharers"), lines * 24, "all devices with Flex L1s");
    assert_eq!(sram(&[("sharer_mode", "broadcast")], "sharers"), 0);
    assert_eq!(sram(&[("sharers", "0")], "sharers"), 0);
}

#[test]
fn a_minimal_hierarchical_tag_drops_line_group_and_index_bits() {
    for (group, bits) in [("1", 0), ("2", 1), ("4", 2), ("8", 3)] {
        let found = counted("hmg-directory", &[("tag_style", "minimal"), ("group", group)]);
        // Lines of 128 bytes, 1024 sets.
        assert_eq!(directory(&found).lane_bits, 55 - 7 - bits - 10, "group {group}");
        let slice = counted("nhcc-directory", &[("tag_style", "minimal"), ("group", group), ("banks", "16")]);
        assert_eq!(directory(&slice).lane_bits, 64 - 7 - bits - 4 - 6, "group {group}");
    }
}

#[test]
fn without_index_bits_an_entry_is_smaller_and_the_count_follows() {
    let found = counted("rec-directory", &[("tag_style", "minimal")]);
    // 1024 sets take 10 of the 38 bits of the range number.
    assert_eq!(directory(&found).lane_bits, 103 - 10);
    let small = counted("baseline-directory", &[("tag_style", "minimal")]);
    assert_eq!(directory(&small).lane_bits, 52 - 6 - 10);
}
