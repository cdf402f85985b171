//! Accepts carriers. A HELLO that resumes a session is passed to that session, on any carrier. Any other HELLO begins a session.

mod limits;
mod sessions;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use nowcast_session::packet::{Hello, Refuse, Resume};
use nowcast_session::{CloseCode, Config, Limits, Session};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

pub use limits::{AcceptCounters, AcceptLimits, AcceptRefusal};
use limits::{Counted, Permit, Permits};
use sessions::Sessions;

use crate::admission::Now;
use crate::carrier::{Carrier, CarrierLayer, Ended, Ending, retire};
use crate::channel::{Channel, Entry, Phase};
use crate::driver::{Driver, SessionLink, Shared};
use crate::{clock, io, random};

/// Time after which a carrier without a HELLO is closed (`spec/CARRIERS.md`, section 6).
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of channels that the application has not accepted yet. Above it, new sessions are refused as busy. A session
/// counts only after its peer's proof, so clients that begin slowly keep out nobody.
const BACKLOG_MAX: usize = 1_024;
const NOT_ACCEPTING: &str = "the service does not accept now";

/// Receives accepted carriers; cheap to clone.
///
/// Your own endpoint passes upgraded WebSockets to the acceptor:
///
/// ```no_run
/// # async fn upgraded() -> Result<tokio::net::TcpStream, std::io::Error> { unimplemented!() }
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use nowcast::carrier::WebSocket;
/// use nowcast::{AcceptConfig, Acceptor, Entry};
///
/// let (acceptor, mut service) = Acceptor::new(AcceptConfig::default());
/// tokio::spawn(async move {
///     let stream = upgraded().await?; // by your HTTP server, with the subprotocol "nowcast.1"
///     let entry = Entry { room: "tracker".into(), ..Entry::default() };
///     acceptor.hand_over(Box::new(WebSocket::accepted(stream, Vec::new()).await), entry);
///     Ok::<_, std::io::Error>(())
/// });
/// let channel = service.accept().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Acceptor {
    inner: Arc<Inner>,
}

struct Inner {
    session: Config,
    permits: Permits,
    sessions: Sessions,
    layers: Vec<Arc<dyn CarrierLayer>>,
    ready: mpsc::Sender<Channel>,
}

/// Configuration of an acceptor.
#[derive(Clone, Debug, Default)]
pub struct AcceptConfig {
    /// Configuration of new sessions.
    pub session: Config,
    /// Limits of carriers and sessions.
    pub limits: AcceptLimits,
    /// Layers around each accepted carrier, the innermost first.
    pub layers: Vec<Arc<dyn CarrierLayer>>,
}

/// Receiver of the accepted channels.
pub struct Accepted {
    ready: mpsc::Receiver<Channel>,
}

impl Acceptor {
    /// Makes an acceptor and the receiver of its channels.
    #[must_use]
    pub fn new(config: AcceptConfig) -> (Acceptor, Accepted) {
        let (sender, ready) = mpsc::channel(BACKLOG_MAX);
        let inner = Inner {
            session: config.session,
            permits: Permits::new(config.limits),
            sessions: Sessions::default(),
            layers: config.layers,
            ready: sender,
        };
        (Acceptor { inner: Arc::new(inner) }, Accepted { ready })
    }

    /// Accepts a carrier whose peer was admitted with `entry`. The session runs on the calling I/O
    /// thread, or else on the current tokio runtime.
    pub fn hand_over(&self, carrier: Box<dyn Carrier>, entry: Entry) {
        let (permit, displaced) = self.inner.permits.take_carrier(entry.address);
        let carrier = self.inner.layers.iter().fold(carrier, |carrier, layer| layer.wrap(carrier));
        let inner = Arc::clone(&self.inner);
        io::spawn(async move { inner.take_in(carrier, entry, permit, displaced).await });
    }

    /// Checks whether a new session from this address would be accepted now. A carrier that resumes a session needs no
    /// permit, because its session has one.
    ///
    /// # Errors
    /// [`AcceptRefusal`].
    pub fn check(&self, address: Option<SocketAddr>) -> Result<(), AcceptRefusal> {
        self.inner.permits.check(address)
    }

    /// The queue for channels that have no carrier.
    pub(crate) fn queue(&self) -> mpsc::Sender<Channel> {
        self.inner.ready.clone()
    }

    /// Returns the counters of refused and dropped attempts, and the number of open sessions.
    #[must_use]
    pub fn counters(&self) -> AcceptCounters {
        self.inner.permits.counters()
    }

    /// Ends all sessions because the endpoint closes.
    pub fn close_all(&self) {
        for shared in self.inner.sessions.all() {
            shared.lock().close(clock::now(), CloseCode::GOING_AWAY, "the endpoint goes away");
        }
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Acceptor").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

impl Accepted {
    /// Waits for the next channel. Returns `None` once every acceptor has been dropped.
    pub async fn next(&mut self) -> Option<Channel> {
        self.ready.recv().await
    }

    /// Like [`next`](Self::next). An error means that no further channel can arrive.
    ///
    /// # Errors
    /// [`crate::Error::Closed`] with `going_away`.
    pub async fn accept(&mut self) -> Result<Channel, crate::Error> {
        self.next().await.ok_or_else(is_gone)
    }

    /// Like [`accept`](Self::accept), but never waits. Returns `None` if no program has connected.
    ///
    /// # Errors
    /// Like [`accept`](Self::accept).
    pub fn try_accept(&mut self) -> Result<Option<Channel>, crate::Error> {
        match self.ready.try_recv() {
            Ok(channel) => Ok(Some(channel)),
            Err(mpsc::error::TryRecvError::Empty) => Ok(None),
            Err(mpsc::error::TryRecvError::Disconnected) => Err(is_gone()),
        }
    }
}

fn is_gone() -> crate::Error {
    crate::Error::Closed(nowcast_session::Closed {
        code: CloseCode::GOING_AWAY,
        reason: "the endpoint is gone".into(),
        by: nowcast_session::ClosedBy::Us,
    })
}

impl std::fmt::Debug for Accepted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Accepted").finish_non_exhaustive()
    }
}

impl Inner {
    async fn take_in(
        self: Arc<Self>,
        mut carrier: Box<dyn Carrier>,
        entry: Entry,
        permit: Permit,
        displaced: Arc<Notify>,
    ) {
        let first = tokio::select! {
            biased;
            first = timeout(HELLO_TIMEOUT, first_packet(carrier.as_mut())) => first,
            () = displaced.notified() => return retire(carrier, Ending::GoingAway),
        };
        let Ok(Ok(packet)) = first else {
            self.permits.count(Counted::NoHello);
            return retire(carrier, Ending::Violation);
        };
        let hello = match Hello::read(&packet) {
            Ok(hello) => hello,
            Err(malformed) => {
                self.permits.count(Counted::NotHello);
                let mut refusal = Vec::new();
                return match Session::refuse_first(&packet, &malformed, carrier.properties(), &mut refusal) {
                    true => send_last(carrier, refusal, Ending::Violation),
                    false => retire(carrier, Ending::Violation),
                };
            }
        };
        match &hello.resume {
            Some(_) => self.resume(carrier, &hello, &packet),
            None => {
                if let Some(begun) = self.begin(carrier, entry, permit, &hello, &packet) {
                    drop((hello, packet));
                    begun.run(&self.sessions, &self.permits).await;
                }
            }
        }
    }

    /// Passes a carrier to the session that its HELLO names.
    fn resume(&self, carrier: Box<dyn Carrier>, hello: &Hello, packet: &[u8]) {
        let Some(resume) = &hello.resume else { return };
        let now = clock::now();
        let Some(shared) = self.sessions.find(&resume.session) else {
            self.permits.count(Counted::UnknownSession);
            return refuse(carrier, hello, CloseCode::UNKNOWN_SESSION, "there is no such session here");
        };
        let mut core = shared.lock();
        match core.session.check_resume(resume) {
            Ok(()) => {
                core.attach(now, carrier);
                core.session.handle_packet(now, packet);
                self.permits.count(Counted::Resumed);
            }
            Err(code) => {
                drop(core);
                self.permits.count(Counted::WrongToken);
                refuse(carrier, hello, code, "the resume token or epoch is wrong");
            }
        }
    }

    /// Begins a session, or refuses it.
    ///
    /// This is not part of the future of the session, which would otherwise keep room for each value of this function.
    fn begin(
        &self,
        carrier: Box<dyn Carrier>,
        mut entry: Entry,
        permit: Permit,
        hello: &Hello,
        packet: &[u8],
    ) -> Option<Begun> {
        let refused = |carrier, code, text| {
            refuse(carrier, hello, code, text);
            None
        };
        if self.ready.capacity() == 0 || self.ready.is_closed() {
            self.permits.count(Counted::Busy);
            return refused(carrier, CloseCode::BUSY, NOT_ACCEPTING);
        }
        let Some(permit) = permit.become_session() else {
            return refused(carrier, CloseCode::BUSY, "the service accepts no more sessions");
        };
        if let Some(Err(refusal)) = entry.ticket.take().map(|ticket| ticket.redeem(Now::read())) {
            let code = if refusal.word() == "full" { CloseCode::BUSY } else { CloseCode::UNAUTHORISED };
            return refused(carrier, code, refusal.brief());
        }
        let now = clock::now();
        let config = Config { limits: limits_of(&self.session), ..self.session.clone() };
        let mut session = Session::accept(now, config, carrier.properties(), random::entropy());
        session.handle_packet(now, packet);
        let identity = session.identity().copied();
        let shared = Shared::new(session, Some(carrier));
        if let Some(identity) = identity {
            self.sessions.insert(identity.session, &shared);
        }
        Some(Begun { shared, identity, entry, permit, ready: self.ready.clone() })
    }
}

/// A session that waits for the proof of its peer.
struct Begun {
    shared: Arc<Shared>,
    identity: Option<Resume>,
    entry: Entry,
    permit: Permit,
    ready: mpsc::Sender<Channel>,
}

impl Begun {
    /// Runs the session until it is closed.
    async fn run(self, sessions: &Sessions, permits: &Permits) {
        let Self { shared, identity, entry, permit, ready } = self;
        let mut changes = shared.lock().watch();
        let opening = async {
            // The carrier may end between our answer and the peer's proof. The session then opens on a later carrier.
            let is_known = |phase: &Phase| matches!(phase, Phase::Open | Phase::Closed(_));
            let opened = changes.wait_for(|(phase, _)| is_known(phase)).await;
            if !matches!(opened.as_deref(), Ok((Phase::Open, _))) {
                return;
            }
            drop(opened);
            match ready.try_reserve() {
                Ok(slot) => {
                    slot.send(Channel::new(Arc::new(SessionLink::new(Arc::clone(&shared), entry))));
                }
                Err(_) => {
                    permits.count(Counted::Busy);
                    shared.lock().close(clock::now(), CloseCode::BUSY, NOT_ACCEPTING);
                }
            }
        };
        let mut driver = Driver::new(Arc::clone(&shared));
        tokio::join!(opening, &mut driver);
        if let Some(identity) = identity {
            sessions.remove(&identity.session);
        }
        drop(permit);
    }
}

/// The session may move to any other carrier later, so it accepts the packet sizes of all carriers.
pub(crate) fn limits_of(config: &Config) -> Limits {
    Limits { packet_bytes_max: nowcast_session::Carrier::STREAM.packet_bytes_max, ..config.limits }
}

/// Answers a HELLO without a session, and closes the carrier.
fn refuse(carrier: Box<dyn Carrier>, hello: &Hello, code: CloseCode, text: &str) {
    let mut packet = Vec::new();
    Refuse::new(hello.nonce, code, text).write(&mut packet);
    send_last(carrier, packet, Ending::Done);
}

/// Sends one more packet, and closes the carrier.
fn send_last(mut carrier: Box<dyn Carrier>, packet: Vec<u8>, ending: Ending) {
    io::spawn(async move {
        let ready = poll_fn(|context| carrier.poll_ready(context));
        if matches!(timeout(HELLO_TIMEOUT, ready).await, Ok(Ok(()))) && carrier.send(&packet).is_ok() {
            // A datagram has already left. A WebSocket message leaves together with the close.
            retire(carrier, ending);
        }
    });
}

/// Returns the first packet that is not empty. Empty packets are dropped on every carrier.
async fn first_packet(carrier: &mut dyn Carrier) -> Result<Bytes, Ended> {
    loop {
        let packet = poll_fn(|context| carrier.poll_receive(context)).await?;
        if !packet.is_empty() {
            return Ok(packet);
        }
    }
}
