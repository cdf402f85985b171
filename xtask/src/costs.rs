//! `cargo xtask costs` compares the costs of calls in C with those of the same calls in Rust, and measures Python, a client's round over
//! WebTransport and a world's step.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};

use crate::{bindings, step};

/// Modes of both programs, and what a round of each is.
const MODES: [(&str, &str); 3] = [
    ("put", "a state put on one key"),
    ("state", "a state put and received"),
    ("event", "an event put and received"),
];
/// Rounds whose instructions are counted.
const COUNTED: [u32; 2] = [10_000, 30_000];
/// Walkers and things of each measured world, and the steps by which its instructions are counted.
const WORLDS: [(&str, &str, [u32; 2]); 2] = [("200", "0", [60, 180]), ("1000", "9000", [60, 120])];
/// The rounds of 20 clients by which the instructions of a client's round are counted.
const SERVED: [u32; 2] = [50, 150];
const SERVED_CLIENTS: f64 = 20.0;
const TIMED: &str = "2000000";
/// Runs of each program, alternately. The fastest one counts.
const RUNS: u32 = 5;

/// Builds both programs in release, and prints a table of instructions and nanoseconds for each round.
pub(crate) fn run() -> anyhow::Result<()> {
    let examples = ["--example", "call_costs", "--example", "served_costs"];
    let packages = [&["-p", "nowcast-ffi", "-p", "nowcast", "--lib"][..], &examples].concat();
    step::run(&[&["cargo", "build", "--release"][..], &packages].concat())?;
    let release = step::target_dir().join("release");
    let (c, rust) = (release.join("examples/call_costs_c"), release.join("examples/call_costs"));
    let (library, output) = (release.to_string_lossy(), c.to_string_lossy());
    let rpath = format!("-Wl,-rpath,{library}");
    let line = ["cc", "-std=gnu11", "-O2", "bindings/c/tests/costs.c", "-I", "crates/ffi/include"];
    step::run(&[&line[..], &["-L", &library, "-lnowcast_ffi", "-pthread", &rpath, "-o", &output]].concat())?;

    println!("| a round | C: instructions | Rust: instructions | ratio | C: ns | Rust: ns | ratio |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (mode, round) in MODES {
        let (of_c, of_rust) = (instructions(&c, &[mode], COUNTED)?, instructions(&rust, &[mode], COUNTED)?);
        let (mut ns_c, mut ns_rust) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..RUNS {
            ns_c = ns_c.min(nanoseconds(&c, mode)?);
            ns_rust = ns_rust.min(nanoseconds(&rust, mode)?);
        }
        let (ratio, ratio_ns) = (of_c / of_rust, ns_c / ns_rust);
        println!(
            "| {round} | {of_c:.0} | {of_rust:.0} | {ratio:.2} | {ns_c:.0} | {ns_rust:.0} | {ratio_ns:.2} |"
        );
    }
    let served = instructions(&release.join("examples/served_costs"), &[], SERVED)? / SERVED_CLIENTS;
    println!("\nA client's round over WebTransport, both ends together: {served:.0} instructions\n");
    measure_worlds(&release)?;
    bindings::measure()
}

/// Prints the instructions of a step of each world.
fn measure_worlds(release: &Path) -> anyhow::Result<()> {
    step::run(&["cargo", "build", "--release", "-p", "nowcast-world", "--example", "step_costs"])?;
    println!("| walkers | things at rest | instructions a step |\n| --- | --- | --- |");
    for (walkers, things, steps) in WORLDS {
        let counted = instructions(&release.join("examples/step_costs"), &[walkers, things], steps)?;
        println!("| {walkers} | {things} | {counted:.0} |");
    }
    Ok(())
}

/// The instructions of a round, by callgrind: the difference between two runs, which leaves out the start and the end.
fn instructions(program: &Path, arguments: &[&str], [few, many]: [u32; 2]) -> anyhow::Result<f64> {
    let count = |rounds: u32| -> anyhow::Result<f64> {
        let output = step::command("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(arguments)
            .arg(rounds.to_string())
            .output()
            .context("valgrind cannot be started: is it installed? (Debian: `apt-get install valgrind`)")?;
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().find_map(|line| line.split_once("Collected : "));
        let (_, counted) = line.with_context(|| format!("callgrind counted nothing:\n{text}"))?;
        Ok(counted.trim().parse()?)
    };
    Ok((count(many)? - count(few)?) / f64::from(many - few))
}

/// The time of a round that the program prints.
fn nanoseconds(program: &Path, mode: &str) -> anyhow::Result<f64> {
    let output =
        step::command(&program.to_string_lossy()).args([mode, TIMED]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("{} failed", program.display());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}
