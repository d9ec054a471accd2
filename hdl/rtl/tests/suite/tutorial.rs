//! What the tutorial shows beside its program is what the program makes.

use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::verilog::emit;

#[path = "../../examples/peak.rs"]
#[allow(dead_code)]
mod peak;

#[test]
fn the_tutorial_shows_what_its_program_makes() {
    let block = peak::peak(8, 3).expect("legal");
    assert_eq!(Picture::of(&block).svg(), include_str!("../../examples/peak.svg"));
    let bits = area(&block);
    let mut lines: Vec<String> =
        bits.fields.iter().map(|field| format!("{:4} bits of {}", field.bits, field.field)).collect();
    lines.push(format!("{:4} bits", bits.total_bits));
    let file = &emit(&block)[0];
    lines.push(format!("{}: {} lines of Verilog", file.name, file.text.lines().count()));
    let shown: Vec<&str> = include_str!("../../examples/peak.txt").lines().skip(2).collect();
    assert_eq!(lines, shown);
}

#[test]
fn the_program_runs() {
    peak::run(None).expect("its answers are those it expects");
}
