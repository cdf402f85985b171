//! Reads MessagePack, with and without msgpackr's records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_wire::{Limits, any};

fuzz_target!(|data: &[u8]| {
    let _ = any::from_slice_with_records(data, &Limits::MESSAGE);
    if let Ok(value) = any::from_slice(data) {
        assert_eq!(any::from_slice(&any::to_vec(&value)), Ok(value));
    }
});
