//! The sample worlds of the repository.

use std::path::{Path, PathBuf};

use nowcast_script::Sources;

/// The folders of the sample worlds.
pub(crate) fn worlds() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds");
    let entries = std::fs::read_dir(root).expect("the folder of worlds can be read");
    let folders = entries.map(|entry| entry.expect("an entry can be read").path());
    let is_hidden =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    folders.filter(|path| path.join("world.luau").is_file() && !is_hidden(path)).collect()
}

/// Every module of a folder, by its path in it.
pub(crate) fn sources_of(folder: &Path) -> Sources {
    let mut sources = Sources::default();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "luau") {
                let name = path
                    .strip_prefix(folder)
                    .expect("the file is below the folder")
                    .to_string_lossy()
                    .replace('\\', "/");
                sources.insert(name, std::fs::read_to_string(&path).expect("a module is text"));
            }
        }
    }
    sources
}
