//! Random bytes of the operating system, the only source of secrets and names here.

use nowcast_session::Entropy;

/// Random bytes.
///
/// # Panics
/// If the system has no random bytes, which it guarantees after boot; nothing secure could be done then.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Returns the random bytes that a session needs for one carrier.
pub(crate) fn entropy() -> Entropy {
    Entropy(bytes())
}
