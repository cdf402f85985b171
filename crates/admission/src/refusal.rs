//! Refusals of admission, for people and programs (`spec/CARRIERS.md`, section 2).

use super::Crowded;
use super::token::TokenError;

/// The reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionRefusal {
    /// The token is not valid here.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A carrier that was opened to resume a session has requested a new session.
    #[error("a new session needs a token here; without one, only an existing session can be resumed")]
    OnlyResuming,
    /// Pages of this origin may not join.
    #[error("pages of the origin '{0}' may not join")]
    Origin(String),
    /// The request names another host.
    #[error("this endpoint is not called '{0}'")]
    Host(String),
    /// A session from another machine over plain HTTP.
    #[error("sessions from other machines must be encrypted here, and this connection is not encrypted")]
    NotEncrypted,
    /// No service has this name.
    #[error("nothing is called '{0}' here")]
    NoSuchName(String),
    /// The address has to wait.
    #[error(transparent)]
    Crowded(#[from] Crowded),
    /// The table of single-use tokens is full.
    #[error("too many single-use tokens are in use")]
    TooManyTokens,
    /// The service accepts no more sessions.
    #[error("the service accepts no more sessions")]
    Full,
}

impl AdmissionRefusal {
    /// The name for programs, and the label of its counter.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Token(_) | Self::OnlyResuming => "unauthorised",
            Self::Origin(_) => "wrong_origin",
            Self::Host(_) => "wrong_host",
            Self::NotEncrypted => "not_encrypted",
            Self::NoSuchName(_) => "no_such_name",
            Self::Crowded(Crowded::Address | Crowded::TooOften) => "too_many",
            Self::Crowded(Crowded::Full) | Self::TooManyTokens | Self::Full => "full",
        }
    }

    /// Returns a short reason for the session's own refusal, where a reason has at most 64 bytes.
    #[must_use]
    pub fn brief(&self) -> &'static str {
        match self {
            Self::Token(TokenError::Used) => "the token has been used: ask for a new one",
            Self::OnlyResuming => "without a token a session can only be resumed",
            Self::TooManyTokens => "too many single-use tokens are in use",
            _ => self.word(),
        }
    }

    /// Returns the action that resolves the refusal.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        match self {
            Self::Token(error) => error.cure(),
            Self::OnlyResuming => "connect anew, with a token",
            Self::Origin(_) => "ask the operator of the endpoint to allow this origin (--allow-origin)",
            Self::Host(_) => "call it localhost, or ask its operator to allow an origin with this host",
            Self::NotEncrypted => "use TLS or WebTransport, or ask the operator to allow plain HTTP",
            Self::NoSuchName(_) => "check the name, or start the service that has it",
            Self::Crowded(Crowded::Address) => "close other connections of this address",
            Self::Crowded(Crowded::TooOften) => "wait a second",
            Self::Crowded(Crowded::Full) | Self::TooManyTokens | Self::Full => "try again later",
        }
    }

    /// All names, for counters.
    pub(super) const WORDS: [&'static str; 7] =
        ["unauthorised", "wrong_origin", "wrong_host", "not_encrypted", "no_such_name", "too_many", "full"];
}
