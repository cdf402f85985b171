//! Checks that `docs/DEPENDENCIES.md` names every dependency of every manifest exactly once, and no other package.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::tracked_files;

const PAGE: &str = "docs/DEPENDENCIES.md";

/// Reports differences between the page and the manifests that git tracks.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let mut manifests = Manifests::default();
    for file in tracked_files(root)? {
        let name = file.rsplit('/').next().unwrap_or_default();
        if !matches!(name, "Cargo.toml" | "package.json") || !root.join(&file).is_file() {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&file))?;
        if name == "Cargo.toml" {
            manifests.add_cargo(&file, &text);
        } else {
            manifests.add_npm(&file, &text).with_context(|| file.clone())?;
        }
    }
    complaints.extend(manifests.compare_with(&std::fs::read_to_string(root.join(PAGE))?));
    Ok(())
}

/// The dependencies of all manifests, each with one manifest that uses it.
#[derive(Default)]
struct Manifests {
    used: BTreeMap<String, String>,
    /// Keys of `[workspace.dependencies]`.
    shared: BTreeSet<String>,
    /// Names of the packages of this repository.
    own: BTreeSet<String>,
}

impl Manifests {
    /// Reads the tables of dependencies of a `Cargo.toml` line by line.
    fn add_cargo(&mut self, file: &str, text: &str) {
        let (mut section, mut value_is_open) = (String::new(), false);
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
                && !value_is_open
            {
                section = header.to_owned();
                if let Some((_, name)) = header.rsplit_once("dependencies.") {
                    self.used.entry(name.to_owned()).or_insert_with(|| file.to_owned());
                }
                continue;
            }
            let is_key = !value_is_open;
            value_is_open = (value_is_open || line.contains('=')) && !is_balanced(line, value_is_open);
            let Some((key, value)) = line.split_once('=').filter(|_| is_key) else { continue };
            let key = key.trim().split('.').next().unwrap_or_default().to_owned();
            match section.as_str() {
                "package" if key == "name" => {
                    self.own.insert(value.trim().trim_matches('"').to_owned());
                }
                "workspace.dependencies" => {
                    self.shared.insert(key);
                }
                section if section.ends_with("dependencies") => {
                    self.used.entry(key).or_insert_with(|| file.to_owned());
                }
                _ => {}
            }
        }
    }

    fn add_npm(&mut self, file: &str, text: &str) -> anyhow::Result<()> {
        let manifest: Value = serde_json::from_str(text)?;
        if let Some(name) = manifest["name"].as_str() {
            self.own.insert(name.to_owned());
        }
        for table in ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"] {
            for name in manifest[table].as_object().into_iter().flat_map(|table| table.keys()) {
                self.used.entry(name.clone()).or_insert_with(|| file.to_owned());
            }
        }
        Ok(())
    }

    fn compare_with(&self, page: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut named = BTreeSet::new();
        for name in names_on(page) {
            if !self.used.contains_key(name) {
                found.push(format!("{PAGE} names {name}, which no manifest depends on: remove it"));
            }
            if !named.insert(name) {
                found.push(format!("{PAGE} names {name} twice: join the lines"));
            }
        }
        let foreign = self.used.iter().filter(|(name, _)| !self.own.contains(*name));
        for (name, file) in foreign.filter(|(name, _)| !named.contains(name.as_str())) {
            found.push(format!(
                "{file} depends on {name}, which {PAGE} does not name: add a line with its reason"
            ));
        }
        for name in
            self.shared.iter().filter(|name| !self.used.contains_key(*name) && !self.own.contains(*name))
        {
            found
                .push(format!("Cargo.toml lists {name} for the workspace, but no member uses it: remove it"));
        }
        found
    }
}

/// Whether all brackets are closed at the end of a line. `is_open` states whether a bracket is open before the line.
fn is_balanced(line: &str, is_open: bool) -> bool {
    let count = |brackets: [char; 2]| line.matches(brackets).count();
    count([']', '}']) >= count(['[', '{']) + usize::from(is_open)
}

/// Returns the names in the first cell of each row, except the head of the table.
fn names_on(page: &str) -> impl Iterator<Item = &str> {
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(',').map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests() -> Manifests {
        let mut manifests = Manifests::default();
        manifests.add_cargo("Cargo.toml", "[workspace.dependencies]\nserde = \"1\"\n");
        manifests.add_cargo(
            "crates/a/Cargo.toml",
            "[package]\nname = \"a\"\n[features]\nx = [\n  \"dep:serde\",\n]\n[dependencies]\nserde.workspace = true\n\
             tokio = { version = \"1\", features = [\n  \"full\",\n] }\n[target.'cfg(unix)'.dependencies]\na = { path = \".\" }\n",
        );
        manifests
            .add_npm("package.json", r#"{ "name": "p", "devDependencies": { "vite": "7", "p": "*" } }"#)
            .unwrap();
        manifests
    }

    fn page(names: &str) -> String {
        format!("# Dependencies\n\n| dependency | where | why |\n| --- | --- | --- |\n| {names} | a | b |\n")
    }

    #[test]
    fn page_that_names_every_dependency_once_is_accepted() {
        assert_eq!(manifests().compare_with(&page("serde, tokio, vite")), Vec::<String>::new());
    }

    #[test]
    fn dependency_without_a_line_is_reported_with_its_manifest() {
        let found = manifests().compare_with(&page("serde, vite"));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/Cargo.toml depends on tokio"), "{found:?}");
        let found = manifests().compare_with(&page("serde, tokio"));
        assert!(found[0].starts_with("package.json depends on vite"), "{found:?}");
    }

    #[test]
    fn line_without_a_dependency_is_reported() {
        let found = manifests().compare_with(&page("serde, tokio, vite, axum"));
        assert_eq!(found, ["docs/DEPENDENCIES.md names axum, which no manifest depends on: remove it"]);
    }

    #[test]
    fn second_line_of_a_dependency_is_reported() {
        let found = manifests().compare_with(&page("serde, tokio, vite, serde"));
        assert_eq!(found, ["docs/DEPENDENCIES.md names serde twice: join the lines"]);
    }

    #[test]
    fn workspace_dependency_that_no_member_uses_is_reported() {
        let mut manifests = manifests();
        manifests.add_cargo("Cargo.toml", "[workspace.dependencies]\nrand = \"1\"\n");
        let found = manifests.compare_with(&page("serde, tokio, vite"));
        assert!(found.len() == 1 && found[0].contains("lists rand"), "{found:?}");
    }
}
