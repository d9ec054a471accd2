//! The source itself: no file imports another one in a circle, except a module and what is below it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// A module's path inside its crate.
type Module = Vec<String>;

/// The modules that a file names, outside of its tests.
struct Names<'a> {
    own: &'a Module,
    all: &'a BTreeSet<Module>,
    found: BTreeSet<Module>,
}

impl Names<'_> {
    /// Notes the module that a path from this file begins with.
    fn note(&mut self, path: &[String]) {
        let (mut base, mut rest) = (self.own.clone(), path);
        match path.first().map(String::as_str) {
            Some("crate") => (base, rest) = (Module::new(), &path[1..]),
            Some("self") => rest = &path[1..],
            Some("super") => {
                let up = path.iter().take_while(|word| *word == "super").count();
                base.truncate(base.len().saturating_sub(up));
                rest = &path[up..];
            }
            Some(word) if self.all.contains(&[&base[..], &[word.to_string()]].concat()) => {}
            _ => return,
        }
        let full = [base, rest.to_vec()].concat();
        let module = (0..=full.len()).rev().map(|n| full[..n].to_vec()).find(|m| self.all.contains(m));
        self.found.extend(module.filter(|m| m != self.own));
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(rename) => self.note(&with(&rename.ident)),
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(before, item)),
        }
    }
}

/// An item stands only in tests.
fn of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes
        .iter()
        .any(|a| a.path().is_ident("cfg") && a.parse_args::<syn::Ident>().is_ok_and(|i| i == "test"))
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !of_tests(&item.attrs) {
            self.tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if words.len() > 1 {
            self.note(&words);
        }
        visit::visit_path(self, path);
    }
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the source") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn module_of(root: &Path, file: &Path) -> Module {
    let inside = file.strip_prefix(root).expect("below the root").with_extension("");
    let mut words: Module = inside.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if words.last().is_some_and(|word| word == "mod" || word == "lib" || word == "main") {
        words.pop();
    }
    words
}

/// The files of a crate that import one another in circles, one list for each.
fn circles(root: &Path) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    files(root, &mut paths);
    let texts: BTreeMap<Module, PathBuf> = paths.into_iter().map(|f| (module_of(root, &f), f)).collect();
    let all: BTreeSet<Module> = texts.keys().cloned().collect();
    let related = |a: &Module, b: &Module| a.starts_with(b) || b.starts_with(a);
    let mut reaches: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for (own, file) in &texts {
        let text = std::fs::read_to_string(file).expect("text");
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut names = Names { own, all: &all, found: BTreeSet::new() };
        names.visit_file(&parsed);
        reaches.insert(own, names.found.into_iter().filter(|other| !related(own, other)).collect());
    }
    // Through any number of files.
    for middle in &all {
        let beyond = reaches[middle].clone();
        for reached in reaches.values_mut().filter(|reached| reached.contains(middle)) {
            reached.extend(beyond.iter().cloned());
        }
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for own in &all {
        if reaches[own].contains(own) && !seen.contains(own) {
            let same = |other: &&Module| reaches[own].contains(*other) && reaches[*other].contains(own);
            let circle: Vec<&Module> = all.iter().filter(same).collect();
            seen.extend(circle.iter().copied());
            found.push(circle.iter().map(|m| m.join("::")).collect());
        }
    }
    found
}

#[test]
fn no_file_imports_another_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the workspace");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let members = manifest["workspace"]["members"].as_array().expect("a list");
    let mut found = Vec::new();
    for member in members {
        let source = format!("{}/src", member.as_str().expect("a path"));
        let circles = circles(&root.join(&source));
        found.extend(circles.iter().map(|circle| format!("{source}: {}", circle.join(", "))));
    }
    assert!(found.is_empty(), "move what they share into a file of its own:\n{}", found.join("\n"));
}
