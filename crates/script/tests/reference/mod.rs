//! Makes the types for worlds in TypeScript from the type definitions in `src/types`. The tests compare the committed files with
//! both. The site makes the references from the committed files.
//!
//! `NOWCAST_WRITE=1 cargo test -p nowcast-script --test script reference` writes them.

mod notation;
mod typescript;

use std::path::{Path, PathBuf};

use nowcast_script::TYPES;

use typescript::typescript_types;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn is_current(path: &Path, expected: &str) {
    if std::env::var_os("NOWCAST_WRITE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
        std::fs::write(path, expected).expect("a file can be written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "{} is not current; see the head of this test", path.display());
}

#[test]
fn the_types_of_the_sample_worlds_are_current() {
    for (name, types) in TYPES {
        is_current(&root().join(format!("worlds/.nowcast/{name}.luau")), types);
    }
}

#[test]
fn the_types_for_worlds_in_typescript_are_current() {
    is_current(&root().join("packages/world-script/types/api.d.ts"), &typescript_types());
}
