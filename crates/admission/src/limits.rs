//! Limits for clients that are not admitted yet.

/// Limits for clients that are not admitted yet.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of simultaneous connections that are not admitted yet, from all addresses.
    pub connections_max: usize,
    /// Maximum number of simultaneous connections that are not admitted yet, from one address.
    pub connections_per_address_max: usize,
    /// Maximum number of attempts a second from one address, after a burst of `connections_per_address_max`.
    pub attempts_per_address_hz: f64,
    /// Maximum number of single-use tokens that are stored until they expire.
    pub used_tokens_max: usize,
    /// Whether connections and requests to join from this machine count, too. By default they do not, because a proxy on this
    /// machine connects for many clients.
    pub counts_loopback: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1_000,
            connections_per_address_max: 200,
            attempts_per_address_hz: 50.0,
            used_tokens_max: 65_536,
            counts_loopback: false,
        }
    }
}
