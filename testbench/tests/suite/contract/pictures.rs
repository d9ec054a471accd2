//! The rule of pictures. `WEFT_PICTURES=write` before the command that runs it draws them again.

use super::waivers::PICTURED;
use super::*;
use std::path::Path;
use weft_bench::pages;
use weft_rtl::picture::Picture;

/// The families' folders below `hdl`, with their blocks.
const FAMILIES: [(&str, fn() -> Vec<BlockInfo>); 4] = [
    ("blocks", weft_blocks::blocks),
    ("mgcc", weft_mgcc::blocks),
    ("srsp", weft_srsp::blocks),
    ("spandex", weft_spandex::blocks),
];

/// All Rust below a folder.
fn sources(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    let text = |path: std::path::PathBuf| match path.is_dir() {
        true => sources(&path),
        false => std::fs::read_to_string(&path).expect("a text"),
    };
    entries.map(text).collect()
}

#[test]
fn every_block_has_its_picture_on_its_page() {
    let hdl = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hdl");
    let pages = FAMILIES.map(|(folder, list)| (folder, list(), sources(&hdl.join(folder).join("src"))));
    every_block(|info, found| {
        let of_family = |(_, list, _): &&(_, Vec<BlockInfo>, _)| list.iter().any(|b| b.name == info.name);
        let (folder, _, text) = pages.iter().find(of_family).expect("its family is listed here");
        let words = PICTURED.iter().find(|(block, ..)| *block == info.name).map_or("", |(_, words, _)| words);
        let svg = match weft_blocks::picture::picture(info.name, &given(words)) {
            Ok(svg) => svg,
            Err(_) => Picture::of(&Context::new(info, words).module).svg(),
        };
        if svg.contains("\n\n") {
            found.push("an empty line would end the picture in a page of documentation".into());
        }
        found.extend(pages::outdated(&format!("{folder}/pictures/{}.svg", info.name), &svg));
        if !text.contains(&format!("/pictures/{}.svg\")]", info.name)) {
            found.push("no page shows its picture".into());
        }
    });
}
