//! Recorded executions judged by axioms, beside golden verdicts.

mod golden;
mod oracle;
