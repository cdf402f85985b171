//! Checks the list in ARCHITECTURE.md of the files that a new verb of players touches. The list must be complete and short.
//!
//! The page names one verb, and lists the files that name this verb. The list is correct if it agrees with the sources.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;

use super::{files_below, in_backticks};

/// Maximum number of Rust files that a verb may touch.
const FILES_MAX: usize = 8;

/// The crates through which a command of a player passes.
const CRATES: [&str; 4] = ["crates/room", "crates/server", "crates/world", "crates/world-protocol"];

/// Reports files that name the verb and are not in the list, files in the list that do not name it, and a list that is too long.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let (verb, listed) = list(&page).context("ARCHITECTURE.md does not list the files of a new verb")?;
    let mut naming = BTreeSet::new();
    for place in CRATES.iter().map(|place| root.join(place).join("src")).filter(|place| place.is_dir()) {
        for file in files_below(&place, "rs")? {
            if names(&std::fs::read_to_string(&file)?, &verb) {
                naming.insert(file.strip_prefix(root)?.to_string_lossy().into_owned());
            }
        }
    }
    complaints.extend(wrong(&verb, &listed, &naming));
    Ok(())
}

fn wrong(verb: &str, listed: &BTreeSet<String>, naming: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    if naming.len() > FILES_MAX {
        wrong.push(format!("{} Rust files name the verb {verb}; at most {FILES_MAX} may", naming.len()));
    }
    for file in naming.difference(listed) {
        wrong.push(format!("{file} names the verb {verb}, but ARCHITECTURE.md does not list it"));
    }
    for file in listed.difference(naming) {
        wrong.push(format!("ARCHITECTURE.md lists {file}, which does not name the verb {verb}"));
    }
    wrong
}

/// Returns the verb, and the files of the numbered list below "The verb `X` is named in".
fn list(page: &str) -> Option<(String, BTreeSet<String>)> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with("The verb `"));
    let verb = in_backticks(lines.next()?).next()?;
    let files = lines
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .filter_map(|line| in_backticks(line).next())
        .collect();
    Some((verb, files))
}

/// Whether a file names the verb in code before its tests.
fn names(text: &str, verb: &str) -> bool {
    let code = text.lines().take_while(|line| *line != "#[cfg(test)]");
    code.filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "Text.\n\nThe verb `Own` is named in two files:\n\n1. `a.rs`: `x`\n2. `b.rs`: y\n\nMore `c.rs`.";

    #[test]
    fn the_page_names_the_verb_and_its_files() {
        let (verb, files) = list(PAGE).unwrap();
        assert_eq!(verb, "Own");
        assert_eq!(files, ["a.rs".to_owned(), "b.rs".to_owned()].into());
        assert!(list("No list.").is_none());
    }

    #[test]
    fn a_file_too_many_or_too_few_is_refused() {
        let (verb, listed) = list(PAGE).unwrap();
        assert!(wrong(&verb, &listed, &listed).is_empty());
        let naming = ["a.rs".to_owned(), "c.rs".to_owned()].into();
        let complaints = wrong(&verb, &listed, &naming);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].starts_with("c.rs names the verb Own"), "{complaints:?}");
        let many = (0..9).map(|n| format!("{n}.rs")).collect();
        assert!(wrong(&verb, &many, &many)[0].contains("at most 8"));
    }

    #[test]
    fn comments_tests_and_longer_words_do_not_count() {
        assert!(names("Self::Own { entity } => 1,", "Own"));
        assert!(!names("// Own\n/// Own\nOwner::Owned\n#[cfg(test)]\nmod tests { Own }", "Own"));
    }
}
