//! Tests the size of a game save that was converted from JSON, with an inferred shape, and the generated module of the codec
//! bench.

use std::path::Path;

use nowcast_wire::Effort;
use nowcast_wire::save::{Compression, Options};
use nowcast_wire::schema;
use nowcast_wire_tools::{Format, convert, read_value, typescript};

fn game_save() -> Vec<u8> {
    let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/data/game-save.json.zst");
    zstd::decode_all(std::fs::File::open(packed).unwrap()).unwrap()
}

fn saved(json: &[u8], compression: Compression) -> Vec<u8> {
    let options = Options { compression, effort: Effort::Small };
    convert(json, json.len() as u64, Format::Json, Vec::new(), Format::Save, options, &mut |_| {}).unwrap()
}

#[test]
fn a_game_save_of_two_megabytes_of_json_is_small_and_restored_unchanged() {
    let json = game_save();
    for (compression, bytes_max) in [(Compression::None, 225_000), (Compression::Lz4, 170_000)] {
        let save = saved(&json, compression);
        println!("{compression:?}: {} bytes", save.len());
        assert!(read_value(&save[..], Format::Save).unwrap() == read_value(&json[..], Format::Json).unwrap());
        assert!(
            save.len() <= bytes_max,
            "{compression:?}: {} bytes, at most {bytes_max} expected",
            save.len()
        );
    }
}

/// With `NOWCAST_UPDATE=1`, writes the module.
#[test]
fn the_generated_module_of_the_bench_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("javascript/src/generated");
    let types = schema::parse(&std::fs::read_to_string(folder.join("nowcast.schema")).unwrap()).unwrap();
    let module = typescript::generate(&types, "../../../../packages/nowcast/src/codec/index.js");
    let kept = folder.join("nowcast.ts");
    if std::env::var_os("NOWCAST_UPDATE").is_some() {
        std::fs::write(&kept, &module).unwrap();
    }
    assert!(
        std::fs::read_to_string(&kept).unwrap() == module,
        "{} is not up to date: set NOWCAST_UPDATE=1",
        kept.display()
    );
}
