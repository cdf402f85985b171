//! The wire format as its users meet it. One program holds all scenarios, because each program is linked by itself.

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
