//! The rule of what is for simulation only.

use super::*;

/// Faults put in on purpose and ports that only observe are told from hardware, so that no export takes them
/// for it; without them every block is hardware.
#[test]
fn what_is_for_simulation_only_says_so() {
    every_block(|info, found| {
        let params = (info.params)();
        for context in contexts(info) {
            if let Some(mark) = weft_catalog::simulation_only(&context.module) {
                found.push(format!("{:?} is for simulation only by {mark:?}", context.given));
            }
            for param in params.iter().filter(|p| ["inject", "observe"].contains(&p.name)) {
                let legal = Legal::read(param.legal, &|_| None);
                let numbers = legal.ends().into_iter().map(|n| n.to_string());
                for value in legal.words.iter().cloned().chain(numbers).filter(|v| *v != param.default) {
                    let Ok(module) = context.with(info, param.name, &value) else { continue };
                    let told = weft_catalog::simulation_only(&module).is_some();
                    if !told && emit(&module) != emit(&context.module) {
                        found.push(format!("{} = {value} does not say so", param.name));
                    }
                }
            }
        }
    });
}
