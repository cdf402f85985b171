//! Finds files of one crate that use each other in a circle. No file of a circle can be understood before the others.
//!
//! If a file uses a name, an arrow goes from this file to the file that defines the name. The path of the name begins with
//! `crate`, `self`, `super` or a submodule. A `pub use` passes a name on, so the arrow goes to the file that defines it. Names
//! that a module uses from its enclosing modules make no arrow, because a module and its submodules are one subject. Tests make
//! no arrows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::files_below;
use super::rust_paths::{Scanned, scan};

/// The files of one crate by the path of their module, such as `["lane", "send"]`. The path of the root is empty.
type Crate = BTreeMap<Vec<String>, Scanned>;
/// For each module, the modules that it uses, and the names that it uses from each of them.
type Arrows<'a> = BTreeMap<&'a [String], BTreeMap<&'a [String], BTreeSet<String>>>;

/// Reports every circle in a crate.
pub(super) fn check(root: &Path, crates: &[String], complaints: &mut Vec<String>) -> anyhow::Result<()> {
    for place in crates {
        let files = read(&root.join(place).join("src"))?;
        let circles = circles(&arrows(&files));
        complaints.extend(circles.iter().map(|circle| format!("{place}: a circle of files: {circle}")));
    }
    Ok(())
}

fn read(src: &Path) -> anyhow::Result<Crate> {
    let mut files = Crate::new();
    for file in files_below(src, "rs")? {
        let relative = file.strip_prefix(src)?.with_extension("");
        let mut module: Vec<String> =
            relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        // A file below src/bin is a separate program.
        if module.first().is_some_and(|first| first == "bin") {
            continue;
        }
        if module.last().is_some_and(|last| last == "mod")
            || matches!(module.as_slice(), [only] if only == "lib" || only == "main")
        {
            module.pop();
        }
        files.insert(module, scan(&std::fs::read_to_string(&file)?)?);
    }
    drop_tests(&mut files);
    Ok(files)
}

/// Removes the files of modules that are declared under `#[cfg(test)]`.
fn drop_tests(files: &mut Crate) {
    let mut tests = Vec::new();
    for (module, scanned) in files.iter() {
        tests.extend(
            scanned.test_modules.iter().map(|name| [module.as_slice(), std::slice::from_ref(name)].concat()),
        );
    }
    files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
}

fn arrows(files: &Crate) -> Arrows<'_> {
    let mut arrows = Arrows::new();
    for (module, scanned) in files {
        for path in &scanned.paths {
            let Some(absolute) = absolute(module, scanned, path) else { continue };
            let Some((target, name)) = defining(files, &absolute, 0) else { continue };
            if !module.starts_with(target) {
                arrows.entry(module.as_slice()).or_default().entry(target).or_default().insert(name);
            }
        }
    }
    arrows
}

/// Returns the path from the root of the crate; `None` for a path into another crate.
fn absolute(module: &[String], scanned: &Scanned, path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            let around = module.get(..module.len().checked_sub(up)?)?;
            Some([around, path.get(up..)?].concat())
        }
        child if scanned.submodules.contains(child) => Some([module, path].concat()),
        _ => None,
    }
}

/// Maximum number of `pub use` that lead from one to the next. Longer chains do not occur, and the compiler reports cyclic ones.
const HANDED_ON_MAX: usize = 8;

/// Returns the module whose file defines the item of a path, and the item's name.
fn defining<'a>(files: &'a Crate, path: &[String], depth: usize) -> Option<(&'a [String], String)> {
    let (module, scanned) =
        (0..=path.len()).rev().find_map(|length| files.get_key_value(path.get(..length)?))?;
    let Some(name) = path.get(module.len()) else {
        return Some((module, "the module".to_owned()));
    };
    if depth < HANDED_ON_MAX
        && let Some(source) = scanned.handed_on.get(name)
        && let Some(absolute) = absolute(module, scanned, source)
    {
        return defining(files, &absolute, depth + 1);
    }
    Some((module, name.clone()))
}

/// Returns every group of modules that reach each other, as one line for each group.
fn circles(arrows: &Arrows<'_>) -> Vec<String> {
    let reach: BTreeMap<&[String], BTreeSet<&[String]>> =
        arrows.keys().map(|module| (*module, reachable(arrows, module))).collect();
    let reaches = |from: &[String], to: &[String]| reach.get(from).is_some_and(|all| all.contains(to));
    let mut described = Vec::new();
    let mut seen: BTreeSet<&[String]> = BTreeSet::new();
    for module in arrows.keys().copied().filter(|module| reaches(module, module)) {
        if seen.contains(module) {
            continue;
        }
        let circle: BTreeSet<&[String]> =
            arrows.keys().copied().filter(|other| reaches(module, other) && reaches(other, module)).collect();
        seen.extend(&circle);
        described.push(describe(arrows, &circle));
    }
    described
}

fn reachable<'a>(arrows: &Arrows<'a>, from: &[String]) -> BTreeSet<&'a [String]> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for target in arrows.get(module).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*target) {
                open.push(target);
            }
        }
    }
    found
}

fn describe(arrows: &Arrows<'_>, circle: &BTreeSet<&[String]>) -> String {
    let mut lines = Vec::new();
    for module in circle {
        for (target, names) in arrows.get(module).into_iter().flatten() {
            if circle.contains(target) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                lines.push(format!("{} -> {} ({})", shown(module), shown(target), names.join(", ")));
            }
        }
    }
    lines.join("; ")
}

fn shown(module: &[String]) -> String {
    if module.is_empty() { "crate".to_owned() } else { module.join("::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let mut all: Crate = files
            .iter()
            .map(|(module, text)| {
                let module = module.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
                (module, scan(text).unwrap())
            })
            .collect();
        drop_tests(&mut all);
        circles(&arrows(&all))
    }

    #[test]
    fn only_files_that_use_each_other_are_a_circle() {
        let one_way = [("a", "use crate::b::B;"), ("b", "pub struct B;")];
        assert!(circles_of(&one_way).is_empty());
        let both = [("a", "use crate::b::B;"), ("b", "fn f() -> crate::a::A { todo!() }")];
        assert_eq!(circles_of(&both), ["a -> b (B); b -> a (A)"]);
    }

    #[test]
    fn a_name_that_a_module_reexports_is_followed_to_its_file() {
        let files = [
            ("", "mod a; mod b; pub use a::A; pub use b::{B as C};"),
            ("a", "use crate::C;"),
            ("b", "use super::A;"),
        ];
        assert_eq!(circles_of(&files), ["a -> b (B); b -> a (A)"]);
    }

    #[test]
    fn three_files_in_a_ring_are_one_circle() {
        let files = [("a", "use super::b::x;"), ("b", "use crate::{c::{y, z}};"), ("c", "use crate::a;")];
        let found = circles_of(&files);
        assert_eq!(found, ["a -> b (x); b -> c (y, z); c -> a (the module)"]);
    }

    #[test]
    fn a_module_and_its_submodules_may_use_each_other() {
        let files = [("a", "mod part; use part::P; pub struct Whole;"), ("a::part", "use super::Whole;")];
        assert!(circles_of(&files).is_empty());
    }

    #[test]
    fn comments_texts_and_tests_make_no_arrow() {
        let files = [
            ("a", "use crate::b::B;"),
            (
                "b",
                "//! Of [`crate::a::A`].\n/* crate::a::A */ const S: &str = \"crate::a::A\";\n\
                 #[cfg(test)]\nmod tests { use crate::a::A; fn f() { if true {} } }\n#[cfg(test)] mod more;",
            ),
            ("b::more", "use crate::a::A;"),
        ];
        assert!(circles_of(&files).is_empty());
        assert_eq!(
            circles_of(&[files[0], ("b", "fn f(s: &'static str, c: char) { c == '\"'; crate::a::A; }")])
                .len(),
            1
        );
    }
}
