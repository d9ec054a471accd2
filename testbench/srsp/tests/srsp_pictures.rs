//! The pictures in `hdl/srsp/pictures` and the tables in `hdl/srsp/docs`, which the documentation shows, are those of today's hardware.
//!
//! `WEFT_PICTURES=write cargo nextest run --workspace --test srsp_pictures` writes them again.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::ParamSet;
use weft_rtl::picture::Picture;
use weft_srsp::params::Impl;
use weft_srsp::{blocks, hlrc_l1, l1, l2};

/// Compares, or writes, a file of `hdl/srsp`; its name when it is old.
fn same(file: &str, text: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/srsp").join(file);
    if std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("the folder can be written");
    }
    (std::fs::read_to_string(&path).ok().as_deref() != Some(text)).then(|| file.to_string())
}

#[test]
fn pictures_show_the_hardware() {
    let mut old = Vec::new();
    for info in blocks() {
        let params = ParamSet::new(&info, &BTreeMap::new()).expect("defaults");
        let module = (info.build)(&params).expect("defaults are legal");
        let svg = Picture::of(&module).svg();
        assert!(!svg.contains("\n\n"), "an empty line would end the picture in a page of documentation");
        old.extend(same(&format!("pictures/{}.svg", info.name), &svg));
    }
    assert_eq!(old, Vec::<String>::new(), "old pictures: write them again with WEFT_PICTURES=write");
}

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "Operations on a line:\n\n{}\nLines that leave:\n\n{}\nProbes:\n\n{}\nOperations of several steps:\n\n{}",
        l1::operations().to_markdown(),
        l1::leaving().to_markdown(),
        l1::probes().to_markdown(),
        l1::micro::to_markdown(),
    );
    assert_eq!(same("docs/srsp-l1.md", &text), None, "old: write it again with WEFT_PICTURES=write");
}

#[test]
fn tables_of_the_l2_are_those_of_the_hardware() {
    use l2::table::{frames, lines, locks, token};
    let text = format!(
        "Lines:\n\n{}\nFrames:\n\n{}\nLocks:\n\n{}\nThe token:\n\n{}",
        lines().to_markdown(),
        frames().to_markdown(),
        locks(Impl::Brsp).to_markdown(),
        token().to_markdown(),
    );
    assert_eq!(same("docs/srsp-l2.md", &text), None, "old: write it again with WEFT_PICTURES=write");
}

#[test]
fn tables_of_the_l1_of_hlrc_are_those_of_the_hardware() {
    use hlrc_l1::table::{answers, leaving, operations, programs, revokes};
    let text = format!(
        "Operations on a line:\n\n{}\nLines that leave:\n\n{}\nREVOKEs:\n\n{}\nAnswers:\n\n{}\nOperations of several steps:\n\n{}",
        operations().to_markdown(),
        leaving().to_markdown(),
        revokes().to_markdown(),
        answers().to_markdown(),
        programs(),
    );
    assert_eq!(same("docs/hlrc-l1.md", &text), None, "old: write it again with WEFT_PICTURES=write");
}

#[test]
fn tables_of_the_l2_of_hlrc_are_those_of_the_hardware() {
    use weft_srsp::hlrc_l2::L2Write;
    use weft_srsp::hlrc_l2::table::{frames, lines, revokes};
    let [combine, through] = [L2Write::Combine, L2Write::ThroughInv].map(|write| lines(write).to_markdown());
    let text = format!(
        "Lines, where written data is combined:\n\n{combine}\nLines, where it goes to memory:\n\n{through}\nFrames:\n\n{}\nAnswers to a REVOKE:\n\n{}",
        frames(L2Write::Combine, false).to_markdown(),
        revokes().to_markdown(),
    );
    assert_eq!(same("docs/hlrc-l2.md", &text), None, "old: write it again with WEFT_PICTURES=write");
}
