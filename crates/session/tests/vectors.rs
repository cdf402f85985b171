//! The vectors of `spec/vectors/session/`. This crate reads and writes exactly the contents of these files.
//!
//! `NOWCAST_BLESS=1 cargo test -p nowcast-session --test vectors` writes the files again from the cases below. Review the
//! difference before you commit it.

mod vectors {
    pub(crate) mod describe;
    pub(crate) mod packets;
}

use std::path::PathBuf;

use nowcast_session::packet::{Packet, Reader, put_varint, unfold_number};
use serde_json::{Value, json};
use vectors::{describe, packets};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/session").join(name)
}

fn checked(name: &str, expected: &Value) -> Value {
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        let text = serde_json::to_string_pretty(expected).expect("values of JSON can be written");
        std::fs::write(path(name), text + "\n").expect("the vectors' directory can be written");
    }
    let text = std::fs::read_to_string(path(name)).expect("the file of vectors can be read");
    let found: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    assert_eq!(&found, expected, "{name}");
    found
}

#[test]
fn valid_packets_are_read_and_written_back() {
    let valid: Vec<Value> = packets::valid()
        .iter()
        .map(|(name, bytes)| {
            let packet = Packet::read(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut written = packets::write(&packet);
            if matches!(packet, Packet::Hello(_)) {
                // The writer chooses the amount of padding.
                written.resize(bytes.len(), 0);
            }
            assert_eq!(&written, bytes, "{name} is written back");
            json!({ "name": name, "hex": describe::hex(bytes), "packet": describe::packet(&packet) })
        })
        .collect();
    let malformed: Vec<Value> = packets::malformed()
        .iter()
        .map(|(name, bytes)| {
            let error = Packet::read(bytes).expect_err(name);
            json!({ "name": name, "hex": describe::hex(bytes), "field": error.field })
        })
        .collect();
    checked("packets.json", &json!({ "valid": valid, "malformed": malformed }));
}

#[test]
fn numbers_unfold_and_varints_agree() {
    let numbers = [
        (0, None),
        (65_535, None),
        (0, Some(0)),
        (3, Some(65_530)),
        (65_535, Some(65_540)),
        (0x8000, Some(0xFFFF)),
        (0x8001, Some(0xFFFF)),
        (17, Some(1_000_000)),
    ];
    let numbers: Vec<Value> = numbers
        .iter()
        .map(|&(low, largest)| json!({ "low": low, "largest_received": largest, "number": unfold_number(low, largest) }))
        .collect();
    let acks: Vec<Value> = packets::acknowledgements()
        .iter()
        .map(|(bytes, sent)| {
            let Ok(Packet::Data(data)) = Packet::read(bytes) else { panic!("a data packet") };
            let ranges = data.ack.expect("an acknowledgement").resolve(*sent);
            json!({ "hex": describe::hex(bytes), "largest_sent": sent, "ranges": ranges.map(|ranges| ranges.to_vec()) })
        })
        .collect();
    let varints: Vec<Value> = [0, 1, 127, 128, 300, 16_383, 16_384, 1 << 32, (1 << 53) - 1, u64::MAX]
        .iter()
        .map(|&value| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(Reader::new(&bytes).varint("value"), Ok(value));
            json!({ "value": describe::number(value), "hex": describe::hex(&bytes) })
        })
        .collect();
    let file = json!({ "packet_numbers": numbers, "acknowledgements": acks, "varints": varints });
    checked("numbers.json", &file);
}

#[test]
fn round_trips_are_estimated_with_the_same_arithmetic() {
    let samples = [
        (100_000, 0),
        (105_000, 5_000),
        (99_500, 400),
        (250_000, 4_992),
        (101_000, 60_000),
        (100_003, 16),
        (90_001, 0),
        (90_002, 5_008),
    ];
    let mut rtt = nowcast_session::Rtt::default();
    let steps: Vec<Value> = samples
        .iter()
        .map(|&(sample, ack_delay)| {
            let micros = std::time::Duration::from_micros;
            rtt.sample(micros(sample), micros(ack_delay));
            let estimate =
                |value: Option<std::time::Duration>| value.expect("there is a sample").as_micros() as u64;
            json!({
                "sample": sample,
                "ack_delay": ack_delay,
                "smoothed": estimate(rtt.smoothed()),
                "variation": estimate(rtt.variation()),
                "minimum": estimate(rtt.minimum()),
            })
        })
        .collect();
    checked("rtt.json", &json!(steps));
}
