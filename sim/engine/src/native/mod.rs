//! Native code for a unit: one function per distinct module, shared by all its instances.

mod emit;
mod hoist;
mod order;
mod regions;
mod store;

use crate::layout::Layout;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, UserFuncName, Value,
    types::{I8, I64},
};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, FinalizedMachReloc, control::ControlPlane, isa::TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, ModuleReloc, default_libcall_names};
use emit::Emit;
use hoist::{Group, Hoisted, Test};
use order::{Reads, mem_mark, operands};
use regions::{Region, Regions, Step, Task};
use std::collections::HashSet;
use store::{Code, Store};
use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::*;

/// What a cycle does, in order, before any code is made.
pub struct Plan {
    list: Vec<Region>,
    state_root: usize,
    write_root: usize,
    whole: HashSet<(u32, u32)>,
    /// Memories whose contents no write port needs: all reads come before all writes.
    settled: Vec<bool>,
    hoisted: Hoisted,
    /// Registers that are read after the place where they are stored: their new values wait in a copy until the end of the cycle.
    pub buffered: Vec<u32>,
}

impl Plan {
    /// Plans a netlist's cycle.
    pub fn new(netlist: &Netlist) -> Plan {
        let hoisted = hoist::hoist(netlist);
        let reads = Reads::new(netlist, &hoisted);
        let mut regions = Regions::new(netlist, &reads);
        let state_root = regions.place(Regions::state_tasks(netlist));
        let first_write = regions.list.len();
        let write_root = regions.place(Regions::write_tasks(netlist));
        let (mut list, whole) = (regions.list, regions.whole);
        order::sort(&mut list[..first_write], &reads);
        let buffered = order::hazards(&list, &[state_root, write_root], &reads).into_iter().collect();
        let late = Regions::write_tasks(netlist)
            .iter()
            .flat_map(operands)
            .fold(0, |marks, id| marks | reads.mems(id));
        let settled = (0..netlist.mems.len()).map(|m| late & mem_mark(m as u32) == 0).collect();
        Plan { list, state_root, write_root, whole, settled, hoisted, buffered }
    }

    /// Limbs that wait in the state from the start of a cycle until they are used.
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

/// The clock function's address. Argument: the unit's state, laid out by [`Layout`]. Result: bit 0 set when a memory was written, bit 1 when an assertion
/// failed, higher bits when a register with that flag was stored.
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
        body(netlist, plan, layout, flags, &mut builder);
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

fn body(netlist: &Netlist, plan: &Plan, layout: &Layout, flags: &[u32], b: &mut FunctionBuilder) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let state = b.block_params(entry)[0];
    let mut e = Emit::new(netlist, layout, flags, &plan.settled, b, state);
    let zero = e.iconst(0);
    e.store(zero, state, layout.flags);
    for group in &plan.hoisted.groups {
        hoist_group(&mut e, group, &plan.hoisted);
    }
    region(&mut e, &plan.list, plan.state_root);
    for task in Regions::write_tasks(netlist) {
        if task.port().is_some_and(|port| plan.whole.contains(&port)) {
            operands(&task).into_iter().for_each(|id| drop(e.all(id)));
        }
    }
    region(&mut e, &plan.list, plan.write_root);
    for at in 0..layout.buffered {
        let value = e.load(state, layout.copy + at);
        e.store(value, state, at);
    }
    let result = e.load(state, layout.flags);
    e.b.ins().return_(&[result]);
}

/// Computes the expressions of a group if one of its conjunctions holds.
fn hoist_group(e: &mut Emit, group: &Group, hoisted: &Hoisted) {
    let mut needed: Option<Value> = None;
    for conjunction in &group.when {
        let mut all: Option<Value> = None;
        for test in conjunction {
            let bit = holds(e, test);
            all = Some(all.map_or(bit, |sum| e.b.ins().band(sum, bit)));
        }
        let Some(all) = all else { continue };
        needed = Some(needed.map_or(all, |sum| e.b.ins().bor(sum, all)));
    }
    guarded(e, needed, |e| {
        for node in &group.nodes {
            let limbs = e.all(*node);
            let to = e.layout.scratch + hoisted.slots[node];
            limbs.into_iter().enumerate().for_each(|(i, v)| e.store(v, e.state, to + i));
        }
    });
    e.wait(group.nodes.iter().map(|n| (*n, e.layout.scratch + hoisted.slots[n])));
}

fn holds(e: &mut Emit, test: &Test) -> Value {
    match test {
        Test::Bit(node, value) => {
            let bit = e.bit(*node);
            if *value {
                return bit;
            }
            let one = e.b.ins().iconst(I8, 1);
            e.b.ins().bxor(bit, one)
        }
        Test::Is(node, codes) => {
            let value = e.limb(*node, 0);
            let mut any = None;
            for code in codes {
                let want = e.iconst(code.low_u64());
                let same = e.b.ins().icmp(cranelift_codegen::ir::condcodes::IntCC::Equal, value, want);
                any = Some(any.map_or(same, |sum| e.b.ins().bor(sum, same)));
            }
            any.expect("an arm has a code")
        }
    }
}

fn region(e: &mut Emit, list: &[Region], number: usize) {
    // A register stored under a condition counts as changed; where nothing decides, values are compared.
    let compare = list[number].depth == 0;
    let mut touched = Touched::default();
    for step in &list[number].steps {
        match step {
            Step::Do(task) => carry_out(e, task, compare, &mut touched),
            Step::Branch { sel, arms, default } => {
                if arms.iter().all(|(_, r)| list[*r].steps.is_empty()) && list[*default].steps.is_empty() {
                    continue;
                }
                let after = e.b.create_block();
                let blocks: Vec<_> =
                    arms.iter().map(|(codes, _)| (codes.clone(), e.b.create_block())).collect();
                let other = e.b.create_block();
                if e.netlist.node(*sel).width == 1 && arms.len() == 1 {
                    let cond = e.bit(*sel);
                    e.b.ins().brif(cond, blocks[0].1, &[], other, &[]);
                } else {
                    e.dispatch(*sel, &blocks, other);
                }
                let width = e.netlist.node(*sel).width;
                for ((codes, block), (_, inner)) in blocks.into_iter().zip(arms) {
                    e.b.switch_to_block(block);
                    e.open((codes.len() == 1).then(|| (*sel, codes[0].clone())));
                    region(e, list, *inner);
                    e.close();
                    e.b.ins().jump(after, &[]);
                }
                e.b.switch_to_block(other);
                let zero = (width == 1 && arms.len() == 1).then(|| (*sel, weft_rtl::bv::Bv::zero(1)));
                e.open(zero);
                region(e, list, *default);
                e.close();
                e.b.ins().jump(after, &[]);
                e.b.switch_to_block(after);
            }
        }
    }
    let Touched { stored, changed } = touched;
    let stored = (stored != 0).then(|| e.iconst(stored));
    let all = stored.into_iter().chain(changed).reduce(|all, bits| e.b.ins().bor(all, bits));
    all.into_iter().for_each(|bits| e.raise(bits));
}

/// Flags of the registers that a region has stored.
#[derive(Default)]
struct Touched {
    /// Those that count as changed.
    stored: u64,
    /// Those that were compared.
    changed: Option<Value>,
}

/// Emits `inside` under a condition.
fn guarded(e: &mut Emit, cond: Option<Value>, inside: impl FnOnce(&mut Emit)) {
    let Some(cond) = cond else {
        return inside(e);
    };
    let (yes, after) = (e.b.create_block(), e.b.create_block());
    e.b.ins().brif(cond, yes, &[], after, &[]);
    e.b.switch_to_block(yes);
    e.open(None);
    inside(e);
    e.close();
    e.b.ins().jump(after, &[]);
    e.b.switch_to_block(after);
}

/// Stores a register; notes by its flag, if it has one, that it was stored or (with `compare`) that it changed.
fn store_reg(e: &mut Emit, limbs: Vec<Value>, reg: u32, compare: bool, touched: &mut Touched) {
    let at = e.layout.regs[reg as usize];
    let to = if at < e.layout.buffered { e.layout.copy + at } else { at };
    let state = e.state;
    let flag = e.flags[reg as usize];
    if flag != 0 {
        match limbs[..] {
            [value] if compare => {
                let old = e.load(state, at);
                let mut differ = e.b.ins().bxor(old, value);
                if e.netlist.regs[reg as usize].width > 1 {
                    let zero = e.iconst(0);
                    let any = e.b.ins().icmp(cranelift_codegen::ir::condcodes::IntCC::NotEqual, differ, zero);
                    differ = e.b.ins().uextend(I64, any);
                }
                let shift = e.iconst(u64::from(flag));
                let bit = e.b.ins().ishl(differ, shift);
                touched.changed = Some(touched.changed.map_or(bit, |all| e.b.ins().bor(all, bit)));
            }
            _ => touched.stored |= 1 << flag,
        }
    }
    limbs.into_iter().enumerate().for_each(|(i, v)| e.store(v, state, to + i));
}

fn carry_out(e: &mut Emit, task: &Task, compare: bool, touched: &mut Touched) {
    match task {
        Task::Reg { reg, value } => {
            // All limbs first: the value may read the register it goes to.
            let limbs = e.all(*value);
            store_reg(e, limbs, *reg, compare, touched);
        }
        Task::Probe { probe, cond, amount, negated } => {
            let cond = cond.map(|c| {
                let v = e.bit(c);
                if *negated {
                    let one = e.b.ins().iconst(I8, 1);
                    e.b.ins().bxor(v, one)
                } else {
                    v
                }
            });
            let at = e.layout.probes + *probe as usize;
            guarded(e, cond, |e| {
                let add = match amount {
                    Some(a) => e.limb(*a, 0),
                    None => e.iconst(1),
                };
                let old = e.load(e.state, at);
                let sum = e.b.ins().iadd(old, add);
                e.store(sum, e.state, at);
                if *negated {
                    let bit = e.iconst(2);
                    e.raise(bit);
                }
            });
        }
        Task::Write { mem, port, en, addr, first, data } => {
            let cond = en.map(|c| e.bit(c));
            guarded(e, cond, |e| {
                let (base, inside) = e.row(*mem, *addr);
                guarded(e, inside, |e| write(e, *mem, *port, base, *first, *data));
            });
        }
    }
}

fn write(e: &mut Emit, mem: u32, port: u32, base: Value, first: NetId, data: NetId) {
    let netlist = e.netlist;
    let info = &netlist.mems[mem as usize];
    let bit = e.iconst(1);
    e.raise(bit);
    let per = e.layout.lane_limbs[mem as usize];
    if let NetWriteMode::Lane { .. } = info.writes[port as usize].mode {
        let limbs = e.all(data);
        let number = e.limb(first, 0);
        let width = netlist.node(first).width;
        let legal = (width >= 64 || 1u64 << width > u64::from(info.lanes)).then(|| {
            let bound = e.iconst(u64::from(info.lanes));
            e.b.ins().icmp(cranelift_codegen::ir::condcodes::IntCC::UnsignedLessThan, number, bound)
        });
        guarded(e, legal, |e| {
            let stride = e.iconst(8 * per as u64);
            let offset = e.b.ins().imul(number, stride);
            let at = e.b.ins().iadd(base, offset);
            limbs.into_iter().enumerate().for_each(|(i, v)| e.store(v, at, i));
        });
        return;
    }
    // All data first: it may read the row it goes to.
    let w = info.lane_width;
    let lanes: Vec<Vec<Value>> = (0..info.lanes)
        .map(|lane| {
            (0..limbs_for(w) as u32)
                .map(|k| e.extract(data, lane * w + 64 * k, (w - 64 * k).min(64)))
                .collect()
        })
        .collect();
    let full = matches!(&netlist.node(first).op, NetOp::Const(v) if *v == weft_rtl::bv::Bv::ones(v.width()));
    let masks: Vec<Option<Value>> =
        (0..info.lanes).map(|lane| (!full).then(|| e.extract(first, lane, 1))).collect();
    for (lane, (limbs, mask)) in lanes.into_iter().zip(masks).enumerate() {
        guarded(e, mask, |e| {
            limbs.into_iter().enumerate().for_each(|(i, v)| e.store(v, base, lane * per + i));
        });
    }
}
