//! All developer commands of Nowcast. CI calls `cargo xtask install-tools` and `cargo xtask test`.

mod bindings;
mod check;
mod client;
mod cluster;
mod console;
mod costs;
mod decoy;
mod dissector;
mod failures;
mod interop;
mod lab;
mod long;
mod nats;
mod peers;
mod publish;
mod rust_tests;
mod serve;
mod size;
mod step;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// All developer commands of Nowcast.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_version_flag = true)]
struct Xtask {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the web client and the server, and run the sample worlds
    ///
    /// Installs the required JavaScript packages into node_modules, and reports a missing tool. All unknown arguments are passed
    /// to `nowcast serve`.
    #[command(disable_help_flag = true)]
    Serve(serve::Args),
    /// Run everything that CI runs: formats, lints, types, all tests, and the tests in a real browser
    Test(test::Args),
    /// Check a change before a commit: formats, rules of the repository, types, lints, and unit tests of what has changed
    Check(check::Args),
    /// Install the tools that `cargo xtask test` needs besides Rust, Node and compilers, on Debian: Chromium, Go, Python's venv, tshark
    InstallTools(tools::InstallArgs),
    /// Test a session with a foreign WebTransport client, aioquic, which is installed below target/
    Interop,
    /// Build the instruments, and measure Nowcast and other programs on this machine: `cargo xtask lab ipc`
    #[command(disable_help_flag = true)]
    Lab(serve::Args),
    /// Install the systems that the lab compares with Nowcast (Colyseus) from the npm registry, below target/
    Peers,
    /// Build nats-server with Go below target/nats, and start three of it as a cluster with JetStream
    Nats(nats::Args),
    /// Start three nats-servers and three servers of Nowcast that share their rooms, and print what to open
    Cluster(cluster::Args),
    /// Count lines of code without tests for each crate and package, and bytes of documents
    Size,
    /// Check the tree against its own rules, such as ARCHITECTURE.md's dependency table and the places of `unsafe`
    Tidy,
    /// Build the packages of TypeScript, and the self-contained release binary: target/release/nowcast
    Build,
    /// Build the documents as a site: packages/site/dist
    Docs(serve::DocsArgs),
    /// Compare the costs of calls in C with those in Rust, by instructions and by time, and measure calls in Python
    Costs,
    /// Make everything that a release publishes, below target/dist/out, and publish nothing: archives, packages, an image,
    /// checksums, licences. With --check, also install and run all of it
    Dist(publish::Args),
    /// Do everything that a release does: versions, changelog, tests, packages, checksums, the pages' commands. With --dry-run,
    /// publish nothing
    Release(publish::release::Args),
    /// Long: run the conformance suite of the updatable queue in release, on every implementation or carrier
    Conformance(long::ConformanceArgs),
    /// Long: run the models of the shared queue's atomic protocol in every interleaving
    Loom,
    /// Long: fuzz everything that reads bytes from outside
    Fuzz(long::FuzzArgs),
}

fn main() -> ExitCode {
    let outcome = match Xtask::parse().command {
        Command::Serve(args) => serve::serve(&args),
        Command::Test(args) => test::run(&args),
        Command::Check(args) => check::run(&args),
        Command::InstallTools(args) => tools::install_test_tools(&args),
        Command::Interop => interop::run(),
        Command::Lab(args) => lab::run(&args),
        Command::Peers => peers::run(),
        Command::Nats(args) => nats::run(&args),
        Command::Cluster(args) => cluster::run(&args),
        Command::Size => size::run(),
        Command::Tidy => tidy::run(),
        Command::Build => serve::build_everything(),
        Command::Docs(args) => serve::build_site(&args),
        Command::Costs => costs::run(),
        Command::Dist(args) => publish::run(&args),
        Command::Release(args) => publish::release::run(&args),
        Command::Conformance(args) => long::conformance(&args),
        Command::Loom => long::loom(),
        Command::Fuzz(args) => long::fuzz(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{} {error:#}", console::red("error:"));
            ExitCode::FAILURE
        }
    }
}
