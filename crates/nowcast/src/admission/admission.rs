//! The judgement itself.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::key::TokenKey;
use super::limits::{Addresses, Limits};
use super::page::{Named, OriginError, OwnPages, Page, parse_origin};
use super::proxy::{Network, Peer};
use super::refusal::AdmissionRefusal;
use super::token::{Claims, TokenError, unix_time};
use super::used::{Holder, Use, UsedToken, UsedTokenStore, UsedTokens};

/// The longest origin or host that an answer repeats, in characters.
const QUOTED_CHARACTERS_MAX: usize = 100;

/// The rules of admission to an endpoint.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The key that verifies tokens. With a key a token is required; without one there are none.
    pub key: Option<TokenKey>,
    /// Lets in who shows no token, wherever he comes from. Without a key and without this, an endpoint listens on loopback
    /// only, and everybody there may enter.
    pub anonymous: bool,
    /// The web origins whose pages may join (`https://example.org`); programs have none. Where none is named, an endpoint
    /// that is open to its machine lets in its own pages alone, and any other every page.
    pub origins: Vec<String>,
    /// Proxies that are believed for whom they speak, by `X-Forwarded-For`. All others are whom their connections come from.
    pub proxies: Vec<Network>,
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
    /// No browser would ever name such an origin.
    #[error(transparent)]
    Origin(#[from] OriginError),
}

impl Policy {
    /// Checks the policy against the addresses that an endpoint is to listen on.
    ///
    /// # Errors
    /// [`PolicyError::Open`], so that nothing is open to a network by accident, and [`PolicyError::Origin`].
    pub fn check(&self, hosts: &[IpAddr]) -> Result<(), PolicyError> {
        for origin in &self.origins {
            parse_origin(origin)?;
        }
        let open = hosts.iter().find(|host| !host.to_canonical().is_loopback());
        match open {
            Some(host) if self.key.is_none() && !self.anonymous => Err(PolicyError::Open(*host)),
            _ => Ok(()),
        }
    }

    /// Whether every program of the machine may enter, and nobody else: then its web pages are judged.
    fn is_open_to_its_machine(&self, hosts: &[IpAddr]) -> bool {
        let lets_everybody_in = self.key.is_none() || self.anonymous;
        lets_everybody_in && hosts.iter().all(|host| host.to_canonical().is_loopback())
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

/// A request to enter, as an endpoint read it.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    room: &'a str,
    address: SocketAddr,
    token: Option<&'a str>,
    page: Page<'a>,
    is_encrypted: bool,
    is_local: bool,
    is_resuming: bool,
    is_question: bool,
}

impl<'a> AdmissionRequest<'a> {
    /// For the name `room`, from an address; without a token, not encrypted, no page.
    #[must_use]
    pub fn new(room: &'a str, address: SocketAddr) -> AdmissionRequest<'a> {
        AdmissionRequest {
            room,
            address,
            token: None,
            page: Page::default(),
            is_encrypted: false,
            is_local: false,
            is_resuming: false,
            is_question: false,
        }
    }

    /// With the token of the address's query, if it has one.
    #[must_use]
    pub fn token(self, token: Option<&'a str>) -> AdmissionRequest<'a> {
        AdmissionRequest { token, ..self }
    }

    /// With the page that asks, if one does, and the host that it asks.
    #[must_use]
    pub fn page(self, page: Page<'a>) -> AdmissionRequest<'a> {
        AdmissionRequest { page, ..self }
    }

    /// Asks about the name and opens nothing.
    #[must_use]
    pub fn question(self) -> AdmissionRequest<'a> {
        AdmissionRequest { is_question: true, ..self }
    }

    /// With what the query of the address says: `token` and `resume`. Anything else is the application's.
    #[must_use]
    pub fn query(self, query: Option<&'a str>) -> AdmissionRequest<'a> {
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
    pub fn encrypted(self) -> AdmissionRequest<'a> {
        AdmissionRequest { is_encrypted: true, ..self }
    }

    /// From a program on this machine that asks for itself ([`Peer::is_local`]).
    #[must_use]
    pub fn local(self) -> AdmissionRequest<'a> {
        AdmissionRequest { is_local: true, ..self }
    }

    /// Only to resume a session (`resume=1` in the query): then no token is needed, and none is used up.
    #[must_use]
    pub fn resuming(self, is_resuming: bool) -> AdmissionRequest<'a> {
        AdmissionRequest { is_resuming, ..self }
    }
}

/// The endpoint's knowledge of the peer of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The player's or device's name, if a token says one.
    pub name: Option<String>,
    /// The name of the service that was entered.
    pub room: String,
    /// The role in the token.
    pub role: Option<String>,
    /// The address from which the first carrier came.
    pub address: Option<SocketAddr>,
    /// Whether the first carrier came from a program on this machine that asked for itself, over the network ([`Peer::is_local`]).
    pub is_local: bool,
    /// The number of the peer's process, if it runs on this machine and no network is between.
    pub process: Option<u32>,
    /// The ticket that the [`Admission`] needs when the session begins.
    pub ticket: Option<Ticket>,
    /// The token for one entry that was shown, if it was one.
    pub single_use: Option<SingleUse>,
}

impl Entry {
    /// Whether no session may begin by it: it was opened for one that is there already.
    #[must_use]
    pub fn only_resumes(&self) -> bool {
        self.ticket.as_ref().is_some_and(Ticket::only_resumes)
    }
}

/// A token for one entry by which a session began. An application that knows its clients again says which of them holds the
/// token: that one may come in with it again, on another session and after a restart, and nobody else.
#[derive(Clone, Debug)]
pub struct SingleUse {
    admission: Arc<Admission>,
    id: String,
    exp: u64,
}

impl SingleUse {
    /// Says who came in with the token; `None` for a client that cannot be known again. An application that calls this at all calls
    /// it for each session before it lets the client do anything. `then` is called when this is kept, at once where nothing is,
    /// and dropped when it cannot be kept.
    ///
    /// # Errors
    /// [`TokenError::Used`] when somebody else holds the token: this one may not stay.
    pub fn hold(
        &self,
        holder: Option<Holder>,
        then: Box<dyn FnOnce() + Send>,
    ) -> Result<(), AdmissionRefusal> {
        let Self { admission, id, exp } = self;
        if !admission.lock().used.hold(id, holder) {
            return Err(admission.count(TokenError::Used.into()));
        }
        match admission.keeper.get() {
            Some(keeper) => keeper.keep(&UsedToken { id: id.clone(), exp: *exp, holder }, then),
            None => then(),
        }
        Ok(())
    }
}

impl PartialEq for SingleUse {
    fn eq(&self, other: &SingleUse) -> bool {
        Arc::ptr_eq(&self.admission, &other.admission) && (&self.id, self.exp) == (&other.id, other.exp)
    }
}

impl Eq for SingleUse {}

/// The argument of an [`Admission`] when a session begins. A single-use token is used up then, and not when a carrier
/// is opened, because a client that tries two carriers at once shows it twice.
#[derive(Clone, Debug)]
pub struct Ticket {
    admission: Arc<Admission>,
    kind: TicketKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TicketKind {
    /// Only a session that exists can go on.
    OnlyResuming,
    /// The id and the end of a token.
    Once { id: String, exp: u64 },
}

impl Ticket {
    /// Whether it begins nothing: it was opened for a session that is there already.
    #[must_use]
    pub fn only_resumes(&self) -> bool {
        self.kind == TicketKind::OnlyResuming
    }

    /// A session begins.
    ///
    /// # Errors
    /// When the token was used meanwhile, or the carrier was opened for resuming.
    pub fn redeem(self, now: Now) -> Result<(), AdmissionRefusal> {
        let TicketKind::Once { id, exp } = self.kind else {
            return Err(self.admission.count(AdmissionRefusal::OnlyResuming));
        };
        let used = self.admission.lock().used.use_id(&id, exp, now.unix);
        match used {
            Use::First => {
                if let Some(keeper) = self.admission.keeper.get() {
                    keeper.keep(&UsedToken { id, exp, holder: None }, Box::new(|| ()));
                }
                Ok(())
            }
            // Whether it is the holder who comes, the application hears from the client: see [`SingleUse::hold`].
            Use::Again { is_held: true } => Ok(()),
            Use::Again { is_held: false } => Err(self.admission.count(TokenError::Used.into())),
            Use::Full => Err(self.admission.count(AdmissionRefusal::TooManyTokens)),
        }
    }
}

impl PartialEq for Ticket {
    fn eq(&self, other: &Ticket) -> bool {
        Arc::ptr_eq(&self.admission, &other.admission) && self.kind == other.kind
    }
}

impl Eq for Ticket {}

/// Judges who may enter. It is shared by everything that accepts carriers.
#[derive(Debug)]
pub struct Admission {
    policy: Policy,
    named: Named,
    /// Where the endpoint is open to its machine.
    own_pages: Option<OwnPages>,
    state: Mutex<State>,
    keeper: OnceLock<Arc<dyn UsedTokenStore>>,
}

#[derive(Debug)]
struct State {
    addresses: Addresses,
    used: UsedTokens,
    refused: [u64; AdmissionRefusal::WORDS.len()],
}

impl Admission {
    /// An admission that has let nobody in yet. Where the endpoint listens is what the policy [allows](Policy::check): without a
    /// key, and unless everybody is let in, loopback alone.
    #[must_use]
    pub fn new(policy: Policy) -> Arc<Admission> {
        let is_local = policy.key.is_none() && !policy.anonymous;
        Self::with(policy, is_local.then_some(OwnPages { port: None }))
    }

    /// Admission to an endpoint that listens on these addresses and this port.
    #[must_use]
    pub fn listening(policy: Policy, hosts: &[IpAddr], port: u16) -> Arc<Admission> {
        let is_local = policy.is_open_to_its_machine(hosts);
        Self::with(policy, is_local.then_some(OwnPages { port: Some(port) }))
    }

    fn with(policy: Policy, own_pages: Option<OwnPages>) -> Arc<Admission> {
        let named = Named::new(&policy.origins);
        let limits = &policy.limits;
        let addresses = Addresses::new(
            limits.connections_max,
            limits.connections_per_address_max,
            limits.attempts_per_address_hz,
        );
        let used = UsedTokens::new(limits.used_tokens_max);
        let state = State { addresses, used, refused: [0; AdmissionRefusal::WORDS.len()] };
        Arc::new(Admission { policy, named, own_pages, state: Mutex::new(state), keeper: OnceLock::new() })
    }

    /// Stores the used single-use tokens, so that the next process refuses them, too. Stored tokens are remembered, as
    /// far as [`Limits::used_tokens_max`] goes; only the first store counts.
    pub fn keep_used_tokens(&self, keeper: Arc<dyn UsedTokenStore>, now: Now) {
        for UsedToken { id, exp, holder } in keeper.used() {
            let mut state = self.lock();
            if state.used.use_id(&id, exp, now.unix) == Use::First {
                state.used.hold(&id, holder);
            }
        }
        // A second keeper would know what the first one kept.
        let _ = self.keeper.set(keeper);
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Takes a place for a connection as soon as it is there, before anything is read from it. Dropping the place frees it.
    /// Connections from this machine need none.
    ///
    /// # Errors
    /// [`AdmissionRefusal::Crowded`].
    pub fn take(self: &Arc<Self>, now: Now, address: IpAddr) -> Result<Permit, AdmissionRefusal> {
        let address = address.to_canonical();
        let is_shared = self.policy.proxies.iter().any(|network| network.contains(address));
        let taken = match (address.is_loopback(), is_shared) {
            (true, _) => Ok(()),
            (false, true) => self.lock().addresses.take_shared(address, now.instant),
            (false, false) => self.lock().addresses.take(address, now.instant),
        };
        match taken {
            Ok(()) => Ok(Permit { admission: Arc::clone(self), address }),
            Err(crowded) => Err(self.count(crowded.into())),
        }
    }

    /// Judges a request to open a carrier. The session begins when the [`Ticket`] of the entry, if it has one, is redeemed.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check(
        self: &Arc<Self>,
        now: Now,
        request: &AdmissionRequest<'_>,
    ) -> Result<Entry, AdmissionRefusal> {
        self.judge(now, request).map_err(|refusal| self.count(refusal))
    }

    /// Judges a request that opens nothing and asks about no name: the endpoint's pages and figures.
    ///
    /// # Errors
    /// [`AdmissionRefusal::Host`] and [`AdmissionRefusal::Origin`], where web pages are judged.
    pub fn check_page(&self, page: Page<'_>) -> Result<(), AdmissionRefusal> {
        self.judge_page(page, true).map_err(|refusal| self.count(refusal))
    }

    /// Whether a session of this peer would be refused because nothing encrypts it.
    #[must_use]
    pub fn wants_encryption(&self, peer: Peer) -> bool {
        let is_far = !peer.address.ip().to_canonical().is_loopback();
        is_far && !peer.is_encrypted && !self.policy.plain_http
    }

    /// Counts a refusal that is decided elsewhere, and hands it back.
    pub fn count(&self, refusal: AdmissionRefusal) -> AdmissionRefusal {
        if let Some(index) = AdmissionRefusal::WORDS.iter().position(|word| *word == refusal.word()) {
            self.lock().refused[index] += 1;
        }
        refusal
    }

    /// How many were refused, by [`AdmissionRefusal::word`].
    #[must_use]
    pub fn refused(&self) -> [(&'static str, u64); AdmissionRefusal::WORDS.len()] {
        let counts = self.lock().refused;
        std::array::from_fn(|index| (AdmissionRefusal::WORDS[index], counts[index]))
    }

    /// The connections from other machines that have a place.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.lock().addresses.connections()
    }

    fn judge(self: &Arc<Self>, now: Now, request: &AdmissionRequest<'_>) -> Result<Entry, AdmissionRefusal> {
        let ip = request.address.ip().to_canonical();
        // Checking a signature is the most expensive thing that an unknown client can ask for. A proxy on this machine
        // speaks for many, so that loopback is not one address.
        if !ip.is_loopback() {
            self.lock().addresses.attempt(ip, now.instant)?;
        }
        self.judge_page(request.page, request.is_question)?;
        if self.wants_encryption(Peer::connected(request.address, request.is_encrypted)) {
            return Err(AdmissionRefusal::NotEncrypted);
        }
        let claims = self.claims(now, request)?;
        let (name, role, id, exp) = match claims {
            Some(claims) => (claims.sub, claims.role, claims.jti, claims.exp),
            None => (None, None, None, 0),
        };
        let single_use = id.map(|id| SingleUse { admission: Arc::clone(self), id, exp });
        let kind = match &single_use {
            _ if request.is_resuming => Some(TicketKind::OnlyResuming),
            Some(SingleUse { id, .. }) => Some(TicketKind::Once { id: id.clone(), exp }),
            None => None,
        };
        let ticket = kind.map(|kind| Ticket { admission: Arc::clone(self), kind });
        let room = request.room.to_owned();
        let AdmissionRequest { address, is_local, .. } = *request;
        Ok(Entry { name, room, role, address: Some(address), is_local, process: None, ticket, single_use })
    }

    fn judge_page(&self, page: Page<'_>, is_question: bool) -> Result<(), AdmissionRefusal> {
        let quoted = |text: &str| text.chars().take(QUOTED_CHARACTERS_MAX).collect();
        if let Some(own) = self.own_pages {
            // A carrier without an origin was not opened by a browser. A browser leaves it out where it takes the page
            // for ours.
            let is_of_a_page = page.origin.is_some() || is_question;
            if let Some(host) = page.host.filter(|host| is_of_a_page && !own.knows_host(&self.named, host)) {
                return Err(AdmissionRefusal::Host(quoted(host)));
            }
        }
        let Some(origin) = page.origin else { return Ok(()) };
        let is_allowed = self.named.has(origin)
            || match self.own_pages {
                Some(own) => own.is_own(origin, page.host),
                None => self.policy.origins.is_empty(),
            };
        if is_allowed { Ok(()) } else { Err(AdmissionRefusal::Origin(quoted(origin))) }
    }

    /// Returns the claims of the token, if one is needed or shown.
    fn claims(&self, now: Now, request: &AdmissionRequest<'_>) -> Result<Option<Claims>, TokenError> {
        let Some(key) = self.policy.key.as_ref().filter(|_| !request.is_resuming) else { return Ok(None) };
        let Some(token) = request.token else {
            return if self.policy.anonymous { Ok(None) } else { Err(TokenError::Missing) };
        };
        let claims = Claims::verify(token, key, request.room, now.unix)?;
        if claims.jti.as_deref().is_some_and(|id| self.lock().used.is_spent(id)) {
            return Err(TokenError::Used);
        }
        Ok(Some(claims))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state behind the lock is whole at every moment: counters and tables, changed one at a time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place under the limits. Dropping it frees it.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    address: IpAddr,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.address.is_loopback() {
            self.admission.lock().addresses.free(self.address);
        }
    }
}
