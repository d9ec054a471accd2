//! Native code for a unit: one function per distinct module, shared by all its instances.

mod body;
mod cost;
mod emit;
mod hoist;
mod order;
mod pieces;
mod regions;
mod sets;
mod store;
mod task;
mod tasks;
mod writes;

use crate::layout::{Layout, Needs};
use cranelift_codegen::ir::{AbiParam, UserFuncName, types::I64};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{control::ControlPlane, isa::OwnedTargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc, default_libcall_names};
use hoist::Hoisted;
use order::Reads;
use pieces::Pieces;
use regions::Regions;
use store::{Kept, Store};
use task::{Region, Task};
use weft_rtl::netlist::*;
use writes::Writes;

/// What a cycle does, in order, before any code is made.
pub struct Plan {
    regions: Vec<Region>,
    /// Memories that no write port reads: all their reads come before all their writes.
    settled: Vec<bool>,
    hoisted: Hoisted,
    /// What is left out when nothing has changed.
    pieces: Pieces,
    /// What the layout has to have room for.
    pub needs: Needs,
}

impl Plan {
    /// Plans a netlist's cycle.
    pub fn new(netlist: &Netlist) -> Plan {
        let ports = Writes::new(netlist);
        let hoisted = hoist::hoist(netlist, &ports.early, pieces::worth(netlist));
        let reads = Reads::new(netlist, &hoisted);
        let mut regions = Regions::new(netlist, &ports);
        let probes = regions.place(Regions::probe_tasks(netlist));
        let state = regions.place(Regions::state_tasks(netlist));
        let first_write = regions.list.len();
        let writes = regions.place(ports.tasks.clone());
        // In the order in which they are visited.
        let (mut list, roots) = (regions.list, [probes, state, writes]);
        order::sort(&mut list[..first_write], &reads);
        let buffered: Vec<u32> = order::hazards(&list, &roots, &reads).into_iter().collect();
        let late = |mem: u32| {
            let late = |node: &NetId| reads.of(*node).has(reads.mem(mem));
            ports.tasks.iter().flat_map(Task::operands).any(|node| late(&node))
        };
        let settled = (0..netlist.mems.len()).map(|mem| !late(mem as u32)).collect();
        let pieces = Pieces::new(netlist, &hoisted, &list, &roots, &buffered, &reads);
        let (words, inputs) = (pieces.words, pieces.inputs.clone());
        let needs = Needs { buffered, scratch: hoisted.limbs, words, inputs };
        Plan { regions: list, settled, hoisted, pieces, needs }
    }
}

/// Compiled clock function of a unit.
pub struct Native {
    // Owns the code; never read, only kept.
    _module: JITModule,
    /// How to call it, as long as `self` lives.
    pub call: NativeCall,
}

/// The clock function's address. Argument: the unit's state, laid out by [`Layout`]. Result: bit 0 set when a
/// memory was written, bit 1 when an assertion failed, higher bits when a register with that flag has changed.
#[derive(Clone, Copy)]
pub struct NativeCall {
    clock: unsafe extern "C" fn(*mut u64) -> u64,
    size: usize,
}

// SAFETY: the code is immutable once finalised and touches only the state it is given.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

impl Native {
    /// Compiles a netlist, whose registers have these flags, or takes its code from the store; profilers show
    /// the code under its name. Tells what the state has to have room for and whether it was compiled.
    ///
    /// # Errors
    /// What Cranelift says; every netlist of a checked module compiles.
    pub fn new(netlist: &Netlist, flags: &[u32]) -> Result<(Native, Layout, bool), String> {
        let mut module = JITModule::new(JITBuilder::with_isa(target()?, default_libcall_names()));
        let store = Store::of_environment();
        let key = store::key(netlist, flags, module.isa());
        let kept = store.as_ref().and_then(|store| store.find(key));
        let compiled = kept.is_none();
        let (kept, relocations) = match kept {
            Some(kept) => (kept, Vec::new()),
            None => compile(&mut module, netlist, flags)?,
        };
        let layout = Layout::new(netlist, &kept.needs);
        let mut signature = module.make_signature();
        signature.params.push(AbiParam::new(I64));
        signature.returns.push(AbiParam::new(I64));
        let id =
            module.declare_function(&netlist.name, Linkage::Local, &signature).map_err(|e| e.to_string())?;
        module
            .define_function_bytes(id, kept.alignment, &kept.code, &relocations)
            .map_err(|e| e.to_string())?;
        if let Some(store) = store
            && compiled
            && relocations.is_empty()
        {
            store.keep(key, &kept);
        }
        module.finalize_definitions().map_err(|e| e.to_string())?;
        let code = module.get_finalized_function(id);
        // SAFETY: the function was declared with exactly this signature.
        let clock = unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(*mut u64) -> u64>(code) };
        let call = NativeCall { clock, size: layout.size };
        Ok((Native { _module: module, call }, layout, compiled))
    }
}

/// The machine that runs this program.
fn target() -> Result<OwnedTargetIsa, String> {
    let mut options = settings::builder();
    for (key, value) in [("use_colocated_libcalls", "false"), ("is_pic", "false"), ("opt_level", "speed")] {
        options.set(key, value).map_err(|e| e.to_string())?;
    }
    if !cfg!(debug_assertions) {
        options.set("enable_verifier", "false").map_err(|e| e.to_string())?;
    }
    cranelift_native::builder()?.finish(settings::Flags::new(options)).map_err(|e| e.to_string())
}

/// Machine code of a netlist's clock function, and what it refers to outside itself.
fn compile(
    module: &mut JITModule,
    netlist: &Netlist,
    flags: &[u32],
) -> Result<(Kept, Vec<ModuleReloc>), String> {
    let plan = Plan::new(netlist);
    let layout = Layout::new(netlist, &plan.needs);
    let mut ctx = module.make_context();
    ctx.func.signature.params.push(AbiParam::new(I64));
    ctx.func.signature.returns.push(AbiParam::new(I64));
    // The first function that the module will declare.
    let id = FuncId::from_u32(0);
    ctx.func.name = UserFuncName::user(0, id.as_u32());
    let mut shared = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut ctx.func, &mut shared);
    body::body(netlist, &plan, &layout, flags, &mut builder);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    ctx.compile(module.isa(), &mut ControlPlane::default()).map_err(|e| format!("{e:?}"))?;
    let buffer = &ctx.compiled_code().expect("compiled above").buffer;
    let kept =
        Kept { needs: plan.needs, alignment: u64::from(buffer.alignment), code: buffer.data().to_vec() };
    let relocations = buffer.relocs().iter();
    let relocations = relocations.map(|one| ModuleReloc::from_mach_reloc(one, &ctx.func, id)).collect();
    Ok((kept, relocations))
}

impl NativeCall {
    /// One clock cycle; returns the flags.
    ///
    /// # Panics
    /// When the state has another size than the layout's.
    #[inline]
    pub fn clock(&self, state: &mut [u64]) -> u64 {
        assert_eq!(state.len(), self.size, "state of another unit");
        // SAFETY: the code stays inside the layout, whose size was checked.
        unsafe { (self.clock)(state.as_mut_ptr()) }
    }
}
