//! `cargo xtask test` runs everything that CI runs, in an order that fails early, and prints a summary.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::{
    bindings, client, console, decoy, dissector, failures, interop, lab, nats, publish, rust_tests, step,
    tidy, tools,
};

/// The tests to run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Skip the tests in a real browser, and report that
    #[arg(long)]
    without_browser: bool,
    /// Run all tests in a real browser. Without this flag, one file for each page and for each carrier runs
    #[arg(long, conflicts_with = "without_browser")]
    browser: bool,
    /// Also run all tests of channels, server and program with local names over a socket, as on systems without shared memory
    #[arg(long)]
    portable: bool,
    /// Also lint and test the instruments of the lab
    #[arg(long)]
    lab: bool,
    /// Run everything: the long form of every test that has one, all tests of `--browser`, `--portable` and `--lab`, foreign
    /// clients, the links of the documentation, and an installation without a network. It takes hours. `NOWCAST_LONG=1` selects
    /// the long form of a single test
    #[arg(long)]
    long: bool,
    /// Stop at the first step that fails
    #[arg(long)]
    fail_fast: bool,
}

/// A part of the run, with a line of its own in the summary.
struct Step {
    name: &'static str,
    /// Whether the arguments ask for this step.
    is_asked: fn(&Args) -> bool,
    run: fn(&Args) -> anyhow::Result<()>,
    /// Whether the step begins with the one before it, because both wait more than they compute. Such steps run one after the
    /// other beside the last one that is none.
    is_beside: bool,
}

const fn always(name: &'static str, run: fn(&Args) -> anyhow::Result<()>) -> Step {
    Step { name, is_asked: |_| true, run, is_beside: false }
}

const fn beside(name: &'static str, run: fn(&Args) -> anyhow::Result<()>) -> Step {
    Step { name, is_asked: |_| true, run, is_beside: true }
}

const fn long(name: &'static str, run: fn(&Args) -> anyhow::Result<()>) -> Step {
    asked(name, |args| args.long, run)
}

const fn asked(
    name: &'static str,
    is_asked: fn(&Args) -> bool,
    run: fn(&Args) -> anyhow::Result<()>,
) -> Step {
    Step { name, is_asked, run, is_beside: false }
}

const STEPS: &[Step] = &[
    always("tools", |args| tools::require_test_tools(!args.without_browser)),
    always("tidy", |_| tidy::run()),
    always("rust format", |_| step::run(&["cargo", "fmt", "--all", "--check"])),
    always("packages", |_| client::install_packages()),
    always("typescript format and lint", |_| step::run(&["npx", "--no", "biome", "check"])),
    always("typescript types", |_| step::run(&["npm", "run", "--silent", "types"])),
    always("typescript builds", |_| client::build_all()),
    always("rust builds and lints", |_| build_rust()),
    always("dissector", |_| dissector()),
    always("rust tests", |args| decoy::run_tests(long_form(args), rust_tests::run)),
    beside("python", |_| bindings::run(&Built::find().program)),
    beside("documents", |_| client::build_site()),
    beside("typescript tests", typescript_tests),
    always("sessions across languages", |_| sessions_across_languages()),
    asked("browser tests", |args| !args.without_browser, browser_tests),
    long("a stock WebTransport client", |_| interop::run()),
    long("rust documentation", |_| rust_docs()),
    long("macos", |_| publish::program::check_macos()),
    long("installation", |_| publish::check::run_in_short(Path::new(&Built::find().program))),
    asked("rust tests, portable", |args| args.portable || args.long, portable_tests),
    asked("lab", |args| args.lab || args.long, |args| lab::test(long_form(args))),
];

/// The browser tests of a run without `--browser`: each page, each carrier, a proxy, and faults of servers.
const BROWSER_SHORT: [&str; 7] = [
    "packages/nowcast/test/browser/carriers.test.ts",
    "packages/site/test/browser/site.browser.test.ts",
    "packages/studio/test/browser/studio.browser.test.ts",
    "packages/viewer/test/browser/killed-server.browser.test.ts",
    "packages/viewer/test/browser/page.browser.test.ts",
    "packages/viewer/test/browser/proxy.browser.test.ts",
    "packages/viewer/test/browser/two-tabs.browser.test.ts",
];
/// Packages whose behaviour depends on how programs on one machine connect.
const PORTABLE_PACKAGES: [&str; 3] = ["nowcast", "server", "cli"];

/// Runs every step that the arguments ask for, and prints which of them passed.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut outcomes = Vec::new();
    let asked: Vec<&Step> = STEPS.iter().filter(|step| (step.is_asked)(args)).collect();
    for steps in asked.chunk_by(|_, next| next.is_beside) {
        let (first, beside) = steps.split_first().expect("a chunk has a step");
        let ended = std::thread::scope(|scope| {
            let beside = scope.spawn(|| beside.iter().map(|step| step.run(args)).collect::<Vec<_>>());
            [vec![first.run(args)], beside.join().expect("a step does not panic")].concat()
        });
        let failed = ended.iter().any(|step| step.cause.is_some());
        outcomes.extend(ended);
        // The first step looks for the tools of all others.
        if failed && (args.fail_fast || outcomes.len() == 1) {
            break;
        }
    }
    summarise(&outcomes, start.elapsed(), args.without_browser)
}

/// The end of a step.
#[derive(Clone)]
struct Ended {
    name: &'static str,
    elapsed: Duration,
    /// Why the step failed.
    cause: Option<String>,
}

impl Step {
    fn run(&self, args: &Args) -> Ended {
        eprintln!("\n{} {}", console::bold("==>"), console::bold(self.name));
        let start = Instant::now();
        let cause = (self.run)(args).err().map(|error| format!("{error:#}"));
        if let Some(cause) = &cause {
            eprintln!("{} {}: {cause}", console::red("failed:"), self.name);
        }
        Ended { name: self.name, elapsed: start.elapsed(), cause }
    }
}

fn summarise(outcomes: &[Ended], total: Duration, without_browser: bool) -> anyhow::Result<()> {
    eprintln!("\n{}", console::bold("summary"));
    for Ended { name, elapsed, cause } in outcomes {
        let verdict = if cause.is_none() { console::green("passed") } else { console::red("FAILED") };
        eprintln!("  {verdict}  {name:<30} {:>6.1} s", elapsed.as_secs_f32());
        for line in cause.iter().flat_map(|cause| cause.lines()) {
            eprintln!("            {line}");
        }
    }
    if without_browser {
        eprintln!("  {}  browser tests: left out by --without-browser", console::yellow("NOT RUN"));
    }
    let failed = outcomes.iter().filter(|step| step.cause.is_some()).count();
    println!("steps: {} passed, {failed} failed, in {} s", outcomes.len() - failed, total.as_secs());
    if failed > 0 {
        bail!("{failed} of {} steps failed", outcomes.len());
    }
    Ok(())
}

fn dissector() -> anyhow::Result<()> {
    let count = dissector::check(&step::root().join("spec"), &step::target_dir().join("dissector"))?;
    eprintln!("{count} packets shown by tshark");
    Ok(())
}

/// Builds and lints every crate, every test and the programs that tests start, and builds nats-server.
fn build_rust() -> anyhow::Result<()> {
    rust_tests::build()?;
    nats::program().map(drop)
}

/// The variable that selects the long form of tests.
fn long_form(args: &Args) -> &'static [(&'static str, &'static str)] {
    if args.long { &[("NOWCAST_LONG", "1")] } else { &[] }
}

/// Runs the tests with the feature. Only code that depends on the feature is built again.
fn portable_tests(_: &Args) -> anyhow::Result<()> {
    let packages = step::packages()?;
    let packages = packages.iter().filter(|package| PORTABLE_PACKAGES.contains(&package.folder()));
    let names: BTreeSet<&str> = packages.flat_map(|package| &package.tests).map(String::as_str).collect();
    let mut more = vec!["--features", "nowcast/portable"];
    more.extend(names.into_iter().flat_map(|name| ["--test", name]));
    decoy::run_tests(&[], |env| rust_tests::run_some(&more, |_| true, env))
}

/// Runs the tests with Rust at one end and the newly built TypeScript at the other.
fn sessions_across_languages() -> anyhow::Result<()> {
    let peer = step::root().join("packages/nowcast/test/session/peer.mjs");
    rust_tests::run_ignored("across_languages", &[("NOWCAST_TYPESCRIPT_PEER", &peer.to_string_lossy())])
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
    vitest(&[], &[], &[&Built::find().env()[..], long_form(args)].concat())
}

fn browser_tests(args: &Args) -> anyhow::Result<()> {
    let filters: &[&str] = if args.browser || args.long { &["test/browser"] } else { &BROWSER_SHORT };
    let chromium = tools::require_chromium()?;
    let chromium = chromium.to_string_lossy();
    let built = Built::find();
    let env = [&built.env()[..], &[("NOWCAST_CHROMIUM", &*chromium)], long_form(args)].concat();
    vitest(&["--config", "vitest.browser.config.ts"], filters, &env)
}

/// Runs Vitest with the data folder of nobody.
fn vitest(options: &[&str], filters: &[&str], env: &[(&str, &str)]) -> anyhow::Result<()> {
    let report = step::target_dir().join("vitest.json");
    let env = [env, &[("NOWCAST_REQUIRE_TOOLS", "1")]].concat();
    let run = |filters: &[&str]| {
        let line = [&["npx", "--no", "vitest", "run"], options, filters].concat();
        decoy::run_tests(&env, |env| failures::run_vitest(&line, env, &report))
    };
    run(filters)?.settle(|first| run(&first.files.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// The paths of built programs that other tests start.
struct Built {
    program: String,
    echo: String,
    differential: String,
}

impl Built {
    /// Returns the paths. The step "rust builds" has built the programs.
    fn find() -> Built {
        let built = |name| step::target_dir().join("debug").join(name).to_string_lossy().into_owned();
        Built {
            program: built("nowcast"),
            echo: built("examples/echo"),
            differential: built("examples/differential"),
        }
    }

    /// The variables by which tests find the programs.
    fn env(&self) -> [(&str, &str); 3] {
        [
            ("NOWCAST_BIN", &self.program),
            ("NOWCAST_ECHO", &self.echo),
            ("NOWCAST_DIFFERENTIAL", &self.differential),
        ]
    }
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
