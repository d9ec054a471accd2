//! The exported Verilog of a rust-hdl design under Verilator.

use std::fmt::Write;
use std::process::Command;
use weft_tools::external::{VerilatorBuild, run};

/// Names and widths, at most 64, of the inputs besides `clock`, and of the outputs.
pub type Ports<'a> = (&'a [(&'a str, u32)], &'a [(&'a str, u32)]);

/// Replays inputs in Verilator and compares every output in every cycle.
///
/// # Panics
/// When Verilator is missing, refuses the Verilog, or its simulation shows another value.
pub fn replay(verilog: &str, ports: Ports<'_>, stimulus: &[Vec<u64>], expected: &[Vec<u64>]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let rows: String = stimulus.iter().zip(expected).map(|(inputs, outputs)| row(inputs, outputs)).collect();
    std::fs::write(path("top.v"), verilog).expect("a file");
    std::fs::write(path("driver.cpp"), driver(ports)).expect("a file");
    std::fs::write(path("cycles.txt"), rows).expect("a file");
    let plain = VerilatorBuild::new("top", vec![path("top.v")], path("driver.cpp"), path("build"));
    let program =
        VerilatorBuild { optimise: 0, ..plain }.build().unwrap_or_else(|refused| panic!("{refused}"));
    let said = run(Command::new(program.path).arg(path("cycles.txt"))).unwrap_or_else(|e| panic!("{e}"));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let all = format!("{} cycles agree", stimulus.len());
    assert!(said.lines().any(|line| line == all), "Verilator differs from rust-hdl's simulation:\n{said}");
}

/// Inputs and outputs of a cycle as hexadecimal numbers.
fn row(inputs: &[u64], outputs: &[u64]) -> String {
    inputs.iter().chain(outputs).map(|value| format!("{value:x} ")).chain(["\n".into()]).collect()
}

fn driver((inputs, outputs): Ports<'_>) -> String {
    let (mut set, mut check) = (String::new(), String::new());
    for (name, _) in inputs {
        let _ = writeln!(
            set,
            "    if (std::fscanf(cycles, \"%llx\", &value) != 1) break;\n    top.{name} = value;"
        );
    }
    for (name, _) in outputs {
        let _ = writeln!(
            check,
            "    if (std::fscanf(cycles, \"%llx\", &value) != 1) return 3;
    if (top.{name} != value) {{
      std::printf(\"cycle %d: {name} is %llx, expected %llx\\n\", cycle, (unsigned long long)top.{name}, value);
      return 0;
    }}"
        );
    }
    format!(
        "#include \"Vtop.h\"
#include <cstdio>
int main(int, char** argv) {{
  std::FILE* cycles = std::fopen(argv[1], \"r\");
  if (!cycles) return 2;
  Vtop top;
  unsigned long long value;
  int cycle = 0;
  for (;; cycle++) {{
{set}    top.clock = 0; top.eval();
{check}    top.clock = 1; top.eval();
  }}
  std::printf(\"%d cycles agree\\n\", cycle);
  return 0;
}}
"
    )
}
