//! Bytes of two clients of a name server: each request is answered in lines that a client reads, within bounds.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nowcast::names::hostile(bytes));
