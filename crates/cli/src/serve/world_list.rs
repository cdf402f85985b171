//! The worlds of `nowcast serve`, in the order of the start page.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nowcast_server::{Rules, WorldConfig};

use crate::world::samples::Sample;

/// Maximum characters of a heading, so that it fits into one line of a phone.
const HEADING_CHARACTERS_MAX: usize = 40;

/// The worlds to serve, and the headings of some of them by the worlds' names.
pub(super) struct WorldList {
    pub(super) worlds: Vec<WorldConfig>,
    pub(super) groups: HashMap<String, String>,
}

/// A folder of a world, and the heading above it in its list.
struct Listed {
    folder: PathBuf,
    heading: Option<String>,
}

impl WorldList {
    /// Reads the operands of `nowcast serve`, which are folders and lists of folders, and the worlds with other names. Without
    /// any, the list has the sample worlds.
    ///
    /// # Errors
    ///
    /// A folder or list does not exist, or a list has a faulty line.
    pub(super) fn new(operands: Vec<PathBuf>, named: Vec<(String, PathBuf)>) -> anyhow::Result<Self> {
        let mut listed = Vec::new();
        let mut in_lists = HashSet::new();
        for operand in operands {
            if operand.is_file() {
                let entries = read_list(&operand)?;
                in_lists.extend(entries.iter().filter_map(|entry| entry.folder.canonicalize().ok()));
                listed.extend(entries.into_iter().map(|entry| (entry, true)));
            } else {
                listed.push((Listed { folder: operand, heading: None }, false));
            }
        }
        let (mut worlds, mut groups) = (Vec::new(), HashMap::new());
        for (Listed { folder, heading }, is_of_list) in listed {
            let place = folder.canonicalize().ok();
            let name =
                place.as_ref().and_then(|place| Some(place.file_name()?.to_string_lossy().into_owned()));
            let (Some(place), Some(name)) = (place, name) else {
                bail!("there is no folder {} (`nowcast new {0}` makes a world)", folder.display());
            };
            // `nowcast serve worlds/*` names the folders of the list, too.
            if !is_of_list && in_lists.contains(&place) {
                continue;
            }
            groups.extend(heading.map(|heading| (name.clone(), heading)));
            worlds.push(WorldConfig { name, rules: Rules::Folder(folder) });
        }
        worlds.extend(named.into_iter().map(|(name, dir)| WorldConfig { name, rules: Rules::Folder(dir) }));
        if worlds.is_empty() {
            worlds = Sample::served();
        }
        Ok(Self { worlds, groups })
    }
}

/// Reads a list: a folder in each line, from the folder of the list. A line that ends with a colon is the heading of the lines
/// below it.
fn read_list(file: &Path) -> anyhow::Result<Vec<Listed>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("the list {shown} cannot be read"))?;
    let parent = file.parent().unwrap_or(Path::new(""));
    let mut heading = None;
    let mut entries = Vec::new();
    for (index, line) in text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty()) {
        let number = index + 1;
        if let Some(found) = line.strip_suffix(':') {
            if found.chars().count() > HEADING_CHARACTERS_MAX {
                bail!("{shown}:{number}: a heading has at most {HEADING_CHARACTERS_MAX} characters");
            }
            heading = Some(found.to_owned());
            continue;
        }
        let folder = parent.join(line);
        if !folder.is_dir() {
            bail!(
                "{shown}:{number}: there is no folder {}. Each line of a list names the folder of a world",
                folder.display()
            );
        }
        entries.push(Listed { folder, heading: heading.clone() });
    }
    if entries.is_empty() {
        bail!("the list {shown} names no folder. Write the folder of a world into each line");
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../worlds");

    fn names(list: &WorldList) -> Vec<&str> {
        list.worlds.iter().map(|world| world.name.as_str()).collect()
    }

    #[test]
    fn the_list_of_sample_worlds_has_every_folder_and_the_order_of_the_program() {
        let list = WorldList::new(vec![Path::new(WORLDS).join("worlds.txt")], Vec::new()).unwrap();
        let mut listed = names(&list);
        let packed = Sample::served();
        let served: Vec<&str> = packed.iter().map(|world| world.name.as_str()).collect();
        let shared: Vec<&str> = listed.iter().copied().filter(|name| served.contains(name)).collect();
        assert_eq!(shared, served);
        listed.sort_unstable();
        let folders = std::fs::read_dir(WORLDS).unwrap().map(|entry| entry.unwrap().path());
        let mut folders: Vec<String> = folders
            .filter(|path| path.join("tests").is_dir())
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        folders.sort_unstable();
        assert_eq!(listed, folders);
        assert_eq!(list.groups["minimal"], "For makers");
        assert!(!list.groups.contains_key("football"));
    }

    #[test]
    fn a_folder_of_a_list_that_is_also_an_operand_keeps_the_place_of_the_list() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for name in ["arena", "plaza", "zoo"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        std::fs::write(path("worlds.txt"), "zoo\n\nOlder worlds:\n arena\n").unwrap();
        let operands = ["arena", "plaza", "worlds.txt", "zoo"].map(path).to_vec();
        let list = WorldList::new(operands, vec![("hall".to_owned(), path("zoo"))]).unwrap();
        assert_eq!(names(&list), ["plaza", "zoo", "arena", "hall"]);
        assert_eq!(list.groups, HashMap::from([("arena".to_owned(), "Older worlds".to_owned())]));
    }

    #[test]
    fn a_faulty_line_of_a_list_is_named_by_its_number() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("worlds.txt");
        for (text, fault) in [
            ("\nabsent\n".to_owned(), "worlds.txt:2: there is no folder"),
            ("For makers:\n".to_owned(), "worlds.txt names no folder"),
            (format!("{}:\n", "h".repeat(41)), "worlds.txt:1: a heading has at most 40 characters"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error =
                WorldList::new(vec![file.clone()], Vec::new()).err().expect("the line is faulty").to_string();
            assert!(error.contains(fault), "{error}");
        }
    }
}
