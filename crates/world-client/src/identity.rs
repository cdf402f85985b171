//! The identity of a client: a private key.

use std::fmt;

use nowcast::{Channel, Error};
use nowcast_wire::encode_to_vec;
use nowcast_world_protocol::session::{ToWorld, identity_text};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

/// A private key by which a server recognises a client on every visit. Use one key for each server: a server that has relayed
/// a signature to another server could otherwise join there as this client.
///
/// ```no_run
/// use nowcast_world_client::{Identity, Join, WorldClient};
///
/// # async fn play() -> Result<(), Box<dyn std::error::Error>> {
/// let identity = Identity::from_pkcs8(&std::fs::read("identity.pk8")?)?; // written once, from Identity::generate()
/// let channel = nowcast::connect("nowcast://localhost:7777/shop").await?;
/// identity.present(&channel)?;
/// let mut client = WorldClient::join(channel, Join::new("Ada"))?;
/// # let _ = client.receive().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    pkcs8: Vec<u8>,
}

/// The reason why an identity cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The bytes are not a private key.
    #[error("the bytes are not a private key of the curve P-256 in PKCS #8")]
    Key,
    /// The system has no random numbers, which every signature needs.
    #[error("the system has no random numbers")]
    Random,
    /// The channel has no number to sign: it is local, or its session has not begun.
    #[error(
        "the channel has no session whose number could be signed: connect over WebTransport or WebSocket"
    )]
    NoSession,
    /// The channel is closed or takes no event.
    #[error(transparent)]
    Channel(#[from] Error),
}

impl Identity {
    /// Generates a key.
    ///
    /// # Errors
    /// [`IdentityError::Random`].
    pub fn generate() -> Result<Identity, IdentityError> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Ok(Identity { pkcs8: made.map_err(|_| IdentityError::Random)?.as_ref().to_vec() })
    }

    /// Reads a private key in PKCS #8 (RFC 5208).
    ///
    /// # Errors
    /// [`IdentityError::Key`].
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Identity, IdentityError> {
        let identity = Identity { pkcs8: bytes.to_vec() };
        identity.key_pair()?;
        Ok(identity)
    }

    /// Returns the private key in PKCS #8. Anyone with these bytes can join as this client.
    pub fn to_pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    fn key_pair(&self) -> Result<EcdsaKeyPair, IdentityError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        EcdsaKeyPair::from_pkcs8(algorithm, &self.pkcs8, &SystemRandom::new()).map_err(|_| IdentityError::Key)
    }

    /// Sends the proof of the identity on a channel. Call it before the client joins.
    ///
    /// # Errors
    /// Fails as [`Identity::prove`] does, or with [`IdentityError::Channel`].
    pub fn present(&self, channel: &Channel) -> Result<(), IdentityError> {
        Ok(channel.try_event(&encode_to_vec(&self.prove(channel)?))?)
    }

    /// Returns the event that proves the identity on this channel.
    ///
    /// # Errors
    /// [`IdentityError::NoSession`] or [`IdentityError::Random`].
    pub fn prove(&self, channel: &Channel) -> Result<ToWorld, IdentityError> {
        let text = identity_text(channel.session_id().ok_or(IdentityError::NoSession)?);
        let pair = self.key_pair()?;
        let signature = pair.sign(&SystemRandom::new(), &text).map_err(|_| IdentityError::Random)?;
        let (key, signature) = (pair.public_key().as_ref().to_vec(), signature.as_ref().to_vec());
        Ok(ToWorld::Identify { key, signature })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(…)")
    }
}
