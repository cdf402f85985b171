//! The pages' commands that install Nowcast, and the names of packages and files in these pages.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, ensure};

use super::{Places, VERSION, output_of, published};
use crate::step;

/// The page with all ways to install.
const INSTALL: &str = "docs/how-to/install.md";
/// The ends of the names of published files.
const ENDINGS: [&str; 6] = [".tgz", ".whl", ".tar.gz", ".zip", ".deb", ".oci.tar"];

/// Returns the lines of the first shell block below a heading of the page about installation.
pub(super) fn commands(heading: &str) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(step::root().join(INSTALL))?;
    commands_below(&text, heading)
        .with_context(|| format!("{INSTALL} has no commands below the heading {heading:?}"))
}

fn commands_below(text: &str, heading: &str) -> Option<Vec<String>> {
    let (_, section) = text.split_once(&format!("\n## {heading}\n"))?;
    let section = section.split("\n## ").next()?;
    let (_, block) = section.split_once("\n```sh\n")?;
    let (block, _) = block.split_once("\n```")?;
    Some(block.lines().map(str::to_owned).collect())
}

/// Checks that every package and file of Nowcast that a page names was made, and has the version of this release. If the release is
/// not complete, programs and wheels may be absent. Returns the numbers of names and pages.
pub(super) fn check(places: &Places, is_complete: bool) -> anyhow::Result<(usize, usize)> {
    let made = published(places)?;
    let is_made = |name: &str| made.iter().any(|made| made.trim_start_matches("npm/").starts_with(name));
    let (mut names, mut pages) = (0, 0);
    for page in with_commands()? {
        let text = fs::read_to_string(step::root().join(&page))?;
        let named = names_in(&text);
        for name in &named {
            ensure!(name.contains(VERSION), "{page} names {name}, and this release is {VERSION}");
            // npm's packages are always made.
            let may_be_absent = !is_complete && !name.ends_with(".tgz");
            ensure!(is_made(name) || may_be_absent, "{page} names {name}, which this release does not have");
        }
        names += named.len();
        pages += usize::from(!named.is_empty());
    }
    ensure!(names > 0, "no page names a package: does {INSTALL} still have commands?");
    Ok((names, pages))
}

/// Returns the pages that say that no package is published.
pub(super) fn that_deny_a_release() -> anyhow::Result<Vec<String>> {
    let mut pages = Vec::new();
    for page in with_commands()? {
        if fs::read_to_string(step::root().join(&page))?.contains("\nNo package is ") {
            pages.push(page);
        }
    }
    Ok(pages)
}

/// Returns the pages whose commands users run.
fn with_commands() -> anyhow::Result<Vec<String>> {
    let places = ["README.md", "bindings", "docs", "examples", "packages/*/README.md"];
    let files = output_of("git", &[&["ls-files"], &places[..]].concat())?;
    let is_page = |file: &&str| [".md", ".ipynb"].iter().any(|ending| file.ends_with(ending));
    Ok(files.lines().filter(is_page).map(str::to_owned).collect())
}

/// Returns the files of this release that a page names, and the beginnings of the files of packages that its commands install by
/// name.
fn names_in(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // Prose is read like code, because an unpaired backtick must not hide names.
    for line in text.split(['`', '\n']) {
        for word in line.split_whitespace().map(|word| word.trim_matches(['"', ',', ';', ')'])) {
            let file = word.rsplit('/').next().unwrap_or_default();
            if is_own(file) && ENDINGS.iter().any(|ending| file.ends_with(ending)) {
                names.insert(file.to_owned());
            }
        }
        names.extend(line.split("&&").flat_map(installed_by));
    }
    names
}

/// Returns the beginnings of the files of Nowcast's packages that a command installs.
fn installed_by(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let Some((client, verb)) = words.windows(2).enumerate().find_map(|(at, pair)| match pair {
        ["npm", "install" | "create"] | ["pip", "install"] => Some((pair[0], at + 1)),
        _ => None,
    }) else {
        return Vec::new();
    };
    let mut names =
        words[verb + 1..].iter().filter(|word| !word.starts_with('-')).map(|word| without_version(word));
    if words[verb] == "create" {
        return names.next().map(|name| format!("create-{name}-{VERSION}.tgz")).into_iter().collect();
    }
    let is_package = |name: &&str| name.starts_with("@nowcast/") || is_own(name) && !name.contains('/');
    let to_file = |name: &str| match client {
        "npm" => format!("{}-{VERSION}.tgz", name.trim_start_matches('@').replace('/', "-")),
        _ => format!("{}-{VERSION}-", name.replace('-', "_")),
    };
    names.filter(is_package).map(to_file).collect()
}

/// Whether a package or a file belongs to this release.
fn is_own(name: &str) -> bool {
    name.trim_start_matches("create-").starts_with("nowcast")
}

/// Returns the name in a word such as `nowcast@latest`.
fn without_version(word: &str) -> &str {
    // A scope begins with the same sign.
    word.char_indices().find(|(at, sign)| *at > 0 && *sign == '@').map_or(word, |(at, _)| &word[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_in_the_first_shell_block_of_their_section() {
        let text = "# Page\n\n## One\n\n```sh\na b\nc\n```\n\n```sh\nd\n```\n\n## Two\n\n## Three\n\n```sh\ne\n```\n";
        assert_eq!(commands_below(text, "One"), Some(vec!["a b".to_owned(), "c".to_owned()]));
        assert_eq!((commands_below(text, "Two"), commands_below(text, "Four")), (None, None));
    }

    #[test]
    fn names_are_those_of_packages_and_files_of_nowcast_after_an_unpaired_backtick_too() {
        let text = format!(
            "A ` of nowcast, and `npm install three @nowcast/three@latest ../nowcast/packages/page`.\n\
             ```sh\ncd x && npm create nowcast@latest my-world --registry http://127.0.0.1\n\
             pip install --find-links target/dist/out nowcast-server\n\
             tar xzf nowcast-{VERSION}-linux-x86_64.tar.gz\nnpx nowcast serve\n```\n| `npm/create-nowcast-8.tgz` | `apt install ./nowcast_9.deb` |\n"
        );
        let expected = [
            "create-nowcast-8.tgz".to_owned(),
            format!("create-nowcast-{VERSION}.tgz"),
            format!("nowcast-{VERSION}-linux-x86_64.tar.gz"),
            format!("nowcast-three-{VERSION}.tgz"),
            "nowcast_9.deb".to_owned(),
            format!("nowcast_server-{VERSION}-"),
        ];
        assert_eq!(names_in(&text), BTreeSet::from(expected));
    }
}
