//! The long forms of tests: minutes to hours, each with a short form in `cargo xtask test`.

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::{client, serve, step};

/// Number of cases.
#[derive(clap::Args)]
pub(crate) struct ConformanceArgs {
    /// Random cases for each implementation: 100,000 by default, 2,000 for carriers
    #[arg(long)]
    cases: Option<u64>,
    /// Sessions on real sockets instead, with kills, stalls and changes of carrier: Rust, Node and Chromium, each on every
    /// carrier it has
    #[arg(long)]
    carriers: bool,
}

const QUEUE_CASES: u64 = 100_000;
const CARRIER_CASES: u64 = 2_000;

/// Runs the conformance suite on every queue.
pub(crate) fn conformance(args: &ConformanceArgs) -> anyhow::Result<()> {
    if args.carriers {
        return carriers(args.cases.unwrap_or(CARRIER_CASES));
    }
    let cases = args.cases.unwrap_or(QUEUE_CASES).to_string();
    for package in ["nowcast-queue", "nowcast-shm"] {
        let line = [
            "cargo",
            "test",
            "--release",
            "--package",
            package,
            "--test",
            "conformance",
            "--",
            "--nocapture",
        ];
        step::run_with_env(&line, &[("NOWCAST_CASES", &cases)])?;
    }
    Ok(())
}

/// The laws end to end: Rust and Rust, Rust and Node, Rust and Chromium.
fn carriers(cases: u64) -> anyhow::Result<()> {
    let cases = cases.to_string();
    let line =
        ["cargo", "test", "--release", "--package", "nowcast", "--test", "laws", "--test", "neighbours"];
    step::run_with_env(&[&line[..], &["--", "--nocapture"]].concat(), &[("NOWCAST_CARRIER_CASES", &cases)])?;
    client::build_sdk()?;
    step::run(&["cargo", "build", "--package", "nowcast", "--example", "echo"])?;
    let tests = ["packages/nowcast/test/channel/laws.test.ts", "packages/nowcast/test/channel/rust.test.ts"];
    step::run_with_env(
        &["npx", "vitest", "run", tests[0], tests[1], "--testTimeout=0"],
        &[("NOWCAST_CARRIER_SCENARIOS", &cases)],
    )?;
    let config = "vitest.browser.config.ts";
    let test = "packages/nowcast/test/browser/carriers.test.ts";
    step::run_with_env(
        &["npx", "vitest", "run", "--config", config, test, "--testTimeout=0"],
        &[("NOWCAST_BROWSER_SCENARIOS", &cases)],
    )
}

/// Duration of the stall.
#[derive(clap::Args)]
pub(crate) struct StallArgs {
    /// Seconds for which the reading process is stopped
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// A reading process that is really stopped, on every carrier.
pub(crate) fn stall(args: &StallArgs) -> anyhow::Result<()> {
    let seconds = args.seconds.to_string();
    let line = ["cargo", "test", "--release", "--package", "nowcast", "--test", "stopped", "--"];
    let line = [&line[..], &["--nocapture", "--test-threads=1"]].concat();
    step::run_with_env(&line, &[("NOWCAST_STOP_SECONDS", &seconds)])
}

/// Number of attempts.
#[derive(clap::Args)]
pub(crate) struct FloodArgs {
    /// Attempts to connect
    #[arg(long, default_value_t = 100_000)]
    attempts: u64,
}

/// Runs a flood of attempts to connect, next to a well-behaved session.
pub(crate) fn flood(args: &FloodArgs) -> anyhow::Result<()> {
    let attempts = args.attempts.to_string();
    let line = ["cargo", "test", "--release", "--package", "nowcast", "--test", "hostile", "flood", "--"];
    step::run_with_env(&[&line[..], &["--nocapture"]].concat(), &[("NOWCAST_HOSTILE_ATTEMPTS", &attempts)])
}

/// Number of kills.
#[derive(clap::Args)]
pub(crate) struct KillArgs {
    /// Processes killed at random moments: this many writers, and this many readers
    #[arg(long, default_value_t = 10_000)]
    count: u64,
}

/// Real processes, really killed, at both ends of the queue in shared memory, and among the subscribers of a publisher.
pub(crate) fn kill(args: &KillArgs) -> anyhow::Result<()> {
    let count = args.count.to_string();
    for (package, test) in [("nowcast-shm", "death"), ("nowcast", "neighbours")] {
        let line = ["cargo", "test", "--release", "--package", package, "--test", test, "--", "--nocapture"];
        step::run_with_env(&line, &[("NOWCAST_KILLS", &count)])?;
    }
    Ok(())
}

/// The models of the shared queue's atomic protocol, in every interleaving.
pub(crate) fn loom() -> anyhow::Result<()> {
    let target = step::target_dir().join("loom");
    step::run_with_env(
        &["cargo", "test", "--release", "--package", "nowcast-shm", "--lib", "models"],
        &[("RUSTFLAGS", "--cfg loom"), ("CARGO_TARGET_DIR", &target.to_string_lossy())],
    )
}

/// Target and duration.
#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// The target to fuzz; all of fuzz/fuzz_targets, one after the other, if none is named
    target: Option<String>,
    /// Minutes of processor time for each target
    #[arg(long, default_value_t = 10)]
    minutes: u64,
}

/// Coverage-guided fuzzing of everything that reads bytes from outside. The decoders in TypeScript read the cases found
/// for the wire format too: `NOWCAST_CORPUS=fuzz/corpus npx vitest run corpus`.
pub(crate) fn fuzz(args: &FuzzArgs) -> anyhow::Result<()> {
    let cure = "install it (`cargo install cargo-fuzz`) and a nightly toolchain (`rustup toolchain install nightly`)";
    step::run(&["cargo", "fuzz", "--version"]).with_context(|| format!("cargo-fuzz is missing: {cure}"))?;
    let targets = fuzz_targets(&step::root().join("fuzz/fuzz_targets"))?;
    let chosen: Vec<&String> =
        targets.iter().filter(|name| args.target.as_ref().is_none_or(|t| t == *name)).collect();
    if chosen.is_empty() {
        bail!("there is no such target; there are: {}", targets.join(", "));
    }
    let seconds = format!("-max_total_time={}", args.minutes * 60);
    for target in chosen {
        step::run(&[
            "cargo",
            "+nightly",
            "fuzz",
            "run",
            target,
            "--",
            &seconds,
            "-rss_limit_mb=2048",
            "-timeout=10",
        ])?;
    }
    Ok(())
}

fn fuzz_targets(dir: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        if let Some(name) = entry?.path().file_stem() {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Runs random lives of pairs of sessions; the arguments are those of `nowcast lab soak`.
pub(crate) fn soak(args: &serve::Args) -> anyhow::Result<()> {
    client::build_sdk()?;
    serve::nowcast_with(&["lab", "soak"], args)
}
