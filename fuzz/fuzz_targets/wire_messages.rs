//! Reads messages of one scope, each preceded by one byte for its length: announcements, shapes, and values without a shape.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::Receiver;

fuzz_target!(|data: &[u8]| {
    let mut receiver = Receiver::default();
    let mut rest = data;
    while let Some((&length, tail)) = rest.split_first() {
        let (message, tail) = tail.split_at(usize::from(length).min(tail.len()));
        let _ = receiver.decode_value(message);
        rest = tail;
    }
});
