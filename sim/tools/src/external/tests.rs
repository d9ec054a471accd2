use super::*;
use std::fs;

const COUNTER: &str =
    "module counter (input wire clk, input wire rst, input wire [7:0] step, output reg [7:0] count);
  always @(posedge clk) begin
    if (rst) count <= 8'd0;
    else count <= count + step;
  end
endmodule
";

const DRIVER: &str = r#"#include "Vcounter.h"
#include <cstdio>
int main(int argc, char** argv) {
  Vcounter top;
  FILE* stimulus = std::fopen(argv[argc - 1], "r");
  if (!stimulus) return 2;
  unsigned rst, step;
  while (std::fscanf(stimulus, "%u %u", &rst, &step) == 2) {
    top.rst = rst; top.step = step;
    top.clk = 0; top.eval();
    top.clk = 1; top.eval();
    std::printf("%u\n", static_cast<unsigned>(top.count));
  }
  return 0;
}
"#;

/// A folder with one Verilog file.
fn with_verilog(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    (folder, file)
}

fn nowhere() -> Places {
    Places { variable: None, checkouts: Vec::new(), path: Vec::new() }
}

#[test]
fn a_missing_tool_is_told_with_places_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { checkouts: vec![folder.path().into()], ..nowhere() };
    let error = Tool::Verilator.find_among(&places).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "verilator 5.048 was not found (looked in $WEFT_VERILATOR, .tools/venv/bin of {} and above, PATH): \
             run scripts/setup",
            folder.path().display()
        )
    );
}

#[test]
fn variable_goes_before_checkout_and_checkout_before_path() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    let installed = folder.path().join(".tools/venv/bin");
    let path = folder.path().join("bin");
    for place in [&inner, &installed, &path] {
        fs::create_dir_all(place).unwrap();
    }
    let mut places = Places { checkouts: vec![inner], path: vec![path.clone()], ..nowhere() };
    fs::write(path.join("yosys"), "").unwrap();
    assert_eq!(Tool::Yosys.find_among(&places).unwrap(), path.join("yosys"));
    fs::write(installed.join("yosys"), "").unwrap();
    assert_eq!(Tool::Yosys.find_among(&places).unwrap(), installed.join("yosys"));
    let own = folder.path().join("own-yosys");
    places.variable = Some(own.clone().into());
    let error = Tool::Yosys.find_among(&places).unwrap_err().to_string();
    assert!(error.starts_with("WEFT_YOSYS names ") && error.contains("is not a file"), "{error}");
    fs::write(&own, "").unwrap();
    assert_eq!(Tool::Yosys.find_among(&places).unwrap(), own);
}

#[test]
fn a_failing_command_is_told_with_what_it_said() {
    let error = run(Command::new("sh").args(["-c", "echo told >&2; exit 3"])).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("sh -c") && text.contains("exit status: 3") && text.ends_with("told"), "{text}");
    let error = run(&mut Command::new("no-such-program-anywhere")).unwrap_err();
    assert!(matches!(error, ToolError::Start { .. }), "{error}");
}

#[test]
fn verilator_builds_a_counter_that_follows_its_stimulus() {
    let (folder, source) = with_verilog("counter.v", COUNTER);
    let driver = folder.path().join("main.cpp");
    let stimulus = folder.path().join("stimulus.txt");
    fs::write(&driver, DRIVER).unwrap();
    fs::write(&stimulus, "1 9\n0 1\n0 2\n0 255\n1 1\n").unwrap();
    for split in [None, Some(10)] {
        let out = folder.path().join(format!("build{}", split.unwrap_or(0)));
        let build =
            VerilatorBuild { split, ..VerilatorBuild::new("counter", vec![source.clone()], &driver, out) };
        let program = build.build().unwrap();
        let output = run(Command::new(program.path).arg(&stimulus)).unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n1\n3\n2\n0\n", "split {split:?}");
    }
}

#[test]
fn verilator_compiles_a_block_by_itself_once_for_its_instances() {
    let pair = "
module pair (input wire clk, input wire rst, input wire [7:0] step, output wire [7:0] count);
  wire [7:0] one, two;
  counter a (.clk(clk), .rst(rst), .step(step), .count(one));
  counter b (.clk(clk), .rst(rst), .step(one), .count(two));
  assign count = two;
endmodule
";
    let (folder, source) = with_verilog("counter.v", &format!("{COUNTER}{pair}"));
    let driver = folder.path().join("main.cpp");
    let stimulus = folder.path().join("stimulus.txt");
    fs::write(&driver, DRIVER.replace("Vcounter", "Vpair")).unwrap();
    fs::write(&stimulus, "1 0\n0 1\n0 1\n0 1\n").unwrap();
    let said = [vec![], vec!["counter".to_string()]].map(|blocks| {
        let out = folder.path().join(format!("build{}", blocks.len()));
        let plain = VerilatorBuild::new("pair", vec![source.clone()], &driver, &out);
        let shared = !blocks.is_empty();
        let build = VerilatorBuild { blocks, inline: Some(100), optimise: 0, ..plain };
        let program = build.build().unwrap();
        assert_eq!(out.join("Vcounter").is_dir(), shared, "one folder per block compiled by itself");
        let output = run(Command::new(program.path).arg(&stimulus)).unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    assert_eq!(said, ["0\n0\n1\n3\n", "0\n0\n1\n3\n"]);
}

#[test]
fn verilator_errors_reach_the_caller() {
    let (folder, source) = with_verilog("counter.v", "module counter (input wire clk; endmodule\n");
    let build = VerilatorBuild::new("counter", vec![source], "main.cpp", folder.path().join("build"));
    let error = build.build().unwrap_err().to_string();
    assert!(error.contains("syntax error"), "{error}");
}

#[test]
fn every_linter_passes_clean_verilog_and_reports_faults() {
    let (_folder, clean) = with_verilog("counter.v", COUNTER);
    let clean = [clean];
    assert_eq!(verilator_lint("counter", &clean).unwrap(), Vec::<String>::new());
    assert_eq!(iverilog_lint("counter", &clean).unwrap(), Vec::<String>::new());
    assert_eq!(yosys_lint("counter", &clean).unwrap(), Vec::<String>::new());

    let truncating = COUNTER.replace("count + step", "{1'b0, count} + {1'b0, step}");
    let (_folder, file) = with_verilog("counter.v", &truncating);
    let found = verilator_lint("counter", &[file]).unwrap();
    assert!(found.iter().any(|l| l.contains("WIDTHTRUNC")), "{found:?}");

    let unnamed = COUNTER.replace("input wire rst, ", "");
    let (_folder, file) = with_verilog("counter.v", &unnamed);
    let found = iverilog_lint("counter", std::slice::from_ref(&file)).unwrap();
    assert!(found.iter().any(|l| l.contains("rst")), "{found:?}");
    let found = yosys_lint("counter", &[file]).unwrap();
    assert!(found.iter().any(|l| l.contains("rst")), "{found:?}");
}

/// A memory with masked lanes and a registered read address is one block memory for synthesis, not flip-flops.
#[test]
fn yosys_maps_a_masked_memory_to_block_memories() {
    let memory = "module store (input wire clk, input wire [1:0] wmask, input wire [5:0] waddr,
  input wire [51:0] wdata, input wire [5:0] raddr, output wire [51:0] rdata);
  reg [51:0] mem [0:63];
  reg [5:0] addr_q;
  always @(posedge clk) begin
    addr_q <= raddr;
    if (wmask[0]) mem[waddr][25:0] <= wdata[25:0];
    if (wmask[1]) mem[waddr][51:26] <= wdata[51:26];
  end
  assign rdata = mem[addr_q];
endmodule
";
    let (folder, _file) = with_verilog("store.v", memory);
    let output = yosys("read_verilog store.v\nsynth_ecp5 -top store\nstat", folder.path()).unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("LUT4"), "technology mapping did not finish:\n{}", last_lines(&report, 20));
    let blocks =
        report.lines().rev().find_map(|l| l.trim().strip_suffix("DP16KD")?.trim().parse::<u32>().ok());
    assert_eq!(blocks, Some(2), "{}", last_lines(&report, 30));
}
