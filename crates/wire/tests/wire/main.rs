//! Tests the wire format as its users use it. All scenarios are in one program, because each test program is linked separately.

mod common;
mod delta;
mod derive;
mod foreign_msgpack;
mod hostile;
mod kept_save;
mod samples;
mod second_reader;
mod vectors;
mod versions;
