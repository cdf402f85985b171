//! The derive macro of `nowcast-wire`.
