//! Runs `nowcast decode` on the vectors of the specification. Valid input is decoded to the end, and faults are named.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::own;

fn vectors(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn decode(args: &[&str]) -> Output {
    own::program().arg("decode").args(args).output().unwrap()
}

fn explained(args: &[&str]) -> String {
    let output = decode(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn complaint(args: &[&str]) -> String {
    let output = decode(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn every_valid_packet_is_explained_to_its_end() {
    for packet in vectors("session/packets.json")["valid"].as_array().unwrap() {
        let hex = packet["hex"].as_str().unwrap();
        let said = explained(&["--as", "packet", hex]);
        // Together, the bytes of all lines are the packet, at the stated offsets.
        let has_bytes = |line: &&str| line.chars().nth(8).is_some_and(|digit| digit.is_ascii_hexdigit());
        let last = said.lines().rfind(has_bytes).unwrap();
        assert!(
            last.trim_start().starts_with(|digit: char| digit.is_ascii_digit()),
            "{}: {said}",
            packet["name"]
        );
    }
}

#[test]
fn for_a_malformed_packet_the_field_and_offset_are_named() {
    for packet in vectors("session/packets.json")["malformed"].as_array().unwrap() {
        let said = complaint(&["--as", "packet", packet["hex"].as_str().unwrap()]);
        assert!(said.contains("malformed") && said.contains("at byte"), "{}: {said}", packet["name"]);
    }
    assert!(complaint(&["--as", "packet", ""]).contains("an empty packet"));
}

#[test]
fn saves_movement_and_plain_messages_are_recognised() {
    for case in vectors("wire/saves.json")["cases"].as_array().unwrap() {
        let said = explained(&[case["file"].as_str().unwrap()]);
        assert!(said.contains("a save file") && said.contains("CRC-32"), "{said}");
    }
    for step in vectors("world/replication.json")["steps"].as_array().unwrap().iter().take(5) {
        let said = explained(&["--as", "replication", step["bytes"].as_str().unwrap()]);
        assert!(said.contains("of the world") && said.contains("controls: "), "{said}");
    }
    assert!(explained(&["0200 7f00 0040 01"]).contains("yaw: 1.5708 rad"));
    let spawn = r#"{"type":"spawn","entities":[{"id":7,"kind":"block","p":[0,1,0],"r":[0,0,0],"attributes":{"color":"red"}}]}"#;
    let said = explained(&[spawn]);
    assert!(said.contains("entities: 1") && said.contains(r#""attributes":{"color":"red"}"#), "{said}");
    assert!(
        explained(&["{\"type\":\"chat\",\"text\":\"hi\"}"]).contains("chat, an object of the plain protocol")
    );
}

#[test]
fn damage_in_a_save_is_found_and_reported() {
    let cases = vectors("wire/saves.json");
    let file = cases["cases"][0]["file"].as_str().unwrap();
    let cut = complaint(&[&file[..file.len() - 4]]);
    assert!(cut.contains("malformed") && cut.contains("at byte"), "{cut}");
    let last = file.len() - 2;
    let flipped = format!("{}{}", &file[..last], if &file[last..] == "00" { "01" } else { "00" });
    assert!(complaint(&[&flipped]).contains("malformed save"), "a wrong sum");
}

#[test]
fn bytes_may_come_from_files_and_the_standard_input() {
    let path = std::env::temp_dir().join(format!("nowcast-decode-{}", std::process::id()));
    fs::write(&path, [2, 0, 127, 0, 0, 64, 1]).unwrap();
    assert!(explained(&["--file", path.to_str().unwrap()]).contains("input"));
    fs::remove_file(path).unwrap();
    let mut child =
        own::program().arg("decode").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"02 00 7f 00\n00 40 01\n").unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("forward: 1.000"), "{said}");
}

#[test]
fn a_value_is_decoded_by_a_given_schema() {
    let path = std::env::temp_dir().join(format!("nowcast-decode-{}.schema", std::process::id()));
    fs::write(&path, "struct Small { text: text, num: u8 }").unwrap();
    let said = explained(&["--as", "body", "--schema", path.to_str().unwrap(), "7b48656c6c6f"]);
    assert!(said.contains("as Small: {\"text\":\"Hello\",\"num\":123}"), "{said}");
    fs::remove_file(path).unwrap();
}
