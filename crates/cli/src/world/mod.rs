//! Worlds as folders: made, checked, and played by their tests.

mod bans;
pub(crate) mod check;
pub(crate) mod data;
mod files;
pub(crate) mod kept;
mod migrate;
pub(crate) mod new;
mod past;
mod restore;
mod salvage;
pub(crate) mod samples;
pub(crate) mod test;
