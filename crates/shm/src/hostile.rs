//! Segments and peers as an attacker would make them. Every one of them leads to a named error.

use crate::channel::{answer, pair};
use crate::layout::{HEADER_WORDS, READER_CLOSED, VERSION};
use crate::memory::Memory;
use crate::segment::Segment;
use crate::{OpenError, SEGMENT_BYTES_MAX, ShmChannel};
use nowcast_queue::conformance::{Random, laws};
use nowcast_queue::{Bounds, Key, Receiver, Refusal, Sender};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, Mode, SealFlags};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

const SMALL: Bounds = Bounds { entries_max: 4, bytes_max: 200 };

fn segment() -> (Segment, OwnedFd) {
    Segment::create(&[SMALL]).expect("the system has a page")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(200)
}

#[test]
fn a_damaged_header_is_named_for_every_byte() {
    for byte in 0..HEADER_WORDS * 8 {
        let (segment, file) = segment();
        segment.map.words()[byte / 8].fetch_xor(0x41 << (byte % 8 * 8), Relaxed);
        let error = Segment::open(&file).expect_err("a changed header is not accepted");
        match byte / 8 {
            0 => assert!(matches!(error, OpenError::NotASegment), "byte {byte}: {error}"),
            1 => assert!(matches!(error, OpenError::Version { ours: VERSION, .. }), "byte {byte}: {error}"),
            _ => assert!(matches!(error, OpenError::Header), "byte {byte}: {error}"),
        }
    }
}

#[test]
fn a_file_of_any_wrong_length_is_refused() {
    let (right, _) = segment();
    let header: Vec<u64> = right.map.words()[..HEADER_WORDS].iter().map(|word| word.load(Relaxed)).collect();
    let length = right.map.words().len() * 8;
    for bytes in [0, 1, 8, HEADER_WORDS * 8 - 1, HEADER_WORDS * 8, length / 2, length - 1, length + 4096] {
        let file = file_of(bytes, &header, sealed());
        let error = Segment::open(&file).expect_err("not the right length");
        assert!(matches!(error, OpenError::TooShort { .. }), "{bytes} bytes: {error}");
    }
    let huge = file_of(SEGMENT_BYTES_MAX + 4096, &[], sealed());
    assert!(matches!(Segment::open(&huge), Err(OpenError::TooLong { .. })));
}

#[test]
fn a_file_that_could_still_shrink_is_refused() {
    let file = file_of(1 << 16, &[], SealFlags::GROW | SealFlags::SEAL);
    assert!(matches!(Segment::open(&file), Err(OpenError::NotSealed)));
    let named = std::fs::File::open("/proc/self/exe").expect("this test has a file");
    assert!(Segment::open(&named).is_err(), "an ordinary file is not accepted either");
}

#[test]
fn a_file_that_others_may_open_or_own_is_rejected() {
    let (_, file) = segment();
    rustix::fs::fchmod(&file, Mode::from_raw_mode(0o640)).expect("the file belongs to this test");
    assert!(matches!(Segment::open(&file), Err(OpenError::Permissions { mode: 0o640 })));
    let (_, file) = segment();
    let nobody = rustix::fs::Uid::from_raw(65_534);
    match rustix::fs::fchown(&file, Some(nobody), None) {
        Ok(()) => assert!(matches!(Segment::open(&file), Err(OpenError::Owner { user: 65_534 }))),
        Err(errno) => println!("files can be given away by root only, so this half was not tested: {errno}"),
    }
}

#[test]
fn bounds_beyond_any_segment_are_refused() {
    let bounds = |entries_max, bytes_max| Segment::create(&[Bounds { entries_max, bytes_max }]).err();
    for beyond in [bounds(0, 100), bounds(usize::MAX, 100), bounds(10, usize::MAX), bounds(1 << 24, 1 << 34)]
    {
        assert!(matches!(beyond, Some(OpenError::Bounds)), "{beyond:?}");
    }
    assert!(matches!(Segment::create(&[]), Err(OpenError::Bounds)));
    assert!(matches!(Segment::create(&[SMALL; 9]), Err(OpenError::Bounds)));
}

/// Flips each byte of a segment in which messages wait, in their slots and elsewhere. The receiver then gets exactly the messages
/// that were put, or a named error. It never gets a wrong value, a panic or an endless wait.
#[test]
fn a_damaged_byte_anywhere_is_harmless_or_named() {
    let words = segment().0.map.words().len();
    let (mut harmless, mut named) = (0, 0);
    for byte in HEADER_WORDS * 8..words * 8 {
        let (mut near, mut far) = pair(&[SMALL]).expect("the system has a page");
        let puts = [(Key::state(1), 20), (Key::EVENT, 120), (Key::state(1), 8), (Key::state(1), 9)];
        for (put, (key, bytes)) in puts.into_iter().enumerate() {
            near.sender.try_put(key, &laws::value(put, bytes)).expect("there is room");
        }
        near.sender.map.words()[byte / 8].fetch_xor(0x80 << (byte % 8 * 8), Relaxed);
        let mut value = Vec::new();
        let mut refusal = None;
        for expected in [0, 1, 3] {
            match far.receiver.get(&mut value, Some(soon())) {
                Ok(_) => assert_eq!(laws::put_of(&value), Some(expected), "byte {byte}"),
                Err(error) => {
                    refusal = Some(error);
                    break;
                }
            }
        }
        // The writer continues in both cases, and may find the damage later.
        let put = (0..6).find_map(|_| near.sender.try_put(Key::EVENT, b"on").err());
        match refusal.or(put) {
            None | Some(Refusal::Full) => harmless += 1,
            Some(Refusal::Corrupt(_)) => named += 1,
            Some(other) => panic!("byte {byte}: {other:?}"),
        }
    }
    println!("{named} bytes found damaged by name, {harmless} carried nothing");
    assert!(named > 150, "the cells, heads, blocks and signs in use: {named}");
}

#[test]
fn garbage_written_while_both_sides_work_ends_both_without_harm() {
    for seed in 0..20 {
        let (mut near, mut far) = pair(&[SMALL]).expect("the system has a page");
        let map = near.sender.map.clone();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let vandal = scope.spawn(|| {
                let mut random = Random::new(seed);
                while !done.load(Relaxed) {
                    let words = &map.words()[HEADER_WORDS..];
                    words[random.below(words.len() as u64) as usize].store(random.number(), Relaxed);
                }
            });
            let writer = scope.spawn(move || {
                let ended = (0_u64..).find_map(|put| {
                    let key = Key::from_raw(put % 3);
                    near.sender.put(key, &put.to_le_bytes(), Some(soon())).err()
                });
                (near, ended)
            });
            let mut value = Vec::new();
            let ended = loop {
                if let Err(refusal) = far.receiver.get(&mut value, Some(soon())) {
                    break refusal;
                }
            };
            // A timeout is also allowed, because garbage may look like an empty queue.
            assert!(matches!(ended, Refusal::Corrupt(_) | Refusal::TimedOut), "seed {seed}: {ended:?}");
            let (_near, ended) = writer.join().expect("no panic");
            assert!(matches!(ended, Some(Refusal::Corrupt(_) | Refusal::TimedOut)), "seed {seed}: {ended:?}");
            done.store(true, Relaxed);
            vandal.join().expect("no panic");
        });
    }
}

#[test]
fn an_invalid_closing_word_is_damage() {
    let (mut near, _far) = pair(&[SMALL]).expect("the system has a page");
    near.sender.map.words()[READER_CLOSED].store(7, Relaxed);
    assert!(matches!(near.sender.try_put(Key::EVENT, b""), Err(Refusal::Corrupt(_))));
}

#[test]
fn a_peer_that_greets_wrongly_is_refused_by_name() {
    type Greeting = fn(&mut UnixStream) -> std::io::Result<()>;
    let greet = |greeting: Greeting| -> Result<ShmChannel, OpenError> {
        let (mut peer, ours) = UnixStream::pair()?;
        greeting(&mut peer)?;
        drop(peer);
        answer(ours, &[SMALL], soon())
    };
    assert!(matches!(greet(|_| Ok(())), Err(OpenError::Handshake(_))), "the peer hung up");
    assert!(matches!(
        greet(|peer| peer.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n")),
        Err(OpenError::Handshake(_))
    ));
    assert!(
        matches!(greet(|peer| peer.write_all(b"NOWCAST\0")), Err(OpenError::Handshake(_))),
        "the peer sent half of the greeting"
    );
    let without_segment = greet(|peer| peer.write_all(&hello(VERSION)));
    assert!(matches!(without_segment, Err(OpenError::Handshake(_))));
    let newer = greet(|peer| peer.write_all(&hello(0x63)));
    assert!(matches!(newer, Err(OpenError::Version { theirs: 0x63, ours: VERSION })));
    let (_silent, ours) = UnixStream::pair().expect("sockets");
    assert!(matches!(answer(ours, &[SMALL], soon()), Err(OpenError::TimedOut)));
}

/// Makes the first message of a process that has this version.
fn hello(version: u64) -> [u8; 24] {
    let mut hello = [0; 24];
    hello[..8].copy_from_slice(b"NOWCAST\0");
    hello[8..16].copy_from_slice(&version.to_le_bytes());
    hello
}

fn sealed() -> SealFlags {
    SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL
}

fn file_of(bytes: usize, header: &[u64], seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("hostile", flags).expect("the system has a page");
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR).expect("the file belongs to this test");
    let header: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    rustix::io::pwrite(&file, &header[..header.len().min(bytes)], 0).expect("there is room");
    rustix::fs::ftruncate(&file, bytes as u64).expect("there is room");
    rustix::fs::fcntl_add_seals(&file, seals).expect("the file has no seals yet");
    file
}
