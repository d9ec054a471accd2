//! Built-in fabrics, records, and the sentence of every error.

use super::*;
use crate::family::directory::protocol::names;
use crate::family::directory::{DirectoryKeys, Protocol};
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::Sys;

fn published() -> FabricConfig {
    FabricConfig::load("rec-4gpu").expect("built in")
}

fn hardware(config: &FabricConfig) -> FabricParams {
    config.directory().expect("of the directory family")
}

/// The keys of its family.
fn keys(config: &FabricConfig) -> &DirectoryKeys {
    config.of.keys().unwrap_or_else(|| panic!("{:?}", config.of))
}

/// The error of a file with these lines.
fn refused(text: &str) -> String {
    let result = FabricConfig::parse(text, "x", "x.toml").and_then(|c| c.validate().map(|()| c));
    result.expect_err(text).to_string()
}

#[test]
fn built_in_fabrics_are_legal_and_give_every_key() {
    for (name, text) in BUILT_IN {
        let config = FabricConfig::load(name).expect("built in");
        config.validate().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(config.name, *name);
        assert!(!config.about.is_empty());
        for key in config.keys() {
            let given = text.lines().any(|l| l.split('=').next().is_some_and(|k| k.trim() == key.name));
            assert!(given, "{name}.toml does not give {}", key.name);
        }
    }
}

#[test]
fn the_published_file_holds_the_published_system() {
    let config = published();
    for key in config.keys() {
        assert_eq!(config.get(key.name).as_ref(), Some(&key.default), "{}", key.name);
    }
    assert_eq!((hardware(&config).l2_sets, hardware(&config).sys.home_shift), (128, 32));
    let common = &config.common;
    assert_eq!((common.cus / keys(&config).cus_per_sa, common.memory_bytes()), (16, 16 << 30));
}

#[test]
fn the_hardware_is_that_of_the_files() {
    for name in names() {
        let with = |fabric: &str| {
            let mut config = FabricConfig::load(fabric).expect("built in");
            config.set(&format!("protocol={name}")).expect("legal");
            config.validate().unwrap_or_else(|e| panic!("{name}: {e}"));
            hardware(&config)
        };
        let protocol = Protocol::from_name(name).expect("listed");
        assert_eq!(with("rec-4gpu"), FabricParams::published(protocol));
        let scaled = FabricParams::scaled(protocol);
        let small = with("rec-4gpu-small");
        assert_eq!(small.sys.home_shift, 27, "128 MB per GPU");
        let sys = Sys { home_shift: scaled.sys.home_shift, ..small.sys.clone() };
        assert_eq!(FabricParams { sys, ..small }, scaled);
    }
}

#[test]
fn every_default_is_legal_and_survives_a_record() {
    let mut config = published();
    for key in config.keys() {
        let text = match &key.default {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        config.set(&format!("{}={text}", key.name)).unwrap_or_else(|e| panic!("{e}"));
    }
    for change in ["starve=off", "clock_ghz=1.5", "l2_size=1M", "policy=fifo", "checks=false"] {
        config.set(change).expect("legal");
    }
    let record = serde_json::to_string(&config).expect("plain data");
    let back: FabricConfig = serde_json::from_str(&record).expect("all keys are known");
    assert_eq!(back.to_json(), config.to_json());
    assert_eq!(serde_json::to_value(&config).expect("plain data"), config.to_json());
    let unknown = serde_json::from_str::<FabricConfig>("{\"gups\": 4}").expect_err("unknown");
    assert!(unknown.to_string().contains("there is no key gups; the nearest is gpus"), "{unknown}");
}

#[test]
fn the_family_is_that_of_the_file() {
    let named = FabricConfig::parse("gpus = 2\nfamily = \"directory\"\n", "x", "x.toml").expect("legal");
    let silent = FabricConfig::parse("gpus = 2\n", "x", "x.toml").expect("legal");
    assert_eq!(named, silent);
    assert!(named.to_json().get("family").is_none(), "records of the default family do not name it");
    let record: FabricConfig =
        serde_json::from_str("{\"gpus\": 2, \"family\": \"directory\"}").expect("legal");
    assert_eq!(record.to_json().get("gpus"), named.to_json().get("gpus"));
    assert_eq!(
        refused("gpus = 2\nfamily = \"torus\"\n"),
        "x.toml line 2: family = torus: there is no such family of fabrics; legal: directory, tsm, rdma, srsp, spandex, toy"
    );
    let mut config = published();
    assert_eq!(
        config.set("family=torus").expect_err("fixed").to_string(),
        "--set: family = torus: the family is that of the fabric's file, and no change can give it another one; legal: directory"
    );
}

#[test]
fn keys_are_listed_once_and_in_the_order_of_the_files() {
    let names: Vec<&str> = published().keys().iter().map(|key| key.name).collect();
    let (_, text) = BUILT_IN[0];
    let in_file =
        |name: &&str| text.lines().position(|l| l.split('=').next().is_some_and(|k| k.trim() == *name));
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len());
    assert_eq!((names[..3].to_vec(), names.last()), (vec!["protocol", "gpus", "gpms"], Some(&"watchdog")));
    assert!(names.iter().all(|name| in_file(name).is_some()));
    let all: Vec<&str> = all_keys().iter().map(|key| key.name).collect();
    let mut once = all.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), all.len());
    assert!(names.iter().chain(&["rd_lease", "tsu_ways"]).all(|name| all.contains(name)));
}

#[test]
fn sizes_take_suffixes_in_files_and_on_the_command_line() {
    let config =
        FabricConfig::parse("l2_size = \"4M\"\nrange = 0x200\ndram_bytes = 1_073_741_824\n", "x", "x.toml");
    let mut config = config.expect("legal");
    let given = (keys(&config).l2_size, keys(&config).range, config.common.dram_bytes);
    assert_eq!(given, (4 << 20, 512, 1 << 30));
    config.set(" entries = 16K ").expect("legal");
    assert_eq!(keys(&config).entries, 16384);
    config.set("starve=off").expect("legal");
    assert_eq!(config.common.starve, None);
}

#[test]
fn one_sentence_for_each_mistake_in_a_file() {
    for (text, sentence) in [
        ("gpus = 4\nrnage = 512\n", "x.toml line 2: there is no key rnage; the nearest is range"),
        ("frobnicate = 1\n", "x.toml line 1: there is no key frobnicate; `weft list fabrics` shows all keys"),
        (
            "\n\nrange = 96\n",
            "x.toml line 3: range = 96: it is no power of two; legal: a power of two in 128..8K",
        ),
        ("gpus = 17\n", "x.toml line 1: gpus = 17: it is too large; legal: 1..16"),
        (
            "gpus = -4\n",
            "x.toml line 1: gpus = -4: it is no whole number (suffixes K, M, G are known); legal: 1..16",
        ),
        (
            "protocol = \"dragon\"\n",
            &format!(
                "x.toml line 1: protocol = dragon: there is no such choice; legal: {}",
                names().join(", ")
            ),
        ),
        (
            "downgrade = true\n",
            "x.toml line 1: downgrade = true: protocol rec has no directory that sharers may leave; legal: false, or true with protocol hmg or hmg-rec",
        ),
        (
            "l2_policy = \"write-back\"\n",
            "x.toml line 1: l2_policy = write-back: with protocol rec stores do not stay in an L2 on their way; legal: write-through, or write-back with protocol hmg or sw-hierarchical",
        ),
        ("checks = 1\n", "x.toml line 1: checks = 1: it is no switch; legal: true, false"),
        ("clock_ghz = \"fast\"\n", "x.toml line 1: clock_ghz = fast: it is no number; legal: 0.01..100"),
        ("starve = 8\n", "x.toml line 1: starve = 8: it is too small; legal: 16..1G, or off"),
        (
            "page = [4096]\n",
            "x.toml line 1: page = [4096]: it is no number, string or switch; legal: a power of two in 512..64M",
        ),
        (
            "line = 128\nrange = 128\n",
            "x.toml line 2: range = 128: it is smaller than two lines of 128 bytes (for single lines use protocol = baseline); legal: a power of two in 256..4K",
        ),
        (
            "il = 512\n",
            "published value: range = 1024: it is larger than il = 512, and a range must not straddle two directory slices; legal: a power of two in 128..512",
        ),
        (
            "il = 256\nline = 128\n",
            "x.toml line 1: il = 256: it is smaller than four lines; legal: a power of two of at least 512",
        ),
        (
            "ways = 7\n",
            "x.toml line 1: ways = 7: banks * ways = 112 does not divide entries = 8192; legal: a divisor of entries / banks = 512",
        ),
        (
            "entries = 100\n",
            "x.toml line 1: entries = 100: banks * ways = 16 * 8 = 128 does not divide it; legal: a multiple of 128",
        ),
        (
            "entries = 2176\n",
            "x.toml line 1: entries = 2176: 17 sets per bank are not c * 2^k with c odd and at most 15; legal: banks * ways * c * 2^k with c odd and at most 15, within the address",
        ),
        (
            "inv_rate = 3\n",
            "x.toml line 1: inv_rate = 3: it is no power of two; legal: a power of two in 1..4",
        ),
        (
            "l1_ways = 8\nl1_size = \"24K\"\n",
            "x.toml line 2: l1_size = 24576: it is not line * l1_ways = 512 bytes times a power of two in 2..4096; legal: 512 * 2^k, k in 1..12",
        ),
        (
            "l2_size = 2_000_000\n",
            "x.toml line 1: l2_size = 2000000: it is not banks * l2_ways * line = 16384 bytes times c * 2^k sets with c odd and at most 15; legal: 16384 * c * 2^k, in all 2..16384 sets",
        ),
        ("l2_pool = 32\n", "x.toml line 1: l2_pool = 32: it is smaller than l2_mshrs = 64; legal: 64..1024"),
        ("cus = 6\n", "published value: cus_per_sa = 4: it does not divide cus = 6; legal: a divisor of 6"),
        (
            "link_latency = 141\n",
            "x.toml line 1: link_latency = 141: it is odd; legal: an even number in 4..8K",
        ),
        (
            "banks = 32\n",
            "published value: dram_banks = 16: it does not divide among banks = 32 DRAM channels; legal: a multiple of 32",
        ),
        (
            "dram_bytes = \"64K\"\nil = 8192\n",
            "x.toml line 1: dram_bytes = 65536: it does not reach all banks of a GPU; legal: a power of two of at least il * banks = 128K",
        ),
        (
            "addr_bits = 32\n",
            "published value: dram_bytes = 4294967296: the memory of all GPUs is larger than the address space; legal: a power of two of at most 1G with 32 address bits",
        ),
        ("page = 1M\n", "x.toml line 1: "),
    ] {
        let said = refused(text);
        assert!(said.starts_with(sentence), "\n said: {said}\n want: {sentence}");
    }
}

#[test]
fn mistakes_elsewhere() {
    let said = |r: Result<FabricConfig, ConfigError>| r.expect_err("wrong").to_string();
    assert_eq!(
        said(FabricConfig::load("rec-5gpu")),
        "there is no fabric rec-5gpu; the nearest is rec-4gpu; `weft list fabrics` shows all, and the path of a TOML file is a fabric, too"
    );
    let missing = said(FabricConfig::load("no/such.toml"));
    assert!(missing.starts_with("cannot read the fabric file no/such.toml: "), "{missing}");
    let mut config = published();
    let mut set = |word: &str| config.set(word).expect_err("wrong").to_string();
    assert_eq!(set("range"), "--set range: expected KEY=VALUE");
    assert_eq!(set("range=96"), "--set: range = 96: it is no power of two; legal: a power of two in 128..8K");
    assert_eq!(
        set("entry=1"),
        "--set: there is no key entry; the nearest is entries; `weft list fabrics` shows all keys"
    );
    assert_eq!(config, published(), "a refused change changes nothing");
}

#[test]
fn a_file_of_ones_own_is_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, "about = \"two GPUs\"\ngpus = 2\n").expect("writable");
    let config = FabricConfig::load(&path.to_string_lossy()).expect("legal");
    assert_eq!((config.name.as_str(), config.about.as_str(), config.common.gpus), ("mine", "two GPUs", 2));
}

/// The error of a change of the small TSM fabric.
fn refused_tsm(changes: &[&str]) -> String {
    let mut config = FabricConfig::load("tsm-4gpu-small").expect("built in");
    for change in changes {
        if let Err(error) = config.set(change) {
            return error.to_string();
        }
    }
    config.validate().expect_err("not to be built").to_string()
}

#[test]
fn tsm_fabrics_are_those_of_their_files() {
    let published = FabricConfig::load("tsm-4gpu").expect("built in");
    published.validate().expect("can be built");
    let record = published.to_json();
    assert_eq!((&record["family"], &record["protocol"]), (&"tsm".into(), &"wt-c-rc".into()));
    let of = published.tsm().expect("of the family");
    let plain = weft_mgcc::fabric::TsmFabricParams::published(weft_mgcc::fabric::TsmProtocol::WtCRc);
    assert_eq!(of, weft_mgcc::fabric::TsmFabricParams { observe: true, ..plain });
    for protocol in ["wb-nc-rc", "wt-nc-rc", "wt-c-rc", "wt-c-sc"] {
        let mut small = FabricConfig::load("tsm-4gpu-small").expect("built in");
        small.set(&format!("protocol={protocol}")).expect("legal");
        small.validate().unwrap_or_else(|e| panic!("{protocol}: {e}"));
        let p = small.tsm().expect("of the family");
        assert_eq!((p.tsm.cus, p.l1_size, p.l2_size, p.tsm.lanes), (4, 16 << 10, 64 << 10, 4));
        assert_eq!((p.merge_raw, small.directory().is_none()), (protocol == "wt-c-sc", true));
    }
    let back: FabricConfig = serde_json::from_value(record.clone()).expect("all keys are known");
    assert_eq!(back.to_json(), record);
}

#[test]
fn tsm_fabrics_refuse_what_cannot_be_built() {
    let cases: [(&[&str], &str); 14] = [
        (&["gpus=3"], "--set: gpus = 3: it is no power of two; legal: a power of two in 1..16"),
        (&["gpms=2"], "--set: gpms = 2: it is too large; legal: 1..1"),
        (&["line=128"], "--set: line = 128: it is too large; legal: a power of two in 64..64"),
        (&["range=256"], "--set: key range belongs to family directory, and this fabric is of family tsm"),
        (
            &["ts=6", "rd_lease=17"],
            "--set: rd_lease = 17: it is more than a quarter of all timestamps of ts = 6 bits; legal: 1..16",
        ),
        (&["cts=18"], "--set: cts = 18: it is smaller than ts + eb = 20; legal: 20..64"),
        (
            &["ts=6", "rd_lease=16", "wr_lease=16", "eb=3", "cts=9"],
            "--set: eb = 3: a request behind those of all 16 L1s may outlive 6 epochs, for one of ts = 6 bits has room for 3 leases of 16, \
             and its tag tells only 3 apart; take a larger ts, or smaller leases; legal: 4..8",
        ),
        (
            &["protocol=wt-c-sc", "read_ts=deferred"],
            "--set: read_ts = deferred: under sequential consistency",
        ),
        (
            &["runtime=cuda", "call_sync=7"],
            "--set: call_sync = 7: calls of runtime = cuda take times of their own; legal: 0, or another value with runtime = keys",
        ),
        (&["protocol=wt-c-sc", "self_inc=off"], "--set: self_inc = off: a spinning load would hit for ever"),
        (&["model=sc"], "--set: model = sc: the L1s of this protocol keep release consistency"),
        (
            &["l2_size=96K"],
            "--set: l2_size = 98304: it is not banks * l2_ways * line = 2048 bytes times a power of two",
        ),
        (&["tsu_ways=6"], "--set: tsu_ways = 6: 1024 entries of a lane's TSU make no power of two of sets"),
        (
            &["dram_bytes=1024G", "addr_bits=40"],
            "--set: dram_bytes = 1099511627776: the memory of all GPUs is larger than the address space",
        ),
    ];
    for (changes, sentence) in cases {
        let text = refused_tsm(changes);
        assert!(text.starts_with(sentence), "{text}");
    }
}
