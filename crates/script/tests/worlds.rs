//! The sample worlds, played by their own tests.

use std::path::{Path, PathBuf};

use nowcast_script::{Limits, Scenario, Sources};

/// The folders of the sample worlds.
fn worlds() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds");
    let entries = std::fs::read_dir(root).expect("there are worlds");
    let folders = entries.map(|entry| entry.expect("an entry can be read").path());
    let is_hidden =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    folders.filter(|path| path.join("world.luau").is_file() && !is_hidden(path)).collect()
}

/// Every module of a folder, by its path in it.
fn sources_of(folder: &Path) -> Sources {
    let mut sources = Sources::default();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "luau") {
                let name =
                    path.strip_prefix(folder).expect("it is below").to_string_lossy().replace('\\', "/");
                sources.insert(name, std::fs::read_to_string(&path).expect("a module is text"));
            }
        }
    }
    sources
}

#[test]
fn every_sample_world_passes_its_own_tests() {
    let mut cases = 0;
    for world in worlds() {
        let sources = sources_of(&world);
        let tests: Vec<_> = sources
            .iter()
            .map(|(path, _)| path.to_owned())
            .filter(|path| path.starts_with("tests/"))
            .collect();
        assert!(!tests.is_empty(), "{} has no tests", world.display());
        for test in tests {
            let scenario = Scenario::new(sources.clone(), &test, Limits::DEFAULT)
                .unwrap_or_else(|fault| panic!("{}/{fault}", world.display()));
            for (index, name) in scenario.cases().iter().enumerate() {
                for seed in [1, 2] {
                    let outcome = scenario.run(index, seed);
                    let failure = outcome.failure.map(|fault| fault.to_string());
                    assert_eq!(
                        failure,
                        None,
                        "{}: {test}: {name}, seed {seed}: {:?}",
                        world.display(),
                        outcome.printed
                    );
                    cases += 1;
                }
            }
        }
    }
    assert!(cases > 0);
}

#[test]
fn a_module_of_a_sample_world_is_no_longer_than_a_person_reads_at_once() {
    for world in worlds() {
        for (path, text) in sources_of(&world).iter() {
            let lines = text.lines().count();
            assert!(lines < 300, "{}/{path} has {lines} lines", world.display());
        }
    }
}
