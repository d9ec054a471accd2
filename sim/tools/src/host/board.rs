//! A board's top module under Verilator, with a serial line on its pins.

use crate::external::{ToolError, VerilatorBuild};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use weft_host::board::Board;
use weft_rtl::ir::Module;
use weft_rtl::verilog::emit;

/// A line to the simulated pins of a board. An exchange goes on until all bytes are sent and the line back has been high for a number of clocks.
pub struct BoardWire {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl BoardWire {
    /// Builds the Verilog of a board around `uart`, a module made by [`weft_host::with_uart`], in a folder, and starts it.
    ///
    /// # Errors
    /// [`ToolError`]: Verilator is missing or refuses the Verilog, or a file cannot be written.
    pub fn new(
        board: &Board,
        uart: &Arc<Module>,
        clocks_per_bit: u64,
        quiet: u64,
        folder: &Path,
    ) -> Result<BoardWire, ToolError> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|cause| ToolError::File {
                path: path.clone(),
                action: "written",
                cause,
            })?;
            Ok(path)
        };
        let mut sources = vec![write("top.v", &board.top(&uart.name))?];
        for file in emit(uart) {
            sources.push(write(&file.name, &file.text)?);
        }
        let driver = write("board.cpp", &driver(clocks_per_bit, quiet))?;
        let plain = VerilatorBuild::new("top", sources, driver, folder.join("verilated"));
        let program = VerilatorBuild { optimise: 1, ..plain }.build()?;
        let mut command = Command::new(&program.path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let start = |cause| ToolError::Start { command: program.path.display().to_string(), cause };
        let mut child = command.spawn().map_err(start)?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let (Some(to), Some(from)) = (to, from) else {
            return Err(start(io::Error::other("it has no pipes")));
        };
        Ok(BoardWire { child, to, from })
    }
}

impl weft_host::Wire for BoardWire {
    fn exchange(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.to.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.to.write_all(bytes)?;
        self.to.flush()?;
        let mut count = [0; 4];
        self.from.read_exact(&mut count)?;
        let mut come = vec![0; u32::from_le_bytes(count) as usize];
        self.from.read_exact(&mut come)?;
        Ok(come)
    }
}

impl Drop for BoardWire {
    fn drop(&mut self) {
        // It ends by itself when its input does; what remains of it is of no interest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// C++ that reads a count (four bytes, lowest first) and bytes, sends them on the serial line, and answers in the same form with what came back.
fn driver(clocks_per_bit: u64, quiet: u64) -> String {
    format!(
        r#"#include "Vtop.h"
#include <cstdint>
#include <cstdio>
#include <vector>

static Vtop top;
static const int BIT = {clocks_per_bit};
static std::vector<uint8_t> come;

// The receiving end: clocks since the start bit fell, or -1.
static int since = -1;
static unsigned collected = 0;

static void clock(int txd) {{
  top.ftdi_txd = txd;
  top.clk_25mhz = 0; top.eval();
  top.clk_25mhz = 1; top.eval();
  int line = top.ftdi_rxd;
  if (since < 0) {{
    if (!line) since = 0;
    return;
  }}
  since++;
  if (since % BIT != BIT / 2) return;
  int bit = since / BIT;
  if (bit >= 1 && bit <= 8) collected |= unsigned(line) << (bit - 1);
  if (bit == 9) {{
    come.push_back(uint8_t(collected));
    collected = 0;
    since = -1;
  }}
}}

int main() {{
  top.fire1 = 0;
  for (int i = 0; i < 400; i++) clock(1);
  uint32_t count;
  while (std::fread(&count, 4, 1, stdin) == 1) {{
    std::vector<uint8_t> send(count);
    if (count && std::fread(send.data(), 1, count, stdin) != count) return 3;
    come.clear();
    for (uint8_t byte : send) {{
      unsigned frame = 0x200u | unsigned(byte) << 1;
      for (int bit = 0; bit < 10; bit++)
        for (int i = 0; i < BIT; i++) clock(frame >> bit & 1);
    }}
    size_t seen = come.size();
    for (long still = 0; still < {quiet}; still++) {{
      clock(1);
      if (since >= 0 || come.size() != seen) still = 0;
      seen = come.size();
    }}
    count = uint32_t(come.size());
    std::fwrite(&count, 4, 1, stdout);
    std::fwrite(come.data(), 1, count, stdout);
    std::fflush(stdout);
  }}
  return 0;
}}
"#
    )
}
