//! The frequency of a block after placement and routing with nextpnr in a Lattice ECP5 LFE5U-85F.
//!
//! A block has more ports than the device has pins, so it stands between two chains of registers, which one pin fills and one empties:
//!
//! ```text
//!  din -> register per input bit -> block -> register per output bit -> dout
//! ```
//! Every path of the block then begins and ends at a register, as between blocks of a fabric, and is counted; the paths along the chains are shorter than any of a block. The chains' registers are not
//! counted to the block, whose cells [`crate::synth`] counts by itself.

use crate::external::{Tool, ToolError, run, yosys};
use crate::synth::{SynthError, sources};
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use weft_rtl::ir::{Module, Signal};

/// Name of the module around the block.
const CHAIN: &str = "weft_chain";

/// Lookup tables, flip-flops and block RAMs of a LFE5U-85F.
pub const DEVICE: [u64; 3] = [83_640, 83_640, 208];

/// A placed and routed block.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Routed {
    /// The device.
    pub device: &'static str,
    /// Placer and router.
    pub tool: String,
    /// Seed of the placement.
    pub seed: u64,
    /// Highest frequency in MHz.
    pub fmax_mhz: f64,
    /// Lookup tables, flip-flops and block RAMs used, the chains' included.
    pub used: [u64; 3],
    /// Registers in the chains: bits of the block's ports, and one for each pin.
    pub chain: u64,
}

/// Places and routes a block in a folder.
///
/// # Errors
/// A missing tool, an error of Yosys or nextpnr (a block that does not fit, for example), or a report that cannot be read.
pub fn route(module: &Arc<Module>, seed: u64, folder: &Path) -> Result<Routed, SynthError> {
    let mut names = sources(module, folder)?;
    let (text, chain) = chain(module);
    let file = |name: &str, action, cause| ToolError::File { path: folder.join(name), action, cause };
    fs::write(folder.join("chain.v"), text).map_err(|cause| file("chain.v", "written", cause))?;
    names.push("chain.v".into());
    yosys(&format!("read_verilog {}; synth_ecp5 -top {CHAIN} -json chain.json", names.join(" ")), folder)?;
    let mut nextpnr = Tool::Nextpnr.command()?;
    nextpnr.current_dir(folder).args(["--85k", "--package", "CABGA381", "--json", "chain.json"]);
    // A target above every block's frequency: the placer and the router do what they can.
    nextpnr.args(["--freq", "200", "--timing-allow-fail", "--report", "report.json", "--quiet"]);
    run(nextpnr.args(["--seed", &seed.to_string()]))?;
    let report = fs::read_to_string(folder.join("report.json"));
    let report = report.map_err(|cause| file("report.json", "read", cause))?;
    read(&report, seed, chain).map_err(|problem| SynthError::Report { module: module.name.clone(), problem })
}

/// Reads the report of `nextpnr --report`.
fn read(report: &str, seed: u64, chain: u64) -> Result<Routed, String> {
    let value: serde_json::Value = serde_json::from_str(report).map_err(|e| e.to_string())?;
    let clocks = value["fmax"].as_object().ok_or("it has no fmax")?;
    let slowest = clocks.values().filter_map(|clock| clock["achieved"].as_f64()).reduce(f64::min);
    let used = |cell: &str| value["utilization"][cell]["used"].as_u64().ok_or(format!("it has no {cell}"));
    Ok(Routed {
        device: "LFE5U-85F",
        tool: Tool::Nextpnr.described().into(),
        seed,
        fmax_mhz: slowest.ok_or("no clock in it has a frequency")?,
        used: [used("TRELLIS_COMB")?, used("TRELLIS_FF")?, used("DP16KD")?],
        chain,
    })
}

/// The module around a block, and its registers.
fn chain(module: &Module) -> (String, u64) {
    let inputs: Vec<&Signal> = module.inputs().map(|(_, s)| s).collect();
    let outputs: Vec<&Signal> = module.outputs().map(|(_, s)| s).collect();
    let bits = |ports: &[&Signal]| ports.iter().map(|s| s.width).sum::<u32>();
    let (ins, outs) = (bits(&inputs), bits(&outputs));
    let mut pins = String::new();
    for (ports, vector) in [(&inputs, "into"), (&outputs, "from")] {
        let mut low = 0;
        for port in ports {
            let _ = write!(pins, ",\n        .{}({vector}[{low} +: {}])", port.name, port.width);
            low += port.width;
        }
    }
    let text = format!(
        "// {} between two chains of registers.
module {CHAIN} (input wire clk, input wire rst, input wire shift, input wire din, output reg dout);
    reg rst_q, shift_q, din_q;
    reg [{ins}:0] into;
    reg [{outs}:0] seen;
    wire [{outs}:0] from;
    assign from[{outs}] = into[{ins}];
    always @(posedge clk) begin
        rst_q <= rst;
        shift_q <= shift;
        din_q <= din;
        dout <= seen[{outs}];
        if (shift_q) into <= {{into, din_q}};
        seen <= shift_q ? {{seen, into[{ins}]}} : from;
    end
    {top} block (
        .clk(clk),
        .rst(rst_q){pins}
    );
endmodule
",
        module.name,
        top = module.name
    );
    (text, u64::from(ins + outs) + 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_clock_and_the_cells_are_read() {
        let report = r#"{"fmax": {"a": {"achieved": 80.5, "constraint": 200}, "b": {"achieved": 42.25}},
            "utilization": {"TRELLIS_COMB": {"used": 7}, "TRELLIS_FF": {"used": 8}, "DP16KD": {"used": 9}}}"#;
        let routed = read(report, 3, 5).expect("complete");
        assert_eq!((routed.fmax_mhz, routed.used, routed.seed, routed.chain), (42.25, [7, 8, 9], 3, 5));
        assert_eq!(read("{}", 1, 0).expect_err("empty"), "it has no fmax");
        let other = report.replace("DP16KD", "DP8KC");
        assert_eq!(read(&other, 1, 0).expect_err("another family"), "it has no DP16KD");
    }
}
