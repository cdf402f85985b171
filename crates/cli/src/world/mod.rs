//! Worlds as folders: made, checked, and played by their tests.

pub(crate) mod check;
pub(crate) mod data;
pub(crate) mod kept;
mod migrate;
mod moment;
pub(crate) mod new;
mod past;
pub(crate) mod samples;
pub(crate) mod test;
