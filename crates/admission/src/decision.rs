//! The decision on admission.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use nowcast_limits::Addresses;

use tracing::warn;

use super::Limits;
use super::key::TokenKey;
use super::page::{Named, OriginError, OwnPages, Page, parse_origin};
use super::proxy::{Network, Peer};
use super::refusal::AdmissionRefusal;
use super::token::{Claims, TokenError, unix_time};
use super::used::{Holder, Use, UsedToken, UsedTokenStore, UsedTokens};

/// Maximum number of refused origins and hosts that the log names.
const LOGGED_MAX: usize = 16;
/// Maximum number of characters of an origin or host in an answer.
const QUOTED_CHARACTERS_MAX: usize = 100;

/// The rules of admission to an endpoint.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The key that verifies tokens. With a key a token is required; without a key there are no tokens.
    pub key: Option<TokenKey>,
    /// Admits clients without a token from any address. If this is false and there is no key, an endpoint listens only on
    /// loopback and admits every client there.
    pub anonymous: bool,
    /// The web origins whose pages may join (`https://example.org`). Programs have no origin. If the list is empty, an endpoint
    /// that is open to its machine admits only its own pages. Any other endpoint admits every page.
    pub origins: Vec<String>,
    /// Proxies whose `X-Forwarded-For` is trusted. For all other peers the address of the connection counts.
    pub proxies: Vec<Network>,
    /// Allows sessions from other machines over plain HTTP; for endpoints behind a proxy that encrypts.
    pub plain_http: bool,
    /// Rate and connection limits.
    pub limits: Limits,
}

/// The reason why a policy does not fit the addresses of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Every client on the network could join, and nothing in the policy allows that.
    #[error(
        "{0} can be reached by other machines: give a key for tokens, or allow anonymous entry explicitly"
    )]
    Open(IpAddr),
    /// An origin that no browser sends.
    #[error(transparent)]
    Origin(#[from] OriginError),
}

impl Policy {
    /// Checks the policy against the addresses that an endpoint is to listen on.
    ///
    /// # Errors
    /// [`PolicyError::Open`] if the endpoint would be open to a network by accident, and [`PolicyError::Origin`] for an invalid
    /// origin.
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

    /// Whether all programs on this machine may join, and no other clients. If so, the endpoint also checks the origins of web
    /// pages.
    fn is_open_to_its_machine(&self, hosts: &[IpAddr]) -> bool {
        let lets_everybody_in = self.key.is_none() || self.anonymous;
        lets_everybody_in && hosts.iter().all(|host| host.to_canonical().is_loopback())
    }
}

/// The readings of two clocks: one for rates, one for the times in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Monotonic time.
    pub instant: Instant,
    /// Time since 1970.
    pub unix: Duration,
}

impl Now {
    /// Reads the system's clocks.
    #[must_use]
    pub fn read() -> Now {
        Now { instant: Instant::now(), unix: unix_time() }
    }
}

/// A parsed request for admission.
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
    /// Makes a request for the name `room` from an address. The request has no token and no page, and is not encrypted.
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

    /// Adds the token from the query of the URL, if there is one.
    #[must_use]
    pub fn token(self, token: Option<&'a str>) -> AdmissionRequest<'a> {
        AdmissionRequest { token, ..self }
    }

    /// Adds the requesting page, if any, and the requested host.
    #[must_use]
    pub fn page(self, page: Page<'a>) -> AdmissionRequest<'a> {
        AdmissionRequest { page, ..self }
    }

    /// Marks the request as a question about the name, which opens no carrier.
    #[must_use]
    pub fn question(self) -> AdmissionRequest<'a> {
        AdmissionRequest { is_question: true, ..self }
    }

    /// Adds the parameters `token` and `resume` from the query of the URL. All other parameters are left to the application.
    #[must_use]
    pub fn query(self, query: Option<&'a str>) -> AdmissionRequest<'a> {
        let mut request = self;
        for (key, value) in query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                // Tokens consist of characters that need no escape in a URL.
                "token" => request.token = Some(value),
                "resume" => request.is_resuming = value == "1",
                _ => {}
            }
        }
        request
    }

    /// Marks the request as sent over TLS or QUIC.
    #[must_use]
    pub fn encrypted(self) -> AdmissionRequest<'a> {
        AdmissionRequest { is_encrypted: true, ..self }
    }

    /// Marks the request as sent by a program on this machine ([`Peer::is_local`]).
    #[must_use]
    pub fn local(self) -> AdmissionRequest<'a> {
        AdmissionRequest { is_local: true, ..self }
    }

    /// Marks a request that only resumes a session (`resume=1` in the query). Such a request needs no token and does not use up a
    /// single-use token.
    #[must_use]
    pub fn resuming(self, is_resuming: bool) -> AdmissionRequest<'a> {
        AdmissionRequest { is_resuming, ..self }
    }
}

/// The endpoint's data about the peer of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the player or device in the token.
    pub name: Option<String>,
    /// The name of the service.
    pub room: String,
    /// The role in the token.
    pub role: Option<String>,
    /// The address of the first carrier.
    pub address: Option<SocketAddr>,
    /// Whether the first carrier came over the network from a program on this machine ([`Peer::is_local`]).
    pub is_local: bool,
    /// The process id of the peer, if it runs on this machine and no network is between.
    pub process: Option<u32>,
    /// The ticket to redeem when the session begins.
    pub ticket: Option<Ticket>,
    /// The presented token, if it is a single-use token.
    pub single_use: Option<SingleUse>,
}

impl Entry {
    /// Whether the carrier may only resume an existing session.
    #[must_use]
    pub fn only_resumes(&self) -> bool {
        self.ticket.as_ref().is_some_and(Ticket::only_resumes)
    }
}

/// A single-use token that began a session. An application that recognises its clients can record which client holds the token.
/// Only that client may then use the token again, on another session or after a restart.
#[derive(Clone, Debug)]
pub struct SingleUse {
    admission: Arc<Admission>,
    id: String,
    exp: u64,
}

impl SingleUse {
    /// Records the client that joined with the token; `None` stands for a client that cannot be recognised. An application that
    /// records holders must call this method for each session, before it accepts any message of the client. `then` is called
    /// when the holder is stored, or at once if there is no store. If the holder cannot be stored, `then` is dropped without a
    /// call.
    ///
    /// # Errors
    /// [`TokenError::Used`] if another client holds the token. This client must then be disconnected.
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

/// A ticket that is redeemed when a session begins. Redeeming it uses up a single-use token. The opening of a carrier does not
/// use up the token, because a client that tries two carriers at once presents the token twice.
#[derive(Clone, Debug)]
pub struct Ticket {
    admission: Arc<Admission>,
    kind: TicketKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TicketKind {
    /// May only resume an existing session.
    OnlyResuming,
    /// The id and the expiry of a token.
    Once { id: String, exp: u64 },
}

impl Ticket {
    /// Whether the ticket cannot begin a session, because the carrier was opened to resume one.
    #[must_use]
    pub fn only_resumes(&self) -> bool {
        self.kind == TicketKind::OnlyResuming
    }

    /// Redeems the ticket when a session begins.
    ///
    /// # Errors
    /// If the token was used in the meantime, or the carrier was opened for resuming.
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
            // The application checks that this client is the holder: see [`SingleUse::hold`].
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

/// Decides on admission. All parts of an endpoint that accept carriers share it.
#[derive(Debug)]
pub struct Admission {
    policy: Policy,
    named: Named,
    /// Set if the endpoint admits all programs on this machine and no other clients.
    own_pages: Option<OwnPages>,
    state: Mutex<State>,
    keeper: OnceLock<Arc<dyn UsedTokenStore>>,
    /// The pages of the other servers of a cluster.
    peers: Mutex<Named>,
}

#[derive(Debug)]
struct State {
    addresses: Addresses,
    used: UsedTokens,
    refused: [u64; AdmissionRefusal::WORDS.len()],
    /// The refused origins and hosts that the log has named.
    logged: Vec<String>,
}

impl Admission {
    /// Makes an admission without clients. The policy [decides](Policy::check) on which addresses the endpoint may listen.
    /// Without a key and without `anonymous`, these are only loopback addresses.
    #[must_use]
    pub fn new(policy: Policy) -> Arc<Admission> {
        let is_local = policy.key.is_none() && !policy.anonymous;
        Self::with(policy, is_local.then_some(OwnPages { port: None }))
    }

    /// Makes the admission of an endpoint that listens on these addresses and this port.
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
        let refused = [0; AdmissionRefusal::WORDS.len()];
        let state = State { addresses, used, refused, logged: Vec::new() };
        Arc::new(Admission {
            policy,
            named,
            own_pages,
            state: Mutex::new(state),
            keeper: OnceLock::new(),
            peers: Mutex::default(),
        })
    }

    /// Loads the used single-use tokens of a store, up to [`Limits::used_tokens_max`], and stores further used tokens there.
    /// The next process then refuses them, too. If this method is called again, further tokens still go to the first store.
    pub fn keep_used_tokens(&self, keeper: Arc<dyn UsedTokenStore>, now: Now) {
        for UsedToken { id, exp, holder } in keeper.used() {
            let mut state = self.lock();
            if state.used.use_id(&id, exp, now.unix) == Use::First {
                state.used.hold(&id, holder);
            }
        }
        // A second store would duplicate the first one, so it is ignored.
        let _ = self.keeper.set(keeper);
    }

    /// Also admits pages at these origins: the other servers in the cluster. Replaces the origins of an earlier call.
    pub fn admit_pages_of(&self, origins: &[String]) {
        *self.peers.lock().unwrap_or_else(PoisonError::into_inner) = Named::new(origins);
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Reserves a slot for a new connection before anything is read from it. Dropping the permit frees the slot. Connections
    /// from this machine need no slot, unless the [limits](Limits::counts_loopback) count them.
    ///
    /// # Errors
    /// [`AdmissionRefusal::Crowded`].
    pub fn take(self: &Arc<Self>, now: Now, address: IpAddr) -> Result<Permit, AdmissionRefusal> {
        let address = address.to_canonical();
        let is_shared = self.policy.proxies.iter().any(|network| network.contains(address));
        let is_free = address.is_loopback() && !self.policy.limits.counts_loopback;
        let taken = match (is_free, is_shared) {
            (true, _) => Ok(()),
            (false, true) => self.lock().addresses.take_shared(address, now.instant),
            (false, false) => self.lock().addresses.take(address, now.instant),
        };
        match taken {
            Ok(()) => Ok(Permit { admission: Arc::clone(self), counted: (!is_free).then_some(address) }),
            Err(crowded) => Err(self.count(crowded.into())),
        }
    }

    /// Decides on a request to open a carrier. If the entry has a [`Ticket`], the session begins when the ticket is redeemed.
    ///
    /// # Errors
    /// The reason of the refusal.
    pub fn check(
        self: &Arc<Self>,
        now: Now,
        request: &AdmissionRequest<'_>,
    ) -> Result<Entry, AdmissionRefusal> {
        self.judge(now, request).map_err(|refusal| self.count(refusal))
    }

    /// Decides on a request for the endpoint's pages or metrics. Such a request opens no carrier and names no service.
    ///
    /// # Errors
    /// [`AdmissionRefusal::Host`] and [`AdmissionRefusal::Origin`], if the endpoint checks web pages.
    ///
    /// The endpoint's own page passes even if it may not join, because the page then shows why.
    pub fn check_page(&self, page: Page<'_>) -> Result<(), AdmissionRefusal> {
        if self.own_pages.is_none() && page.is_of_host() {
            return Ok(());
        }
        self.check_origin(page, true).map_err(|refusal| self.count(refusal))
    }

    /// Whether a session of this peer would be refused because the connection is not encrypted.
    #[must_use]
    pub fn wants_encryption(&self, peer: Peer) -> bool {
        let is_far = !peer.address.ip().to_canonical().is_loopback();
        is_far && !peer.is_encrypted && !self.policy.plain_http
    }

    /// Counts a refusal that another component decided, and returns it.
    pub fn count(&self, refusal: AdmissionRefusal) -> AdmissionRefusal {
        let mut state = self.lock();
        if let Some(index) = AdmissionRefusal::WORDS.iter().position(|word| *word == refusal.word()) {
            state.refused[index] += 1;
        }
        if let AdmissionRefusal::Origin(named) | AdmissionRefusal::Host(named) = &refusal
            && state.logged.len() < LOGGED_MAX
            && !state.logged.contains(named)
        {
            state.logged.push(named.clone());
            warn!("{refusal}. If these pages are yours, allow their origin: --allow-origin");
        }
        refusal
    }

    /// Number of refusals, by [`AdmissionRefusal::word`].
    #[must_use]
    pub fn refused(&self) -> [(&'static str, u64); AdmissionRefusal::WORDS.len()] {
        let counts = self.lock().refused;
        std::array::from_fn(|index| (AdmissionRefusal::WORDS[index], counts[index]))
    }

    /// Number of counted connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.lock().addresses.connections()
    }

    fn judge(self: &Arc<Self>, now: Now, request: &AdmissionRequest<'_>) -> Result<Entry, AdmissionRefusal> {
        let ip = request.address.ip().to_canonical();
        // Checking a signature is the most expensive operation that an unknown client can request. A program on this machine has
        // other means to use up the processor, so its questions do not count.
        if !ip.is_loopback() || self.policy.limits.counts_loopback && !request.is_question {
            self.lock().addresses.attempt(ip, now.instant)?;
        }
        self.check_origin(request.page, request.is_question)?;
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

    fn check_origin(&self, page: Page<'_>, is_question: bool) -> Result<(), AdmissionRefusal> {
        let quoted = |text: &str| text.chars().take(QUOTED_CHARACTERS_MAX).collect();
        if let Some(own) = self.own_pages {
            // Only browsers send an origin. A browser omits the origin if the request goes to the origin of the page itself.
            let is_of_a_page = page.origin.is_some() || is_question;
            if let Some(host) = page.host.filter(|host| is_of_a_page && !own.knows_host(&self.named, host)) {
                return Err(AdmissionRefusal::Host(quoted(host)));
            }
        }
        let Some(origin) = page.origin else { return Ok(()) };
        let is_of_peer = || self.peers.lock().unwrap_or_else(PoisonError::into_inner).has(origin);
        let is_allowed = self.named.has(origin)
            || is_of_peer()
            || match self.own_pages {
                Some(own) => own.is_own(origin, page.host),
                None => self.policy.origins.is_empty(),
            };
        if is_allowed { Ok(()) } else { Err(AdmissionRefusal::Origin(quoted(origin))) }
    }

    /// Returns the claims of the token, if one is required or presented.
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
        // The state behind the lock is consistent at every moment, because counters and tables change one at a time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reserved slot of a connection. Dropping the permit frees the place.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    /// The address of a connection that counts.
    counted: Option<IpAddr>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(address) = self.counted {
            self.admission.lock().addresses.free(address);
        }
    }
}
