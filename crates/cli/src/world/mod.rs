//! Worlds as folders: made, checked, and played by their tests.

pub(crate) mod check;
pub(crate) mod new;
pub(crate) mod samples;
pub(crate) mod test;
