//! A crate whose row in ARCHITECTURE.md says that it never has a socket links no crate that opens one.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::in_backticks;
use crate::step;

/// Crates that open sockets, or speak a protocol on them.
const NETWORK_CRATES: [&str; 9] =
    ["axum", "h2", "hyper", "hyper-util", "mio", "quinn-udp", "socket2", "tokio-tungstenite", "tungstenite"];

/// Reports each network crate in the dependency tree of a crate without sockets.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let socketless = socketless(&page);
    for package in step::packages()?.into_iter().filter(|package| socketless.contains(&package.place)) {
        let name = package.metadata["name"].as_str().context("a package has a name")?;
        let output = step::command("cargo")
            .args(["tree", "--package", name, "--edges", "normal", "--prefix", "none", "--format", "{p}"])
            .output()
            .context("cannot run `cargo tree`")?;
        ensure!(output.status.success(), "`cargo tree --package {name}` fails");
        complaints.extend(wrong(&package.place, &String::from_utf8_lossy(&output.stdout)));
    }
    Ok(())
}

/// The places of the rows "| `crates/x` | job | may depend on | never |" whose last cell names a socket.
fn socketless(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter(|line| line.starts_with("| `crates/"));
    let cells = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let without = cells.filter(|cells| cells.get(4).is_some_and(|never| never.contains("socket")));
    without.flat_map(|cells| in_backticks(cells[1]).collect::<Vec<_>>()).collect()
}

/// `tree` has one package a line: its name, its version, and more.
fn wrong(place: &str, tree: &str) -> Vec<String> {
    let linked: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let network = NETWORK_CRATES.iter().filter(|name| linked.contains(**name));
    network
        .map(|name| format!("{place} links {name}, but ARCHITECTURE.md says that it never has a socket"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_name_a_socket_are_checked() {
        let page = "| `crates/a` | x | – | a socket, HTTP |\n| `crates/b` | sockets | – | draws |\n";
        assert_eq!(socketless(page).into_iter().collect::<Vec<_>>(), ["crates/a"]);
    }

    #[test]
    fn a_network_crate_in_the_tree_is_reported() {
        let tree = "nowcast-room v0.1.0 (/x/crates/room)\ntokio v1.0.0\nmio v1.0.0\n";
        let wrong = wrong("crates/room", tree);
        assert_eq!(wrong, ["crates/room links mio, but ARCHITECTURE.md says that it never has a socket"]);
        assert!(super::wrong("crates/room", "tokio v1.0.0\nhyperloop v1.0.0\n").is_empty());
    }
}
