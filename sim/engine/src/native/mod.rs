//! Native code for a unit: one function per distinct module, shared by all its instances.

mod body;
mod emit;
mod hoist;
mod order;
mod pieces;
mod regions;
mod sets;
mod store;
mod tasks;
mod writes;

use crate::layout::Layout;
use cranelift_codegen::ir::{AbiParam, UserFuncName, types::I64};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, FinalizedMachReloc, control::ControlPlane, isa::TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, ModuleReloc, default_libcall_names};
use hoist::Hoisted;
use order::Reads;
use pieces::Pieces;
use regions::{Region, Regions};
use store::{Code, Store};
use weft_rtl::netlist::*;
use writes::Writes;

/// What a cycle does, in order, before any code is made.
pub struct Plan {
    regions: Vec<Region>,
    /// Memories that no write port reads: all their reads come before all their writes.
    settled: Vec<bool>,
    hoisted: Hoisted,
    /// Registers that are read after the place where they are stored: their new values wait in a copy until
    /// the end of the cycle.
    pub buffered: Vec<u32>,
    /// What is left out when nothing has changed.
    pub(crate) pieces: Pieces,
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
            ports.tasks.iter().flat_map(order::operands).any(|node| late(&node))
        };
        let settled = (0..netlist.mems.len()).map(|mem| !late(mem as u32)).collect();
        let pieces = Pieces::new(netlist, &hoisted, &list, &roots, &buffered, &reads);
        Plan { regions: list, settled, hoisted, buffered, pieces }
    }

    /// Limbs that wait in the state until they are used.
    pub fn scratch(&self) -> usize {
        self.hoisted.limbs
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
    /// Compiles a netlist; profilers show the code under its name.
    ///
    /// # Errors
    /// What Cranelift says; every netlist of a checked module compiles.
    pub fn compile(netlist: &Netlist, plan: &Plan, layout: &Layout, flags: &[u32]) -> Result<Native, String> {
        let mut options = settings::builder();
        for (key, value) in [("use_colocated_libcalls", "false"), ("is_pic", "false"), ("opt_level", "speed")]
        {
            options.set(key, value).map_err(|e| e.to_string())?;
        }
        if !cfg!(debug_assertions) {
            options.set("enable_verifier", "false").map_err(|e| e.to_string())?;
        }
        let isa =
            cranelift_native::builder()?.finish(settings::Flags::new(options)).map_err(|e| e.to_string())?;
        let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let mut ctx = module.make_context();
        ctx.func.signature.params.push(AbiParam::new(I64));
        ctx.func.signature.returns.push(AbiParam::new(I64));
        let id = module
            .declare_function(&netlist.name, Linkage::Local, &ctx.func.signature)
            .map_err(|e| e.to_string())?;
        ctx.func.name = UserFuncName::user(0, id.as_u32());
        let mut shared = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut ctx.func, &mut shared);
        body::body(netlist, plan, layout, flags, &mut builder);
        builder.seal_all_blocks();
        builder.finalize(module.target_config());
        let (code, relocations) = translate(&mut ctx, module.isa(), Store::of_environment().as_ref())?;
        let relocations: Vec<_> =
            relocations.iter().map(|one| ModuleReloc::from_mach_reloc(one, &ctx.func, id)).collect();
        module
            .define_function_bytes(id, code.alignment, &code.bytes, &relocations)
            .map_err(|e| e.to_string())?;
        module.clear_context(&mut ctx);
        module.finalize_definitions().map_err(|e| e.to_string())?;
        let code = module.get_finalized_function(id);
        // SAFETY: the function was declared with exactly this signature.
        let clock = unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(*mut u64) -> u64>(code) };
        Ok(Native { _module: module, call: NativeCall { clock, size: layout.size } })
    }
}

/// Machine code of a function and what it refers to outside itself: from the store if it is there, else
/// compiled.
fn translate(
    ctx: &mut Context,
    isa: &dyn TargetIsa,
    store: Option<&Store>,
) -> Result<(Code, Vec<FinalizedMachReloc>), String> {
    let store = store.map(|store| (store, store::key(&ctx.func, isa)));
    if let Some(code) = store.and_then(|(store, key)| store.find(key)) {
        return Ok((code, Vec::new()));
    }
    let compiled = ctx.compile(isa, &mut ControlPlane::default()).map_err(|e| format!("{e:?}"))?;
    let buffer = &compiled.buffer;
    let code = Code { alignment: u64::from(buffer.alignment), bytes: buffer.data().to_vec() };
    if let Some((store, key)) = store
        && buffer.relocs().is_empty()
    {
        store.keep(key, &code);
    }
    Ok((code, buffer.relocs().to_vec()))
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
