//! The tests of this crate in one program.

mod accounts;
mod budget;
mod commands;
mod costs;
mod determinism;
mod hostile;
mod hostile_values;
mod interest;
mod library;
mod limits;
mod mistakes;
mod modules;
mod moves;
mod owners;
mod people;
mod portals;
mod reference;
mod reload;
mod rewinding;
mod runaway;
mod samples;
mod screens;
mod state;
mod telling;
mod ui;
mod worlds;
