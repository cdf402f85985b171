//! The updatable queue in process, its trait, and the conformance suite.
