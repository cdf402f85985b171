//! Virtual time and seeded links.
