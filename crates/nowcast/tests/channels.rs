//! The tests of channels in one program.

mod application;
mod blocking;
mod carriers;
mod common;
mod entry;
mod moving;
mod multicast;
mod names;
mod pages;
mod publish;
mod readme;
mod source;
mod typed;
