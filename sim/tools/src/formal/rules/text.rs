//! Rules as Verilog.

use super::{Rule, RuleKind};
use std::fmt::Write;
use weft_rtl::ir::Module;

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
        let first = match self.kind {
            RuleKind::Always(holds) => {
                let fill = |text: String, (key, value): &(String, String)| text.replace(&format!("{{{key}}}"), value);
                let holds = module.params.iter().fold(holds.to_string(), fill);
                return vec![Text { state: String::new(), holds }];
            }
            RuleKind::Answers { answers, .. } => format!("{answers}_valid"),
            RuleKind::Returns { back, .. } => back.to_string(),
            RuleKind::Places { comes, .. } => comes.to_string(),
        };
        let exists = |name: &str| module.ports().any(|(_, port)| port.name == name);
        let numbers: Vec<String> = match first.contains('#') {
            false => vec![String::new()],
            true => (0..1024).map(|at| at.to_string()).take_while(|n| exists(&first.replace('#', n))).collect(),
        };
        numbers.iter().filter(|n| exists(&first.replace('#', n))).map(|n| self.at(module, n)).collect()
    }

    /// The rule at the ports of a number.
    fn at(&self, module: &Module, number: &str) -> Text {
        let name = format!("weft_{}{number}", self.name);
        let port = |name: &str| name.replace('#', number);
        match self.kind {
            RuleKind::Always(_) => Text { state: String::new(), holds: "1'b1".into() },
            RuleKind::Answers { asks, by, answers, to } => {
                let (asks, answers) = (port(asks), port(answers));
                let leaf = |channel: &str, leaf: Option<&str>| leaf.map(|leaf| format!("{channel}_{leaf}"));
                let width = |leaf: &String| module.ports().find(|(_, p)| p.name == *leaf).map_or(1, |(_, p)| p.width);
                let (by, to) = (leaf(&asks, by), leaf(&answers, to));
                let all = 1u64 << by.as_ref().map_or(0, width);
                let bit = |leaf: Option<String>| leaf.map_or_else(String::new, |leaf| format!("[{leaf}]"));
                let (by, to) = (bit(by), bit(to));
                let mut state = format!("reg [{}:0] {name} = 0;\n", all - 1);
                let _ = writeln!(state, "always @(posedge clk) if (weft_run) begin");
                let _ = writeln!(state, "    if ({answers}_valid && {answers}_ready) {name}{to} <= 1'b0;");
                let _ = writeln!(state, "    if ({asks}_valid && {asks}_ready) {name}{by} <= 1'b1;");
                state.push_str("end\n");
                Text { state, holds: format!("!{answers}_valid || {name}{to}") }
            }
            RuleKind::Returns { sent, back } => {
                let (sent, back) = (port(sent), port(back));
                let mut state = format!("reg [15:0] {name} = 0;\n");
                let _ = writeln!(state, "always @(posedge clk) if (weft_run) {name} <= {name} + {sent} - {back};");
                Text { state, holds: format!("!{back} || {name} != 0") }
            }
            RuleKind::Places { comes, back, places } => {
                let (comes, back) = (port(comes), port(back));
                let places = module.params.iter().find(|(key, _)| key == places).map_or("0", |(_, n)| n.as_str());
                let mut state = format!("reg [15:0] {name} = {places};\n");
                let _ = writeln!(state, "always @(posedge clk) if (weft_run) {name} <= {name} - {comes} + {back};");
                Text { state, holds: format!("!{comes} || {name} != 0") }
            }
        }
    }
}
