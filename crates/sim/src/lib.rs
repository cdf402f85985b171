//! Virtual time and seeded links.

pub mod link;
