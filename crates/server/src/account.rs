//! The accounts of clients: by the name in a token, or by the key of an identity.

use std::time::Duration;

use nowcast_room::{ClientKey, Closing, JoiningAccount, Refusal, Seat, hex};
use nowcast_world::is_account;
use nowcast_world_protocol::session::identity_text;
use ring::digest::{SHA256, digest};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::warn;

/// Maximum time that another room takes to give up an account.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a SHA-256 hash in the name of an account.
const HASH_BYTES: usize = 16;

/// Returns the account of the bearer of a token with this name.
pub(crate) fn of_token(name: &str) -> String {
    let account = format!("token:{name}");
    if is_account(&account) { account } else { format!("token-hash:{}", hash(name.as_bytes())) }
}

/// Returns the account of a client that proves to have a private key.
///
/// # Errors
/// Fails if the signature is not valid for this session, or if the session has no number.
pub(crate) fn of_key(key: &[u8], signature: &[u8], session: Option<[u8; 8]>) -> Result<String, Closing> {
    let text = identity_text(session.ok_or(Closing::BadIdentity)?);
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
    public.verify(&text, signature).map_err(|_| Closing::BadIdentity)?;
    Ok(format!("key:{}", hash(key)))
}

/// Returns the key of a client's rates. A person with an account keeps the same rates with every secret. Programs may share one
/// token, so each of them has its own.
pub(crate) fn rates_key(
    account: Option<&str>,
    key: Option<ClientKey>,
    is_program: bool,
) -> Option<ClientKey> {
    account.filter(|_| !is_program).map(ClientKey::of_account).or(key)
}

fn hash(bytes: &[u8]) -> String {
    hex(&digest(&SHA256, bytes).as_ref()[..HASH_BYTES])
}

/// Holds an account for the client's room, and loads its stored data.
///
/// # Errors
/// Fails if another room does not give up the account in time, or if the data cannot be read. A client does not join without
/// its data, because the room would then replace the data.
pub(crate) async fn join(seat: &Seat, account: &str) -> Result<JoiningAccount, Closing> {
    let held = timeout(PATIENCE, seat.hold_account(account)).await;
    let held = held.map_err(|_| Closing::Refused(Refusal::AccountBusy))?;
    let account = account.to_owned();
    let Some(held) = held else { return Ok(JoiningAccount { account, held: None, saved: None }) };
    let loaded = spawn_blocking(move || {
        let saved = held.load();
        (held, saved)
    });
    match loaded.await {
        Ok((held, Ok(saved))) => Ok(JoiningAccount { account, held: Some(held), saved }),
        Ok((_, Err(error))) => {
            warn!(account, %error, "the saved data of an account cannot be read");
            Err(Closing::Refused(Refusal::AccountNotLoaded))
        }
        Err(_) => Err(Closing::ShuttingDown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

    const SESSION: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 250];

    fn key_pair() -> EcdsaKeyPair {
        let random = SystemRandom::new();
        let secret = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, secret.as_ref(), &random).unwrap()
    }

    #[test]
    fn a_proof_is_valid_for_its_key_and_its_session_only() {
        let (ada, bo) = (key_pair(), key_pair());
        let sign = |pair: &EcdsaKeyPair, text: &[u8]| pair.sign(&SystemRandom::new(), text).unwrap();
        let proof = sign(&ada, &identity_text(SESSION));
        let key = ada.public_key().as_ref();
        let account = of_key(key, proof.as_ref(), Some(SESSION)).unwrap();
        assert!(is_account(&account) && account.starts_with("key:"), "{account}");
        let again = sign(&ada, &identity_text([9; 8]));
        assert_eq!(
            of_key(key, again.as_ref(), Some([9; 8])),
            Ok(account),
            "every visit has the same account"
        );
        let refused = |key: &[u8], signature: &[u8], session| {
            assert_eq!(of_key(key, signature, session), Err(Closing::BadIdentity));
        };
        refused(key, proof.as_ref(), Some([9; 8]));
        refused(key, proof.as_ref(), None);
        refused(bo.public_key().as_ref(), proof.as_ref(), Some(SESSION));
        refused(key, &proof.as_ref()[1..], Some(SESSION));
        refused(key, &[], Some(SESSION));
        refused(&[], proof.as_ref(), Some(SESSION));
        refused(&[4; 65], proof.as_ref(), Some(SESSION));
    }

    #[test]
    fn every_name_in_a_token_has_an_account() {
        assert_eq!(of_token("Ada Lovelace"), "token:Ada Lovelace");
        let long = "Ω".repeat(64);
        assert!(is_account(&of_token(&long)));
        assert_ne!(of_token(&long), of_token(&"Ψ".repeat(64)));
    }
}
