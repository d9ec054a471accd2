//! The module under construction: a stack of builders, one per module being described on this thread.

pub(crate) mod check;

use crate::bv::Bv;
use crate::error::{ElabError, ElabErrorKind, ElabErrors};
use crate::ir::*;
use crate::keywords::{Seen, kept_for};
use crate::mutant;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

thread_local! {
    static STACK: RefCell<Vec<Builder>> = const { RefCell::new(Vec::new()) };
}

/// Module under construction.
pub(crate) struct Builder {
    pub module: Module,
    pub errors: Vec<ElabError>,
    /// Statement lists being filled, innermost last.
    pub scopes: Vec<Vec<Stmt>>,
    pub names: HashMap<String, Loc>,
    pub unused_ok: Vec<SigId>,
    pub channels: Vec<ChannelEnd>,
    /// Lines that observers tell of, innermost last.
    pub about: Vec<NodeId>,
    /// What is declared when all assignments are known.
    at_end: Vec<Box<dyn FnOnce()>>,
}

/// The end of a channel in the module, as the check of its guards sees it.
pub(crate) struct ChannelEnd {
    pub name: String,
    pub end: End,
    /// What `take` or `send` sets: the wire that empties the buffer, the register of `valid`.
    pub sets: SigId,
    /// What tells that a message is there, or that one may be sent.
    pub told_by: [SigId; 2],
    pub loc: Loc,
}

/// Which end of a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Receiver,
    Sender,
}

impl Builder {
    pub fn error(&mut self, loc: Loc, kind: ElabErrorKind) {
        let module = self.module.name.clone();
        self.errors.push(ElabError { module, loc, kind });
    }

    pub fn node(&mut self, op: Op, width: u32, loc: Loc) -> NodeId {
        self.typed_node(op, width, LeafType::Bits, loc)
    }

    pub fn typed_node(&mut self, op: Op, width: u32, ty: LeafType, loc: Loc) -> NodeId {
        let id = NodeId(self.module.nodes.len() as u32);
        self.module.nodes.push(Node { op, width, name: None, ty, loc });
        id
    }

    pub fn constant(&mut self, value: Bv, loc: Loc) -> NodeId {
        let width = value.width();
        self.node(Op::Const(value), width, loc)
    }

    /// Takes a name that is not seen outside the module.
    pub fn claim_name(&mut self, name: &str, loc: Loc) {
        self.claim(name, loc, wrong_name(name, Seen::Inside, &format!("{name}_value")));
    }

    /// Takes the name of an instance.
    pub fn claim_instance(&mut self, name: &str, loc: Loc) {
        self.claim(name, loc, wrong_name(name, Seen::Outside, &format!("u_{name}")));
    }

    fn claim(&mut self, name: &str, loc: Loc, wrong: Option<ElabErrorKind>) {
        if let Some(kind) = wrong {
            self.error(loc, kind);
        }
        if let Some(first) = self.names.insert(name.to_string(), loc) {
            self.error(loc, ElabErrorKind::DuplicateName { name: name.to_string(), first });
        }
    }

    pub fn signal(&mut self, signal: Signal) -> SigId {
        let (name, is_port) = (&signal.name, signal.output || signal.kind == SigKind::Input);
        let (seen, what) = if is_port { (Seen::Outside, "port") } else { (Seen::Inside, "value") };
        self.claim(name, signal.loc, wrong_name(name, seen, &format!("{name}_{what}")));
        let id = SigId(self.module.signals.len() as u32);
        self.module.signals.push(signal);
        id
    }

    pub fn push(&mut self, stmt: Stmt) {
        self.scopes.last_mut().expect("the module's body is open").push(stmt);
    }

    pub fn assign(&mut self, target: SigId, value: NodeId, loc: Loc) {
        let (name, left, is_input) = {
            let s = self.module.signal(target);
            (s.name.clone(), s.width, s.kind == SigKind::Input)
        };
        if is_input {
            self.error(loc, ElabErrorKind::AssignInput { name });
            return;
        }
        let right = self.module.node(value).width;
        if left != right {
            let what = format!("assignment to {name}");
            self.error(loc, ElabErrorKind::WidthMismatch { what, left, right });
            return;
        }
        self.push(Stmt::Assign { target, value, loc });
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let head = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    head && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a name can be that of something inside a module.
pub(crate) fn legal_name(name: &str) -> bool {
    wrong_name(name, Seen::Inside, "").is_none()
}

/// What is wrong with a name; `instead` is one that would do in the place of a keyword.
fn wrong_name(name: &str, seen: Seen, instead: &str) -> Option<ElabErrorKind> {
    if !is_identifier(name) {
        return Some(ElabErrorKind::IllegalName { name: name.to_string() });
    }
    if let Some(reason) = kept_for(name, seen) {
        return Some(ElabErrorKind::KeptName {
            name: name.to_string(),
            reason,
            instead: instead.to_string(),
        });
    }
    let outside = seen == Seen::Outside;
    let underscores = name.starts_with('_') || name.ends_with('_') || name.contains("__");
    (outside && underscores).then(|| ElabErrorKind::Underscores { name: name.to_string() })
}

/// Runs `f` on the innermost module under construction.
pub(crate) fn with<R>(f: impl FnOnce(&mut Builder) -> R) -> R {
    STACK.with(|s| {
        let mut stack = s.borrow_mut();
        f(stack.last_mut().expect("signals are made and used only inside Module::build"))
    })
}

/// Runs `body` with a fresh statement list and returns the list.
pub(crate) fn scoped(body: impl FnOnce()) -> Vec<Stmt> {
    with(|b| b.scopes.push(Vec::new()));
    body();
    with(|b| b.scopes.pop().expect("scopes nest"))
}

/// Has observers declared when the description of the module has ended.
pub(crate) fn at_end(declare: impl FnOnce() + 'static) {
    with(|b| b.at_end.push(Box::new(declare)));
}

impl Module {
    /// Describes a module: `describe` runs once, declares ports, registers and memories and writes statements. All mistakes it
    /// makes are returned together.
    ///
    /// # Errors
    /// Everything in [`ElabErrorKind`] but loops that run through several modules, which flattening finds.
    #[track_caller]
    pub fn build(name: &str, kind: ModuleKind, describe: impl FnOnce()) -> Result<Arc<Module>, ElabErrors> {
        let module = Module {
            name: name.to_string(),
            kind,
            doc: String::new(),
            params: Vec::new(),
            signals: Vec::new(),
            nodes: Vec::new(),
            body: Vec::new(),
            mems: Vec::new(),
            instances: Vec::new(),
            probes: Vec::new(),
            by_name: PortIndex::default(),
        };
        let mut builder = Builder {
            module,
            errors: Vec::new(),
            scopes: vec![Vec::new()],
            names: HashMap::new(),
            unused_ok: Vec::new(),
            channels: Vec::new(),
            about: Vec::new(),
            at_end: Vec::new(),
        };
        // A generator joins the names of modules from those of their parts: two underscores tell them apart.
        let wrong = wrong_name(name, Seen::Outside, &format!("{name}_unit"));
        if let Some(kind) = wrong.filter(|kind| !matches!(kind, ElabErrorKind::Underscores { .. })) {
            builder.error(Loc::caller(), kind);
        }
        STACK.with(|s| s.borrow_mut().push(builder));
        let guard = PopOnUnwind;
        describe();
        let (change, written) = with(plant);
        // What is declared at the end may want something declared at the end.
        loop {
            let last = with(|b| std::mem::take(&mut b.at_end));
            if last.is_empty() {
                break;
            }
            last.into_iter().for_each(|declare| declare());
        }
        std::mem::forget(guard);
        let mut b = STACK.with(|s| s.borrow_mut().pop()).expect("pushed above");
        b.module.body = b.scopes.pop().expect("the body's list");
        // Checks are of what the author wrote.
        let changed = written.map(|written| std::mem::replace(&mut b.module.body, written));
        check::module(&mut b);
        if let Some(change) = change.filter(|_| b.errors.is_empty())
            && let Err(error) = mutant::completed(&mut b.module, &change, changed)
        {
            b.error(Loc::caller(), ElabErrorKind::Other(error.to_string()));
        }
        if b.errors.is_empty() { Ok(Arc::new(b.module)) } else { Err(ElabErrors(b.errors)) }
    }
}

/// What a mutant changes in the module, and the body as its author wrote it if another one has taken its place.
fn plant(b: &mut Builder) -> (Option<mutant::Change>, Option<Vec<Stmt>>) {
    match mutant::before_observers(&mut b.module, &b.scopes[0]) {
        Ok(Some(mut change)) => {
            let written = change.body().map(|changed| std::mem::replace(&mut b.scopes[0], changed));
            (Some(change), written)
        }
        Ok(None) => (None, None),
        Err(error) => {
            let at = Loc { file: "WEFT_MUTANT", line: 0 };
            b.error(at, ElabErrorKind::Other(error.to_string()));
            (None, None)
        }
    }
}

/// Keeps the stack sound when a description panics.
struct PopOnUnwind;

impl Drop for PopOnUnwind {
    fn drop(&mut self) {
        STACK.with(|s| s.borrow_mut().pop());
    }
}

/// Sets the text at the head of the module's Verilog and documentation.
pub fn doc(text: &str) {
    with(|b| b.module.doc = text.to_string());
}

/// Records a parameter for reports.
pub fn param(name: &str, value: impl ToString) {
    with(|b| b.module.params.push((name.to_string(), value.to_string())));
}

/// Reports a mistake of the description itself, such as parameters that do not fit each other.
#[track_caller]
pub fn elab_error(text: impl Into<String>) {
    let loc = Loc::caller();
    with(|b| b.error(loc, ElabErrorKind::Other(text.into())));
}
