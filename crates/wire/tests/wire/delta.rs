//! Tests replication deltas as an application uses them: loss, newcomers, hostile bytes, and the vectors of the specification.

use std::fs;
use std::path::PathBuf;

use nowcast_wire::delta::{
    Baseline, Bodies, BodyColumns, Codec, DeltaError, Field, Frame, Layout, Limits, Linear, Mode, Predictor,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const MODES: [Mode; 2] = [Mode::Fast, Mode::Small];

fn layout() -> Layout {
    Layout::new(&[
        Field::Number,
        Field::Number,
        Field::Number,
        Field::Orientation { bits: 9 },
        Field::Flag,
        Field::Angle { bits: 16 },
    ])
    .unwrap()
}

fn bodies() -> Bodies {
    Bodies::new(BodyColumns {
        position: 0,
        orientation: 3,
        orientation_bits: 9,
        touching: Some(7),
        gravity: [0.0, 0.0, -1.4],
        up: 2,
        size: 205.0,
    })
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
    let mut rows: Vec<[i32; 9]> = (0..entities)
        .map(|_| {
            let place = [dice.roll(20_000) - 10_000, dice.roll(20_000) - 10_000, dice.roll(2_000)];
            let turn = [dice.roll(4), 100 + dice.roll(300), 100 + dice.roll(300), 100 + dice.roll(300)];
            [
                place[0],
                place[1],
                place[2],
                turn[0],
                turn[1],
                turn[2],
                turn[3],
                dice.roll(2),
                dice.roll(65_536),
            ]
        })
        .collect();
    (0..frames)
        .map(|tick| {
            let mut frame = Frame::new(1_000 + tick);
            for (at, row) in rows.iter_mut().enumerate() {
                if at % 3 > 0 {
                    row[0] += at as i32 % 7 * 3 - 9 + dice.roll(3) - 1;
                    row[8] = (row[8] + 300 + dice.roll(20)) & 0xffff;
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

/// Sends every frame against the newest frames that arrived. `arrives` decides which ones arrive. Returns all bytes.
fn converse<P: Predictor + Clone>(
    mode: Mode,
    predictor: &P,
    frames: &[Frame],
    mut arrives: impl FnMut(usize) -> bool,
) -> Vec<Vec<u8>> {
    let mut sender = Codec::new(layout(), mode, predictor.clone());
    let mut receiver = Codec::new(layout(), mode, predictor.clone());
    let mut acknowledged: Vec<(Baseline, Baseline)> = Vec::new();
    let mut packets = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let mut packet = Vec::new();
        let past: Vec<&Baseline> = acknowledged.iter().rev().take(3).map(|(sent, _)| sent).collect();
        let sent = sender.encode(frame, &past, &mut packet).unwrap();
        if arrives(at) {
            let past: Vec<&Baseline> = acknowledged.iter().rev().take(3).map(|(_, got)| got).collect();
            let got = receiver.decode(frame.tick(), &packet, &past).unwrap();
            assert_eq!(got.frame(), frame, "frame {at}");
            assert_eq!(got, sent, "both ends keep the same baseline");
            acknowledged.push((sent, got));
        }
        packets.push(packet);
    }
    packets
}

#[test]
fn frames_are_exact_when_packets_are_lost() {
    for mode in MODES {
        for seed in 1..6 {
            let frames = world(seed, 60, 40);
            let mut dice = Dice(seed);
            converse(mode, &Linear::default(), &frames, |_| dice.roll(10) > 2);
            converse(mode, &bodies(), &frames, |_| dice.roll(10) > 2);
        }
    }
}

/// Regression test: a frame without rows was treated like one with the rows of its baseline.
#[test]
fn when_all_entities_are_gone_the_frame_is_empty_and_others_may_follow() {
    for mode in MODES {
        let [mut writer, mut reader] = [(); 2].map(|()| linear(mode));
        let full = world(3, 5, 1).remove(0);
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        let known = writer.encode(&full, &[], &mut bytes).unwrap();
        let known_there = reader.decode(full.tick(), &bytes, &[]).unwrap();
        let empty = Frame::new(full.tick() + 1);
        bytes.clear();
        let gone = writer.encode(&empty, &[&known], &mut bytes).unwrap();
        let gone_there = reader.decode(empty.tick(), &bytes, &[&known_there]).unwrap();
        assert_eq!((gone.frame(), gone_there.frame()), (&empty, &empty));
        let back = writer.encode(&full, &[&gone, &known], &mut again).unwrap();
        let back_there = reader.decode(full.tick(), &again, &[&gone_there, &known_there]).unwrap();
        assert_eq!((back.frame(), back_there.frame()), (&full, &full));
    }
}

#[test]
fn a_world_at_rest_costs_almost_no_bytes() {
    let still = world(3, 200, 1).remove(0);
    let frames: Vec<Frame> = (0..12)
        .map(|tick| Frame::from_rows(tick, &layout(), still.ids().to_vec(), still.values().to_vec()).unwrap())
        .collect();
    assert!(converse(Mode::Fast, &Linear::default(), &frames, |_| true)[11].len() <= 27);
    assert!(converse(Mode::Small, &Linear::default(), &frames, |_| true)[11].len() <= 8);
}

#[test]
fn the_small_mode_is_smaller_than_the_fast_one() {
    let frames = world(9, 300, 30);
    let [fast, small] =
        MODES.map(|mode| converse(mode, &Linear::default(), &frames, |_| true)[5..].concat().len());
    assert!(small < fast, "{small} of {fast} bytes");
}

#[test]
fn extreme_values_wrap_instead_of_failing() {
    let layout = Layout::new(&[Field::Number, Field::Angle { bits: 16 }]).unwrap();
    for mode in MODES {
        let mut codec = Codec::new(layout.clone(), mode, Linear::default());
        let mut past: Vec<Baseline> = Vec::new();
        for (tick, row) in
            [[i32::MIN, 0], [i32::MAX, 65_535], [0, 1], [i32::MIN, 32_768], [1, 0]].iter().enumerate()
        {
            let frame = Frame::from_rows(tick as u32, &layout, vec![u32::MAX], row.to_vec()).unwrap();
            let mut bytes = Vec::new();
            let known: Vec<&Baseline> = past.iter().rev().take(2).collect();
            let sent = codec.encode(&frame, &known, &mut bytes).unwrap();
            assert_eq!(codec.decode(tick as u32, &bytes, &known).unwrap(), sent);
            past.push(sent);
        }
    }
}

#[test]
fn misuse_is_an_error_that_names_it() {
    assert!(matches!(Layout::new(&[]), Err(DeltaError::Layout { .. })));
    assert!(matches!(Layout::new(&[Field::Angle { bits: 17 }]), Err(DeltaError::Layout { .. })));
    let layout = Layout::new(&[Field::Flag]).unwrap();
    for (ids, values) in [(vec![2, 1], vec![0, 0]), (vec![1], vec![2]), (vec![1], vec![])] {
        assert!(matches!(Frame::from_rows(0, &layout, ids, values), Err(DeltaError::Frame { .. })));
    }
    let mut wrong = Frame::new(1);
    wrong.push(1, &[2]);
    for mode in MODES {
        let mut out = vec![7];
        let mut codec = Codec::new(layout.clone(), mode, Linear::default());
        assert!(matches!(codec.encode(&wrong, &[], &mut out), Err(DeltaError::Frame { .. })));
        assert_eq!(out, [7], "nothing is left of a frame that was refused");
    }
}

#[test]
fn bytes_for_another_past_are_refused_and_those_of_another_mode_are_read() {
    let frames = world(4, 20, 3);
    let packets = converse(Mode::Small, &Linear::default(), &frames, |_| true);
    let mut codec = Codec::new(layout(), Mode::Small, Linear::default());
    assert_eq!(
        codec.decode(1_002, &packets[2], &[]),
        Err(DeltaError::Baselines { needed: 2, given: 0 }),
        "the receiver does not have the baselines of the sender"
    );
    for header in [0b0101, 0b1100, 0b1_1101] {
        let bytes = [&[header], &packets[2][1..]].concat();
        assert_eq!(codec.decode(1_002, &bytes, &[]), Err(DeltaError::Header { header }), "another version");
    }
    let mut fast = Codec::new(layout(), Mode::Fast, Linear::default());
    assert_eq!(fast.decode(1_000, &packets[0], &[]).unwrap().frame(), &frames[0]);
    assert!(codec.decode(1_000, &[], &[]).is_err());
}

#[test]
fn too_many_announced_entities_are_refused_before_any_row_is_read() {
    // The packet announces sixteen million entities: the ids differ from those of the baseline, no entity remains, and all bits
    // of the following count are set.
    let mut fast = vec![0, 0xfe, 0xff, 0xff, 0x01];
    fast.extend([0xff; 64]);
    let mut codec =
        Codec::new(layout(), Mode::Fast, Linear::default()).limits(Limits { entities_max: 1_000 });
    assert!(matches!(codec.decode(0, &fast, &[]), Err(DeltaError::TooMany { max: 1_000, .. })));
}

#[test]
fn truncated_and_flipped_packets_never_panic_and_are_never_mistaken_for_the_frame() {
    for mode in MODES {
        let frames = world(11, 25, 6);
        let mut codec = Codec::new(layout(), mode, bodies());
        let mut past: Vec<Baseline> = Vec::new();
        let mut packet = Vec::new();
        for frame in &frames {
            packet.clear();
            let known: Vec<&Baseline> = past.iter().rev().take(3).collect();
            let sent = codec.encode(frame, &known, &mut packet).unwrap();
            past.push(sent);
        }
        let truth = past.pop().unwrap();
        let known: Vec<&Baseline> = past.iter().rev().take(3).collect();
        for length in 0..packet.len() {
            if let Ok(other) = codec.decode(1_005, &packet[..length], &known) {
                assert_ne!(other.frame(), truth.frame(), "cut to {length} of {}", packet.len());
            }
        }
        for bit in 0..packet.len() * 8 {
            let mut flipped = packet.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(other) = codec.decode(1_005, &flipped, &known) {
                assert_ne!(other.frame(), truth.frame(), "bit {bit}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_frame_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400), depth in 0usize..4) {
        for mode in MODES {
            let frames = world(5, 12, depth as u32);
            let mut codec = Codec::new(layout(), mode, bodies()).limits(Limits { entities_max: 500 });
            let mut past: Vec<Baseline> = Vec::new();
            for frame in &frames {
                let sent = codec.encode(frame, &past.iter().rev().collect::<Vec<_>>(), &mut Vec::new()).unwrap();
                past.push(sent);
            }
            let header = if mode == Mode::Small { 0b1001 } else { 0 } | (depth as u8) << 1;
            let bytes = [&[header], bytes.as_slice()].concat();
            if let Ok(baseline) = codec.decode(9_999, &bytes, &past.iter().rev().collect::<Vec<_>>()) {
                prop_assert!(baseline.frame().len() <= 500);
            }
        }
    }

    #[test]
    fn any_rows_return(rows in prop::collection::vec(prop::collection::btree_map(any::<u32>(), any::<(i32, i32, u16, bool)>(), 0..12), 1..5)) {
        let layout = Layout::new(&[Field::Number, Field::Number, Field::Angle { bits: 11 }, Field::Flag]).unwrap();
        for mode in MODES {
            let mut codec = Codec::new(layout.clone(), mode, Linear::default());
            let mut past: Vec<Baseline> = Vec::new();
            for (tick, rows) in rows.iter().enumerate() {
                let mut frame = Frame::new(tick as u32);
                for (&id, &(a, b, angle, flag)) in rows {
                    frame.push(id, &[a, b, i32::from(angle) & 2_047, i32::from(flag)]);
                }
                let known: Vec<&Baseline> = past.iter().rev().take(3).collect();
                let mut bytes = Vec::new();
                let sent = codec.encode(&frame, &known, &mut bytes).unwrap();
                prop_assert_eq!(&codec.decode(tick as u32, &bytes, &known).unwrap(), &sent);
                past.push(sent);
            }
        }
    }
}

#[test]
fn bodies_refuse_a_crowd_in_which_all_are_neighbours() {
    let mut crowd = Frame::new(1);
    for id in 0..4_097 {
        crowd.push(id, &[0, 0, 0, 0, 256, 256, 256, 0, 0]);
    }
    let mut bytes = Vec::new();
    let mut codec = Codec::new(layout(), Mode::Small, bodies());
    assert!(matches!(codec.encode(&crowd, &[], &mut bytes), Err(DeltaError::TooMany { max: 4_096, .. })));
    bytes.clear();
    Codec::new(layout(), Mode::Small, Linear::default()).encode(&crowd, &[], &mut bytes).unwrap();
    assert!(matches!(codec.decode(1, &bytes, &[]), Err(DeltaError::TooMany { max: 4_096, .. })));
}

/// A writer may change its mode from frame to frame.
fn switching() -> Value {
    let frames = world(7, 9, 6);
    let (mut writer, mut reader) = (linear(Mode::Fast), linear(Mode::Fast));
    let mut known: Vec<(Baseline, Baseline)> = Vec::new();
    let mut steps = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let mode = MODES[usize::from(at % 3 == 2)];
        writer.set_mode(mode);
        let back = known.iter().rev().take(3);
        let (sent, got): (Vec<_>, Vec<_>) = back.map(|(sent, got)| (sent, got)).unzip();
        let past: Vec<u32> = sent.iter().map(|baseline| baseline.frame().tick()).collect();
        let mut packet = Vec::new();
        let sent = writer.encode(frame, &sent, &mut packet).unwrap();
        let got = reader.decode(frame.tick(), &packet, &got).unwrap();
        assert_eq!(got.frame(), frame);
        assert_eq!(got, sent);
        let mut step = step(frame, &past, &packet);
        step["mode"] = mode_name(mode).into();
        steps.push(step);
        known.push((sent, got));
    }
    json!({ "mode": "fast", "layout": layout_json(), "predictor": { "kind": "linear" }, "steps": steps })
}

/// A row that is marked as changed may equal its baseline. Our writers never write that, but readers accept it.
fn changed_into_itself() -> Value {
    let fields = [Field::Number];
    let codec = || Codec::new(Layout::new(&fields).unwrap(), Mode::Fast, Linear::default());
    let mut first = Frame::new(1);
    first.push(5, &[7]);
    let mut packet = Vec::new();
    let baseline = codec().encode(&first, &[], &mut packet).unwrap();
    let mut same = Frame::new(2);
    same.push(5, &[7]);
    let mut usual = Vec::new();
    codec().encode(&same, &[&baseline], &mut usual).unwrap();
    let foreign = (0..=u16::MAX).map(|bits| [&usual[..1], &bits.to_le_bytes()].concat()).find(|bytes| {
        let read = codec().decode(2, bytes, &[&baseline]);
        *bytes != usual && read.is_ok_and(|read| *read.frame() == same)
    });
    let foreign = foreign.expect("a row of one number takes less than two bytes");
    let steps = [step(&first, &[], &packet), step(&same, &[1], &foreign)];
    let layout = json!([{ "kind": "number" }]);
    json!({ "mode": "fast", "layout": layout, "predictor": { "kind": "linear" }, "foreign": true, "steps": steps })
}

fn linear(mode: Mode) -> Codec {
    Codec::new(layout(), mode, Linear::default())
}

/// A conversation between two ends that keep only frames.
fn converse_in_frames(mode: Mode, frames: &[Frame], arrives: impl Fn(usize) -> bool) -> Vec<Vec<u8>> {
    let [mut sender, mut receiver] = [0; 2].map(|_| Codec::new(layout(), mode, Linear::default()));
    let mut known: Vec<&Frame> = Vec::new();
    let mut packets = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let past: Vec<&Frame> = known.iter().rev().take(3).copied().collect();
        let mut packet = Vec::new();
        sender.encode_against_frames(frame, &past, &mut packet).unwrap();
        assert_eq!(&receiver.decode_against_frames(frame.tick(), &packet, &past).unwrap(), frame);
        if arrives(at) {
            known.push(frame);
        }
        packets.push(packet);
    }
    packets
}

#[test]
fn bytes_against_frames_do_not_depend_on_earlier_packets() {
    let frames = world(7, 40, 12);
    for mode in MODES {
        let all = converse_in_frames(mode, &frames, |_| true);
        let some = converse_in_frames(mode, &frames, |at| !(2..6).contains(&at));
        assert_ne!(all[7], some[7], "the receivers have different frames");
        assert_eq!(
            all[9..],
            some[9..],
            "three packets after the losses, the frames of both receivers are equal"
        );
    }
}

/// Checks the conversations of `spec/vectors/delta/`: each packet, and the frame to which it must decode.
///
/// `NOWCAST_BLESS=1` writes the files again after a deliberate change of the format.
#[test]
fn the_vectors_of_the_specification_hold() {
    let cases = [
        ("linear-fast", Mode::Fast, false),
        ("linear-small", Mode::Small, false),
        ("bodies-fast", Mode::Fast, true),
        ("bodies-small", Mode::Small, true),
        ("frames-fast", Mode::Fast, false),
        ("frames-small", Mode::Small, false),
    ];
    for (name, mode, physical) in cases {
        let frames = world(2026, 40, 14);
        // The fourth and the eighth frame are lost, so later frames refer to older baselines.
        let lost = [3, 7];
        let packets = if name.starts_with("frames") {
            converse_in_frames(mode, &frames, |at| !lost.contains(&at))
        } else if physical {
            converse(mode, &bodies(), &frames, |at| !lost.contains(&at))
        } else {
            converse(mode, &Linear::default(), &frames, |at| !lost.contains(&at))
        };
        holds(name, &describe(mode, physical, &frames, &packets, &lost));
    }
    holds("linear-switching", &switching());
    holds("linear-foreign", &changed_into_itself());
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

fn layout_json() -> Value {
    json!([
        { "kind": "number" }, { "kind": "number" }, { "kind": "number" }, { "kind": "orientation", "bits": 9 },
        { "kind": "flag" }, { "kind": "angle", "bits": 16 },
    ])
}

fn mode_name(mode: Mode) -> &'static str {
    if mode == Mode::Fast { "fast" } else { "small" }
}

fn describe(mode: Mode, physical: bool, frames: &[Frame], packets: &[Vec<u8>], lost: &[usize]) -> Value {
    let mut arrived: Vec<u32> = Vec::new();
    let mut steps = Vec::new();
    for (at, (frame, packet)) in frames.iter().zip(packets).enumerate() {
        let past: Vec<u32> = arrived.iter().rev().take(3).copied().collect();
        steps.push(step(frame, &past, packet));
        if !lost.contains(&at) {
            arrived.push(frame.tick());
        }
    }
    let predictor = if physical {
        json!({
            "kind": "bodies", "position": 0, "orientation": 3, "orientationBits": 9, "touching": 7,
            "gravity": [0.0, 0.0, -1.4], "up": 2, "size": 205.0,
        })
    } else {
        json!({ "kind": "linear" })
    };
    json!({
        "about": "Decode each packet against the frames of the ticks in past (newest first) and compare.",
        "mode": mode_name(mode), "layout": layout_json(), "predictor": predictor, "steps": steps,
    })
}
