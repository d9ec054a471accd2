//! The exported Verilog of a rust-hdl design under Icarus.

use std::fmt::Write;
use weft_tools::external::{Tool, run};

/// Cycles at the start in which nothing is compared: before the first clock edge in reset Icarus knows no register's value.
pub const UNKNOWN: usize = 1;

/// Names and widths of the inputs besides `clock`, and of the outputs.
pub type Ports<'a> = (&'a [(&'a str, u32)], &'a [(&'a str, u32)]);

/// Replays the stimulus of an exported design in Icarus and compares every output in every cycle, an unknown value being a difference.
///
/// # Panics
/// When a tool is missing, refuses the Verilog, or sees another value.
pub fn replay(verilog: &str, (inputs, outputs): Ports<'_>, stimulus: &[Vec<u64>], expected: &[Vec<u64>]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("top.v", verilog);
    write("bench.v", &bench(inputs, outputs, stimulus.len()));
    write("stimulus.hex", &rows(inputs, stimulus));
    write("expected.hex", &rows(outputs, expected));
    let mut compile = Tool::Iverilog.command().unwrap_or_else(|missing| panic!("{missing}"));
    compile.current_dir(folder.path()).args(["-g2005", "-Wall", "-o", "bench.vvp", "bench.v", "top.v"]);
    run(&mut compile).unwrap_or_else(|refused| panic!("{refused}"));
    let mut simulate = Tool::Vvp.command().unwrap_or_else(|missing| panic!("{missing}"));
    let said = run(simulate.current_dir(folder.path()).arg("bench.vvp")).unwrap_or_else(|e| panic!("{e}"));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let all = format!("{} cycles agree", stimulus.len() - UNKNOWN);
    assert!(said.lines().any(|line| line == all), "Icarus differs from rust-hdl's simulation:\n{said}");
}

fn width(ports: &[(&str, u32)]) -> u32 {
    ports.iter().map(|(_, width)| width).sum()
}

/// One row of binary digits per cycle, the first port most significant.
fn rows(ports: &[(&str, u32)], cycles: &[Vec<u64>]) -> String {
    let mut out = String::new();
    for values in cycles {
        for ((_, width), value) in ports.iter().zip(values) {
            let _ = write!(out, "{value:0width$b}", width = *width as usize);
        }
        out.push('\n');
    }
    out
}

fn bench(inputs: &[(&str, u32)], outputs: &[(&str, u32)], cycles: usize) -> String {
    let declare = |kind: &str, ports: &[(&str, u32)]| -> String {
        ports.iter().map(|(name, width)| format!("  {kind} [{}:0] {name};\n", width - 1)).collect()
    };
    let list = |ports: &[(&str, u32)]| ports.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let pins: String = inputs.iter().chain(outputs).map(|(name, _)| format!(", .{name}({name})")).collect();
    format!(
        "`timescale 1ns/1ps
module bench;
  reg clock;
  integer cycle, agree;
  reg [{}:0] stimulus [0:{last}];
  reg [{}:0] expected [0:{last}];
{}{}  top uut(.clock(clock){pins});
  initial begin
    $readmemb(\"stimulus.hex\", stimulus);
    $readmemb(\"expected.hex\", expected);
    agree = 0;
    clock = 0;
    for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
      {{{}}} = stimulus[cycle];
      #4;
      if (cycle >= {UNKNOWN}) begin
        if ({{{}}} === expected[cycle]) agree = agree + 1;
        else if (agree == cycle - {UNKNOWN})
          $display(\"cycle %0d: %b, expected %b\", cycle, {{{}}}, expected[cycle]);
      end
      #1 clock = 1;
      #5 clock = 0;
    end
    $display(\"%0d cycles agree\", agree);
    $finish;
  end
endmodule
",
        width(inputs) - 1,
        width(outputs) - 1,
        declare("reg", inputs),
        declare("wire", outputs),
        list(inputs),
        list(outputs),
        list(outputs),
        last = cycles - 1,
    )
}
