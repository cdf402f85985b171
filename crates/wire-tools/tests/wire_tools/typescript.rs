//! Generated TypeScript is stored where other programs of this repository use it. This test compares the stored files with the
//! output of the generator.

use std::path::Path;

use nowcast_wire::schema;
use nowcast_wire_tools::typescript;

#[test]
fn the_committed_module_of_the_sdk_tests_is_up_to_date() {
    let folder = "packages/nowcast/test/generated";
    is_kept(
        &format!("{folder}/messages.schema"),
        &format!("{folder}/messages.ts"),
        "../../src/codec/index.js",
    );
}

#[test]
fn the_committed_module_of_the_world_session_is_up_to_date() {
    let folder = "packages/nowcast/src/world/session";
    is_kept(
        &format!("{folder}/messages.schema"),
        &format!("{folder}/generated/messages.ts"),
        "../../../codec/index.js",
    );
}

/// Compares a module with the generator's output. With `NOWCAST_UPDATE=1`, writes the module first.
fn is_kept(schema: &str, module: &str, import_from: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let types = schema::parse(&std::fs::read_to_string(root.join(schema)).unwrap()).unwrap();
    let kept = root.join(module);
    let module = typescript::generate(&types, import_from);
    if std::env::var_os("NOWCAST_UPDATE").is_some() {
        std::fs::write(&kept, &module).unwrap();
    }
    assert!(
        std::fs::read_to_string(&kept).is_ok_and(|text| text == module),
        "{} is not what the generator writes now: look at the difference with NOWCAST_UPDATE=1",
        kept.display()
    );
}
