//! Co-simulation: the exported Verilog of a module under another simulator against the engine.

#[cfg(test)]
mod tests;
