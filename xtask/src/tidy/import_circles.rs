//! Finds TypeScript files of one package that import each other in a circle. Imports of types count, because a file cannot be
//! understood without the types that it names.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use super::circles::{Arrows, circles};
use super::files_below;

/// The files of one package. Each is a path below `src` without the extension, with the paths that it imports.
type Imports = BTreeMap<Vec<String>, Vec<Vec<String>>>;

/// Reports every circle of imports in a package.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    for package in std::fs::read_dir(root.join("packages"))? {
        let src = package?.path().join("src");
        if !src.is_dir() {
            continue;
        }
        let mut imports = Imports::new();
        for file in files_below(&src, "ts")? {
            let name = file.strip_prefix(&src)?.with_extension("").to_string_lossy().into_owned();
            imports.insert(vec![name.clone()], imported(&name, &std::fs::read_to_string(&file)?));
        }
        let package = src.strip_prefix(root)?.display().to_string();
        complaints.extend(
            described(&imports).iter().map(|circle| format!("{package}: a circle of imports: {circle}")),
        );
    }
    Ok(())
}

fn described(imports: &Imports) -> Vec<String> {
    let mut arrows = Arrows::new();
    for (file, targets) in imports {
        for target in targets {
            if let Some((target, _)) = imports.get_key_value(target)
                && target != file
            {
                let names = arrows.entry(file.as_slice()).or_default().entry(target.as_slice()).or_default();
                names.insert("import".to_owned());
            }
        }
    }
    circles(&arrows)
}

/// Returns the files of the same package that a file imports, at load time or later.
fn imported(file: &str, text: &str) -> Vec<Vec<String>> {
    let mut targets = Vec::new();
    for opening in ["from \"", "import \"", "import(\""] {
        for (at, _) in text.match_indices(opening) {
            let rest = text.get(at + opening.len()..).unwrap_or_default();
            let path = rest.split('"').next().unwrap_or_default();
            if path.starts_with('.') {
                targets.push(vec![resolved(file, path)]);
            }
        }
    }
    targets
}

/// Resolves a relative import against the folder of its file, and removes the extension.
fn resolved(file: &str, import: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let joined = Path::new(file).parent().unwrap_or(Path::new("")).join(import).with_extension("");
    for component in joined.components() {
        match component {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let imports =
            files.iter().map(|(file, text)| (vec![(*file).to_owned()], imported(file, text))).collect();
        described(&imports)
    }

    #[test]
    fn two_files_that_import_types_of_each_other_are_a_circle() {
        let scene = ("scene", "import type { Hands } from \"./people/hands.js\";");
        let hands = ("people/hands", "import {\n  type Scene,\n} from \"../scene.js\";");
        assert_eq!(
            circles_of(&[scene, hands]),
            ["people/hands -> scene (import); scene -> people/hands (import)"]
        );
        assert!(circles_of(&[scene, ("people/hands", "import \"three\";")]).is_empty());
    }

    #[test]
    fn an_import_that_runs_later_counts() {
        let view = ("view", "await import(\"./tracking.js\");");
        let tracking = ("tracking", "export { x } from \"./view.js\";");
        assert_eq!(circles_of(&[view, tracking]).len(), 1);
    }
}
