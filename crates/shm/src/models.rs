//! Models of the protocol under loom, which runs every interleaving and every value that a weak memory model allows.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p nowcast-shm --release --lib models`
//!
//! Each model is exhaustive for its operations, because the number of thread switches is not limited. The number of operations is
//! limited, so each model is just long enough for the step in its comment.
//!
//! Loom does not reorder a load after a later store of the same thread. Therefore these models miss one ordering: the release of
//! `head` after the block was read. This ordering follows from the rules of the language. Real processes exercise it in
//! `tests/death.rs` and in the conformance suite.

use crate::gate::{self, Waiting};
use crate::lane::{LaneReader, LaneWriter};
use crate::layout::{LaneLayout, READER_GATE, SLOT_VALUE_MAX, WRITER_GATE};
use crate::sync::AtomicU64;
use loom::sync::Arc;
use loom::thread;
use nowcast_queue::{Bounds, Key, Put, Refusal};

const A: Key = Key::state(1);
const B: Key = Key::state(2);

type Shared = Arc<Vec<AtomicU64>>;

/// Makes a lane with as few words as possible. Values are in their slots, except those that replace others.
fn lane(entries_max: usize) -> (LaneWriter<Shared>, LaneReader<Shared>, Shared) {
    lane_of(Bounds { entries_max, bytes_max: 16 })
}

fn lane_of(bounds: Bounds) -> (LaneWriter<Shared>, LaneReader<Shared>, Shared) {
    let layout = LaneLayout::new(96, bounds).expect("these bounds are small");
    let memory: Shared = Arc::new((0..layout.end).map(|_| AtomicU64::new(0)).collect());
    (LaneWriter::new(memory.clone(), layout.clone()), LaneReader::new(memory.clone(), &layout), memory)
}

fn get(reader: &mut LaneReader<Shared>) -> Option<(Key, u8)> {
    let mut value = Vec::new();
    // If a value were torn, its checksum would be wrong.
    reader.get(&mut value).expect("nothing is corrupt").map(|key| (key, value[0]))
}

/// Returns everything that the reader has seen after both sides are done.
fn drain(reader: &mut LaneReader<Shared>, mut seen: Vec<(Key, u8)>) -> Vec<(Key, u8)> {
    seen.extend(std::iter::from_fn(|| get(reader)));
    seen
}

/// Two replacements race with two gets. Whichever exchange wins, values never tear or go back, and the last one arrives.
#[test]
fn a_replacement_races_with_a_get() {
    loom::model(|| {
        let (mut writer, mut reader, _) = lane(2);
        writer.put(A, &[0; 8]).expect("empty");
        let reading = thread::spawn(move || {
            let seen: Vec<_> = (0..3).filter_map(|_| get(&mut reader)).collect();
            (reader, seen)
        });
        for value in 1..=3 {
            writer.put(A, &[value; 8]).expect("one key needs at most two entries, one of them being read");
        }
        let (mut reader, seen) = reading.join().expect("no panic");
        let seen = drain(&mut reader, seen);
        assert!(seen.is_sorted_by(|a, b| a.1 < b.1), "never backwards, never twice: {seen:?}");
        assert_eq!(seen.last(), Some(&(A, 3)), "the last value arrives");
    });
}

/// A state, an event and the same state again. The barrier holds in every interleaving.
#[test]
fn an_event_keeps_the_state_before_it_from_being_replaced() {
    loom::model(|| {
        let (mut writer, mut reader, _) = lane(4);
        let reading = thread::spawn(move || {
            let seen: Vec<_> = (0..2).filter_map(|_| get(&mut reader)).collect();
            (reader, seen)
        });
        writer.put(A, &[1; 1]).expect("room");
        writer.put(Key::EVENT, &[2; 1]).expect("room");
        writer.put(A, &[3; 1]).expect("room");
        let (mut reader, seen) = reading.join().expect("no panic");
        assert_eq!(drain(&mut reader, seen), [(A, 1), (Key::EVENT, 2), (A, 3)]);
    });
}

/// A queue of one entry wraps around its ring while the reader follows. Slots are reused only after the reader has left them.
#[test]
fn slots_are_reused_only_after_the_reader_has_left_them() {
    loom::model(|| go_round(lane(1), 8));
}

/// Like the previous model, with values too large for their slots. Blocks elsewhere are reused only after the reader has left
/// them.
#[test]
fn blocks_are_reused_only_after_the_reader_has_left_them() {
    let bytes = SLOT_VALUE_MAX + 1;
    loom::model(move || go_round(lane_of(Bounds { entries_max: 1, bytes_max: bytes }), bytes));
}

fn go_round((mut writer, mut reader, _): (LaneWriter<Shared>, LaneReader<Shared>, Shared), bytes: usize) {
    let reading = thread::spawn(move || {
        let seen: Vec<_> = (0..3).filter_map(|_| get(&mut reader)).collect();
        (reader, seen)
    });
    let mut accepted = Vec::new();
    for value in 1..=3 {
        match writer.put(Key::EVENT, &vec![value; bytes]) {
            Ok(Put::Queued) => accepted.push((Key::EVENT, value)),
            refused => assert_eq!(refused, Err(Refusal::Full)),
        }
    }
    let (mut reader, seen) = reading.join().expect("no panic");
    assert_eq!(drain(&mut reader, seen), accepted, "each accepted event once, in order");
}

/// There are two keys. The first is replaced while the reader may read either of them. Each key keeps its place.
#[test]
fn a_replaced_entry_keeps_its_place() {
    loom::model(|| {
        let (mut writer, mut reader, _) = lane(4);
        writer.put(A, &[1; 1]).expect("room");
        writer.put(B, &[2; 1]).expect("room");
        let reading = thread::spawn(move || {
            let seen: Vec<_> = (0..2).filter_map(|_| get(&mut reader)).collect();
            (reader, seen)
        });
        let put = writer.put(A, &[3; 1]).expect("room");
        let (mut reader, seen) = reading.join().expect("no panic");
        let seen = drain(&mut reader, seen);
        match put {
            Put::Replaced => assert_eq!(seen, [(A, 3), (B, 2)]),
            Put::Queued => assert_eq!(seen, [(A, 1), (B, 2), (A, 3)]),
        }
    });
}

/// In a full ring, the newest value is replaced while the oldest one is read. The slot of the oldest value is not free yet.
#[test]
fn a_full_ring_has_no_slot_to_prepare_a_value_in() {
    loom::model(|| {
        let (mut writer, mut reader, _) = lane(2);
        writer.put(A, &[1; 8]).expect("room");
        writer.put(B, &[2; 8]).expect("room");
        let reading = thread::spawn(move || {
            let seen: Vec<_> = (0..2).filter_map(|_| get(&mut reader)).collect();
            (reader, seen)
        });
        let put = writer.put(B, &[3; 8]);
        let (mut reader, seen) = reading.join().expect("no panic");
        let seen = drain(&mut reader, seen);
        match put {
            Ok(Put::Replaced) => assert_eq!(seen, [(A, 1), (B, 3)]),
            Ok(Put::Queued) => assert_eq!(seen, [(A, 1), (B, 2), (B, 3)]),
            refused => assert_eq!((refused, seen), (Err(Refusal::Full), vec![(A, 1), (B, 2)])),
        }
    });
}

/// The reader sleeps on an empty queue while the writer puts. The reader is woken, or does not sleep. A lost wake-up would park
/// the reader for ever, and loom would report a deadlock.
#[test]
fn a_sleeping_reader_is_woken() {
    loom::model(|| {
        let (mut writer, mut reader, memory) = lane(2);
        let shared = memory.clone();
        let reading = thread::spawn(move || {
            loop {
                gate::announce(&shared, READER_GATE, Waiting::Asleep);
                if let Some(got) = get(&mut reader) {
                    gate::withdraw(&shared, READER_GATE);
                    return got;
                }
                thread::park();
            }
        });
        writer.put(Key::EVENT, &[1; 1]).expect("room");
        if gate::open(&memory, READER_GATE) != Waiting::Awake {
            reading.thread().unpark();
        }
        assert_eq!(reading.join().expect("no panic"), (Key::EVENT, 1));
    });
}

/// The opposite case: the writer sleeps on a full queue while the reader gets.
#[test]
fn a_sleeping_writer_is_woken() {
    loom::model(|| {
        let (mut writer, mut reader, memory) = lane(1);
        writer.put(Key::EVENT, &[1; 1]).expect("empty");
        let shared = memory.clone();
        let writing = thread::spawn(move || {
            loop {
                gate::announce(&shared, WRITER_GATE, Waiting::Asleep);
                match writer.put(Key::EVENT, &[2; 1]) {
                    Err(Refusal::Full) => thread::park(),
                    put => return put,
                }
            }
        });
        assert_eq!(get(&mut reader), Some((Key::EVENT, 1)));
        if gate::open(&memory, WRITER_GATE) != Waiting::Awake {
            writing.thread().unpark();
        }
        assert_eq!(writing.join().expect("no panic"), Ok(Put::Queued));
        assert_eq!(get(&mut reader), Some((Key::EVENT, 2)));
    });
}

/// A reader only checks whether a message waits, while a writer replaces values.
#[test]
fn a_check_for_messages_does_not_disturb_the_writer() {
    loom::model(|| {
        let (mut writer, reader, _) = lane(2);
        writer.put(A, &[1; 1]).expect("room");
        let looking = thread::spawn(move || {
            assert!(!reader.is_empty());
            reader
        });
        assert_eq!(writer.put(A, &[2; 1]), Ok(Put::Replaced));
        let mut reader = looking.join().expect("no panic");
        assert_eq!(drain(&mut reader, Vec::new()), [(A, 2)]);
        let _ = reader.bounds();
    });
}
