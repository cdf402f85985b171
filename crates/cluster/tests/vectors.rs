//! The records of `spec/CLUSTER.md` as bytes.

use std::collections::BTreeMap;

use nowcast_cluster::{
    Batch, Epoch, Frame, Head, Load, Name, Record, RecordError, Release, RoomEntry, Sequence, ServerEntry,
    ServerId, ServerPhase, SnapshotRef, Target,
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
        lease_ms: 2_000,
        client_address: "https://north.example".into(),
        tags: vec![name_of("eu"), name_of("gpu")],
        load: Load { ticks_permille: 300, memory_permille: 20, clients: 5, clients_max: 400, rooms: 2 },
    };
    let dead = ServerEntry {
        id: server("b", 1),
        phase: ServerPhase::Dead,
        release: release(1, 0, 0),
        lease_ms: 60_000,
        client_address: "".into(),
        tags: Vec::new(),
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
        requires: vec![name_of("eu")],
    };
    let released = RoomEntry {
        epoch: Epoch(9),
        newest_epoch: Epoch(11),
        owner: server("b", 2),
        is_released: true,
        target: None,
        requires: Vec::new(),
    };
    [("room", held), ("released-room", released)]
}

fn frames() -> [(&'static str, Frame); 3] {
    let epoch = Epoch(3);
    let head = Head { epoch, owner: server("b", 3), release: release(0, 1, 0) };
    let bytes = b"changes".to_vec().into();
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

/// Compares a vector with the bytes of its value.
fn check<R: Record + PartialEq + std::fmt::Debug>(
    vectors: &mut BTreeMap<&str, Vec<u8>>,
    name: &str,
    value: R,
) {
    let vector = vectors.remove(name).unwrap_or_else(|| panic!("{name} has no vector"));
    assert_eq!((&value.to_bytes(), R::from_bytes(&vector)), (&vector, Ok(value)), "{name}");
}

#[test]
fn records_have_the_bytes_of_the_specification() {
    let mut vectors: BTreeMap<&str, Vec<u8>> =
        lines(RECORDS).map(|line| (line[0], bytes_of(line[1]))).collect();
    servers().into_iter().for_each(|(name, entry)| check(&mut vectors, name, entry));
    rooms().into_iter().for_each(|(name, entry)| check(&mut vectors, name, entry));
    frames().into_iter().for_each(|(name, frame)| check(&mut vectors, name, frame));
    assert_eq!(vectors.into_keys().collect::<Vec<_>>(), [""; 0], "each vector has a value");
}

#[test]
fn records_that_the_specification_forbids_are_refused_with_their_fault() {
    let mut refused = 0;
    for line in lines(REFUSED) {
        let [name, fault, field, hex] = line[..] else { panic!("{line:?}") };
        let bytes = bytes_of(hex);
        let error = match name.split('-').next() {
            Some("server") => ServerEntry::from_bytes(&bytes).map(drop),
            Some("room") => RoomEntry::from_bytes(&bytes).map(drop),
            _ => Frame::from_bytes(&bytes).map(drop),
        };
        let found = match error.expect_err(name) {
            RecordError::Version { .. } => ("Version", "-"),
            RecordError::Foreign => ("Foreign", "-"),
            RecordError::Damaged(_) => ("Damaged", "-"),
            RecordError::Invalid { field } => ("Invalid", field),
        };
        assert_eq!(found, (fault, field), "{name}");
        refused += 1;
    }
    assert_eq!(refused, 13);
}
