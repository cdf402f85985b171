//! `cargo xtask test` runs everything that CI runs, in an order that fails early, and prints a summary.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::failures::Failures;
use crate::{
    bindings, client, console, decoy, dissector, failures, interop, lab, publish, session_vectors as vectors,
    step, tidy, tools,
};

/// The tests to run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Skip the tests in a real browser, and report that
    #[arg(long)]
    without_browser: bool,
    /// Run all tests in a real browser. Without this flag, only those of each page, all carriers, headsets, and faults of networks
    /// and servers run
    #[arg(long, conflicts_with = "without_browser")]
    browser: bool,
    /// Also run all tests of channels, server and program with local names over a socket, as on systems without shared memory.
    /// Without this flag, only some of the channels' tests run in this way
    #[arg(long)]
    portable: bool,
    /// Also lint and test the instruments of the lab
    #[arg(long)]
    lab: bool,
    /// Run the long form of every test that has one, and all tests of `--browser`, `--portable` and `--lab`: more seeds and worlds.
    /// Without this flag, `NOWCAST_LONG=1` does the same for a single test
    #[arg(long)]
    long: bool,
    /// Stop at the first step that fails
    #[arg(long)]
    fail_fast: bool,
}

struct Step {
    name: &'static str,
    run: fn(&Args) -> anyhow::Result<()>,
}

const STEPS: &[Step] = &[
    Step { name: "tools", run: |_| check_tools() },
    Step { name: "tidy", run: |_| tidy::run() },
    Step { name: "rust format", run: |_| step::run(&["cargo", "fmt", "--all", "--check"]) },
    Step { name: "packages", run: |_| client::install_packages() },
    Step { name: "typescript format and lint", run: |_| step::run(&["npx", "--no", "biome", "check"]) },
    Step { name: "typescript types", run: |_| step::run(&["npm", "run", "--silent", "types"]) },
    Step { name: "typescript builds", run: |_| client::build_all() },
    Step { name: "rust lint", run: |_| clippy() },
    Step { name: "rust builds", run: |_| build_rust() },
    Step { name: "documents", run: |_| documents() },
    Step { name: "sessions across languages", run: |_| sessions_across_languages() },
    Step { name: "a stock WebTransport client", run: |_| interop::run() },
    Step { name: "rust tests", run: rust_tests },
    Step { name: "python", run: |_| bindings::run(&built_programs()?.program) },
    Step { name: "session vectors, second reader", run: |_| session_vectors() },
    Step { name: "rust documentation", run: |_| rust_docs() },
    Step { name: "typescript tests", run: typescript_tests },
    Step { name: "installation", run: |_| installation() },
];

fn session_vectors() -> anyhow::Result<()> {
    let spec = step::root().join("spec");
    let count = vectors::check(&spec)?;
    eprintln!("{count} vectors decoded from the page alone");
    match dissector::check(&spec, &step::target_dir().join("dissector"))? {
        Some(count) => eprintln!("{count} packets shown by tshark"),
        None => eprintln!("tshark is not installed, so the dissector was not run (apt install tshark)"),
    }
    Ok(())
}

const BROWSER_STEP: Step = Step { name: "browser tests", run: |args| browser_tests(args, &["test/browser"]) };
const BROWSER_SHORT_STEP: Step =
    Step { name: "browser tests in short", run: |args| browser_tests(args, &BROWSER_SHORT) };
/// The files with browser tests that take a third of the time of all: each page, all carriers, headsets, and faults of networks
/// and servers.
const BROWSER_SHORT: [&str; 12] = [
    "packages/nowcast/test/browser/carriers.test.ts",
    "packages/nowcast/test/browser/stalled-page.test.ts",
    "packages/predict-rapier/test/browser/page.test.ts",
    "packages/site/test/browser/site.browser.test.ts",
    "packages/studio/test/browser/studio.browser.test.ts",
    "packages/viewer/test/browser/cluster.browser.test.ts",
    "packages/viewer/test/browser/headsets.browser.test.ts",
    "packages/viewer/test/browser/killed-server.browser.test.ts",
    "packages/viewer/test/browser/page.browser.test.ts",
    "packages/viewer/test/browser/two-tabs.browser.test.ts",
    "packages/viewer/test/browser/udp-dropped.browser.test.ts",
    "packages/world-script/test/browser/new-world.browser.test.ts",
];
const LAB_STEP: Step = Step { name: "lab", run: |args| lab::test(long_form(args)) };
const PORTABLE_STEP: Step = Step { name: "rust tests, portable", run: |_| portable_tests() };
const PORTABLE_SHORT_STEP: Step =
    Step { name: "rust tests, portable in short", run: |_| portable_tests_in_short() };
/// The tests of `crates/nowcast` that show in less than a minute whether local channels work over a socket.
const PORTABLE_SHORT: (&str, [&str; 3]) = ("channels", ["application::", "blocking::", "carriers::"]);
/// Packages whose behaviour depends on how programs on one machine connect.
const PORTABLE_PACKAGES: [&str; 3] = ["nowcast", "server", "cli"];

/// Runs every step, and prints which of them passed.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut outcomes = Vec::new();
    let browser = if args.browser || args.long { &BROWSER_STEP } else { &BROWSER_SHORT_STEP };
    let steps = STEPS.iter().chain((!args.without_browser).then_some(browser));
    let steps = steps.chain([if args.portable || args.long { &PORTABLE_STEP } else { &PORTABLE_SHORT_STEP }]);
    let steps = steps.chain((args.lab || args.long).then_some(&LAB_STEP));
    for step in steps {
        eprintln!("\n{} {}", console::bold("==>"), console::bold(step.name));
        let start = Instant::now();
        let outcome = (step.run)(args);
        let failed = match &outcome {
            Ok(()) => false,
            Err(error) if error.is::<step::NotRun>() => {
                eprintln!("{} {}: {error}", console::yellow("not run:"), step.name);
                false
            }
            Err(error) => {
                eprintln!("{} {}: {error:#}", console::red("failed:"), step.name);
                true
            }
        };
        outcomes.push((step.name, outcome, start.elapsed()));
        if failed && args.fail_fast {
            break;
        }
    }
    summarise(&outcomes, args.without_browser)
}

fn summarise(outcomes: &[(&str, anyhow::Result<()>, Duration)], without_browser: bool) -> anyhow::Result<()> {
    eprintln!("\n{}", console::bold("summary"));
    let (mut failed, mut not_run) = (0, 0);
    for (name, outcome, elapsed) in outcomes {
        let verdict = match outcome {
            Ok(()) => console::green("passed"),
            Err(error) if error.is::<step::NotRun>() => {
                not_run += 1;
                eprintln!("  {}  {name}: {error}", console::yellow("NOT RUN"));
                continue;
            }
            Err(_) => {
                failed += 1;
                console::red("FAILED")
            }
        };
        eprintln!("  {verdict}  {name:<28} {:>6.1} s", elapsed.as_secs_f32());
        for line in
            outcome.as_ref().err().map(|error| format!("{error:#}")).iter().flat_map(|text| text.lines())
        {
            eprintln!("            {line}");
        }
    }
    if without_browser {
        eprintln!("  {}  browser tests: left out by --without-browser", console::yellow("NOT RUN"));
    }
    if let Some(lacking) = tools::lacking() {
        eprintln!("  {}  tests that need {lacking}, which this machine lacks", console::yellow("NOT RUN"));
    }
    println!("steps: {} passed, {failed} failed", outcomes.len() - failed - not_run);
    if failed > 0 {
        bail!("{failed} of {} steps failed", outcomes.len());
    }
    Ok(())
}

fn check_tools() -> anyhow::Result<()> {
    tools::warn_of_a_full_disk();
    tools::require_c_compiler()?;
    tools::require_rust_components()?;
    tools::require_node()
}

fn clippy() -> anyhow::Result<()> {
    step::run(&["cargo", "clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}

/// The variable that selects the long form of tests.
fn long_form(args: &Args) -> &'static [(&'static str, &'static str)] {
    if args.long { &[("NOWCAST_LONG", "1")] } else { &[] }
}

/// Builds every test, and the programs that tests start. A later run of a single test must also name the whole workspace. Cargo
/// chooses features by the named packages, and for a single package it would build most dependencies again.
fn build_rust() -> anyhow::Result<()> {
    step::run(&["cargo", "test", "--workspace", "--no-run", "--quiet"])
}

/// Many tests wait for a process, a carrier or a clock, so each core runs two tests at once.
fn rust_tests(args: &Args) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (2 * cores).to_string();
    let line = ["cargo", "test", "--workspace", "--no-fail-fast"];
    let env = [&[("RUST_TEST_THREADS", &*threads)][..], long_form(args)].concat();
    decoy::run_tests(&env, |env| failures::run_cargo(&line, env))
}

/// Runs the tests with the feature. Only code that depends on the feature is built again. Tests of other packages with the same
/// name run once more.
fn portable_tests() -> anyhow::Result<()> {
    let names = step::packages()?.into_iter().filter(|package| PORTABLE_PACKAGES.contains(&package.folder()));
    let names: BTreeSet<String> = names.flat_map(|package| package.tests).collect();
    portable_tests_named(names.iter().map(String::as_str), &[])
}

fn portable_tests_in_short() -> anyhow::Result<()> {
    portable_tests_named([PORTABLE_SHORT.0].into_iter(), &PORTABLE_SHORT.1)
}

fn portable_tests_named<'a>(names: impl Iterator<Item = &'a str>, only: &[&'a str]) -> anyhow::Result<()> {
    let mut line = vec!["cargo", "test", "--workspace", "--no-fail-fast", "--features", "nowcast/portable"];
    line.extend(names.flat_map(|name| ["--test", name]));
    line.extend((!only.is_empty()).then_some("--"));
    line.extend(only);
    decoy::run_tests(&[], |env| failures::run_cargo(&line, env))
}

/// Builds the site with all pages. It fails if a link leads nowhere.
fn documents() -> anyhow::Result<()> {
    client::build_site(&built_programs()?.program)
}

/// Runs the tests with Rust at one end and the newly built TypeScript at the other. Without the variable these tests are skipped.
fn sessions_across_languages() -> anyhow::Result<()> {
    let peer = step::root().join("packages/nowcast/test/session/peer.mjs");
    step::run_with_env(
        &["cargo", "test", "--workspace", "--test", "across_languages"],
        &[("NOWCAST_TYPESCRIPT_PEER", &peer.to_string_lossy())],
    )
}

fn rust_docs() -> anyhow::Result<()> {
    step::run_with_env(
        &["cargo", "doc", "--workspace", "--no-deps", "--quiet"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}

/// Runs the TypeScript tests. Some of them join a world of the real program, or open channels to an endpoint that echoes
/// messages.
fn typescript_tests(args: &Args) -> anyhow::Result<()> {
    let Built { program, echo, differential } = built_programs()?;
    let env = [("NOWCAST_BIN", &*program), ("NOWCAST_ECHO", &echo), ("NOWCAST_DIFFERENTIAL", &differential)];
    let failures = vitest(&["--passWithNoTests"], &[&env[..], long_form(args)].concat())?;
    if failures.is_empty() { Ok(()) } else { bail!("{failures}") }
}

/// Runs Vitest with the data folder of nobody, and returns the tests that failed.
fn vitest(args: &[&str], env: &[(&str, &str)]) -> anyhow::Result<Failures> {
    let report = step::target_dir().join("vitest.json");
    let line = [&["npx", "--no", "vitest", "run"], args].concat();
    decoy::run_tests(env, |env| failures::run_vitest(&line, env, &report))
}

/// Makes a world by `npm create` from packages with the program of the tests, in a network that has nothing but loopback.
fn installation() -> anyhow::Result<()> {
    publish::check::run_in_short(Path::new(&built_programs()?.program))
}

/// The number of files with failed browser tests that are run a second time.
const UNSTEADY_FILES: usize = 3;

/// Runs the browser tests in the files whose paths contain a filter. Files with a failed test run once more, because a browser on
/// a busy machine sometimes lets a page wait for longer than any limit. A test that passes then is printed as unsteady.
fn browser_tests(args: &Args, filters: &[&str]) -> anyhow::Result<()> {
    let chromium = tools::require_chromium()?;
    let Built { program, echo, .. } = built_programs()?;
    let chromium = chromium.to_string_lossy();
    let env = [("NOWCAST_BIN", &*program), ("NOWCAST_ECHO", &echo), ("NOWCAST_CHROMIUM", &chromium)];
    let env = [&env[..], long_form(args)].concat();
    let line = ["--config", "vitest.browser.config.ts"];
    let first = vitest(&[&line[..], filters].concat(), &env)?;
    if first.is_empty() {
        return Ok(());
    }
    if first.files.len() > UNSTEADY_FILES {
        bail!("{first}");
    }
    eprintln!("{} these tests failed, and their files run once more:\n{first}", console::yellow("again:"));
    let files: Vec<&str> = first.files.iter().map(String::as_str).collect();
    let second = vitest(&[&line[..], &files].concat(), &env)?;
    if second.is_empty() {
        eprintln!(
            "{} these tests failed once and passed the second time:\n{first}",
            console::yellow("unsteady:")
        );
        return Ok(());
    }
    bail!("twice:\n{second}")
}

/// The paths of programs that other tests start.
struct Built {
    program: String,
    echo: String,
    differential: String,
}

/// Returns the programs as the tests build them.
fn built_programs() -> anyhow::Result<Built> {
    build_rust()?;
    let built = |name| step::target_dir().join("debug").join(name).to_string_lossy().into_owned();
    Ok(Built {
        program: built("nowcast"),
        echo: built("examples/echo"),
        differential: built("examples/differential"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_of_the_browser_tests_names_files_that_exist() {
        let absent: Vec<_> =
            BROWSER_SHORT.into_iter().filter(|file| !step::root().join(file).is_file()).collect();
        assert_eq!(absent, [""; 0]);
    }
}
