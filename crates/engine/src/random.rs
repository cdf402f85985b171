//! Random bytes from the operating system. All secrets and random names of this crate come from here.

use nowcast_session::Entropy;

/// Returns random bytes.
///
/// # Panics
/// If the system provides no random bytes. Systems guarantee random bytes after boot, and no secret could be made without random
/// bytes.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Returns the random bytes that a session needs for one carrier.
pub(crate) fn entropy() -> Entropy {
    Entropy(bytes())
}
