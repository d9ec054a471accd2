//! Configurations of fabrics, and words KEY=VALUE of the command line: keys of fabrics, parameters of
//! programs and of blocks, mutants.

use super::{said, text, texts, utf8};
use std::collections::BTreeMap;
use weft_blocks::registry::ParamSet;
use weft_fabric::config::FabricConfig;
use weft_fuzz::Target;
use weft_rtl::mutant::Mutant;

macro_rules! fabrics {
    ($($name:literal),* $(,)?) => { texts(&[$(include_str!(concat!("../../../fabrics/", $name, ".toml"))),*]) };
}

/// What a reader may allocate whatever the size of the file: the lists of all keys with their meanings, once for
/// each error; what TOML's reader holds of 64 KiB of signs, each a token of some fifty bytes.
const CONSTANT: u64 = 1 << 22;

fn seeds() -> Vec<Vec<u8>> {
    fabrics!(
        "rec-4gpu-small",
        "hmg-4gpu-small",
        "hmg-tsm-4gpu-small",
        "tsm-4gpu-small",
        "rdma-4gpu-small",
        "srsp-64cu-small",
        "hlrc-128cu-small",
        "spandex-soc-small",
        "spandex-4gpu-small",
        "flat-gpu-small",
    )
}

const WORDS: &str = "family  protocol  gpus  gpms  cus  waves  line  l1_size  l1_ways  l2_size  \
    l2_ways  banks  entries  range  link_bytes  hop  placement  checks  inject  \
    lease  model  true  false  auto  unlimited  16K  4M  3G  1e3  [x]  inf  \"\"\"";

fn toml(input: &[u8]) -> Result<(), String> {
    let config = FabricConfig::parse(utf8(input)?, "fuzzed", "fuzzed.toml").map_err(said)?;
    config.validate().map_err(said)?;
    config.keys().iter().for_each(|key| drop(config.get(key.name)));
    Ok(())
}

/// The fabric, then a change a line.
fn set(input: &[u8]) -> Result<(), String> {
    let mut lines = utf8(input)?.lines();
    let fabric = lines.next().unwrap_or_default();
    if !FabricConfig::list().contains(&fabric) {
        return Err("there is no such fabric".into());
    }
    let mut config = FabricConfig::load(fabric).map_err(said)?;
    lines.try_for_each(|line| config.set(line)).map_err(said)?;
    config.validate().map_err(said)
}

/// A name, then KEY=VALUE a line.
fn pairs(input: &[u8]) -> Result<(&str, BTreeMap<String, String>), String> {
    let mut lines = utf8(input)?.lines();
    let name = lines.next().unwrap_or_default();
    let pair = |line: &str| {
        let (key, value) = line.split_once('=').ok_or("expected KEY=VALUE")?;
        Ok::<_, String>((key.to_string(), value.to_string()))
    };
    Ok((name, lines.map(pair).collect::<Result<_, _>>()?))
}

fn program(input: &[u8]) -> Result<(), String> {
    let (name, given) = pairs(input)?;
    weft_workload::parameters(name, &given).map(|_| ()).map_err(said)
}

/// Values are read as those of the block's description are, which is not made: that takes as long as its
/// sizes are large.
fn block(input: &[u8]) -> Result<(), String> {
    let (name, given) = pairs(input)?;
    let blocks = weft_catalog::blocks();
    let info = blocks.iter().find(|info| info.name == name).ok_or("there is no such block")?;
    let params = ParamSet::new(info, &given).map_err(said)?;
    for key in given.keys() {
        params.within(key, 0, 1 << 40).map_err(said)?;
    }
    Ok(())
}

fn mutant(input: &[u8]) -> Result<(), String> {
    utf8(input)?.lines().try_for_each(|line| line.parse::<Mutant>().map(|_| ())).map_err(said)
}

pub(super) fn targets() -> Vec<Target> {
    let large = |target: Target| Target { constant: CONSTANT, ..target };
    vec![
        large(text(
            "fabric",
            "configurations of fabrics (TOML), with what depends on several keys",
            seeds,
            WORDS,
            toml,
        )),
        large(text(
            "set",
            "words of --set, a fabric and then one a line",
            || {
                texts(&[
                    "rec-4gpu-small\nprotocol=baseline\nl2_size=128K\ngpus=2",
                    "tsm-4gpu-small\nlease=10\nlink_bytes=3",
                    "spandex-soc-small\nprotocol=s-mesi-gpu\nhop=2\ncpus=4\n",
                    "srsp-64cu-small\nprotocol=srsp\nl1_wbt=2\nmodel=drf1",
                ])
            },
            WORDS,
            set,
        )),
        text(
            "param",
            "words of --param, a program and then one a line",
            || {
                texts(&[
                    "stencil\nn=32\niterations=2",
                    "pagerank\niterations=1\nseed=3",
                    "gemm\nn=16",
                    "lock\nowner=6\nremote=2",
                ])
            },
            "n  seed  iterations  source  weight_scale  1_000  0.5  nan  -0.0",
            program,
        ),
        text(
            "block-param",
            "parameters of blocks, a block and then one a line",
            || texts(&["fifo\ndepth=3\nwidth=65", "rec-directory\nentries=1K\nrange=64", "tu-mesi\n"]),
            "depth  width  ways  1k  2M  9G  K",
            block,
        ),
        text(
            "mutant",
            "mutants as words, one a line",
            || {
                texts(&[
                    "fifo_d3@hdl/blocks/src/common/fifo.rs:31#0:stuck0.3",
                    "l1_*@src/a.rs:1#2:swapped\nb@c:4#0:skipped-state\n",
                ])
            },
            "stuck1.0  negated  and-or  off-by-one  dropped-write  stale  wrong-slice  *  @  \
            #",
            mutant,
        ),
    ]
}
