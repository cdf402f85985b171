//! Signed tokens (JSON Web Tokens, RFC 7519; `spec/CARRIERS.md`, section 7).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Deserializer, Serialize};

use super::key::TokenKey;
use super::provider;

/// The longest token in bytes; longer ones are refused unread.
pub const TOKEN_BYTES_MAX: usize = 2_048;

/// The longest `sub` in characters.
pub const NAME_CHARACTERS_MAX: usize = 64;

/// The longest `role` in characters.
pub const ROLE_CHARACTERS_MAX: usize = 32;

/// The longest `jti` in bytes.
const ID_BYTES_MAX: usize = 64;

/// Maximum difference between the clocks of the token's maker and its reader.
pub(super) const SKEW: Duration = Duration::from_secs(5);

/// The claims of a token.
///
/// ```
/// use nowcast_admission::{Claims, TokenError, TokenKey, unix_time};
/// use std::time::Duration;
///
/// let key = TokenKey::secret(b"32 bytes that nobody else knows.")?;
/// let token = Claims::new(unix_time() + Duration::from_secs(600)).name("Ada").room("plaza").sign(&key)?;
/// assert_eq!(Claims::verify(&token, &key, "plaza", unix_time())?.sub.as_deref(), Some("Ada"));
///
/// let refused = Claims::verify(&token, &key, "plaza", unix_time() + Duration::from_secs(3_600));
/// assert!(matches!(refused, Err(TokenError::Expired { .. })));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Expiry, in seconds since 1970.
    #[serde(deserialize_with = "seconds")]
    pub exp: u64,
    /// Begin of validity, in seconds since 1970.
    #[serde(default, deserialize_with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub nbf: Option<u64>,
    /// Time of signing, in seconds since 1970.
    #[serde(default, deserialize_with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub iat: Option<u64>,
    /// The name of the player or device, 1 to 64 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The only room that the token is valid for; `None` for all rooms of the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// Free text for the application, at most 32 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// An id that makes the token valid for one entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
}

/// The reason why a token is refused. Each text names the cause; [`cure`](TokenError::cure) names the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The request has no token.
    #[error("a token is needed here")]
    Missing,
    /// The token is longer than [`TOKEN_BYTES_MAX`].
    #[error("the token is longer than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    /// The text is not a JSON Web Token, or its claims have wrong types.
    #[error("the token is not a JSON Web Token with valid claims")]
    Malformed,
    /// The token's header requires an extension, and this endpoint supports none (RFC 7515, section 4.1.11).
    #[error("the token's header demands an extension (`crit`) that this endpoint does not know")]
    Critical,
    /// The token is not signed, or signed by another algorithm than that of the key.
    #[error("the token is not signed by the algorithm of this endpoint's key")]
    WrongAlgorithm,
    /// The token was changed, or signed with another key.
    #[error("the token is not signed with this endpoint's key")]
    WrongSignature,
    /// The token has expired.
    #[error("the token has expired {ago_s} s ago")]
    Expired {
        /// Seconds since the expiry.
        ago_s: u64,
    },
    /// The token is not valid yet.
    #[error("the token is not valid before {in_s} s from now")]
    NotYetValid {
        /// Seconds until the token becomes valid.
        in_s: u64,
    },
    /// The token is for another room.
    #[error("the token is for another room")]
    OtherRoom,
    /// A claim is missing or out of bounds.
    #[error("the token's claim `{0}` is missing or invalid")]
    Claim(&'static str),
    /// The token is a single-use token and has been used.
    #[error("the token was already used: it admits one session")]
    Used,
}

impl TokenError {
    /// Returns the action that resolves the error.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        match self {
            Self::Missing => "ask the operator for one, and connect with it (`?token=…`)",
            Self::TooLong | Self::Malformed => "pass on the whole token, and nothing else",
            Self::Critical => "make it without `crit`",
            Self::WrongAlgorithm => "sign with HS256 and the endpoint's secret, or EdDSA and its key",
            Self::WrongSignature => "ask for one that is made for this endpoint",
            Self::Expired { .. } | Self::Used => "ask for a new one",
            Self::NotYetValid { .. } => {
                "try again at that time, or correct the clock of the machine that issued it"
            }
            Self::OtherRoom => "ask for one for this name",
            Self::Claim(_) => "section 7 of spec/CARRIERS.md lists the claims",
        }
    }
}

/// The reason why a token cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// A public key only verifies.
    #[error("tokens cannot be signed with a public key: use the private one, or a secret")]
    PublicKey,
    /// A claim that no endpoint accepts.
    #[error("the claim `{0}` is invalid")]
    Claim(&'static str),
    /// The library's error.
    #[error("the token could not be signed: {0}")]
    Library(String),
}

/// The time since 1970, which functions here take as an argument.
#[must_use]
pub fn unix_time() -> Duration {
    // A clock before 1970 was never set. Then no token is valid yet.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Claims {
    /// Creates claims with an expiry only.
    #[must_use]
    pub fn new(exp: Duration) -> Claims {
        Claims { exp: exp.as_secs(), nbf: None, iat: None, sub: None, room: None, role: None, jti: None }
    }

    /// Adds the name of the player or device.
    #[must_use]
    pub fn name(self, name: &str) -> Claims {
        Claims { sub: Some(name.to_owned()), ..self }
    }

    /// Restricts the token to one room.
    #[must_use]
    pub fn room(self, room: &str) -> Claims {
        Claims { room: Some(room.to_owned()), ..self }
    }

    /// Adds a role.
    #[must_use]
    pub fn role(self, role: &str) -> Claims {
        Claims { role: Some(role.to_owned()), ..self }
    }

    /// Makes the token a single-use token, by a unique id.
    #[must_use]
    pub fn once(self, id: &str) -> Claims {
        Claims { jti: Some(id.to_owned()), ..self }
    }

    /// Signs the claims.
    ///
    /// # Errors
    /// If a claim is out of bounds, or the key is a public one.
    pub fn sign(&self, key: &TokenKey) -> Result<String, SignError> {
        self.check().map_err(SignError::Claim)?;
        let signing = key.signing().ok_or(SignError::PublicKey)?;
        provider::install();
        encode(&Header::new(key.algorithm()), self, signing)
            .map_err(|error| SignError::Library(error.to_string()))
    }

    /// Verifies everything except earlier use: signature and algorithm, times, bounds, and the room.
    ///
    /// # Errors
    /// The reason why the token is not valid.
    pub fn verify(token: &str, key: &TokenKey, room: &str, now: Duration) -> Result<Claims, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        provider::install();
        let read = decode::<Claims>(token, key.verifying(), &validation(key))
            .map_err(|error| why(token, error.into_kind()))?;
        if read.header.crit.is_some() {
            return Err(TokenError::Critical);
        }
        let claims = read.claims;
        claims.check().map_err(TokenError::Claim)?;
        let (now, skew) = (now.as_secs(), SKEW.as_secs());
        if now >= claims.exp.saturating_add(skew) {
            return Err(TokenError::Expired { ago_s: now - claims.exp });
        }
        if let Some(nbf) = claims.nbf.filter(|nbf| now.saturating_add(skew) < *nbf) {
            return Err(TokenError::NotYetValid { in_s: nbf - now });
        }
        if claims.room.as_deref().is_some_and(|only| only != room) {
            return Err(TokenError::OtherRoom);
        }
        Ok(claims)
    }

    /// Checks the length of every text.
    fn check(&self) -> Result<(), &'static str> {
        let printable = |text: &str, max: usize| {
            !text.is_empty() && text.chars().count() <= max && !text.chars().any(char::is_control)
        };
        let all = |text: &Option<String>, max| text.as_deref().is_none_or(|text| printable(text, max));
        // Nobody could tell "Ada " from "Ada", which would be another player with another account.
        let is_trimmed = |text: &str| text.trim() == text;
        if !all(&self.sub, NAME_CHARACTERS_MAX) || !self.sub.as_deref().is_none_or(is_trimmed) {
            Err("sub")
        } else if !all(&self.role, ROLE_CHARACTERS_MAX) {
            Err("role")
        } else if !self.room.as_deref().is_none_or(nowcast_names::is_name) {
            Err("room")
        } else if !self.jti.as_deref().is_none_or(|id| !id.is_empty() && id.len() <= ID_BYTES_MAX) {
            Err("jti")
        } else {
            Ok(())
        }
    }
}

/// The library checks the signature and the form. The times are checked here, because the library would read a clock to check
/// them.
fn validation(key: &TokenKey) -> Validation {
    let mut validation = Validation::new(key.algorithm());
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

/// Converts the library's error.
fn why(token: &str, kind: ErrorKind) -> TokenError {
    match kind {
        ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => TokenError::WrongAlgorithm,
        ErrorKind::InvalidSignature => TokenError::WrongSignature,
        // The library rejects the algorithm `none` as an unreadable header.
        ErrorKind::Json(_) if decode_header(token).is_err() => TokenError::WrongAlgorithm,
        // The signature is right, so the owner of the key signed claims that are missing or have wrong types.
        ErrorKind::Json(error) => {
            let text = error.to_string();
            let claims = ["exp", "nbf", "iat", "sub", "room", "role", "jti"];
            let is_named = |claim: &&str| text.contains(&format!("`{claim}`"));
            claims.into_iter().find(is_named).map_or(TokenError::Malformed, TokenError::Claim)
        }
        _ => TokenError::Malformed,
    }
}

/// A date in seconds, which may have a fraction in RFC 7519.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    // Below 2^53, a `f64` represents every whole second exactly.
    if (0.0..9_007_199_254_740_992.0).contains(&seconds) {
        Ok(seconds as u64)
    } else {
        Err(serde::de::Error::custom("a date out of range"))
    }
}

fn optional_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    seconds(deserializer).map(Some)
}
