//! `cargo xtask tidy` checks the tree against its own rules:
//!
//! - Crates depend on each other only as the table in ARCHITECTURE.md allows.
//! - A crate that never has a socket links no crate that opens one (`sockets.rs`).
//! - No files of a crate use each other in a circle. Biome finds such circles of TypeScript files.
//! - Every test file belongs to a test program.
//! - `unsafe` is used only in the listed crates.
//! - The TypeScript SDK has no runtime dependency, and packages that draw with three.js do not bundle three.js.
//! - The lock files name no download hosts.

mod circles;
mod rust_paths;
mod sockets;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::Value;

use crate::step::{self, root};

/// Crates that may lift the workspace's ban on `unsafe`.
const UNSAFE_HOMES: [&str; 4] =
    ["crates/ffi/src/abi", "crates/server/tests/allocations.rs", "crates/shm", "lab"];

/// Runs every check, and lists all complaints.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut complaints = Vec::new();
    let crates = check_dependencies(&mut complaints)?;
    circles::check(&root(), &crates, &mut complaints)?;
    check_unsafe(&mut complaints)?;
    check_packages(&mut complaints)?;
    check_tests(&mut complaints)?;
    sockets::check(&root(), &mut complaints)?;
    if complaints.is_empty() {
        eprintln!(
            "tidy: dependencies, circles, unsafe, packages and tests follow the rules of this repository"
        );
        return Ok(());
    }
    for complaint in &complaints {
        eprintln!("  {complaint}");
    }
    bail!("{} places break the rules of this repository: see the lines above", complaints.len());
}

/// Checks the dependencies of the crates. Returns the folders of all crates.
fn check_dependencies(complaints: &mut Vec<String>) -> anyhow::Result<Vec<String>> {
    let allowed = allowed_dependencies(&std::fs::read_to_string(root().join("ARCHITECTURE.md"))?)?;
    let actual = actual_dependencies()?;
    compare(&allowed, &actual, complaints);
    Ok(actual.into_keys().chain(["xtask".to_owned(), "lab".to_owned()]).collect())
}

/// Compares the table with the dependencies of the crates.
fn compare(
    allowed: &BTreeMap<String, Allowed>,
    actual: &BTreeMap<String, BTreeSet<String>>,
    complaints: &mut Vec<String>,
) {
    for (place, dependencies) in actual {
        let Some(allowed) = allowed.get(place) else {
            complaints.push(format!("{place} is not in the table of crates in ARCHITECTURE.md"));
            continue;
        };
        for dependency in dependencies.difference(&allowed.dependencies) {
            complaints.push(format!("{place} depends on {dependency}, which ARCHITECTURE.md does not allow"));
        }
        let unused = allowed.dependencies.difference(dependencies).filter(|_| allowed.is_list);
        complaints.extend(
            unused.map(|unused| {
                format!("{place} does not use {unused}: remove it from ARCHITECTURE.md's table")
            }),
        );
    }
    for place in allowed.keys().filter(|place| !actual.contains_key(*place)) {
        complaints.push(format!("ARCHITECTURE.md's table names {place}, which is not there"));
    }
}

/// The crates that one crate may use.
struct Allowed {
    dependencies: BTreeSet<String>,
    /// Whether the row lists the crates, and not all crates with exceptions. A crate must use every listed crate.
    is_list: bool,
}

/// Reads the rows "| `crates/x` | job | may depend on | never |". The third cell lists folders in backticks, or contains "all".
fn allowed_dependencies(page: &str) -> anyhow::Result<BTreeMap<String, Allowed>> {
    let mut allowed: BTreeMap<String, Allowed> = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| `crates/")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(places), Some(dependencies)) = (cells.get(1), cells.get(3)) else {
            bail!("a row of the table of crates in ARCHITECTURE.md has too few cells: {line}");
        };
        let is_list = !dependencies.starts_with("all");
        for place in in_backticks(places) {
            allowed.insert(place, Allowed { dependencies: in_backticks(dependencies).collect(), is_list });
        }
    }
    let all: BTreeSet<String> = allowed.keys().cloned().collect();
    for row in allowed.values_mut().filter(|row| !row.is_list) {
        row.dependencies = all.difference(&row.dependencies).cloned().collect();
    }
    Ok(allowed)
}

fn in_backticks(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn actual_dependencies() -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let place_of = |path: &str| -> Option<String> {
        let relative = Path::new(path).strip_prefix(root()).ok()?.to_string_lossy().into_owned();
        relative.starts_with("crates/").then_some(relative)
    };
    let mut actual = BTreeMap::new();
    for package in step::packages()?.into_iter().filter(|package| package.place.starts_with("crates/")) {
        let dependencies = package.metadata["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .filter_map(|dependency| place_of(dependency["path"].as_str()?))
            .collect();
        actual.insert(package.place, dependencies);
    }
    Ok(actual)
}

/// Finds test files that never run. If a package itself names its test programs, cargo does not report a file that belongs to no
/// test program.
fn check_tests(complaints: &mut Vec<String>) -> anyhow::Result<()> {
    for package in step::packages()? {
        let folder = root().join(&package.place);
        if !std::fs::read_to_string(folder.join("Cargo.toml"))?.contains("\nautotests = false\n") {
            continue;
        }
        let tests = folder.join("tests");
        let programs =
            package.tests.iter().map(|name| std::fs::read_to_string(tests.join(name).with_extension("rs")));
        let programs = programs.collect::<Result<Vec<_>, _>>()?;
        for entry in std::fs::read_dir(&tests)? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_named = |program: &String| program.lines().any(|line| line == format!("mod {name};"));
            let is_test = path.extension().is_some_and(|extension| extension == "rs");
            if is_test && !package.tests.contains(&name) && !programs.iter().any(is_named) {
                complaints.push(format!(
                    "{}/tests/{name}.rs belongs to no program of tests, so it never runs",
                    package.place
                ));
            }
        }
    }
    Ok(())
}

/// Checks the use of `unsafe`. The workspace denies `unsafe_code`, so code that needs it must lift the ban. Only the listed
/// crates may do that.
fn check_unsafe(complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let lifts = ["allow", "expect", "warn"].map(|level| format!("{level}(unsafe_code"));
    for file in files_below(&root(), "rs")? {
        let relative = file.strip_prefix(root())?.to_string_lossy().into_owned();
        if UNSAFE_HOMES.iter().any(|home| relative.starts_with(home)) || relative.starts_with("xtask/") {
            continue;
        }
        let text = std::fs::read_to_string(&file)?;
        if lifts.iter().any(|lift| text.contains(lift)) {
            complaints.push(format!(
                "{relative} lifts the ban on unsafe; its homes are {}",
                UNSAFE_HOMES.join(", ")
            ));
        }
    }
    for manifest in files_below(&root(), "toml")?.iter().filter(|path| path.ends_with("Cargo.toml")) {
        let relative = manifest.strip_prefix(root())?.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(manifest)?;
        let inherits = text.contains("[lints]\nworkspace = true") || text.contains("[workspace]");
        if !inherits && !UNSAFE_HOMES.iter().any(|home| relative.starts_with(home)) {
            complaints.push(format!("{relative} does not inherit the workspace's lints"));
        }
    }
    Ok(())
}

fn check_packages(complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(root().join("packages/nowcast/package.json"))?)?;
    if manifest["dependencies"].as_object().is_some_and(|dependencies| !dependencies.is_empty()) {
        complaints.push("packages/nowcast has runtime dependencies".to_owned());
    }
    let three: Value =
        serde_json::from_str(&std::fs::read_to_string(root().join("packages/three/package.json"))?)?;
    if three["dependencies"].as_object().is_some_and(|dependencies| !dependencies.is_empty()) {
        complaints.push(
            "packages/three has its own dependencies, but three and nowcast must be peer dependencies"
                .to_owned(),
        );
    }
    if std::fs::read_to_string(root().join("package-lock.json"))?.contains("://registry") {
        complaints
            .push("package-lock.json names download hosts; .npmrc should have kept them out".to_owned());
    }
    Ok(())
}

/// Returns all files with this extension that are part of the source tree.
fn files_below(dir: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "node_modules" | "dist") && !name.starts_with('.') {
                files.extend(files_below(&path, extension)?);
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_table_may_name_several_places_and_all_but_some() {
        let page = "| place | job | may depend on | never |\n| --- | --- | --- | --- |\n\
            | `crates/a`, `crates/b` | x | – | y |\n| `crates/c` | x | `crates/a` | y |\n\
            | `crates/d` | x | all but `crates/c`, `crates/d` | y |\n";
        let allowed = allowed_dependencies(page).unwrap();
        assert!(allowed["crates/b"].dependencies.is_empty());
        assert_eq!(allowed["crates/c"].dependencies.iter().collect::<Vec<_>>(), ["crates/a"]);
        assert_eq!(allowed["crates/d"].dependencies.iter().collect::<Vec<_>>(), ["crates/a", "crates/b"]);
    }
    #[test]
    fn a_dependency_that_the_table_lists_and_no_crate_uses_is_a_complaint() {
        let page = "| `crates/a` | x | – | y |\n| `crates/b` | x | `crates/a` | y |\n| `crates/c` | x | all but `crates/c` | y |\n";
        let allowed = allowed_dependencies(page).unwrap();
        let actual = |b: &[&str]| {
            let dependencies = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let crates = [
                ("crates/a", dependencies(&[])),
                ("crates/b", dependencies(b)),
                ("crates/c", dependencies(&[])),
            ];
            BTreeMap::from(crates.map(|(place, dependencies)| (place.to_owned(), dependencies)))
        };
        let mut complaints = Vec::new();
        compare(&allowed, &actual(&["crates/a"]), &mut complaints);
        assert!(complaints.is_empty(), "{complaints:?}");
        compare(&allowed, &actual(&[]), &mut complaints);
        assert_eq!(complaints, ["crates/b does not use crates/a: remove it from ARCHITECTURE.md's table"]);
    }
}
