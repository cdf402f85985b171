//! The wheel of Python: the module, and the program for the command `nowcast`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::program::{self, Program};
use super::{Places, commit_time, copy};
use crate::step;

/// The place of the program in the wheel. The module `nowcast.command` starts it.
const PROGRAM: &str = "nowcast/bin/nowcast";

/// Builds the wheel for each Linux for which there is a program.
pub(super) fn make(places: &Places, programs: &[Program]) -> anyhow::Result<()> {
    let tools = program::python_tools()?;
    for program in programs.iter().filter(|program| program.target.debian.is_some()) {
        let built = build(places, program, &tools)?;
        add_program(places, program, &tools, &built)?;
    }
    Ok(())
}

/// Returns the wheels of the last run.
pub(super) fn made(places: &Places) -> anyhow::Result<Vec<PathBuf>> {
    let wheels = wheels_in(&places.out)?;
    ensure!(!wheels.is_empty(), "there is no wheel in {}: run `cargo xtask dist`", places.out.display());
    Ok(wheels)
}

fn build(places: &Places, program: &Program, tools: &Path) -> anyhow::Result<PathBuf> {
    let stage = places.empty("wheel-built")?;
    let tool = tools.join("maturin").to_string_lossy().into_owned();
    let manifest = step::root().join("bindings/python/Cargo.toml").to_string_lossy().into_owned();
    let out = stage.to_string_lossy().into_owned();
    let triple = program.target.triple;
    let profile = ["--profile", "dist", "--zig", "--compatibility", "manylinux_2_28", "--target", triple];
    let line = [&[&*tool, "build"], &profile[..], &["--manifest-path", &manifest, "--out", &out]].concat();
    let time = commit_time()?;
    step::run_with_env(
        &line,
        &[
            ("RUSTFLAGS", &program::path_flags()?),
            ("PATH", &program::path_with(tools)),
            ("SOURCE_DATE_EPOCH", &time),
        ],
    )?;
    wheels_in(&stage)?.pop().context("maturin has made no wheel")
}

/// Adds the program to a wheel, and writes the checksums of its files again.
fn add_program(places: &Places, program: &Program, tools: &Path, wheel: &Path) -> anyhow::Result<()> {
    let stage = places.empty("wheel")?;
    let python = tools.join("python").to_string_lossy().into_owned();
    let (shown, wheel) = (stage.to_string_lossy(), wheel.to_string_lossy());
    step::run(&[&python, "-m", "wheel", "unpack", "--dest", &shown, &wheel])?;
    let folder = fs::read_dir(&stage)?.next().context("the wheel is empty")??.path();
    copy(&program.path, &folder.join(PROGRAM))?;
    step::run(&["chmod", "-R", "u=rwX,go=rX", &folder.to_string_lossy()])?;
    let time = commit_time()?;
    let (folder, out) = (folder.to_string_lossy(), places.out.to_string_lossy());
    step::run_with_env(
        &[&python, "-m", "wheel", "pack", "--dest-dir", &out, &folder],
        &[("SOURCE_DATE_EPOCH", &time)],
    )
}

fn wheels_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut wheels = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        wheels.push(entry?.path());
    }
    wheels.retain(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheels.sort();
    Ok(wheels)
}
