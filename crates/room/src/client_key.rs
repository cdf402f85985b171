//! Recognition of a client that connects again, also after a restart of the server.

use nowcast_wire::Wire;
use ring::digest::{Context, SHA256};

use crate::names::Name;

/// Bytes of the secret that a client presents.
pub const SECRET_BYTES: usize = 16;

/// Identifies one client through every reconnection. The key is derived from the client's secret and the name in its token.
/// So a stolen secret alone does not allow a join as the bearer of a token. A program and a person with the same secret are
/// different clients. The secret itself is not stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Wire)]
pub struct ClientKey(pub [u8; 16]);

impl ClientKey {
    /// Derives the key of a client from its secret.
    pub fn of(secret: &[u8; SECRET_BYTES], name: &Name, is_program: bool) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(if is_program { &b"nowcast program"[..] } else { b"nowcast client" });
        context.update(secret);
        if let Name::Verified(name) = name {
            context.update(name.as_bytes());
        }
        Self::finish(context)
    }

    /// Derives a key from a person's account. It is the same for all secrets.
    pub fn of_account(account: &str) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(b"nowcast account");
        context.update(account.as_bytes());
        Self::finish(context)
    }

    fn finish(context: Context) -> Self {
        let digest = context.finish();
        let mut key = [0; 16];
        key.copy_from_slice(&digest.as_ref()[..16]);
        Self(key)
    }
}

impl std::fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientKey(…)")
    }
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses 32 hexadecimal digits into 16 bytes.
pub fn read_hex(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    if text.len() != 2 * bytes.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_token_holder_depends_on_the_secret_and_the_token() {
        let asked = |name: &str| ClientKey::of(&[7; 16], &Name::Asked(name.into()), false);
        let verified = |name: &str| ClientKey::of(&[7; 16], &Name::Verified(name.into()), false);
        assert_eq!(asked("Ada"), asked("Ben"), "the wanted name of a client may change");
        assert_ne!(asked("Ada"), verified("Ada"));
        assert_ne!(verified("Ada"), verified("Ben"));
        assert_ne!(asked("Ada"), ClientKey::of(&[8; 16], &Name::Asked("Ada".into()), false));
        assert_ne!(asked("Ada"), ClientKey::of(&[7; 16], &Name::Asked("Ada".into()), true));
    }

    #[test]
    fn key_parsing_accepts_the_written_form_only() {
        let key = [0, 1, 15, 16, 127, 128, 200, 255, 9, 8, 7, 6, 5, 4, 3, 2];
        assert_eq!(read_hex(&hex(&key)), Some(key));
        assert_eq!(read_hex(&hex(&key).to_uppercase()), Some(key));
        for wrong in ["", "00", &"g".repeat(32), &"+1".repeat(16), &"é".repeat(16), &"0".repeat(33)] {
            assert_eq!(read_hex(wrong), None, "{wrong}");
        }
    }
}
