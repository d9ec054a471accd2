//! A self-checking testbench in plain Verilog with the recorded run as memory files, and its run under Icarus.

use super::ports::Port;
use super::record::Recording;
use super::{Memories, RESET_CYCLES, write_files};
use crate::external::{Tool, ToolError, run};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_rtl::verilog::VerilogFile;

/// When this is defined, memories keep what the simulator gives them at power-up; otherwise the testbench clears them, as the engine does.
const UNKNOWN_MEMORIES: &str = "WEFT_UNKNOWN_MEMORIES";

/// The testbench of a recorded run: `tb_NAME.v`, `NAME_stimulus.hex`, `NAME_expected.hex`. In any simulator, started in the files' folder,
/// it prints `PASS` or the first difference as `FAIL cycle N port P expected H got H`. It clears the memories before reset, unless
/// `WEFT_UNKNOWN_MEMORIES` is defined; then unknown bits of outputs named `*_data` are no difference, those of any other output are.
pub fn export_testbench(module: &Module, run: &Recording) -> Vec<VerilogFile> {
    let name = &module.name;
    let file = |name: String, text: String| VerilogFile { name, text };
    vec![
        file(format!("tb_{name}.v"), bench_text(module, run)),
        file(format!("{name}_stimulus.hex"), hex_rows(&run.inputs)),
        file(format!("{name}_expected.hex"), hex_rows(&run.outputs)),
    ]
}

/// Compiles the design with its testbench and runs it; what it printed.
pub(super) fn replay(
    module: &Arc<Module>,
    recording: &Recording,
    sources: &[PathBuf],
    workdir: &Path,
    memories: Memories,
) -> Result<String, ToolError> {
    let bench = write_files(workdir, &export_testbench(module, recording))?;
    let program = format!("{}.vvp", module.name);
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let mut compile = Tool::Iverilog.command()?;
    compile.current_dir(workdir).args(["-g2005", "-o", &program, "-s", &format!("tb_{}", module.name)]);
    if memories == Memories::Unknown {
        compile.arg(format!("-D{UNKNOWN_MEMORIES}"));
    }
    run(compile.args(sources.iter().map(absolute)).arg(absolute(&bench[0])))?;
    let output = run(Tool::Vvp.command()?.current_dir(workdir).args(["-n", &program]))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// One line per cycle: all values joined, the first port in the least significant bits.
fn hex_rows(rows: &[Vec<Bv>]) -> String {
    let mut out = String::new();
    for row in rows {
        if row.is_empty() {
            out.push_str("0\n");
        } else {
            let _ = writeln!(out, "{:x}", Bv::concat(row));
        }
    }
    out
}

fn slice(at: u32, width: u32) -> String {
    if width == 1 { format!("[{at}]") } else { format!("[{}:{at}]", at + width - 1) }
}

/// The ports with the position of each in the joined vector, and the vector's width.
fn placed(ports: &[Port]) -> (Vec<(&Port, u32)>, u32) {
    let mut at = 0;
    let list = ports
        .iter()
        .map(|p| {
            at += p.width;
            (p, at - p.width)
        })
        .collect();
    (list, at.max(1))
}

/// Statements that clear every memory below `path`.
fn clearing(module: &Module, path: &str, out: &mut String) {
    for mem in &module.mems {
        let (rows, width) = (mem.rows, mem.row_width());
        let clear = format!("{path}.{}[row] = {{{width}{{1'b0}}}};", mem.name);
        let _ = writeln!(out, "        for (row = 0; row < {rows}; row = row + 1) {clear}");
    }
    for inst in &module.instances {
        clearing(&inst.module, &format!("{path}.{}", inst.name), out);
    }
}

fn bench_text(module: &Module, run: &Recording) -> String {
    let name = &module.name;
    let (inputs, in_width) = placed(&run.ports.inputs);
    let (outputs, out_width) = placed(&run.ports.outputs);
    let mut pins = String::new();
    for (port, at) in &inputs {
        let _ = write!(pins, ",\n        .{}(inputs{})", port.name, slice(*at, port.width));
    }
    let mut checks = String::new();
    for (port, at) in &outputs {
        let _ = write!(pins, ",\n        .{}(outputs{})", port.name, slice(*at, port.width));
        let s = slice(*at, port.width);
        let differs = if port.name.ends_with("_data") {
            format!("`WEFT_DATA_DIFFERS(outputs{s}, wanted{s})")
        } else {
            format!("outputs{s} !== wanted{s}")
        };
        let _ = writeln!(checks, "                if (!failed && {differs}) begin");
        let _ = writeln!(
            checks,
            "                    $display(\"FAIL cycle %0d port {} expected %h got %h\", cycle, wanted{s}, outputs{s});",
            port.name
        );
        let _ = writeln!(checks, "                    failed = 1'b1;\n                end");
    }
    let mut clear = String::new();
    clearing(module, "dut", &mut clear);
    let clear = if clear.is_empty() {
        clear
    } else {
        format!(
            r"
`ifndef {UNKNOWN_MEMORIES}
    // The recorded run began with cleared memories.
    integer row;
    initial begin
{clear}    end
`endif
"
        )
    };
    let (last, in_top, out_top) = (run.cycles().max(1) - 1, in_width - 1, out_width - 1);
    let (cycles, reset) = (run.cycles(), RESET_CYCLES);
    format!(
        r#"// Self-checking testbench of {name}: replays a recorded run of {cycles} cycles and prints PASS or the first difference.
// Run it in the folder of its memory files {name}_stimulus.hex and {name}_expected.hex (one line per cycle):
//   $ iverilog -g2005 -s tb_{name} -c testbench.f -o tb.vvp && vvp -n tb.vvp
//   $ verilator --binary --timing -CFLAGS -std=c++20 --top-module tb_{name} -f testbench.f && obj_dir/Vtb_{name}
`default_nettype none
`ifdef {UNKNOWN_MEMORIES}
// The data of a message that carries none (a read request, a store's acknowledgement) is whatever a memory held.
`define WEFT_DATA_DIFFERS(got, wanted) ((|((got) ^ (wanted))) === 1'b1)
`else
`define WEFT_DATA_DIFFERS(got, wanted) ((got) !== (wanted))
`endif
module tb_{name};
    reg clk;
    reg rst;
    reg [{in_top}:0] inputs;
    wire [{out_top}:0] outputs;
    reg [{out_top}:0] wanted;
    reg [{in_top}:0] stimulus [0:{last}];
    reg [{out_top}:0] expected [0:{last}];
    reg failed;
    integer cycle;

    {name} dut (
        .clk(clk),
        .rst(rst){pins}
    );
{clear}
    initial begin
        $readmemh("{name}_stimulus.hex", stimulus);
        $readmemh("{name}_expected.hex", expected);
        clk = 1'b0;
        rst = 1'b1;
        inputs = {{{in_width}{{1'b0}}}};
        failed = 1'b0;
        repeat ({reset}) begin
            #5 clk = 1'b1;
            #5 clk = 1'b0;
        end
        rst = 1'b0;
        for (cycle = 0; cycle < {cycles} && !failed; cycle = cycle + 1) begin
            inputs = stimulus[cycle];
            wanted = expected[cycle];
            #5;
            if (outputs !== wanted) begin
{checks}            end
            clk = 1'b1;
            #5 clk = 1'b0;
        end
        if (!failed) $display("PASS %0d cycles", cycle);
        $finish;
    end
endmodule
`default_nettype wire
"#
    )
}
