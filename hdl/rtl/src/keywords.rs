//! Names that languages around the hardware keep for themselves.
//!
//! What leaves Weft is read by Verilog and SystemVerilog tools, driven from Python (cocotb: `dut.NAME`), and placed in VHDL designs, which see a module and its
//! ports. A name that one of them cannot write is refused where it is given: it would have to change its name on the way, and one thing would have two.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Keywords of Verilog-2005 and SystemVerilog-2017 (tools read `.v` files as either).
const VERILOG: &str = "
accept_on alias always and assert assign assume automatic before begin bind bins binsof bit break
buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
constraint context continue cover covergroup coverpoint cross deassign default defparam design
disable dist do edge else end endcase endchecker endclass endclocking endfunction endgroup
endinterface endmodule endpackage endprimitive endprogram endproperty endsequence endspecify
endtable enum event eventually expect export extends extern final first_match for force foreach
forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins
illegal_bins implements implies import incdir include initial inout input inside instance int
integer interconnect interface intersect join join_any join_none large let liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime
nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge
primitive priority program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect
pulsestyle_onevent rand randc randcase randsequence rcmos real realtime ref reg reject_on release
repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime
s_until s_until_with scalared sequence shortint shortreal showcancelled signed small soft solve
specify specparam static strength string strong strong0 strong1 struct super supply0 supply1
sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran
tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
until_with untyped use var vectored virtual void wait wait_order wand weak weak0 weak1 while
wildcard wire with within wor xnor xor
";

/// Keywords of Python 3; words that are only sometimes one (`match`, `type`) can be an attribute's name.
const PYTHON: &str = "
False None True and as assert async await break class continue def del elif else except finally for
from global if import in is lambda nonlocal not or pass raise return try while with yield
";

/// Keywords of VHDL-2019, which are the same in any case.
const VHDL: &str = "
abs access after alias all and architecture array assert assume assume_guarantee attribute begin
block body buffer bus case component configuration constant context cover default disconnect downto
else elsif end entity exit fairness file for force function generate generic group guarded if impure
in inertial inout is label library linkage literal loop map mod nand new next nor not null of on
open or others out package parameter port postponed procedure process property protected private
pure range record register reject release rem report restrict restrict_guarantee return rol ror
select sequence severity shared signal sla sll sra srl strong subtype then to transport type
unaffected units until use variable view vmode vpkg vprop vunit wait when while with xnor xor
";

/// Where a name is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// In the module alone: by its Verilog, and by a testbench that reaches into it.
    Inside,
    /// From outside too: a module, a port, an instance.
    Outside,
}

fn words(list: &'static str) -> HashSet<&'static str> {
    list.split_ascii_whitespace().collect()
}

/// Why a name cannot be used, as what follows "it is"; nothing for a name that everybody can write.
pub(crate) fn kept_for(name: &str, seen: Seen) -> Option<String> {
    static LISTS: LazyLock<[(&str, HashSet<&str>); 3]> = LazyLock::new(|| {
        [("SystemVerilog", words(VERILOG)), ("Python", words(PYTHON)), ("VHDL", words(VHDL))]
    });
    match name {
        "clk" => return Some("the clock's".into()),
        "rst" => return Some("the reset's".into()),
        _ => {}
    }
    let folded = name.to_ascii_lowercase();
    let keeps = |language: &str, list: &HashSet<&str>| match language {
        "VHDL" => seen == Seen::Outside && list.contains(folded.as_str()),
        _ => list.contains(name),
    };
    let languages: Vec<&str> = LISTS
        .iter()
        .filter(|(language, list)| keeps(language, list))
        .map(|(language, _)| *language)
        .collect();
    (!languages.is_empty()).then(|| format!("a keyword of {}", languages.join(" and ")))
}
