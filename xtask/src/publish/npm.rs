//! The packages for npm, as `npm publish` would upload them.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::archive::copy_licences;
use super::program::Program;
use super::{Places, VERSION, copy, copy_folder, write};
use crate::step;

/// The folders below `packages/` that are published.
const PACKAGES: [&str; 7] =
    ["nowcast", "three", "page", "react", "nowcast-server", "world-script", "create-nowcast"];
/// Files and folders of a package that are published, besides those that `package.json` names.
const ALWAYS: [&str; 2] = ["package.json", "README.md"];
/// The tables of `package.json` that name dependencies of users.
const DEPENDENCIES: [&str; 2] = ["dependencies", "peerDependencies"];

/// Packs all packages into `out/npm`.
pub(super) fn make_all(places: &Places, programs: &[Program], licences: &Path) -> anyhow::Result<()> {
    step::run(&["npm", "run", "--silent", "build", "--workspace", "create-nowcast"])?;
    for program in programs {
        pack_program(places, program, Some(licences))?;
    }
    for folder in PACKAGES {
        pack(places, folder, programs)?;
    }
    Ok(())
}

/// Packs the package with the program of one platform. npm installs it only there.
pub(super) fn pack_program(
    places: &Places,
    program: &Program,
    licences: Option<&Path>,
) -> anyhow::Result<()> {
    let (system, processor) = program.target.node;
    let stage = places.empty("npm-program")?;
    copy(&program.path, &stage.join("bin").join(program.target.file))?;
    if let Some(licences) = licences {
        copy_licences(licences, &stage)?;
    }
    let name = program_package(program);
    let mut manifest = json!({
        "name": name,
        "version": VERSION,
        "description": format!("The nowcast program for {system} on {processor}; install nowcast-server instead"),
        "license": "(MIT OR Apache-2.0)",
        "repository": { "type": "git", "url": "git+https://github.com/nowcast/nowcast.git" },
        "os": [system],
        "cpu": [processor],
        "files": ["bin", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENCES.txt"],
    });
    if system == "linux" {
        manifest["libc"] = json!(["glibc"]);
    }
    write(&stage.join("package.json"), serde_json::to_string_pretty(&manifest)? + "\n")?;
    write(
        &stage.join("README.md"),
        format!("# {name}\n\nInstall `nowcast-server`, which uses this package.\n"),
    )?;
    npm_pack(places, &stage)
}

fn program_package(program: &Program) -> String {
    let (system, processor) = program.target.node;
    format!("@nowcast/server-{system}-{processor}")
}

/// Packs a package of this checkout. In the published package, the packages of Nowcast name each other in one version.
pub(super) fn pack(places: &Places, folder: &str, programs: &[Program]) -> anyhow::Result<()> {
    let source = step::root().join("packages").join(folder);
    let stage = places.empty("npm")?;
    let text = fs::read_to_string(source.join("package.json"))?;
    let mut manifest: Value =
        serde_json::from_str(&text).with_context(|| format!("packages/{folder}/package.json"))?;
    let listed = manifest["files"].as_array().cloned().unwrap_or_default();
    for name in listed.iter().filter_map(Value::as_str).chain(ALWAYS) {
        let path = source.join(name);
        let target = stage.join(name);
        if path.is_dir() { copy_folder(&path, &target)? } else { copy(&path, &target)? }
    }
    pin(&mut manifest);
    if folder == "nowcast-server" {
        let programs = programs.iter().map(|program| (program_package(program), json!(VERSION)));
        manifest["optionalDependencies"] = Value::Object(programs.collect());
    }
    if let Some(table) = manifest.as_object_mut() {
        for table_of_development in ["devDependencies", "scripts"] {
            table.remove(table_of_development);
        }
    }
    write(&stage.join("package.json"), serde_json::to_string_pretty(&manifest)? + "\n")?;
    npm_pack(places, &stage)
}

/// Gives a package the version of the release, and replaces the ranges of Nowcast's own packages by this version.
fn pin(manifest: &mut Value) {
    manifest["version"] = json!(VERSION);
    for table in DEPENDENCIES {
        let Some(table) = manifest[table].as_object_mut() else { continue };
        for (name, range) in table.iter_mut() {
            if name.starts_with("@nowcast/") || name.starts_with("nowcast") {
                *range = json!(VERSION);
            }
        }
    }
}

fn npm_pack(places: &Places, stage: &Path) -> anyhow::Result<()> {
    let out = places.out.join("npm");
    fs::create_dir_all(&out)?;
    let (stage, out) = (stage.to_string_lossy(), out.to_string_lossy());
    step::run(&["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", &out, &stage])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_packages_name_each_other_in_one_version() {
        let mut manifest = json!({
            "version": "0.0.0",
            "dependencies": { "nowcast-server": "*", "three": "^0.181.0" },
            "peerDependencies": { "nowcast": "^0.1.0", "@nowcast/three": "^0.1.0", "react": ">=18" },
        });
        pin(&mut manifest);
        assert_eq!(manifest["version"], VERSION);
        assert_eq!(manifest["dependencies"], json!({ "nowcast-server": VERSION, "three": "^0.181.0" }));
        let peers = json!({ "nowcast": VERSION, "@nowcast/three": VERSION, "react": ">=18" });
        assert_eq!(manifest["peerDependencies"], peers);
    }
}
