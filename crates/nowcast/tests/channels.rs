//! All tests of channels, as one program.

mod admission;
mod application;
mod blocking;
mod carriers;
mod common;
mod layers;
mod moving;
mod names;
mod pages;
mod publish;
mod readme;
mod served;
mod typed;
