//! Coherence directories (rec.md section 4, hmg.md section 4) and the invalidation and fence machinery around them (rec.md sections 4, 5, 7).

mod covers;
pub mod egress;
mod evb;
pub mod fence;
pub mod hier_fence;
pub mod index;
pub mod ingress;
mod inv_ack;
pub mod keys;
mod lookup;
pub mod params;
mod ports;
pub mod recv;
pub mod slice;
mod stage2;
pub mod table;
mod types;
pub mod vi;
pub mod write_inv;

pub use params::{DirKind, DirParams, Policy, TagStyle};
pub use slice::directory;
pub use stage2::DirState;

use crate::registry::{BlockError, BlockInfo, ParamSet};
use keys::{dir_from, dir_param_infos};
use std::sync::Arc;
use weft_rtl::error::ElabErrors;
use weft_rtl::ir::Module;

fn elaborated(block: &str, module: Result<Arc<Module>, ElabErrors>) -> Result<Arc<Module>, BlockError> {
    module.map_err(|errors| BlockError::Elab { block: block.to_string(), errors })
}

fn build(kind: DirKind, block: &str, p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    elaborated(block, directory(&dir_from(kind, p)?))
}

/// The blocks of this folder.
pub fn directory_blocks() -> Vec<BlockInfo> {
    let mut all = slices();
    all.extend(machinery());
    all
}

fn slices() -> Vec<BlockInfo> {
    vec![
        BlockInfo {
            name: "baseline-directory",
            about: "directory slice with one line per entry",
            params: || dir_param_infos(DirKind::Perline),
            build: |p| build(DirKind::Perline, "baseline-directory", p),
        },
        BlockInfo {
            name: "group-directory",
            about: "directory slice with one sharer vector per aligned four lines",
            params: || dir_param_infos(DirKind::Group4),
            build: |p| build(DirKind::Group4, "group-directory", p),
        },
        BlockInfo {
            name: "rec-directory",
            about: "directory slice with one entry per range and exact sharers per line",
            params: || dir_param_infos(DirKind::Rec),
            build: |p| build(DirKind::Rec, "rec-directory", p),
        },
        BlockInfo {
            name: "nhcc-directory",
            about: "directory slice of a flat multi-GPU system: every other GPM is a sharer of its own",
            params: || dir_param_infos(DirKind::Nhcc),
            build: |p| build(DirKind::Nhcc, "nhcc-directory", p),
        },
        BlockInfo {
            name: "hmg-directory",
            about: "directory slice of a hierarchical multi-GPU system: GPMs of its GPU and other GPUs are sharers",
            params: || dir_param_infos(DirKind::Hmg),
            build: |p| build(DirKind::Hmg, "hmg-directory", p),
        },
        BlockInfo {
            name: "hmg-rec-directory",
            about: "directory slice of a hierarchical multi-GPU system with one entry per range and exact sharers per line",
            params: || dir_param_infos(DirKind::HmgRec),
            build: |p| build(DirKind::HmgRec, "hmg-rec-directory", p),
        },
        BlockInfo {
            name: "gpu-vi-directory",
            about: "directory slice of a flat multi-GPU system whose Invs are acknowledged: a store waits until no other copy is left",
            params: || dir_param_infos(DirKind::GpuVi),
            build: |p| build(DirKind::GpuVi, "gpu-vi-directory", p),
        },
    ]
}

/// What a node needs beside its directory.
fn machinery() -> Vec<BlockInfo> {
    vec![
        BlockInfo {
            name: "inv-egress",
            about: "invalidations of the directory slices into a FIFO per destination and link",
            params: egress::egress_params,
            build: egress::build_egress,
        },
        BlockInfo {
            name: "inv-ingress",
            about: "invalidations of the links to the L2 banks, and collection of fence markers",
            params: ingress::ingress_params,
            build: ingress::build_ingress,
        },
        BlockInfo {
            name: "fence-unit",
            about: "completes a release when every earlier invalidation has landed",
            params: fence::fence_params,
            build: fence::build_fence,
        },
        BlockInfo {
            name: "hier-fence-unit",
            about: "releases and acquires of GPU and of system scope in a hierarchical multi-GPU system",
            params: hier_fence::hier_fence_params,
            build: hier_fence::build_hier_fence,
        },
    ]
}
