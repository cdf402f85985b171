//! `cargo xtask lab` builds the instruments of `lab/`, which is a workspace of its own, and runs them.

use std::path::Path;

use anyhow::bail;

use crate::publish::program::FEATURES;
use crate::{client, decoy, serve, step, tools};

/// Instruments that neither start a server nor run JavaScript.
const ALONE: [&str; 8] = ["freshness", "ipc", "lag", "latency", "link", "script", "soak", "store"];
const MANIFEST: [&str; 2] = ["--manifest-path", "lab/Cargo.toml"];
/// Names the program that the instruments start.
const PROGRAM: &str = "NOWCAST_BIN";
const FOLDER: &str = "lab/javascript";

/// Builds the instruments and runs one. The arguments are those of the program `nowcast-lab`.
pub(crate) fn run(args: &serve::Args) -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("the instruments run on Linux only");
    }
    tools::require_c_compiler()?;
    let words: Vec<&str> = args.rest.iter().map(String::as_str).collect();
    let asks_for_help = |word: &&str| ["-h", "--help", "help"].contains(word);
    let target = step::target_dir();
    let mut env = Vec::new();
    let is_alone = words.first().is_none_or(|first| ALONE.contains(first)) || words.iter().any(asks_for_help);
    if !is_alone {
        client::build()?;
        client::build_sdk()?;
        install_packages()?;
        match words[0] {
            "load" if std::env::var_os(PROGRAM).is_some() => {}
            "load" => env.push((PROGRAM, build_published(&target)?)),
            _ => build_server(&["--release"])?,
        }
    }
    step::run(
        &[&["cargo", "build", "--release", "--target-dir", &target.to_string_lossy()], &MANIFEST[..]]
            .concat(),
    )?;
    let program = target.join("release/nowcast-lab").to_string_lossy().into_owned();
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    step::run_with_env(&[&[&*program], &words[..]].concat(), &env)
}

/// Builds the program as it is published, but with the names of its functions, which a profile shows. Returns its path.
fn build_published(target: &Path) -> anyhow::Result<String> {
    let named =
        ["--config", "profile.dist.strip='none'", "--config", "profile.dist.debug='line-tables-only'"];
    let build = ["cargo", "build", "--profile", "dist", "--package", "nowcast-cli"];
    step::run(&[&build[..], &FEATURES, &named].concat())?;
    Ok(target.join("dist/nowcast").to_string_lossy().into_owned())
}

/// Builds the program that instruments start, with the fail points at which `lab crash` kills it.
fn build_server(profile: &[&str]) -> anyhow::Result<()> {
    let features = ["--package", "nowcast-store", "--features", "nowcast-store/fail-points"];
    step::run(&[&["cargo", "build", "--package", "nowcast-cli"], &features[..], profile].concat())
}

/// Installs the codecs that are compared with our own.
fn install_packages() -> anyhow::Result<()> {
    if step::root().join(FOLDER).join("node_modules").is_dir() {
        return Ok(());
    }
    let quiet = ["--no-save", "--no-workspaces", "--no-fund", "--no-audit", "--loglevel=error"];
    step::run(&[&["npm", "install", "--prefix", FOLDER], &quiet[..]].concat())
}

/// Lints and tests the instruments, with the programs and packages that they start.
pub(crate) fn test(env: &[(&str, &str)]) -> anyhow::Result<()> {
    let target = step::target_dir().to_string_lossy().into_owned();
    let shared = [&MANIFEST[..], &["--target-dir", &target]].concat();
    let types = format!("{FOLDER}/tsconfig.json");
    let vitest = format!("{FOLDER}/vitest.config.ts");
    step::run(&[&["cargo", "fmt", "--check"], &MANIFEST[..]].concat())?;
    step::run(
        &[&["cargo", "clippy", "--all-targets", "--quiet"], &shared[..], &["--", "-D", "warnings"]].concat(),
    )?;
    client::build()?;
    client::build_sdk()?;
    install_packages()?;
    step::run(&["npx", "--no", "--", "tsc", "-p", &types])?;
    build_server(&[])?;
    let program = step::target_dir().join("debug/nowcast").to_string_lossy().into_owned();
    let env = [&[(PROGRAM, &*program)], env].concat();
    let line = [&["cargo", "test", "--no-fail-fast"], &shared[..]].concat();
    decoy::run_tests(&env, |env| step::run_with_env(&line, env))?;
    decoy::run_tests(&env, |env| {
        step::run_with_env(&["npx", "--no", "vitest", "run", "--config", &vitest], env)
    })
}
