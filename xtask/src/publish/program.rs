//! The program for each platform, built with Zig's compilers, so that it runs on older systems and other processors.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::output_of;
use crate::{console, step};

/// The glibc of the oldest supported systems: Debian 10, Ubuntu 20.04, RHEL 8. The C++ library is linked into the program.
const GLIBC: &str = "2.28";
/// The tools from PyPI, in fixed versions, which are the compilers of C and C++ and the builder of wheels.
const PYTHON_TOOLS: [&str; 4] =
    ["ziglang==0.17.1", "cargo-zigbuild==0.24.1", "maturin>=1.9,<2", "wheel>=0.45,<1"];

/// The features of the published program, as flags of cargo.
pub(crate) const FEATURES: [&str; 3] = ["--no-default-features", "--features", "cluster,mimalloc"];

/// A platform for which the program is published.
pub(super) struct Target {
    /// The name in file names.
    pub(super) name: &'static str,
    pub(super) triple: &'static str,
    glibc: bool,
    /// The name of the platform in Node: system and processor.
    pub(super) node: (&'static str, &'static str),
    /// The architecture in Debian and in images of containers.
    pub(super) debian: Option<&'static str>,
    /// The name of the file.
    pub(super) file: &'static str,
}

impl Target {
    pub(super) fn is_windows(&self) -> bool {
        self.node.0 == "win32"
    }
}

/// All platforms for which the program is published.
pub(super) const TARGETS: [Target; 3] = [
    Target {
        name: "linux-x86_64",
        triple: "x86_64-unknown-linux-gnu",
        glibc: true,
        node: ("linux", "x64"),
        debian: Some("amd64"),
        file: "nowcast",
    },
    Target {
        name: "linux-aarch64",
        triple: "aarch64-unknown-linux-gnu",
        glibc: true,
        node: ("linux", "arm64"),
        debian: Some("arm64"),
        file: "nowcast",
    },
    Target {
        name: "windows-x86_64",
        triple: "x86_64-pc-windows-gnu",
        glibc: false,
        node: ("win32", "x64"),
        debian: None,
        file: "nowcast.exe",
    },
];

/// A built program.
pub(super) struct Program {
    pub(super) target: &'static Target,
    pub(super) path: PathBuf,
}

/// Builds the program for these targets. If it may leave out some, it names each whose standard library is not installed.
/// Otherwise such a target is an error.
pub(super) fn build_all(
    targets: &[&'static Target],
    may_leave_out: bool,
    profile: &str,
) -> anyhow::Result<Vec<Program>> {
    let tools = python_tools()?;
    let libraries = PathBuf::from(output_of("rustc", &["--print", "sysroot"])?.trim()).join("lib/rustlib");
    let mut programs = Vec::new();
    for &target in targets {
        if !libraries.join(target.triple).join("lib").is_dir() {
            let (name, triple) = (target.name, target.triple);
            let cause =
                format!("Rust's standard library for it is not installed (`rustup target add {triple}`)");
            ensure!(may_leave_out, "the program for {name} cannot be built: {cause}");
            eprintln!("{} the program for {name}: {cause}", console::yellow("not made:"));
            continue;
        }
        programs.push(build(target, &tools, profile)?);
    }
    Ok(programs)
}

/// Returns the targets with these names, or all if none is named.
pub(super) fn named(names: &[String]) -> anyhow::Result<Vec<&'static Target>> {
    let known = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    for name in names {
        let is_known = TARGETS.iter().any(|target| target.name == *name);
        ensure!(is_known, "there is no platform {name}; the platforms are {}", known());
    }
    Ok(TARGETS
        .iter()
        .filter(|target| names.is_empty() || names.iter().any(|name| name == target.name))
        .collect())
}

/// Returns a program that was built for this machine in another way.
pub(super) fn of_this_machine(path: PathBuf) -> anyhow::Result<Program> {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target = TARGETS.iter().find(|target| target.triple == triple);
    let target = target.with_context(|| format!("there is no package for {triple}"))?;
    Ok(Program { target, path })
}

fn build(target: &'static Target, tools: &Path, profile: &str) -> anyhow::Result<Program> {
    let triple = if target.glibc { format!("{}.{GLIBC}", target.triple) } else { target.triple.to_owned() };
    let builder = tools.join("cargo-zigbuild").to_string_lossy().into_owned();
    let (flags, path) = (path_flags()?, path_with(tools));
    let line = [&*builder, "zigbuild", "--profile", profile, "--target", &triple, "--package", "nowcast-cli"];
    step::run_with_env(&[&line[..], &FEATURES].concat(), &[("RUSTFLAGS", &flags), ("PATH", &path)])?;
    // Cargo's folder of the profile `dev` has another name.
    let folder = if profile == "dev" { "debug" } else { profile };
    let path = step::target_dir().join(target.triple).join(folder).join(target.file);
    Ok(Program { target, path })
}

/// The Rust target for Macs. Their program is not published, because linking it needs Apple's SDK.
const MACOS: &str = "aarch64-apple-darwin";

/// Checks all crates for macOS, and compiles their C and C++ with Zig's compilers and headers.
pub(crate) fn check_macos() -> anyhow::Result<()> {
    step::run(&["rustup", "target", "add", MACOS])?;
    let tools = python_tools()?;
    let builder = tools.join("cargo-zigbuild").to_string_lossy().into_owned();
    let line = [&*builder, "check", "--workspace", "--target", MACOS];
    step::run_with_env(&line, &[("PATH", &path_with(&tools))])
}

/// Returns the flags of the compiler that keep the place of the checkout out of messages of panics.
pub(super) fn path_flags() -> anyhow::Result<String> {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo =
        cargo.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("there is no home folder")?;
    Ok(format!(
        "--remap-path-prefix={}=/nowcast --remap-path-prefix={}=/cargo",
        step::root().display(),
        cargo.display()
    ))
}

/// Returns the variable `PATH` with the folder of the tools first.
pub(super) fn path_with(tools: &Path) -> String {
    format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default())
}

/// Installs the tools from PyPI below target/, unless they are there, and returns the folder of their programs.
pub(super) fn python_tools() -> anyhow::Result<PathBuf> {
    let folder = step::target_dir().join("tools/zig");
    let programs = folder.join("bin");
    let place = folder.to_string_lossy();
    if !programs.join("pip").exists() {
        step::run(&["python3", "-m", "venv", &place]).context("Python 3 with venv is needed")?;
    }
    if ["maturin", "cargo-zigbuild", "wheel"].iter().any(|tool| !programs.join(tool).exists()) {
        let pip = programs.join("pip").to_string_lossy().into_owned();
        step::run(&[&[&*pip, "install", "--quiet"], &PYTHON_TOOLS[..]].concat())?;
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_platform_is_refused_with_the_known_ones() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            named(&names).map(|targets| targets.iter().map(|target| target.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).expect("all are known"), ["linux-x86_64", "linux-aarch64", "windows-x86_64"]);
        assert_eq!(names(&["windows-x86_64"]).expect("it is known"), ["windows-x86_64"]);
        let refused = names(&["windows"]).expect_err("it is unknown").to_string();
        assert!(refused.contains("no platform windows; the platforms are linux-x86_64,"), "{refused}");
    }
}
