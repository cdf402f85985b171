#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nowcast_sim::hostile::script(bytes));
