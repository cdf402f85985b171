//! The long forms of tests. They take minutes to hours, and each has a short form in `cargo xtask test`.

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::{client, step};

/// Number of cases.
#[derive(clap::Args)]
pub(crate) struct ConformanceArgs {
    /// Number of random cases for each implementation: 100,000 by default, 2,000 for carriers
    #[arg(long)]
    cases: Option<u64>,
    /// Test sessions on real sockets instead, with kills, stalls and changes of carrier: Rust, Node and Chromium, each on all of
    /// its carriers
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

/// Checks the laws end to end: Rust and Rust, Rust and Node, Rust and Chromium.
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

/// Runs the models of the atomic protocol of the shared queue, in every interleaving.
pub(crate) fn loom() -> anyhow::Result<()> {
    let target = step::target_dir().join("loom");
    step::run_with_env(
        &["cargo", "test", "--release", "--package", "nowcast-shm", "--lib", "models"],
        &[("RUSTFLAGS", "--cfg loom"), ("CARGO_TARGET_DIR", &target.to_string_lossy())],
    )
}

/// The target and the duration.
#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// The target to fuzz; without one, all targets of fuzz/fuzz_targets run one after the other
    target: Option<String>,
    /// Minutes of processor time for each target
    #[arg(long, default_value_t = 10)]
    minutes: u64,
}

/// Fuzzes everything that reads bytes from outside, guided by coverage. The TypeScript decoders can also read the cases that were
/// found for the wire format: `NOWCAST_CORPUS=fuzz/corpus npx vitest run corpus`.
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
