//! Every program on every small fabric: it starts with its defaults, or is refused in a sentence before anything runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use weft_fabric::config::{FabricConfig, Legal};
use weft_fabric::fit::{FitError, Fitted};
use weft_fabric::run::{FabricError, FabricRun, NoRoom, RunOptions, design};

/// The page that says what does not run where; `WEFT_DOCS=write` writes it.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/programs.md");

const HEAD: &str = "\
# Programs and fabrics

`weft list workloads` prints every program with its parameters, `weft list fabrics` every fabric with its keys. A
program runs with its defaults on every small fabric, but for those below. Parameters that nobody gives follow the
fabric where they count something of it: `gpus`, `gpms`, `cus`, `queues`, `line`, `lanes`, `cpu_threads`, `memory`,
`sync`, and `blocks` where all work-groups have to be resident at once. `weft run` refuses what cannot run before
anything is simulated (status 2) and names what the fabric lacks.

| fabric | does not run | why |
| --- | --- | --- |
";

fn fabrics() -> impl Iterator<Item = FabricConfig> {
    let small = FabricConfig::list().into_iter().filter(|name| name.ends_with("-small"));
    small.map(|name| FabricConfig::load(name).expect("a built-in fabric"))
}

/// The configuration under each of its protocols that goes with its other keys; the file's own one first.
fn protocols(config: &FabricConfig) -> Vec<FabricConfig> {
    let own = config.get("protocol");
    let words = config.keys().into_iter().find(|key| key.name == "protocol").map(|key| key.legal);
    let Some(Legal::OneOf(words)) = words else { panic!("{} has no protocols", config.name) };
    let others = words.iter().filter(|word| Some(**word) != own.as_ref().and_then(|own| own.as_str()));
    let changed = others.filter_map(|word| {
        let mut other = config.clone();
        other.set(&format!("protocol={word}")).ok()?;
        other.validate().ok().map(|()| other)
    });
    [config.clone()].into_iter().chain(changed).collect()
}

fn names() -> Vec<&'static str> {
    weft_workload::workloads().iter().map(|info| info.name).collect()
}

/// The program, or the sentence that refuses it and, in short, why.
fn fit(config: &FabricConfig, name: &str) -> Result<Fitted, (String, String)> {
    config.fit(name, &BTreeMap::new(), None).map_err(|error| {
        let why = match &error {
            FitError::Lacks(lack) => format!("{} {}; `{}`: {}", lack.value, lack.what, lack.name, lack.legal),
            FitError::NoRoom {
                cause: NoRoom::Group { waves, has_waves, lds_bytes, has_lds, .. }, ..
            } => {
                format!(
                    "work-groups of {waves} waves and {lds_bytes} bytes; a CU has {has_waves} and {has_lds}"
                )
            }
            FitError::NoRoom { cause, .. } => cause.to_string(),
            FitError::Workload(cause) => cause.to_string(),
            FitError::Fabric(cause) => {
                assert!(cause.is_input(), "{name} on {}: {cause}", config.name);
                cause.to_string()
            }
        };
        (error.to_string(), why)
    })
}

/// Starts every `step`-th program under each protocol, other ones with each; all that do not start were refused.
fn start(fabric: &str, step: usize) {
    let config = FabricConfig::load(fabric).expect("a built-in fabric");
    let mut started = 0;
    for (turn, config) in protocols(&config).iter().enumerate() {
        let chosen: Vec<&str> = names().into_iter().skip(turn % step).step_by(step).collect();
        let fitting: Vec<Fitted> = chosen.iter().filter_map(|name| fit(config, name).ok()).collect();
        if fitting.is_empty() {
            continue;
        }
        let options = RunOptions::default();
        let design = design(config, &options).unwrap_or_else(|e| panic!("{fabric}: {e}"));
        for fitted in fitting {
            let name = fitted.program.name().to_string();
            let run = FabricRun::on(config, &design, fitted.program, &options);
            let ended = run.and_then(|mut run| run.run_to(2));
            assert!(ended.is_ok(), "{name} on {fabric}, {:?}: {ended:?}", config.get("protocol"));
            started += 1;
        }
    }
    assert!(started > 0, "nothing starts on {fabric}");
}

macro_rules! each {
    ($($short:ident, $all:ident: $fabric:literal;)*) => {
        $(
            #[test]
            fn $short() {
                start($fabric, 6);
            }

            #[test]
            fn $all() {
                start($fabric, 1);
            }
        )*

        #[test]
        fn every_small_fabric_is_asked() {
            let asked = [$($fabric),*];
            assert_eq!(fabrics().filter(|config| !asked.contains(&&*config.name)).count(), 0);
        }
    };
}

each! {
    rec, long_rec: "rec-4gpu-small";
    hmg, long_hmg: "hmg-4gpu-small";
    tsm, long_tsm: "tsm-4gpu-small";
    rdma, long_rdma: "rdma-4gpu-small";
    hmg_tsm, long_hmg_tsm: "hmg-tsm-4gpu-small";
    srsp, long_srsp: "srsp-64cu-small";
    hlrc, long_hlrc: "hlrc-128cu-small";
    spandex_soc, long_spandex_soc: "spandex-soc-small";
    spandex_gpus, long_spandex_gpus: "spandex-4gpu-small";
    flat, long_flat: "flat-gpu-small";
}

#[test]
fn what_does_not_run_where_is_documented() {
    let mut page = HEAD.to_string();
    for config in fabrics() {
        let mut refused: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for name in names() {
            if let Err((sentence, why)) = fit(&config, name) {
                assert!(!sentence.contains('\n') && sentence.contains(name), "{name}: {sentence}");
                refused.entry(why).or_default().push(name);
            }
        }
        for (cause, programs) in refused {
            for some in programs.chunks(5) {
                let programs: Vec<String> = some.iter().map(|name| format!("`{name}`")).collect();
                let _ = writeln!(page, "| `{}` | {} | {cause} |", config.name, programs.join(", "));
            }
        }
    }
    if std::env::var_os("WEFT_DOCS").is_some_and(|mode| mode == "write") {
        std::fs::write(PAGE, &page).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(PAGE).expect("the page is there");
    assert_eq!(page, committed, "run this test with WEFT_DOCS=write");
}

/// Defaults that are too large follow the fabric, and what was given stays.
#[test]
fn defaults_follow_the_fabric() {
    let config = FabricConfig::load("spandex-soc-small").expect("a built-in fabric");
    let tqh = fit(&config, "tqh").unwrap_or_else(|e| panic!("{}", e.0));
    assert_eq!((tqh.params["blocks"].as_str(), tqh.followed.contains(&"blocks")), ("24", true));
    let pagerank = fit(&config, "pagerank").unwrap_or_else(|e| panic!("{}", e.0));
    assert_eq!(pagerank.params["lanes"], "32");
    let given = |key: &str, value: &str| BTreeMap::from([(key.to_string(), value.to_string())]);
    let error = config.fit("tqh", &given("blocks", "25"), None).err().expect("one too many").to_string();
    assert!(error.contains("25 of them share a GPU that holds 24"), "{error}");
    assert!(error.contains("its parameter blocks"), "{error}");
    let error = config.fit("pagerank", &given("lanes", "64"), None).err().expect("too wide").to_string();
    assert!(error.contains("64 lanes per wave, expected at most the compute unit's 32"), "{error}");
}

/// What only a later kernel asks for too much of is bad input, too.
#[test]
fn a_kernel_without_room_is_input() {
    let mut config = FabricConfig::load("spandex-soc-small").expect("a built-in fabric");
    config.set("cpus=1").and_then(|()| config.set("cus=2")).expect("legal keys");
    let given = BTreeMap::from([("cpu_threads".to_string(), "9".to_string())]);
    let error = config.fit("hsti", &given, None).err().expect("too many threads");
    assert!(matches!(error, FitError::NoRoom { .. }), "{error}");
    let params = given;
    let program = weft_workload::build("hsti", &params, None).expect("legal");
    let error = FabricRun::new(&config, program.into(), &RunOptions::default()).err().expect("refused");
    assert!(matches!(error, FabricError::NoRoom(_)) && error.is_input(), "{error}");
}
