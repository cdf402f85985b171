//! The wheel of Python: the module, and the program for the command `nowcast`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::program::{self, Program};
use super::{Places, commit_time, copy};
use crate::step;

/// The place of the program in the wheel. The module `nowcast.command` starts it.
const PROGRAM: &str = "nowcast/bin/nowcast";

/// The functions that unwind the stack. The list must be complete: if one symbol is missing, the linker takes Zig's whole unwinder.
const UNWINDING: [&str; 17] = [
    "Backtrace",
    "DeleteException",
    "FindEnclosingFunction",
    "ForcedUnwind",
    "GetCFA",
    "GetDataRelBase",
    "GetGR",
    "GetIP",
    "GetIPInfo",
    "GetLanguageSpecificData",
    "GetRegionStart",
    "GetTextRelBase",
    "RaiseException",
    "Resume",
    "Resume_or_Rethrow",
    "SetGR",
    "SetIP",
];

/// Builds the wheel for each Linux for which there is a program.
pub(super) fn make(places: &Places, programs: &[Program], profile: &str) -> anyhow::Result<()> {
    let tools = program::python_tools()?;
    for program in programs.iter().filter(|program| program.target.debian.is_some()) {
        let built = build(places, program, &tools, profile)?;
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

fn build(places: &Places, program: &Program, tools: &Path, profile: &str) -> anyhow::Result<PathBuf> {
    let stage = places.empty("wheel-built")?;
    let tool = tools.join("maturin").to_string_lossy().into_owned();
    let manifest = step::root().join("bindings/python/Cargo.toml").to_string_lossy().into_owned();
    let out = stage.to_string_lossy().into_owned();
    let triple = program.target.triple;
    let target = ["--profile", profile, "--zig", "--compatibility", "manylinux_2_28", "--target", triple];
    let line = [&[&*tool, "build"], &target[..], &["--manifest-path", &manifest, "--out", &out]].concat();
    let (time, libgcc) = (commit_time()?, libgcc(places, program, tools)?);
    step::run_with_env(
        &line,
        &[
            ("NOWCAST_LIBGCC_S", &libgcc),
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

/// Makes an empty library with the name and the functions of `libgcc_s.so.1`, to link against, and returns its path.
///
/// Zig would link an unwinder of its own into the module. When the interpreter ends, CPython ends the threads that wait in the module
/// by `pthread_exit`, which unwinds their stacks with the `libgcc_s.so.1` of the system. The other unwinder cannot read its
/// contexts, and the process would crash.
fn libgcc(places: &Places, program: &Program, tools: &Path) -> anyhow::Result<String> {
    let folder = places.empty("libgcc")?;
    let (source, library) = (folder.join("gcc_s.c"), folder.join("libgcc_s.so.1"));
    let functions: String =
        UNWINDING.iter().map(|name| format!("void _Unwind_{name}(void) {{}}\n")).collect();
    fs::write(&source, functions).with_context(|| format!("cannot write {}", source.display()))?;
    let python = tools.join("python").to_string_lossy().into_owned();
    let target = program.target.triple.replace("-unknown", "");
    let (source, library) = (source.to_string_lossy(), library.to_string_lossy().into_owned());
    let compiler = [&*python, "-m", "ziglang", "cc", "-target", &target, "-shared", "-fPIC", "-nostdlib"];
    let files = ["-Wl,-soname,libgcc_s.so.1", "-o", &library, &source];
    step::run(&[&compiler[..], &files].concat())?;
    Ok(library)
}

/// Ends an interpreter while a thread waits in the module of a wheel for this machine. The process must end without an error.
pub(super) fn check_end(places: &Places) -> anyhow::Result<()> {
    let suffix = format!("_{}.whl", std::env::consts::ARCH);
    let is_ours = |wheel: &PathBuf| wheel.to_string_lossy().ends_with(&suffix);
    let Some(wheel) = made(places)?.into_iter().find(is_ours) else { return Ok(()) };
    let folder = places.empty("wheel-module")?.to_string_lossy().into_owned();
    step::run(&["python3", "-m", "zipfile", "--extract", &wheel.to_string_lossy(), &folder])?;
    for _ in 0..ENDS {
        step::run_with_env(&["python3", "-c", ENDING], &[("PYTHONPATH", &folder)])
            .context("an interpreter with a waiting thread did not end well")?;
    }
    Ok(())
}

/// Number of interpreters to end: the moment at which the thread is ended differs.
const ENDS: u32 = 5;
const ENDING: &str = "
import os, threading, nowcast
name = f'exit-{os.getpid()}'
service = nowcast.advertise(name)
threading.Thread(target=lambda: nowcast.connect(name, timeout=10).receive(), daemon=True).start()
channel = service.accept(timeout=10)
channel.state(1, b'x')
";

fn wheels_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut wheels = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        wheels.push(entry?.path());
    }
    wheels.retain(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheels.sort();
    Ok(wheels)
}
