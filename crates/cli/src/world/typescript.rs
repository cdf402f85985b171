//! Worlds in TypeScript: the files of a new one, and modules that are older than their source. The package
//! `@nowcast/world-script` compiles them; the program needs no compiler.

use std::path::{Path, PathBuf};

use anyhow::bail;
use nowcast_script::{Sources, text_hash};
use serde_json::json;

macro_rules! sample {
    ($($path:literal),+) => {
        &[$(($path, include_str!(concat!("../../../../worlds/typescript/", $path)))),+]
    };
}

/// The files of the sample, which is the template of new worlds. It contains the compiled modules, so that a new world can be
/// served before its packages are installed.
const FILES: &[(&str, &str)] =
    sample!["world.ts", "world.luau", "tests/ball.ts", "tests/ball.luau", "tsconfig.json"];

/// The compiled modules are not kept in version control.
const IGNORED: &str = "node_modules/\n*.luau\n";

/// The versions of the compiler and its language that `@nowcast/world-script` names as peers.
const COMPILER: [(&str, &str); 2] = [("typescript", "5.9.3"), ("typescript-to-lua", "1.33.2")];

/// A checkout of Nowcast with a built compiler, in whose folder `target` this program lies. The packages of a new world then come
/// from the checkout, because they fit the program.
pub(super) struct Checkout {
    root: PathBuf,
    program: PathBuf,
}

impl Checkout {
    pub(super) fn find() -> Option<Self> {
        let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok()?;
        let root = program.ancestors().nth(3)?.to_owned();
        root.join("packages/world-script/dist/main.js").is_file().then_some(Self { root, program })
    }
}

/// Returns the files of a new world: each file's path in the folder, and its text.
pub(super) fn files(name: &str, checkout: Option<&Checkout>) -> Vec<(&'static str, String)> {
    let mut files: Vec<_> = FILES.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
    files.extend([
        ("package.json", manifest(name, checkout)),
        (".gitignore", IGNORED.to_owned()),
        ("README.md", readme(name)),
    ]);
    // npm copies packages of a checkout instead of linking them, so that they find the compiler.
    files.extend(checkout.map(|_| (".npmrc", "install-links=true\n".to_owned())));
    files
}

fn manifest(name: &str, checkout: Option<&Checkout>) -> String {
    let package = |folder: &str| match checkout {
        Some(Checkout { root, .. }) => format!("file:{}", root.join("packages").join(folder).display()),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    };
    let mut packages = json!({
        "@nowcast/world-script": package("world-script"),
        "nowcast-server": package("nowcast-server"),
    });
    for (package, version) in COMPILER {
        packages[package] = json!(version);
    }
    let mut manifest = json!({
        "name": name,
        "private": true,
        "type": "module",
        "scripts": {
            "dev": "nowcast-world dev . --open",
            "build": "nowcast-world build",
            "check": "nowcast-world build && nowcast check .",
            "test": "nowcast-world build && nowcast test .",
            "start": "nowcast-world build && nowcast serve .",
        },
        "devDependencies": packages,
    });
    if let Some(Checkout { program, .. }) = checkout {
        manifest["config"] = json!({ "nowcast": program });
    }
    format!("{manifest:#}\n")
}

fn readme(name: &str) -> String {
    format!(
        "# {name}\n\n\
         A world for Nowcast in TypeScript: a folder whose rules change while people are in it.\n\n\
         ```text\n\
         npm install      installs the compiler and the program, once\n\
         npm run dev      compiles after every change, serves the world, and opens it\n\
         npm run check    reports mistakes with file, line and cure\n\
         npm test         plays its tests in virtual time\n\
         ```\n\n\
         Walk with W, A, S, D or the arrow keys, run with Shift, jump with Space. The screen lists all other actions.\n\n\
         | file | content |\n\
         | --- | --- |\n\
         | `world.ts` | the rules; the world begins here |\n\
         | `tests/` | cases that play the world |\n\
         | `*.luau` | made from the files above; the server runs these, without Node |\n\n\
         Save a file while people are in the world: the new rules take effect at the next step, and the values in\n\
         `world.state`, in attributes and in `private` stay. A version with an error of TypeScript changes nothing.\n\n\
         The guide is docs/tutorials/world-in-typescript.md of Nowcast.\n"
    )
}

/// Refuses modules whose source has changed since they were compiled, because `check` and `test` would use an older text than the
/// author sees.
pub(super) fn refuse_outdated(dir: &Path, sources: &Sources) -> anyhow::Result<()> {
    for (module, _) in sources.iter() {
        let Some((source, hash)) = sources.made_from(module) else { continue };
        // A world that is only served has no sources.
        let Ok(text) = std::fs::read(dir.join(&source)) else { continue };
        if text_hash(&text) != hash {
            bail!(
                "{source} has changed since {module} was made from it: run `npm run build` in {}",
                dir.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_world_has_the_versions_that_the_compiler_names() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/world-script/package.json");
        let package: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(package["peerDependencies"], COMPILER.into_iter().collect::<serde_json::Value>());
        let manifest: serde_json::Value = serde_json::from_str(&manifest("park", None)).unwrap();
        assert_eq!(manifest["devDependencies"]["@nowcast/world-script"], package["version"]);
    }

    #[test]
    fn a_module_that_is_older_than_its_source_is_refused() {
        let folder = std::env::temp_dir().join(format!("nowcast-outdated-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let made = format!(
            "--!nocheck\n-- Made from world.ts ({:08x}) by nowcast-world",
            text_hash(b"const a = 1;")
        );
        let sources = Sources::of_main(&made);
        assert!(refuse_outdated(&folder, &sources).is_ok(), "the source may be missing");
        std::fs::write(folder.join("world.ts"), "const a = 1;").unwrap();
        assert!(refuse_outdated(&folder, &sources).is_ok());
        std::fs::write(folder.join("world.ts"), "const a = 2;").unwrap();
        let refused = refuse_outdated(&folder, &sources).unwrap_err().to_string();
        assert!(
            refused
                .starts_with("world.ts has changed since world.luau was made from it: run `npm run build`")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
