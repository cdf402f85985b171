//! The list of everything in the published packages, as CycloneDX, and the texts of its licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Places, VERSION, commit_time, output_of, program, write};
use crate::step;

/// A package of others in the published packages.
struct Component {
    name: String,
    version: String,
    licence: String,
    /// The address of the package, as CycloneDX names it.
    purl: String,
    folder: PathBuf,
}

/// Writes the list and the licences of the program and of its page.
pub(super) fn write_list(places: &Places) -> anyhow::Result<PathBuf> {
    let mut components = crates()?;
    components.push(three()?);
    let listed: Vec<Value> = components
        .iter()
        .map(|component| {
            json!({
                "type": "library",
                "bom-ref": component.purl,
                "name": component.name,
                "version": component.version,
                "licenses": [{ "expression": component.licence }],
                "purl": component.purl,
            })
        })
        .collect();
    let time = output_of("date", &["-u", "-d", &format!("@{}", commit_time()?), "+%Y-%m-%dT%H:%M:%SZ"])?;
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.trim(),
            "component": { "type": "application", "name": "nowcast", "version": VERSION },
        },
        "components": listed,
    });
    let text = serde_json::to_string_pretty(&list)?;
    write(&places.out.join(format!("nowcast-{VERSION}.cdx.json")), text + "\n")?;
    eprintln!("the program and its page contain {} packages of others", components.len());
    write_texts(places, &components)
}

/// Writes and returns the file with the texts of all licences.
fn write_texts(places: &Places, components: &[Component]) -> anyhow::Result<PathBuf> {
    let mut by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for component in components {
        let texts = texts_of(&component.folder)?;
        if texts.is_empty() {
            without.push(format!("{} {} ({})", component.name, component.version, component.licence));
        }
        for text in texts {
            by_text.entry(text).or_default().insert(format!("{} {}", component.name, component.version));
        }
    }
    let mut all = "The programs and pages of Nowcast contain the code of others. Each licence follows the packages that use it.\n"
        .to_owned();
    for (text, users) in &by_text {
        let users: Vec<&str> = users.iter().map(String::as_str).collect();
        all += &format!("\n{}\n{}\n\n{}\n", "=".repeat(80), users.join(", "), text.trim());
    }
    if !without.is_empty() {
        all +=
            &format!("\n{}\nPackages without a text of their own: {}\n", "=".repeat(80), without.join(", "));
    }
    let path = places.stage.join("THIRD-PARTY-LICENCES.txt");
    write(&path, &all)?;
    write(&places.out.join("THIRD-PARTY-LICENCES.txt"), all)?;
    Ok(path)
}

/// Returns the crates in the program, without those that only build it.
fn crates() -> anyhow::Result<Vec<Component>> {
    let line =
        ["tree", "--package", "nowcast-cli", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let targets = program::TARGETS.iter().flat_map(|target| ["--target", target.triple]);
    let line: Vec<&str> = line.into_iter().chain(program::FEATURES).chain(targets).collect();
    let tree = output_of("cargo", &line)?;
    let used: BTreeSet<(String, String)> = tree.lines().filter_map(named_and_versioned).collect();
    let metadata = output_of("cargo", &["metadata", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata).context("cannot read `cargo metadata`")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let mut components = Vec::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let (name, version) = (text("name"), text("version"));
        // Packages of the workspace have no source.
        if package["source"].is_null() || !used.contains(&(name.clone(), version.clone())) {
            continue;
        }
        components.push(Component {
            licence: text("license").replace('/', " OR "),
            purl: format!("pkg:cargo/{name}@{version}"),
            folder: Path::new(&text("manifest_path")).parent().unwrap_or(Path::new("")).to_owned(),
            name,
            version,
        });
    }
    components.sort_by(|one, other| one.purl.cmp(&other.purl));
    Ok(components)
}

/// Reads a line such as `anyhow v1.0.100`.
fn named_and_versioned(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let version = words.next()?.strip_prefix('v')?;
    Some((name.to_owned(), version.to_owned()))
}

/// Returns the npm package that the program's page contains and the published packages install.
fn three() -> anyhow::Result<Component> {
    let folder = step::root().join("node_modules/three");
    let manifest =
        fs::read_to_string(folder.join("package.json")).context("the package three is not installed")?;
    let manifest: Value = serde_json::from_str(&manifest)?;
    let version = manifest["version"].as_str().unwrap_or_default().to_owned();
    Ok(Component {
        name: "three".to_owned(),
        licence: manifest["license"].as_str().unwrap_or_default().to_owned(),
        purl: format!("pkg:npm/three@{version}"),
        version,
        folder,
    })
}

/// Returns the texts of the licences in a package's folder.
fn texts_of(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_text = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|word| name.starts_with(word));
        if is_text && entry.path().is_file() {
            texts.push(String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n"));
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_gives_name_and_version() {
        let read = named_and_versioned("ring v0.17.14 (*)");
        assert_eq!(read, Some(("ring".to_owned(), "0.17.14".to_owned())));
        assert_eq!(named_and_versioned(""), None);
    }
}
