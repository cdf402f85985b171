//! Tests `nowcast save` as a user runs it: files in, files out, and messages about broken files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::own;

/// Makes a folder for one scenario.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("nowcast-save-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn save(folder: &Path, arguments: &[&str]) -> Output {
    own::program().arg("save").args(arguments).current_dir(folder).output().unwrap()
}

fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = save(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a small game. It is long enough for columns and compression to have an effect.
fn game() -> String {
    let entity =
        |i: u32| format!(r#"{{"id":{},"name":"Oak Tree","x":{}.{}307,"npc":null}}"#, 1000 + i, i, i % 9 + 1);
    let entities: Vec<String> = (0..200).map(entity).collect();
    format!(r#"{{"hero":{{"name":"Aveline","gold":18234}},"entities":[{}]}}"#, entities.join(","))
}

#[test]
fn json_becomes_a_smaller_save_file_and_is_restored_unchanged() {
    let folder = folder("json");
    fs::write(folder.join("game.json"), game()).unwrap();
    done(&folder, &["pack", "game.json"]);
    assert_eq!(done(&folder, &["unpack", "game.ncs"]).trim_end(), game());
    assert!(fs::metadata(folder.join("game.ncs")).unwrap().len() * 4 < game().len() as u64);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn values_are_restored_through_messagepack_without_compression() {
    let folder = folder("convert");
    fs::write(folder.join("game.json"), game()).unwrap();
    done(&folder, &["convert", "game.json", "game.msgpack"]);
    done(&folder, &["pack", "game.msgpack", "game.ncs", "--compression", "none"]);
    done(&folder, &["unpack", "game.ncs", "back.json"]);
    assert_eq!(fs::read_to_string(folder.join("back.json")).unwrap().trim_end(), game());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn inspect_names_shapes_and_columns_and_diff_names_changes() {
    let folder = folder("inspect");
    fs::write(folder.join("game.json"), game()).unwrap();
    fs::write(folder.join("later.json"), game().replace("18234", "7")).unwrap();
    done(&folder, &["pack", "game.json"]);
    let shown = done(&folder, &["inspect", "game.ncs"]);
    for expected in ["Hero { name: text, gold: u16 }", "entities[].x", "hero.gold"] {
        assert!(shown.contains(expected), "{expected} is not in:\n{shown}");
    }
    let differs = save(&folder, &["diff", "game.ncs", "later.json"]);
    assert!(!differs.status.success());
    assert_eq!(String::from_utf8(differs.stdout).unwrap(), "~ hero.gold: 18234 → 7\n");
    assert_eq!(done(&folder, &["diff", "game.ncs", "game.json"]), "");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_truncated_file_is_reported_with_the_cause() {
    let folder = folder("cut");
    fs::write(folder.join("game.json"), game()).unwrap();
    done(&folder, &["pack", "game.json"]);
    let whole = fs::read(folder.join("game.ncs")).unwrap();
    fs::write(folder.join("cut.ncs"), &whole[..whole.len() / 2]).unwrap();
    let refused = save(&folder, &["unpack", "cut.ncs", "cut.json"]);
    assert!(!refused.status.success());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("cut.ncs") && said.contains("cut off"), "{said}");
    assert!(!folder.join("cut.json").exists(), "nothing half-written stays behind");
    fs::remove_dir_all(folder).unwrap();
}
