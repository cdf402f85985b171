//! `nowcast test` runs the tests of worlds in virtual time.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use nowcast_script::{Limits, Scenario};
use nowcast_server::read_world;

use super::typescript::refuse_outdated;
use crate::output;

/// Play the test cases in the worlds' folders tests/, thousands of steps a second
///
/// For a case that fails, prints file, line, seed and the case's output. With `--seed`, the case repeats exactly the same
/// steps.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The worlds' folders
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
    /// Run only cases whose names contain this text
    #[arg(long)]
    only: Option<String>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds to play each case with
    #[arg(long, default_value_t = 1)]
    seeds: u64,
}

/// The outcomes so far.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    steps: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let mut tally = Tally::default();
    for dir in &args.dirs {
        play_world(dir, args, &mut tally)?;
    }
    if tally.passed + tally.failed == 0 {
        bail!("{}", nothing_played(args));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let played = tally.steps as f64 / 60.0;
    output::line(format_args!(
        "{} passed, {} failed; {played:.0} s of play in {seconds:.2} s, {:.0} times as fast as real time",
        tally.passed,
        tally.failed,
        played / seconds.max(1e-9)
    ))?;
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns why no case was played.
fn nothing_played(args: &Args) -> String {
    match &args.only {
        Some(only) => format!("no case was played: no case has \"{only}\" in its name (--only)"),
        None => {
            let dirs: Vec<String> = args.dirs.iter().map(|dir| dir.display().to_string()).collect();
            format!(
                "no case was played: {} has no test cases. Write some in tests/NAME.luau; `nowcast new` makes an example",
                dirs.join(", ")
            )
        }
    }
}

fn play_world(dir: &Path, args: &Args, tally: &mut Tally) -> anyhow::Result<()> {
    let sources = read_world(dir)?;
    refuse_outdated(dir, &sources)?;
    let tests: Vec<_> =
        sources.iter().map(|(path, _)| path.to_owned()).filter(|path| path.starts_with("tests/")).collect();
    for test in tests {
        let scenario = match Scenario::new(sources.clone(), &test, Limits::DEFAULT) {
            Ok(scenario) => scenario,
            Err(fault) => {
                tally.failed += 1;
                output::line(format_args!(
                    "FAILED {}",
                    fault.in_folder(&dir.display().to_string(), &sources)
                ))?;
                continue;
            }
        };
        let is_wanted = |name: &str| args.only.as_deref().is_none_or(|only| name.contains(only));
        for (index, name) in scenario.cases().iter().enumerate().filter(|(_, name)| is_wanted(name)) {
            for seed in args.seed..args.seed.saturating_add(args.seeds) {
                let outcome = scenario.run(index, seed);
                tally.steps += outcome.steps;
                match outcome.failure {
                    None => {
                        tally.passed += 1;
                        output::line(format_args!("ok     {name} ({} steps, seed {seed})", outcome.steps))?;
                    }
                    Some(fault) => {
                        tally.failed += 1;
                        output::line(format_args!(
                            "FAILED {name} (step {}, seed {seed}): {}",
                            outcome.steps,
                            fault.in_folder(&dir.display().to_string(), &sources)
                        ))?;
                        for line in outcome.printed {
                            output::line(format_args!("       | {line}"))?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
