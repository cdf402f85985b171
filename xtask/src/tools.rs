//! The tools that a fresh machine must have, each with a hint for its installation.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::{console, step};

/// Space that a first run takes, in GiB. It was measured with debug information and incremental state, and rounded up.
const FIRST_RUN_GIB: u64 = 16;
const CHROMIUM_NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// Checks for npm and a version of Node that Vite runs on.
pub(crate) fn require_node() -> anyhow::Result<()> {
    let cure = "install Node 20.19 or newer, or of Node 22 the release 22.12 or newer, with npm (nodejs.org)";
    let version = output_of("node", &["--version"]).with_context(|| format!("Node is missing: {cure}"))?;
    if !is_new_enough(&version) {
        bail!("Node {version} is too old: {cure}");
    }
    output_of("npm", &["--version"]).with_context(|| format!("npm is missing: {cure}"))?;
    Ok(())
}

/// Whether Vite runs on this version of Node, such as `v20.19.0`.
fn is_new_enough(version: &str) -> bool {
    let mut parts = version.trim().trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    let version: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    ((20, 19)..(21, 0)).contains(&version) || (22, 12) <= version
}

/// Warns before a first run if the disk has less free space than such a run takes.
pub(crate) fn warn_of_a_full_disk() {
    let target = step::target_dir();
    if target.join("debug").is_dir() {
        return;
    }
    let root = step::root().to_string_lossy().into_owned();
    let free_kib = output_of("df", &["-Pk", &root]).ok().and_then(|table| free_kib(&table));
    if let Some(free_gib) = free_kib.map(|free| free >> 20).filter(|free| *free < FIRST_RUN_GIB) {
        eprintln!(
            "{} a first run takes up to {FIRST_RUN_GIB} GiB below {}, and {free_gib} GiB are free there: make room, or set \
             CARGO_TARGET_DIR to a folder on another disk",
            console::yellow("note:"),
            target.display()
        );
    }
}

/// Returns the fourth column of the last line that `df -Pk` prints.
fn free_kib(table: &str) -> Option<u64> {
    table.lines().last()?.split_whitespace().nth(3)?.parse().ok()
}

/// Checks for compilers of C and C++, because some dependencies contain such code. A build without them fails after minutes.
pub(crate) fn require_c_compiler() -> anyhow::Result<()> {
    for (compiler, language) in [("cc", "C"), ("c++", "C++")] {
        output_of(compiler, &["--version"]).with_context(|| {
            format!(
                "a compiler of {language} (`{compiler}`) is missing: install one (Debian: `apt-get install build-essential`)"
            )
        })?;
    }
    Ok(())
}

/// A program that tests need besides Rust, Node and compilers of C and C++.
struct Tool {
    name: &'static str,
    is_installed: fn() -> bool,
    /// Debian's packages of the tool.
    packages: &'static [&'static str],
    /// Another way to install it.
    otherwise: &'static str,
}

/// The tools of `cargo xtask test`, in the order of their names.
const TEST_TOOLS: [Tool; 9] = [
    Tool {
        name: CHROMIUM,
        is_installed: || find_chromium().is_some(),
        packages: &["chromium", "fonts-dejavu-core"],
        otherwise: "or set NOWCAST_CHROMIUM to its path, or leave out its tests by --without-browser",
    },
    Tool {
        name: "Go 1.21 or newer, which builds nats-server",
        is_installed: || has_new_go() || std::env::var_os("NOWCAST_NATS_SERVER").is_some(),
        packages: &["golang-go"],
        otherwise: "or from go.dev/dl, or set NOWCAST_NATS_SERVER to a nats-server",
    },
    Tool {
        name: "PostgreSQL",
        is_installed: || {
            // Debian's programs lie in the folder of their version.
            let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
            versions.into_iter().any(|version| version.path().join("bin/initdb").is_file())
                || output_of("initdb", &["--version"]).is_ok()
        },
        packages: &["postgresql"],
        otherwise: "or from postgresql.org, with its programs in the PATH",
    },
    Tool {
        name: "Python 3 with venv",
        is_installed: || output_of("python3", &["-c", "import ensurepip, venv"]).is_ok(),
        packages: &["python3-venv"],
        otherwise: "or from python.org",
    },
    Tool {
        name: "curl",
        is_installed: || output_of("curl", &["--version"]).is_ok(),
        packages: &["curl"],
        otherwise: "or from curl.se",
    },
    Tool {
        name: NGINX,
        is_installed: || {
            // Debian's nginx lies in a folder that is not in the PATH of ordinary users.
            ["nginx", "/usr/sbin/nginx"].iter().any(|nginx| output_of(nginx, &["-v"]).is_ok())
                && output_of("openssl", &["version"]).is_ok()
        },
        packages: &["nginx-light", "openssl"],
        otherwise: "or from nginx.org",
    },
    Tool {
        name: "script of util-linux",
        is_installed: || output_of("script", &["--version"]).is_ok(),
        packages: &["bsdutils"],
        otherwise: "or from util-linux",
    },
    Tool {
        name: "systemd-analyze with openssl",
        is_installed: || {
            output_of("systemd-analyze", &["--version"]).is_ok() && output_of("openssl", &["version"]).is_ok()
        },
        packages: &["systemd", "openssl"],
        otherwise: "or from your distribution",
    },
    Tool {
        name: "tshark",
        is_installed: || output_of("tshark", &["--version"]).is_ok(),
        packages: &["tshark"],
        otherwise: "or from wireshark.org",
    },
];
/// The tool of `cargo xtask dist --check` for the Windows program.
const WINE: Tool = Tool {
    name: "Wine",
    is_installed: || output_of("wine", &["--version"]).is_ok(),
    packages: &["wine", "wine64"],
    otherwise: "or from winehq.org",
};
const CHROMIUM: &str = "Chromium";
const NGINX: &str = "nginx with openssl";

/// Whether there is a Go that builds nats-server. From 1.21 on, Go fetches the newer toolchain that a module asks for.
fn has_new_go() -> bool {
    let version =
        nowcast_dev_nats::find_go().and_then(|go| output_of(&go.to_string_lossy(), &["version"]).ok());
    let minor = version.as_deref().and_then(|text| {
        text.split_once("go1.")?.1.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    });
    minor.is_some_and(|minor: u32| minor >= 21)
}

fn missing_test_tools(with_browser: bool) -> impl Iterator<Item = &'static Tool> {
    TEST_TOOLS.iter().filter(move |tool| {
        (with_browser || ![CHROMIUM, NGINX].contains(&tool.name)) && !(tool.is_installed)()
    })
}

/// Checks for everything that `cargo xtask test` needs, so that no test is left out or fails after minutes.
pub(crate) fn require_test_tools(with_browser: bool) -> anyhow::Result<()> {
    warn_of_a_full_disk();
    require_c_compiler()?;
    // They are part of a default toolchain, but not of a minimal one.
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        output_of("cargo", &[subcommand, "--version"])
            .with_context(|| format!("{component} is missing: `rustup component add {component}`"))?;
    }
    require_node()?;
    let missing: Vec<String> = missing_test_tools(with_browser)
        .map(|tool| {
            format!("{}: `apt-get install {}`, {}", tool.name, tool.packages.join(" "), tool.otherwise)
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "tests need tools that are missing here. `cargo xtask install-tools` installs all of them on Debian.\n{}",
        missing.join("\n")
    )
}

/// Checks for Wine.
pub(crate) fn require_wine() -> anyhow::Result<()> {
    anyhow::ensure!(
        (WINE.is_installed)(),
        "Wine, which runs the Windows program, is missing: install it by `cargo xtask install-tools --wine` on Debian, {}",
        WINE.otherwise
    );
    Ok(())
}

/// The tools to install.
#[derive(clap::Args)]
pub(crate) struct InstallArgs {
    /// Also install Wine, in which `cargo xtask dist --check` runs the Windows program
    #[arg(long)]
    wine: bool,
}

/// Installs the missing tools of `cargo xtask test` as Debian's packages.
pub(crate) fn install_test_tools(args: &InstallArgs) -> anyhow::Result<()> {
    let wine = Some(&WINE).filter(|wine| args.wine && !(wine.is_installed)());
    let missing = missing_test_tools(true).chain(wine);
    let packages: Vec<&str> = missing.flat_map(|tool| tool.packages.iter().copied()).collect();
    if packages.is_empty() {
        eprintln!("all tools are installed");
        return Ok(());
    }
    output_of("apt-get", &["--version"])
        .with_context(|| format!("this system has no apt-get: install {} in its way", packages.join(", ")))?;
    let is_root = output_of("id", &["-u"]).is_ok_and(|id| id == "0");
    let prefix: &[&str] = if is_root { &[] } else { &["sudo"] };
    step::run(&[prefix, &["apt-get", "update", "-qq"]].concat())?;
    let install = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq"];
    step::run(&[prefix, &install, &["--no-install-recommends"], &packages].concat())
}

/// Returns the browser for the browser tests, from `NOWCAST_CHROMIUM` or from the PATH.
pub(crate) fn require_chromium() -> anyhow::Result<PathBuf> {
    find_chromium().context("the browser tests need Chromium: run `cargo xtask install-tools`, or set NOWCAST_CHROMIUM to its path")
}

fn find_chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("NOWCAST_CHROMIUM").map(PathBuf::from) {
        return Some(named).filter(|path| path.is_file());
    }
    let paths = std::env::var_os("PATH")?;
    CHROMIUM_NAMES
        .iter()
        .flat_map(|name| std::env::split_paths(&paths).map(move |dir| dir.join(name)))
        .find(|candidate| candidate.is_file())
}

fn output_of(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(args).stderr(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("`{program} {}` failed", args.join(" "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_node_that_vite_refuses_are_too_old() {
        let new = ["v20.19.0", "v20.20.2\n", "v22.12.0", "v24.1.0"].map(is_new_enough);
        let old = ["v18.19.0", "v20.18.3", "v21.7.3", "v22.11.0", "", "node"].map(is_new_enough);
        assert_eq!((new, old), ([true; 4], [false; 6]));
    }

    #[test]
    fn the_free_space_is_the_fourth_column() {
        let table =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264000 12000 80000 13% /";
        assert_eq!(free_kib(table), Some(80_000));
        assert_eq!(free_kib(""), None);
    }
}
