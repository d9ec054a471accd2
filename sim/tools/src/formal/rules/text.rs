//! Rules as Verilog.

use super::{Rule, RuleKind};
use std::fmt::Write;
use weft_rtl::ir::Module;

/// Bits of a request's number: those past them are never answered.
const NUMBERED: u32 = 8;

/// A rule at its ports.
pub(in super::super) struct Text {
    /// Declarations and what keeps them.
    pub state: String,
    /// What is assumed in every cycle outside reset.
    pub holds: String,
}

impl Rule {
    /// The rule at all ports that it speaks of.
    pub(in super::super) fn texts(&self, module: &Module) -> Vec<Text> {
        let exists = |name: &str| module.ports().any(|(_, port)| port.name == name);
        let first = match self.kind {
            RuleKind::Over { without, .. } if exists(without) => return Vec::new(),
            RuleKind::Over { each: "", .. } => return vec![self.at(module, "")],
            RuleKind::Over { each, .. } => each.to_string(),
            RuleKind::Answers { answers, .. } | RuleKind::Echoes { answers, .. } => {
                format!("{answers}_valid")
            }
            RuleKind::Once { asks, .. } => format!("{asks}_valid"),
            RuleKind::Returns { back, .. } => back.to_string(),
            RuleKind::Places { comes, .. } => comes.to_string(),
        };
        let numbers: Vec<String> = match first.contains('#') {
            false => vec![String::new()],
            true => {
                (0..1024).map(|at| at.to_string()).take_while(|n| exists(&first.replace('#', n))).collect()
            }
        };
        numbers.iter().filter(|n| exists(&first.replace('#', n))).map(|n| self.at(module, n)).collect()
    }

    /// The rule at the ports of a number.
    fn at(&self, module: &Module, number: &str) -> Text {
        let name = format!("weft_{}{number}", self.name);
        let port = |name: &str| name.replace('#', number);
        let width =
            |name: &str| module.ports().find(|(_, port)| port.name == name).map_or(1, |(_, port)| port.width);
        match self.kind {
            RuleKind::Over { state, holds, .. } => {
                Text { state: filled(&port(state), module), holds: filled(&port(holds), module) }
            }
            RuleKind::Answers { asks, by, answers, to } | RuleKind::Once { asks, by, answers, to } => {
                let (asks, answers) = (port(asks), port(answers));
                let all = 1u64 << width(&format!("{asks}_{by}")).min(NUMBERED);
                let mut state = format!("reg [{}:0] {name} = 0;\n", all - 1);
                let _ = writeln!(state, "always @(posedge clk) if (weft_run) begin");
                let _ = writeln!(
                    state,
                    "    if ({answers}_valid && {answers}_ready) {name}[{answers}_{to}] <= 1'b0;"
                );
                let _ = writeln!(state, "    if ({asks}_valid && {asks}_ready) {name}[{asks}_{by}] <= 1'b1;");
                state.push_str("end\n");
                // An index past the end reads an unknown value, which a solver may choose.
                let holds = match self.kind {
                    RuleKind::Once { .. } => {
                        format!("!{asks}_valid || ({asks}_{by} < {all} && !{name}[{asks}_{by}])")
                    }
                    _ => format!("!{answers}_valid || ({answers}_{to} < {all} && {name}[{answers}_{to}])"),
                };
                Text { state, holds }
            }
            RuleKind::Echoes { asks, answers, leaf } => {
                let (asks, answers) = (port(asks), port(answers));
                let top = width(&format!("{asks}_{leaf}")) - 1;
                let mut state = format!("reg {name} = 0;\nreg [{top}:0] {name}_said;\n");
                let _ = writeln!(state, "always @(posedge clk) if (weft_run) begin");
                let _ = writeln!(state, "    if ({answers}_valid && {answers}_ready) {name} <= 1'b0;");
                let _ = writeln!(state, "    if ({asks}_valid && {asks}_ready) {name} <= 1'b1;");
                let _ =
                    writeln!(state, "    if ({asks}_valid && {asks}_ready) {name}_said <= {asks}_{leaf};");
                state.push_str("end\n");
                Text {
                    state,
                    holds: format!("!{answers}_valid || ({name} && {answers}_{leaf} == {name}_said)"),
                }
            }
            RuleKind::Returns { sent, back } => {
                let (sent, back) = (port(sent), port(back));
                let mut state = format!("reg [15:0] {name} = 0;\n");
                let _ = writeln!(
                    state,
                    "always @(posedge clk) if (weft_run) {name} <= {name} + {sent} - {back};"
                );
                Text { state, holds: format!("!{back} || {name} != 0") }
            }
            RuleKind::Places { comes, back, places } => {
                let (comes, back) = (port(comes), port(back));
                let places = param(module, places).expect("a rule names a parameter that its block has");
                let mut state = format!("reg [15:0] {name} = {places};\n");
                let _ = writeln!(
                    state,
                    "always @(posedge clk) if (weft_run) {name} <= {name} - {comes} + {back};"
                );
                Text { state, holds: format!("!{comes} || {name} != 0") }
            }
        }
    }
}

/// The text with the module's parameters in it, and what its name says.
pub(super) fn filled(text: &str, module: &Module) -> String {
    let fill = |text: String, (key, value): &(String, String)| text.replace(&format!("{{{key}}}"), value);
    module.params.iter().chain(&said(&module.name)).fold(text.to_string(), fill)
}

/// Numbers in the name of a module: `l128` is `{l}`, `h0` is `{home}`, and of `2x3` the second one is `{gpms}`.
fn said(name: &str) -> Vec<(String, String)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let part = |part: &str| {
        if let Some((_, gpms)) = part.split_once('x').filter(|(gpus, gpms)| digits(gpus) && digits(gpms)) {
            return Some(("gpms".to_string(), gpms.to_string()));
        }
        let (key, value) = part.split_at(part.find(|c: char| c.is_ascii_digit())?);
        let key = if key == "h" { "home" } else { key };
        (!key.is_empty() && digits(value)).then(|| (key.to_string(), value.to_string()))
    };
    name.split('_').filter_map(part).collect()
}

/// A parameter of a module, or of the first part of it that has it.
fn param<'m>(module: &'m Module, key: &str) -> Option<&'m str> {
    let own = module.params.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    own.or_else(|| module.instances.iter().find_map(|i| param(&i.module, key)))
}
