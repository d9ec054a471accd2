//! Why a block cannot stand in a rust-hdl design.

use thiserror::Error;
use weft_engine::EngineError;

/// Why a block cannot stand in a rust-hdl design.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum BridgeError {
    #[error("{ty} does not have the ports of module {module}: {problems}; declare it as\n{declaration}")]
    Ports { ty: String, module: String, problems: String, declaration: String },
    #[error(
        "module {module} is a part of a block and may answer within a cycle, which a rust-hdl design would see too late; build it with ModuleKind::Block"
    )]
    Part { module: String },
    #[error(
        "output {port} of module {module} is an input passed through; connect the two in the rust-hdl design and leave the port out"
    )]
    PassedThrough { module: String, port: String },
    #[error(transparent)]
    Engine(#[from] EngineError),
}
