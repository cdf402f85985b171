//! The judgement itself.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::key::TokenKey;
use super::limits::{Addresses, Limits};
use super::refusal::Refusal;
use super::token::{Claims, TokenError, unix_time};
use super::used::{Use, UsedTokens};
use crate::acceptor::Entry;

/// The longest origin that an answer repeats, in characters.
const ORIGIN_CHARACTERS_MAX: usize = 100;

/// Who may enter an endpoint.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// What tokens are verified with. With a key a token is needed; without one there are none.
    pub key: Option<TokenKey>,
    /// Lets in who shows no token, wherever he comes from. Without a key and without this, an endpoint listens on loopback
    /// only, and everybody there may enter.
    pub anonymous: bool,
    /// The web origins whose pages may join (`https://example.org`). Empty allows every origin, and programs have none.
    pub origins: Vec<String>,
    /// Allows sessions from other machines over plain HTTP; for whoever has encryption in front of it.
    pub plain_http: bool,
    /// How many of everything.
    pub limits: Limits,
}

/// Why a policy does not go with where an endpoint listens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Anybody on the network could enter, and nobody said that this is wanted.
    #[error(
        "{0} can be reached by other machines: give a key for tokens, or allow anonymous entry explicitly"
    )]
    Open(IpAddr),
}

impl Policy {
    /// Checks the policy against the addresses that an endpoint is to listen on.
    ///
    /// # Errors
    /// [`PolicyError::Open`], so that nothing is open to a network by accident.
    pub fn check(&self, hosts: &[IpAddr]) -> Result<(), PolicyError> {
        let open = hosts.iter().find(|host| !host.to_canonical().is_loopback());
        match open {
            Some(host) if self.key.is_none() && !self.anonymous => Err(PolicyError::Open(*host)),
            _ => Ok(()),
        }
    }

    /// Whether pages of an origin may join.
    #[must_use]
    pub fn allows_origin(&self, origin: &str) -> bool {
        self.origins.is_empty() || self.origins.iter().any(|allowed| allowed.trim_end_matches('/') == origin)
    }
}

/// Both clocks: one for rates, one for the dates in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Never runs backwards.
    pub instant: Instant,
    /// Since 1970.
    pub unix: Duration,
}

impl Now {
    /// Reads the system's clocks.
    #[must_use]
    pub fn read() -> Now {
        Now { instant: Instant::now(), unix: unix_time() }
    }
}

/// Somebody knocks.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    room: &'a str,
    address: SocketAddr,
    token: Option<&'a str>,
    origin: Option<&'a str>,
    is_encrypted: bool,
    is_resuming: bool,
}

impl<'a> Request<'a> {
    /// For the name `room`, from an address; without a token, not encrypted, no page.
    #[must_use]
    pub fn new(room: &'a str, address: SocketAddr) -> Request<'a> {
        Request { room, address, token: None, origin: None, is_encrypted: false, is_resuming: false }
    }

    /// With the token of the address's query, if it has one.
    #[must_use]
    pub fn token(self, token: Option<&'a str>) -> Request<'a> {
        Request { token, ..self }
    }

    /// With the header `Origin`, if there is one.
    #[must_use]
    pub fn origin(self, origin: Option<&'a str>) -> Request<'a> {
        Request { origin, ..self }
    }

    /// With what the query of the address says: `token` and `resume`. Anything else is the application's.
    #[must_use]
    pub fn query(self, query: Option<&'a str>) -> Request<'a> {
        let mut request = self;
        for (key, value) in query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                // Tokens are written in digits that no address has to escape.
                "token" => request.token = Some(value),
                "resume" => request.is_resuming = value == "1",
                _ => {}
            }
        }
        request
    }

    /// Over TLS or QUIC.
    #[must_use]
    pub fn encrypted(self) -> Request<'a> {
        Request { is_encrypted: true, ..self }
    }

    /// Only to resume a session (`resume=1` in the query): then no token is needed, and none is used up.
    #[must_use]
    pub fn resuming(self, is_resuming: bool) -> Request<'a> {
        Request { is_resuming, ..self }
    }
}

/// What a door wants to be told when a session begins: a token that is good for one entry is used up then, and not when a
/// carrier is opened, because a client that tries two carriers at once shows it twice.
#[derive(Clone, Debug)]
pub struct Ticket {
    door: Arc<Door>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Only a session that exists can go on.
    OnlyResuming,
    /// The id and the end of a token.
    Once { id: String, exp: u64 },
}

impl Ticket {
    /// A session begins.
    ///
    /// # Errors
    /// When the token was used meanwhile, or the carrier was opened for resuming.
    pub fn redeem(self, now: Now) -> Result<(), Refusal> {
        let Kind::Once { id, exp } = self.kind else { return Err(self.door.count(Refusal::OnlyResuming)) };
        let used = self.door.lock().used.use_id(&id, exp, now.unix);
        match used {
            Use::First => Ok(()),
            Use::Again => Err(self.door.count(TokenError::Used.into())),
            Use::Full => Err(self.door.count(Refusal::TooManyTokens)),
        }
    }
}

impl PartialEq for Ticket {
    fn eq(&self, other: &Ticket) -> bool {
        Arc::ptr_eq(&self.door, &other.door) && self.kind == other.kind
    }
}

impl Eq for Ticket {}

/// Judges who may enter. It is shared by everything that accepts carriers.
#[derive(Debug)]
pub struct Door {
    policy: Policy,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    addresses: Addresses,
    used: UsedTokens,
    refused: [u64; Refusal::WORDS.len()],
}

impl Door {
    /// A door that nobody has gone through yet.
    #[must_use]
    pub fn new(policy: Policy) -> Arc<Door> {
        let limits = &policy.limits;
        let addresses = Addresses::new(
            limits.connections_max,
            limits.connections_per_address_max,
            limits.attempts_per_address_hz,
        );
        let used = UsedTokens::new(limits.used_tokens_max);
        let state = State { addresses, used, refused: [0; Refusal::WORDS.len()] };
        Arc::new(Door { policy, state: Mutex::new(state) })
    }

    /// What is wanted.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Takes a place for a connection as soon as it is there, before anything is read from it. Dropping the place frees it.
    /// Connections from this machine need none.
    ///
    /// # Errors
    /// [`Refusal::Crowded`].
    pub fn take(self: &Arc<Self>, now: Now, address: IpAddr) -> Result<Place, Refusal> {
        let address = address.to_canonical();
        let taken =
            if address.is_loopback() { Ok(()) } else { self.lock().addresses.take(address, now.instant) };
        match taken {
            Ok(()) => Ok(Place { door: Arc::clone(self), address }),
            Err(crowded) => Err(self.count(crowded.into())),
        }
    }

    /// Judges a request to open a carrier. The session begins when the [`Ticket`] of the entry, if it has one, is redeemed.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check(self: &Arc<Self>, now: Now, request: &Request<'_>) -> Result<Entry, Refusal> {
        self.judge(now, request).map_err(|refusal| self.count(refusal))
    }

    /// Counts a refusal that is decided elsewhere, and hands it back.
    pub fn count(&self, refusal: Refusal) -> Refusal {
        if let Some(index) = Refusal::WORDS.iter().position(|word| *word == refusal.word()) {
            self.lock().refused[index] += 1;
        }
        refusal
    }

    /// How many were refused, by [`Refusal::word`].
    #[must_use]
    pub fn refused(&self) -> [(&'static str, u64); Refusal::WORDS.len()] {
        let counts = self.lock().refused;
        std::array::from_fn(|index| (Refusal::WORDS[index], counts[index]))
    }

    /// The connections from other machines that have a place.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.lock().addresses.connections()
    }

    fn judge(self: &Arc<Self>, now: Now, request: &Request<'_>) -> Result<Entry, Refusal> {
        let ip = request.address.ip().to_canonical();
        // Reading a signature is the dearest thing that a stranger can ask for before he is known. A proxy on this machine
        // speaks for many, so that loopback is not one address.
        if !ip.is_loopback() {
            self.lock().addresses.attempt(ip, now.instant)?;
        }
        if let Some(origin) = request.origin.filter(|origin| !self.policy.allows_origin(origin)) {
            return Err(Refusal::Origin(origin.chars().take(ORIGIN_CHARACTERS_MAX).collect()));
        }
        if !request.is_encrypted && !self.policy.plain_http && !ip.is_loopback() {
            return Err(Refusal::NotEncrypted);
        }
        let claims = self.claims(now, request)?;
        let (name, role, id, exp) = match claims {
            Some(claims) => (claims.sub, claims.role, claims.jti, claims.exp),
            None => (None, None, None, 0),
        };
        let kind =
            if request.is_resuming { Some(Kind::OnlyResuming) } else { id.map(|id| Kind::Once { id, exp }) };
        let ticket = kind.map(|kind| Ticket { door: Arc::clone(self), kind });
        Ok(Entry { name, room: request.room.to_owned(), role, address: Some(request.address), ticket })
    }

    /// What the token says, if one is needed or shown.
    fn claims(&self, now: Now, request: &Request<'_>) -> Result<Option<Claims>, TokenError> {
        let Some(key) = self.policy.key.as_ref().filter(|_| !request.is_resuming) else { return Ok(None) };
        let Some(token) = request.token else {
            return if self.policy.anonymous { Ok(None) } else { Err(TokenError::Missing) };
        };
        let claims = Claims::verify(token, key, request.room, now.unix)?;
        if claims.jti.as_deref().is_some_and(|id| self.lock().used.contains(id)) {
            return Err(TokenError::Used);
        }
        Ok(Some(claims))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What is behind it is whole at every moment: counters and tables, changed one at a time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place under the limits. Dropping it frees it.
#[derive(Debug)]
pub struct Place {
    door: Arc<Door>,
    address: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.address.is_loopback() {
            self.door.lock().addresses.free(self.address);
        }
    }
}
