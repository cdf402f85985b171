//! Reads payloads of movement, each preceded by a length of two bytes. For any input, the rows of a replica must stay within
//! their limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_replication::Replica;

fuzz_target!(|data: &[u8]| {
    let mut replica = Replica::default();
    let mut rest = data;
    while let Some((length, tail)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(tail.len());
        let (payload, tail) = tail.split_at(length);
        let _ = replica.apply(payload);
        rest = tail;
    }
    for (id, transform) in replica.transforms() {
        assert_eq!(replica.transform(id), Some(transform));
        assert!(transform.position.iter().chain(&transform.rotation).all(|number| number.is_finite()));
        replica.quantization(id).expect("an entity that has a row has a precision");
    }
});
