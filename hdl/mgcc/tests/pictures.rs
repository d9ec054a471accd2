//! The pictures in `hdl/mgcc/pictures` and the tables in `hdl/mgcc/docs`, which the documentation shows, are those of today's hardware.
//!
//! `WEFT_PICTURES=write cargo nextest run -p weft-mgcc --test pictures` makes them again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use weft_blocks::registry::ParamSet;
use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::l1::{L1Params, answers, operations};
use weft_mgcc::params::Tsm;
use weft_rtl::picture::Picture;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The file holds the text; when asked to, it is written first.
fn is_current(path: &Path, text: &str) -> bool {
    if std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write") {
        std::fs::write(path, text).expect("the folder can be written");
    }
    std::fs::read_to_string(path).ok().as_deref() == Some(text)
}

#[test]
fn pictures_show_the_hardware() {
    let mut shown = Vec::new();
    for info in weft_mgcc::blocks() {
        let path = folder("pictures").join(format!("{}.svg", info.name));
        if !path.exists() {
            continue;
        }
        let params = ParamSet::new(&info, &BTreeMap::new()).expect("defaults are legal");
        let module = (info.build)(&params).expect("defaults are legal");
        let svg = Picture::of(&module).svg();
        assert!(!svg.contains("\n\n"), "an empty line would end the picture in a page of documentation");
        assert!(is_current(&path, &svg), "{} is old: draw it again with WEFT_PICTURES=write", path.display());
        shown.push(info.name);
    }
    assert!(shown.contains(&"mgcc-l1"), "only {shown:?}");
}

#[test]
fn tables_are_those_of_the_hardware() {
    let p = L1Params::published(Tsm::default(), Consistency::Rc, Coherence::Mgcc);
    let text = format!(
        "Operations (release consistency):\n\n{}\nAnswers of the bank:\n\n{}",
        operations(&p).to_markdown(),
        answers(&p).to_markdown()
    );
    let g = L1Params::gtsc_published(Tsm::default());
    let [requests, fills] = weft_mgcc::gtsc::l2_tables();
    let gtsc = format!(
        "`gtsc-l1`, operations:\n\n{}\n`gtsc-l1`, answers of the bank:\n\n{}\n`gtsc-l2`, requests of L1s:\n\n{}\n`gtsc-l2`, answers of memory:\n\n{}",
        operations(&g).to_markdown(),
        answers(&g).to_markdown(),
        requests.to_markdown(),
        fills.to_markdown()
    );
    for (name, text) in [
        ("mgcc-l1", text),
        ("gtsc", gtsc),
        ("tsm-switch", weft_mgcc::switch::table().to_markdown()),
        ("rdma-engine", weft_mgcc::rdma::engine::table().to_markdown()),
        ("pcie-switch", weft_mgcc::rdma::pcie::table().to_markdown()),
        ("dram-port", weft_mgcc::rdma::dram_port::table().to_markdown()),
    ] {
        let path = folder("docs").join(format!("{name}.md"));
        assert!(
            is_current(&path, &text),
            "{} is old: write it again with WEFT_PICTURES=write",
            path.display()
        );
    }
}
