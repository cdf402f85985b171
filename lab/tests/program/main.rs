//! Tests the instruments as a person uses them, on the command line.

mod browser;
mod cluster;
mod crash;
mod load;
mod motion;
mod own;
