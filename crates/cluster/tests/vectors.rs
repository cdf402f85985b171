//! The records of `spec/CLUSTER.md` as bytes.

use std::collections::BTreeMap;
use std::time::Duration;

use nowcast_cluster::{
    Batch, Epoch, Frame, Head, Load, Name, RecordError, Release, RoomEntry, Sequence, ServerEntry, ServerId,
    ServerPhase, SnapshotRef, Target,
};

const RECORDS: &str = include_str!("../../../spec/vectors/cluster/records.txt");
const REFUSED: &str = include_str!("../../../spec/vectors/cluster/refused.txt");

fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect())
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn server(name: &str, incarnation: u64) -> ServerId {
    ServerId { name: name_of(name), incarnation }
}

fn name_of(name: &str) -> Name {
    Name::new(name).unwrap()
}

fn release(major: u16, minor: u16, patch: u16) -> Release {
    Release { major, minor, patch }
}

fn servers() -> [(&'static str, ServerEntry); 2] {
    let north = ServerEntry {
        id: server("north-1", 7),
        phase: ServerPhase::Draining,
        release: release(0, 1, 2),
        lease: Duration::from_secs(2),
        client_address: "https://north.example".into(),
        tags: [name_of("eu"), name_of("gpu")].into(),
        load: Load { ticks_permille: 300, memory_permille: 20, clients: 5, clients_max: 400, rooms: 2 },
    };
    let dead = ServerEntry {
        id: server("b", 1),
        phase: ServerPhase::Dead,
        release: release(1, 0, 0),
        lease: Duration::from_secs(60),
        client_address: "".into(),
        tags: [].into(),
        load: Load::default(),
    };
    [("server", north), ("dead-server", dead)]
}

fn rooms() -> [(&'static str, RoomEntry); 2] {
    let held = RoomEntry {
        epoch: Epoch(4),
        newest_epoch: Epoch(5),
        owner: server("north-1", 7),
        is_released: false,
        target: Some(Target { server: server("b", 1), epoch: Epoch(5) }),
        requires: [name_of("eu")].into(),
    };
    let released = RoomEntry {
        epoch: Epoch(9),
        newest_epoch: Epoch(11),
        owner: server("b", 2),
        is_released: true,
        target: None,
        requires: [].into(),
    };
    [("room", held), ("released-room", released)]
}

fn frames() -> [(&'static str, Frame); 3] {
    let epoch = Epoch(3);
    let head = Head { epoch, owner: server("b", 3), release: release(0, 1, 0) };
    let bytes = b"changes".as_slice().into();
    let snapshot = SnapshotRef {
        epoch,
        sequence: Sequence(12),
        batch_number: 9,
        step: 590,
        hash: 5,
        digest: std::array::from_fn(|index| index as u8),
        bytes: 1_234,
    };
    [
        ("head", Frame::Head(head)),
        ("batch", Frame::Batch(Batch { epoch, number: 10, from_step: 600, through_step: 603, bytes })),
        ("snapshot", Frame::Snapshot(snapshot)),
    ]
}

#[test]
fn records_have_the_bytes_of_the_specification() {
    let mut vectors: BTreeMap<&str, Vec<u8>> =
        lines(RECORDS).map(|line| (line[0], bytes_of(line[1]))).collect();
    let mut take = |name: &str| vectors.remove(name).unwrap_or_else(|| panic!("{name} has no vector"));
    for (name, entry) in servers() {
        let (vector, mut bytes) = (take(name), Vec::new());
        entry.encode(&mut bytes);
        assert_eq!((&bytes, ServerEntry::decode(&vector)), (&vector, Ok(entry)), "{name}");
    }
    for (name, entry) in rooms() {
        let (vector, mut bytes) = (take(name), Vec::new());
        entry.encode(&mut bytes);
        assert_eq!((&bytes, RoomEntry::decode(&vector)), (&vector, Ok(entry)), "{name}");
    }
    for (name, frame) in frames() {
        let (vector, mut bytes) = (take(name), Vec::new());
        frame.encode(&mut bytes);
        assert_eq!((&bytes, Frame::decode(&vector)), (&vector, Ok(frame)), "{name}");
    }
    assert_eq!(vectors.into_keys().collect::<Vec<_>>(), [""; 0], "each vector has a value");
}

#[test]
fn records_that_the_specification_forbids_are_refused_with_their_fault() {
    let mut refused = 0;
    for line in lines(REFUSED) {
        let [name, fault, field, hex] = line[..] else { panic!("{line:?}") };
        let bytes = bytes_of(hex);
        let error = match name.split('-').next() {
            Some("server") => ServerEntry::decode(&bytes).map(drop),
            Some("room") => RoomEntry::decode(&bytes).map(drop),
            _ => Frame::decode(&bytes).map(drop),
        };
        let found = match error.expect_err(name) {
            RecordError::Version { .. } => ("Version", "-"),
            RecordError::Foreign => ("Foreign", "-"),
            RecordError::Short { field } => ("Short", field),
            RecordError::Invalid { field } => ("Invalid", field),
            RecordError::TooLong { field, .. } => ("TooLong", field),
            RecordError::Trailing { .. } => ("Trailing", "-"),
        };
        assert_eq!(found, (fault, field), "{name}");
        refused += 1;
    }
    assert_eq!(refused, 13);
}
