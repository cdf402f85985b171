//! Sends bytes to a name server as two clients. Each request must be answered within limits, by lines that a client can parse.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nowcast_name_server::hostile(bytes));
