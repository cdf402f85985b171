//! Tests replication deltas as an application uses them: loss, newcomers, hostile bytes, and the vectors of the specification.

use std::fs;
use std::path::PathBuf;

use nowcast_wire::delta::{Codec, DeltaError, Field, Frame, Layout};
use proptest::prelude::*;
use serde_json::{Value, json};

const ENTITIES_MAX: usize = 500;

fn layout() -> Layout {
    let orientation = Field::Orientation { bits: 9 };
    Layout::new(&[Field::Number, Field::Number, Field::Number, orientation, Field::Number]).unwrap()
}

fn codec() -> Codec {
    Codec::new(layout(), ENTITIES_MAX)
}

/// A small generator, so that the world moves in the same way on every machine.
struct Dice(u32);

impl Dice {
    fn roll(&mut self, sides: u32) -> i32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 % sides) as i32
    }
}

/// Makes a world in which some bodies rest, some glide, some tumble, and some appear and disappear.
fn world(seed: u32, entities: u32, frames: u32) -> Vec<Frame> {
    let mut dice = Dice(seed.wrapping_mul(2_654_435_761) | 1);
    let mut rows: Vec<[i32; 8]> = (0..entities)
        .map(|_| {
            let [x, y, z] = [dice.roll(20_000) - 10_000, dice.roll(20_000) - 10_000, dice.roll(2_000)];
            let [a, b, c] = [0; 3].map(|_| 100 + dice.roll(300));
            [x, y, z, dice.roll(4), a, b, c, dice.roll(65_536)]
        })
        .collect();
    (0..frames)
        .map(|tick| {
            let mut frame = Frame::new(1_000 + tick);
            for (at, row) in rows.iter_mut().enumerate() {
                if at % 3 > 0 {
                    row[0] += at as i32 % 7 * 3 - 9 + dice.roll(3) - 1;
                    row[7] += 300 + dice.roll(20);
                }
                if at % 3 == 2 {
                    row[2] += dice.roll(9) - 4;
                    row[3] = if dice.roll(10) == 0 { dice.roll(4) } else { row[3] };
                    row[4] = (row[4] + dice.roll(7) - 3).clamp(0, 511);
                }
                if at % 10 != 9 || (tick / 3 + at as u32).is_multiple_of(2) {
                    frame.push(7 + 3 * at as u32, row);
                }
            }
            frame
        })
        .collect()
}

fn frame(tick: u32, ids: &[u32], values: &[i32]) -> Frame {
    let mut frame = Frame::new(tick);
    let width = values.len() / ids.len();
    ids.iter().zip(values.chunks(width)).for_each(|(id, row)| frame.push(*id, row));
    frame
}

/// Sends every frame against the newest frames that arrived. `arrives` decides which ones arrive. Returns all bytes.
fn converse(layout: &Layout, frames: &[Frame], mut arrives: impl FnMut(usize) -> bool) -> Vec<Vec<u8>> {
    let [mut sender, mut receiver] = [0; 2].map(|_| Codec::new(layout.clone(), ENTITIES_MAX));
    let mut known: Vec<&Frame> = Vec::new();
    let mut packets = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let past: Vec<&Frame> = known.iter().rev().take(3).copied().collect();
        let mut packet = Vec::new();
        sender.encode(frame, &past, &mut packet).unwrap();
        assert_eq!(&receiver.decode(frame.tick(), &packet, &past).unwrap(), frame, "frame {at}");
        if arrives(at) {
            known.push(frame);
        }
        packets.push(packet);
    }
    packets
}

#[test]
fn frames_are_exact_when_packets_are_lost() {
    for seed in 1..6 {
        let mut dice = Dice(seed);
        converse(&layout(), &world(seed, 60, 40), |_| dice.roll(10) > 2);
    }
}

#[test]
fn bytes_do_not_depend_on_earlier_packets() {
    let frames = world(7, 40, 12);
    let all = converse(&layout(), &frames, |_| true);
    let some = converse(&layout(), &frames, |at| !(2..6).contains(&at));
    assert_ne!(all[7], some[7], "the receivers have different frames");
    assert_eq!(all[9..], some[9..], "three packets after the losses, the frames of both receivers are equal");
}

/// Regression test: a frame without rows was treated like one with the rows of its baseline.
#[test]
fn when_all_entities_are_gone_the_frame_is_empty_and_others_may_follow() {
    let full = world(3, 5, 1).remove(0);
    converse(&layout(), &[full.clone(), Frame::new(full.tick() + 1), full], |_| true);
}

#[test]
fn a_world_at_rest_costs_almost_no_bytes() {
    let still = world(3, 200, 1).remove(0);
    let frames: Vec<Frame> = (0..12).map(|tick| frame(tick, still.ids(), still.values())).collect();
    assert!(converse(&layout(), &frames, |_| true)[11].len() <= 27);
}

#[test]
fn extreme_values_wrap_instead_of_failing() {
    let layout = Layout::new(&[Field::Number, Field::Number]).unwrap();
    let rows = [[i32::MIN, 0], [i32::MAX, 65_535], [0, 1], [i32::MIN, 32_768], [1, 0]];
    let frames: Vec<Frame> = (0..).zip(rows).map(|(tick, row)| frame(tick, &[u32::MAX], &row)).collect();
    converse(&layout, &frames, |_| true);
}

#[test]
fn misuse_is_an_error_that_names_it() {
    assert!(matches!(Layout::new(&[]), Err(DeltaError::Layout { .. })));
    assert!(matches!(Layout::new(&[Field::Orientation { bits: 16 }]), Err(DeltaError::Layout { .. })));
    let mut codec = Codec::new(Layout::new(&[Field::Orientation { bits: 4 }]).unwrap(), 2);
    let row = [3, 1, 2, 15];
    let mut short = frame(1, &[1], &row);
    short.push(2, &row[1..]);
    for wrong in [frame(1, &[2, 1], &[row, row].concat()), frame(1, &[1], &[3, 1, 2, 16]), short] {
        let mut out = vec![7];
        assert!(matches!(codec.encode(&wrong, &[], &mut out), Err(DeltaError::Frame { .. })));
        assert_eq!(out, [7], "nothing is left of a frame that was refused");
        assert!(matches!(codec.decode(2, &[2, 1], &[&wrong]), Err(DeltaError::Frame { .. })));
    }
    let crowd = frame(1, &[1, 2, 3], &[row; 3].concat());
    assert_eq!(codec.encode(&crowd, &[], &mut Vec::new()), Err(DeltaError::TooMany { count: 3, max: 2 }));
}

#[test]
fn bytes_for_another_past_and_of_another_version_are_refused() {
    let frames = world(4, 20, 3);
    let packets = converse(&layout(), &frames, |_| true);
    assert_eq!(
        codec().decode(1_002, &packets[2], &[]),
        Err(DeltaError::Baselines { needed: 2, given: 0 }),
        "the receiver does not have the baselines of the sender"
    );
    // The small mode of version 2 had the header 0b1001, and that of version 1 had 0b0001.
    for header in [0b1101, 0b0101, 0b1100, 0b1_0100] {
        let bytes = [&[header], &packets[2][1..]].concat();
        assert_eq!(codec().decode(1_002, &bytes, &[]), Err(DeltaError::Header { header }));
    }
    assert_eq!(codec().decode(1_000, &[], &[]), Err(DeltaError::Truncated));
}

#[test]
fn too_many_announced_entities_are_refused_before_any_row_is_read() {
    // The packet announces sixteen million entities: the ids differ from those of the baseline, no entity remains, and all bits
    // of the following count are set.
    let mut bytes = vec![0, 0xfe, 0xff, 0xff, 0x01];
    bytes.extend([0xff; 64]);
    assert!(matches!(codec().decode(0, &bytes, &[]), Err(DeltaError::TooMany { max: ENTITIES_MAX, .. })));
}

#[test]
fn truncated_packets_are_refused_and_flipped_ones_never_panic() {
    let frames = world(11, 25, 6);
    let packet = converse(&layout(), &frames, |_| true).remove(5);
    let past: Vec<&Frame> = frames[2..5].iter().rev().collect();
    let mut codec = codec();
    for length in 0..packet.len() {
        assert!(
            codec.decode(1_005, &packet[..length], &past).is_err(),
            "cut to {length} of {}",
            packet.len()
        );
    }
    for bit in 0..packet.len() * 8 {
        let mut flipped = packet.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(frame) = codec.decode(1_005, &flipped, &past) {
            // A frame that was read is within the bounds of the layout, so it can be written.
            codec.encode(&frame, &past, &mut Vec::new()).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_frame_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400), depth in 0usize..4) {
        let frames = world(5, 12, depth as u32);
        let past: Vec<&Frame> = frames.iter().rev().collect();
        let bytes = [&[(depth as u8) << 1], bytes.as_slice()].concat();
        if let Ok(frame) = codec().decode(9_999, &bytes, &past) {
            prop_assert!(frame.len() <= ENTITIES_MAX);
        }
    }

    #[test]
    fn any_rows_return(
        rows in prop::collection::vec(prop::collection::btree_map(any::<u32>(), any::<(i32, u8, [u16; 3])>(), 0..12), 1..5),
        passed in prop::collection::vec(0u32..400, 5),
    ) {
        let layout = Layout::new(&[Field::Number, Field::Orientation { bits: 11 }]).unwrap();
        let mut tick = u32::MAX - 300;
        let frames: Vec<Frame> = rows.iter().zip(passed).map(|(rows, passed)| {
            tick = tick.wrapping_add(passed);
            let mut frame = Frame::new(tick);
            for (&id, &(number, largest, parts)) in rows {
                let [a, b, c] = parts.map(|part| i32::from(part) & 2_047);
                frame.push(id, &[number, i32::from(largest) & 3, a, b, c]);
            }
            frame
        }).collect();
        converse(&layout, &frames, |_| true);
    }
}

/// A row that is marked as changed may equal its baseline. Our writers never write that, but readers accept it.
fn changed_into_itself() -> Value {
    let mut codec = Codec::new(Layout::new(&[Field::Number]).unwrap(), 1);
    let [first, same] = [1, 2].map(|tick| frame(tick, &[5], &[7]));
    let (mut packet, mut usual) = (Vec::new(), Vec::new());
    codec.encode(&first, &[], &mut packet).unwrap();
    codec.encode(&same, &[&first], &mut usual).unwrap();
    let foreign = (0..=u8::MAX).map(|bits| [usual[0], bits]).find(|bytes| {
        *bytes != usual[..] && codec.decode(2, bytes, &[&first]).is_ok_and(|read| read == same)
    });
    let foreign = foreign.expect("a row whose number is right takes three bits");
    let steps = [step(&first, &[], &packet), step(&same, &[1], &foreign)];
    json!({ "layout": [{ "kind": "number" }], "foreign": true, "steps": steps })
}

/// Checks the conversations of `spec/vectors/delta/`: each packet, and the frame to which it must decode.
///
/// `NOWCAST_BLESS=1` writes the files again after a deliberate change of the format.
#[test]
fn the_vectors_of_the_specification_hold() {
    let frames = world(2026, 40, 14);
    // The fourth and the eighth frame are lost, so later frames refer to older baselines.
    let lost = [3, 7];
    let packets = converse(&layout(), &frames, |at| !lost.contains(&at));
    let mut arrived: Vec<u32> = Vec::new();
    let mut steps = Vec::new();
    for (at, (frame, packet)) in frames.iter().zip(&packets).enumerate() {
        let past: Vec<u32> = arrived.iter().rev().take(3).copied().collect();
        steps.push(step(frame, &past, packet));
        if !lost.contains(&at) {
            arrived.push(frame.tick());
        }
    }
    let layout = json!([
        { "kind": "number" }, { "kind": "number" }, { "kind": "number" }, { "kind": "orientation", "bits": 9 },
        { "kind": "number" },
    ]);
    let about = "Decode each packet against the frames of the ticks in past (newest first) and compare.";
    holds("frames", &json!({ "about": about, "layout": layout, "steps": steps }));
    holds("foreign", &changed_into_itself());
}

fn holds(name: &str, vector: &Value) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/delta");
    let path = folder.join(format!("{name}.json"));
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        fs::write(&path, format!("{}\n", serde_json::to_string(vector).unwrap())).unwrap();
    }
    let kept: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(&kept, vector, "{name}");
}

fn step(frame: &Frame, past: &[u32], packet: &[u8]) -> Value {
    let bytes: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "tick": frame.tick(), "past": past, "bytes": bytes, "ids": frame.ids(), "values": frame.values() })
}
