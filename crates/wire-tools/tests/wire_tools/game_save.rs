//! Tests the size of a game save that was converted from JSON, with an inferred shape.

use nowcast_wire::Effort;
use nowcast_wire::save::{Compression, Options};
use nowcast_wire_tools::{Format, convert, read_values};

fn game_save() -> Vec<u8> {
    let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab-codecs/data/game-save.json.zst");
    zstd::decode_all(std::fs::File::open(packed).unwrap()).unwrap()
}

fn saved(json: &[u8], compression: Compression) -> Vec<u8> {
    let options = Options { compression, effort: Effort::Small };
    convert(json, json.len() as u64, Format::Json, Vec::new(), Format::Save, options, &mut |_| {}).unwrap()
}

#[test]
fn a_game_save_of_two_megabytes_of_json_is_small_and_restored_unchanged() {
    let json = game_save();
    for (compression, bytes_max) in
        [(Compression::None, 225_000), (Compression::Lz4, 170_000), (Compression::Zstd, 150_000)]
    {
        let save = saved(&json, compression);
        println!("{compression:?}: {} bytes", save.len());
        assert!(
            read_values(&save[..], Format::Save).unwrap() == read_values(&json[..], Format::Json).unwrap()
        );
        assert!(
            save.len() <= bytes_max,
            "{compression:?}: {} bytes, at most {bytes_max} expected",
            save.len()
        );
    }
}
