//! The committed reference and type definitions equal the output of the program.
//!
//! `NOWCAST_WRITE=1 cargo test -p nowcast-script --test script reference` writes them.

use std::path::{Path, PathBuf};

use nowcast_script::{
    library_types, reference, test_types, typescript_reference, typescript_types, world_types,
};

const BEGIN: &str = "<!-- reference: made by crates/script/src/reference.rs -->\n";
const END: &str = "\n<!-- end of the reference -->";

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
fn the_reference_in_the_guide_is_current() {
    let path = root().join("docs/WORLDS.md");
    let page = std::fs::read_to_string(&path).expect("the guide is there");
    let (before, rest) = page.split_once(BEGIN).expect("the guide has a reference");
    let (_, after) = rest.split_once(END).expect("the reference ends");
    is_current(&path, &format!("{before}{BEGIN}{}{END}{after}", reference()));
}

#[test]
fn the_types_of_the_sample_worlds_are_current() {
    is_current(&root().join("worlds/.nowcast/world.luau"), &world_types());
    is_current(&root().join("worlds/.nowcast/test.luau"), &test_types());
    for (name, types) in library_types() {
        is_current(&root().join(format!("worlds/.nowcast/{name}.luau")), &types);
    }
}

#[test]
fn the_types_for_worlds_in_typescript_are_current() {
    is_current(&root().join("packages/world-script/types/api.d.ts"), &typescript_types());
}

const PAGE: &str = "# The API of worlds in TypeScript\n\n\
    This page lists the types of the names that [worlds in TypeScript](../tutorials/world-in-typescript.md) use. The descriptions are those of\n\
    [the reference for Luau](../WORLDS.md#reference), so values in them have the notation of Luau: `{ radius = 60 }` is `{ radius: 60 }`, and nil is\n\
    `undefined`.\n\n\
    <!-- made by crates/script/src/reference/typescript.rs -->\n\n";

#[test]
fn the_reference_for_typescript_is_current() {
    is_current(
        &root().join("docs/reference/world-typescript.md"),
        &format!("{PAGE}{}", typescript_reference()),
    );
}
