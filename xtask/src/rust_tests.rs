//! Runs the Rust tests: builds all test programs by one call of cargo, and runs several of them at once.
//!
//! `cargo test` runs one program after the other. Many tests wait for a process, a carrier or a clock, so most of that time the
//! processors are idle.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

use crate::failures::{Failures, failed_test};
use crate::{console, step};

/// A built program with tests.
struct Program {
    /// The crate, and the program's name if it is not the crate's library.
    name: String,
    path: PathBuf,
    /// The folder of the crate, in which cargo starts the program.
    folder: PathBuf,
}

/// The number of slow programs that the summary names.
const SLOWEST: usize = 8;

/// Makes cargo compile the workspace by Clippy's compiler, which also lints what it compiles. So code is compiled once, not a second
/// time for its lints. Warnings are errors.
const LINTED: [(&str, &str); 2] =
    [("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"), ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings")];

/// Builds and lints everything in the workspace. A later build of a single test must also name the whole workspace. Cargo chooses
/// features by the named packages, and for a single package it would build most dependencies again.
pub(crate) fn build() -> anyhow::Result<()> {
    step::run_with_env(&["cargo", "build", "--workspace", "--all-targets"], &LINTED)
}

/// Runs all tests and the examples of the documentation, and fails with the names of the tests that failed.
pub(crate) fn run(env: &[(&str, &str)]) -> anyhow::Result<()> {
    let programs = run_twice(programs(&[])?, env);
    let line = ["cargo", "test", "--workspace", "--doc", "--no-fail-fast", "--quiet"];
    let documentation = step::run_with_env(&line, &[&LINTED, env].concat());
    match (programs, documentation) {
        (Err(programs), Err(documentation)) => Err(anyhow!("{programs:#}\n{documentation:#}")),
        (programs, documentation) => programs.and(documentation),
    }
}

/// Runs the tests that cargo builds with more arguments, of the crates in wanted folders.
pub(crate) fn run_some(
    more: &[&str],
    is_wanted: impl Fn(&Path) -> bool,
    env: &[(&str, &str)],
) -> anyhow::Result<()> {
    let mut programs = programs(more)?;
    programs.retain(|program| is_wanted(&program.folder));
    run_twice(programs, env)
}

/// Runs the ignored tests of the test programs with this name.
pub(crate) fn run_ignored(name: &str, env: &[(&str, &str)]) -> anyhow::Result<()> {
    let line = ["cargo", "test", "--workspace", "--test", name, "--", "--ignored"];
    step::run_with_env(&line, &[&LINTED, env].concat())
}

/// Builds the tests and returns the programs in the order in which cargo finished them.
fn programs(more: &[&str]) -> anyhow::Result<Vec<Program>> {
    let line =
        [&["cargo", "test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"], more]
            .concat();
    let mut cargo = step::prepared(&line, &LINTED)?
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| step::cannot_start(&line))?;
    let output = cargo.stdout.take().context("the output of cargo is piped")?;
    let mut programs = Vec::new();
    for message in BufReader::new(output).lines() {
        let message: Value =
            serde_json::from_str(&message?).context("cargo prints a line that is no JSON")?;
        programs.extend(program(&message));
    }
    if !cargo.wait()?.success() {
        bail!("`{}` failed", line.join(" "));
    }
    if programs.is_empty() {
        bail!("`{}` built no tests", line.join(" "));
    }
    Ok(programs)
}

/// Returns the test program that a message of cargo reports.
fn program(message: &Value) -> Option<Program> {
    let path = PathBuf::from(message["executable"].as_str()?);
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let name = match message["target"]["kind"][0].as_str()? {
        "test" | "example" => format!("{package}/{}", message["target"]["name"].as_str()?),
        _ => package,
    };
    Some(Program { name, path, folder })
}

/// Crates whose tests wait for a disk or for nats-servers. Two of them at once would wait for each other.
const DISK_CRATES: [&str; 6] = ["cli", "dev-nats", "jetstream", "room", "server", "store"];

/// Runs the programs, and once more those whose tests failed.
fn run_twice(programs: Vec<Program>, env: &[(&str, &str)]) -> anyhow::Result<()> {
    run_programs(&programs, env)?.settle(|first| {
        let failed = programs.iter().filter(|program| first.files.contains(&program.name));
        run_programs(failed, env)
    })
}

/// Runs the programs and prints the output of each when it has ended. Programs of [`DISK_CRATES`] run one after the other, beside
/// as many others as there are more cores.
fn run_programs<'a>(
    programs: impl IntoIterator<Item = &'a Program>,
    env: &[(&str, &str)],
) -> anyhow::Result<Failures> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (on_disk, others): (VecDeque<_>, VecDeque<_>) = programs.into_iter().partition(|program| {
        program.folder.file_name().is_some_and(|name| DISK_CRATES.iter().any(|of| name == *of))
    });
    let (on_disk, others) = (Mutex::new(on_disk), Mutex::new(others));
    let ended = Mutex::new((Failures::default(), Vec::new()));
    let libraries = libraries()?;
    std::thread::scope(|scope| {
        let work = |waiting: &Mutex<VecDeque<&'a Program>>| -> anyhow::Result<()> {
            loop {
                let next = waiting.lock().expect("no worker panics").pop_front();
                let Some(program) = next else { return Ok(()) };
                let begin = Instant::now();
                let failed = run_program(program, env, &libraries)?;
                let mut ended = ended.lock().expect("no worker panics");
                failed.iter().for_each(|test| ended.0.add(&program.name, test));
                ended.1.push((begin.elapsed(), &*program.name));
            }
        };
        let lists = std::iter::once(&on_disk).chain(std::iter::repeat_n(&others, cores.max(2) - 1));
        let workers: Vec<_> = lists.map(|list| scope.spawn(move || work(list))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let (failures, times) = ended.into_inner().expect("no worker panics");
    show_slowest(times);
    Ok(failures)
}

/// Runs a program, prints its output, and returns the names of the tests that failed.
fn run_program(program: &Program, env: &[(&str, &str)], libraries: &str) -> anyhow::Result<Vec<String>> {
    eprintln!("{} {}", console::bold("started"), program.name);
    let output = step::command(&program.path.to_string_lossy())
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("LD_LIBRARY_PATH", libraries)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.path.display()))?;
    let shown = String::from_utf8_lossy(&output.stdout);
    // One call, so that the outputs of two programs do not mix.
    print!(
        "\n{} {}\n{}{shown}",
        console::bold("test program"),
        program.name,
        String::from_utf8_lossy(&output.stderr)
    );
    let mut failed: Vec<String> = shown.lines().filter_map(failed_test).map(str::to_owned).collect();
    if !output.status.success() && failed.is_empty() {
        failed.push(format!("ended without the name of a failed test ({})", output.status));
    }
    Ok(failed)
}

/// The folder of Rust's own libraries, which the tests of a procedural macro load.
fn libraries() -> anyhow::Result<String> {
    let output =
        step::command("rustc").args(["--print", "target-libdir"]).output().context("cannot run rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn show_slowest(mut times: Vec<(Duration, &str)>) {
    times.sort();
    eprintln!("\nThe slowest of {} test programs, in seconds:", times.len());
    for (time, name) in times.iter().rev().take(SLOWEST) {
        eprintln!("  {:>6.1}  {name}", time.as_secs_f32());
    }
}
