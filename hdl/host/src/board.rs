//! Boards: a top module around a block behind a UART, and the constraints that go with it.

/// A board with a serial line to its host.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Frequency of its oscillator in Hz.
    pub hertz: u64,
    /// Option of `nextpnr-ecp5` that names the device.
    pub device: &'static str,
    /// Option `--package` of `nextpnr-ecp5`.
    pub package: &'static str,
    /// Constraints: pins and clock. From the board's published constraint file.
    pub constraints: &'static str,
}

/// All boards.
pub const BOARDS: &[Board] = &[Board {
    name: "ulx3s-85f",
    about: "ULX3S v2 and v3 with a Lattice ECP5 LFE5U-85F, 25 MHz, FT231X USB serial",
    hertz: 25_000_000,
    device: "85k",
    package: "CABGA381",
    constraints: ULX3S,
}];

/// Pins of doc/constraints/ulx3s_v20.lpf of github.com/emard/ulx3s.
const ULX3S: &str = "\
# ULX3S v2.x and v3.0.x: oscillator, USB serial, LEDs, button FIRE1 (reset).
SYSCONFIG CONFIG_IOVOLTAGE=3.3 COMPRESS_CONFIG=ON MCCLK_FREQ=62;
LOCATE COMP \"clk_25mhz\" SITE \"G2\";
IOBUF PORT \"clk_25mhz\" PULLMODE=NONE IO_TYPE=LVCMOS33;
FREQUENCY PORT \"clk_25mhz\" 25 MHZ;
# Towards the host.
LOCATE COMP \"ftdi_rxd\" SITE \"L4\";
IOBUF PORT \"ftdi_rxd\" PULLMODE=UP IO_TYPE=LVCMOS33 DRIVE=4;
# From the host.
LOCATE COMP \"ftdi_txd\" SITE \"M1\";
IOBUF PORT \"ftdi_txd\" PULLMODE=UP IO_TYPE=LVCMOS33;
LOCATE COMP \"fire1\" SITE \"R1\";
IOBUF PORT \"fire1\" PULLMODE=DOWN IO_TYPE=LVCMOS33;
LOCATE COMP \"led[0]\" SITE \"B2\";
IOBUF PORT \"led[0]\" PULLMODE=NONE IO_TYPE=LVCMOS33 DRIVE=4;
LOCATE COMP \"led[1]\" SITE \"C2\";
IOBUF PORT \"led[1]\" PULLMODE=NONE IO_TYPE=LVCMOS33 DRIVE=4;
";

impl Board {
    /// The board of a name.
    pub fn named(name: &str) -> Option<&'static Board> {
        BOARDS.iter().find(|board| board.name == name)
    }

    /// Clocks of a bit at a baud rate, rounded; `None` if the rate is off by more than 2 %, which a receiver does not bear.
    pub fn clocks_per_bit(&self, baud: u64) -> Option<u64> {
        let clocks = (self.hertz + baud / 2).checked_div(baud)?;
        let real = self.hertz.checked_div(clocks)?;
        (real.abs_diff(baud) * 50 <= baud).then_some(clocks)
    }

    /// Verilog of the top module `top` around a block behind a UART.
    ///
    /// It holds reset for 256 cycles after configuration and while FIRE1 is pressed; LED 0: running, LED 1: a byte was lost.
    pub fn top(&self, uart: &str) -> String {
        format!(
            "// Top module for {}.
module top (
    input wire clk_25mhz,
    input wire ftdi_txd,
    output wire ftdi_rxd,
    input wire fire1,
    output wire [1:0] led
);
    // Configuration clears the counter; its top bit ends reset.
    reg [8:0] up;
    reg [1:0] fire;
    initial begin
        up = 9'd0;
        fire = 2'd0;
    end
    wire rst = !up[8];
    wire overrun;
    always @(posedge clk_25mhz) begin
        fire <= {{fire[0], fire1}};
        if (fire[1]) up <= 9'd0;
        else if (rst) up <= up + 9'd1;
    end
    {uart} board (
        .clk(clk_25mhz),
        .rst(rst),
        .rxd(ftdi_txd),
        .txd(ftdi_rxd),
        .overrun(overrun)
    );
    assign led = {{overrun, !rst}};
endmodule
",
            self.about
        )
    }
}
