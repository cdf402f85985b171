//! Reads save files. The header is added, and the checksums are corrected, so that the fuzzer can get past them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::Limits;
use nowcast_wire::save::{FileReader, MAGIC, VERSION};

fuzz_target!(|data: &[u8]| {
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend([0, 0]);
    let mut rest = data;
    while let [kind, length, tail @ ..] = rest {
        let (payload, tail) = tail.split_at(usize::from(length & 0x7f).min(tail.len()));
        let start = file.len();
        file.extend([*kind, payload.len() as u8]);
        file.extend(payload);
        file.extend(crc32fast::hash(&file[start..]).to_le_bytes());
        rest = tail;
    }
    let limits = Limits { memory_bytes_max: 64 << 20, chunk_bytes_max: 1 << 20, ..Limits::FILE };
    let Ok(mut reader) = FileReader::new(&file[..], limits) else { return };
    while let Ok(Some(chunk)) = reader.next_chunk() {
        let _ = chunk.decode_values();
        let _ = chunk.sizes();
    }
});
