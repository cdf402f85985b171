//! Placeholder binary list; see the examples of this package.
