//! Generated TypeScript is kept where the SDK's tests run it; this holds it against the generator.

use std::path::Path;

use nowcast_wire::{schema, typescript};

#[test]
fn the_kept_module_is_what_the_generator_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/nowcast/test/generated");
    let types = schema::parse(&std::fs::read_to_string(folder.join("messages.schema")).unwrap()).unwrap();
    let module = typescript::generate(&types, "../../src/index.js");
    let kept = folder.join("messages.ts");
    if std::env::var_os("NOWCAST_UPDATE").is_some() {
        std::fs::write(&kept, &module).unwrap();
    }
    assert!(
        std::fs::read_to_string(&kept).is_ok_and(|text| text == module),
        "{} is not what the generator writes now: look at the difference with NOWCAST_UPDATE=1",
        kept.display()
    );
}
