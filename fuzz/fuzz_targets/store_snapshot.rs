//! Reads the file of a world. The header of its container is added, and its checksums are corrected, so that the fuzzer can get
//! past them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_store::{read_file, write_file};
use nowcast_wire::save::{MAGIC, VERSION};

fuzz_target!(|data: &[u8]| {
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend([0, 0]);
    let mut rest = data;
    // The records of a real file have lengths of two bytes, so a real file is a good starting point.
    while let [kind, low, high, tail @ ..] = rest {
        let length = usize::from(*low & 0x7f) | usize::from(*high & 0x7f) << 7;
        let (payload, tail) = tail.split_at(length.min(tail.len()));
        let start = file.len();
        file.push(*kind);
        match payload.len() {
            short @ 0..128 => file.push(short as u8),
            long => file.extend([long as u8 | 0x80, (long >> 7) as u8]),
        }
        file.extend(payload);
        file.extend(crc32fast::hash(&file[start..]).to_le_bytes());
        rest = tail;
    }
    let _ = read_file(data);
    if let Ok((name, snapshot, batches)) = read_file(&file) {
        let again = write_file(&name, &snapshot, &batches).expect("a file that was read can be written");
        let read = read_file(&again).expect("a written file can be read");
        assert_eq!(read.1.once, snapshot.once);
        assert_eq!((read.0, read.2.len()), (name, batches.len()));
    }
});
