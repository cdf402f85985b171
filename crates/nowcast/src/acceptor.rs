//! Accepts carriers. A HELLO that resumes a session is passed to that session, on any carrier. Any other HELLO begins a session.

mod limits;
mod sessions;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use nowcast_session::packet::{Hello, Refuse};
use nowcast_session::{CloseCode, Config, Limits, Session};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

pub use limits::{AcceptCounters, AcceptLimits, AcceptRefusal};
use limits::{Counted, Permit, Permits};
use sessions::{Call, Calls, Resumption, Sessions};

use crate::admission::Now;
use crate::carrier::{Carrier, CarrierLayer, Ended, Ending, retire};
use crate::channel::{Channel, Entry};
use crate::driver::{Application, Core, DrivenSession, Driver, SessionLink, Shared};
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
    is_closing: AtomicBool,
    serves: Serves,
}

/// The other ends of accepted sessions.
enum Serves {
    /// A queue of channels.
    Channels(mpsc::Sender<Channel>),
    /// An application for each session.
    Applications(Box<MakeApplication>),
}

type MakeApplication = dyn Fn(Entry) -> Option<Box<dyn Application>> + Send + Sync;

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
        let (queue, accepted) = Self::queue();
        (Self::filling(config, queue), accepted)
    }

    /// Makes an acceptor whose sessions are driven together with their applications, which `make` makes. So a session needs no
    /// task of its own, no lock and no wake-up for its messages. With `None`, the session is refused as busy.
    ///
    /// ```
    /// use std::task::Context;
    ///
    /// use nowcast::session::PacketOutcome;
    /// use nowcast::{AcceptConfig, Acceptor, Application, DrivenSession, Source};
    ///
    /// /// Sends each event back.
    /// #[derive(Default)]
    /// struct Echo {
    ///     bytes: Vec<u8>,
    /// }
    ///
    /// impl Application for Echo {
    ///     fn turn(&mut self, session: &mut DrivenSession, _context: &mut Context<'_>) {
    ///         while let Some(received) = session.receive_into(&mut self.bytes) {
    ///             if session.put_event(received.lane, &self.bytes).is_err() {
    ///                 return session.close(70, "the peer does not read its echo");
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// /// Writes nothing into packets besides the messages that were put.
    /// impl Source for Echo {
    ///     fn has_more(&self, _lane: u8) -> bool {
    ///         false
    ///     }
    ///
    ///     fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}
    ///
    ///     fn on_outcome(&mut self, _outcome: PacketOutcome) {}
    /// }
    ///
    /// let acceptor = Acceptor::serving(AcceptConfig::default(), |_entry| Some(Box::new(Echo::default())));
    /// ```
    #[must_use]
    pub fn serving(
        config: AcceptConfig,
        make: impl Fn(Entry) -> Option<Box<dyn Application>> + Send + Sync + 'static,
    ) -> Acceptor {
        Self::with(config, Serves::Applications(Box::new(make)))
    }

    /// Makes an acceptor that puts its channels into a queue, which other sources of channels share.
    pub(crate) fn filling(config: AcceptConfig, queue: mpsc::Sender<Channel>) -> Acceptor {
        Self::with(config, Serves::Channels(queue))
    }

    /// Makes a queue of channels.
    pub(crate) fn queue() -> (mpsc::Sender<Channel>, Accepted) {
        let (queue, ready) = mpsc::channel(BACKLOG_MAX);
        (queue, Accepted { ready })
    }

    fn with(config: AcceptConfig, serves: Serves) -> Acceptor {
        let inner = Inner {
            session: config.session,
            permits: Permits::new(config.limits),
            sessions: Sessions::default(),
            layers: config.layers,
            is_closing: AtomicBool::new(false),
            serves,
        };
        Acceptor { inner: Arc::new(inner) }
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

    /// Returns the counters of refused and dropped attempts, and the number of open sessions.
    #[must_use]
    pub fn counters(&self) -> AcceptCounters {
        self.inner.permits.counters()
    }

    /// Ends all sessions because the endpoint closes, and begins no more.
    pub fn close_all(&self) {
        self.inner.is_closing.store(true, Ordering::SeqCst);
        self.inner.sessions.close_all();
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
        match hello.resume.as_ref().map(|resume| resume.session) {
            Some(session) => {
                let call = Call::Resume(Box::new(Resumption { carrier, hello, packet }));
                if let Err(call) = self.sessions.call(&session, call) {
                    self.refuse_unknown(call);
                }
            }
            None => {
                if let Some(begun) = Arc::clone(&self).begin(carrier, entry, permit, &hello, &packet) {
                    drop((hello, packet));
                    begun.run().await;
                }
            }
        }
    }

    /// Answers a carrier that wants to resume a session that does not exist.
    fn refuse_unknown(&self, call: Call) {
        if let Call::Resume(resumption) = call {
            let Resumption { carrier, hello, .. } = *resumption;
            self.permits.count(Counted::UnknownSession);
            refuse(carrier, &hello, CloseCode::UNKNOWN_SESSION, "there is no such session here");
        }
    }

    /// Executes a call for a session, in the session's job.
    fn execute(&self, call: Call, session: &mut DrivenSession) {
        let Resumption { carrier, hello, packet } = match call {
            Call::Resume(resumption) => *resumption,
            Call::GoAway => return session.close(CloseCode::GOING_AWAY.0, "the endpoint goes away"),
        };
        let Some(resume) = &hello.resume else { return };
        match session.session.check_resume(resume) {
            Ok(()) => {
                session.attach(carrier);
                let now = session.look();
                session.session.handle_packet(now, &packet);
                self.permits.count(Counted::Resumed);
            }
            Err(code) => {
                self.permits.count(Counted::WrongToken);
                refuse(carrier, &hello, code, "the resume token or epoch is wrong");
            }
        }
    }

    /// Begins a session, or refuses it.
    ///
    /// This is not part of the future of the session, which would otherwise keep room for each value of this function.
    fn begin(
        self: Arc<Self>,
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
        let is_busy = match &self.serves {
            Serves::Channels(queue) => queue.capacity() == 0 || queue.is_closed(),
            Serves::Applications(_) => false,
        };
        if is_busy || self.is_closing.load(Ordering::SeqCst) {
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
        let id = session.identity().map(|resume| resume.session);
        let end = match &self.serves {
            Serves::Channels(_) => End::Channel { shared: Shared::new(session, carrier), entry: Some(entry) },
            Serves::Applications(make) => match make(entry) {
                Some(application) => {
                    End::Application(Box::new(DrivenSession::new(session, carrier)), application)
                }
                None => {
                    self.permits.count(Counted::Busy);
                    return refused(carrier, CloseCode::BUSY, NOT_ACCEPTING);
                }
            },
        };
        let calls = id.map(|id| (id, self.sessions.insert(id)));
        // `close_all` has not seen a session that is added while it runs.
        if let Some((_, calls)) = &calls
            && self.is_closing.load(Ordering::SeqCst)
        {
            // The session has not ended yet.
            let _ = calls.add(Call::GoAway);
        }
        Some(Begun { end, calls, inner: self, _permit: permit })
    }
}

/// A session, from its begin to its end.
struct Begun {
    end: End,
    /// The session's id, and the calls for it.
    calls: Option<([u8; 8], Arc<Calls>)>,
    inner: Arc<Inner>,
    _permit: Permit,
}

/// The other end of a session.
enum End {
    /// The application of this session.
    Application(Box<DrivenSession>, Box<dyn Application>),
    /// The handles of a channel. The channel is passed on when the session opens; then there is no entry any more.
    Channel { shared: Arc<Shared>, entry: Option<Entry> },
}

impl Begun {
    /// Runs the session until it is closed.
    async fn run(mut self) {
        let mut driver = Driver::new();
        poll_fn(|context| {
            let done = self.turn(&mut driver, context);
            self.pass_on();
            done
        })
        .await;
        if let End::Channel { shared, .. } = &self.end {
            shared.lock().handles.has_left();
        }
    }

    fn turn(&mut self, driver: &mut Driver, context: &mut Context<'_>) -> Poll<()> {
        let Self { end, calls, inner, .. } = self;
        let mut guard;
        let (session, application): (&mut DrivenSession, &mut dyn Application) = match end {
            End::Application(session, application) => (session, &mut **application),
            End::Channel { shared, .. } => {
                guard = shared.lock();
                let Core { driven, handles } = &mut *guard;
                (driven, handles)
            }
        };
        if let Some((_, calls)) = calls {
            calls.take(context.waker()).into_iter().for_each(|call| inner.execute(call, session));
        }
        driver.poll(session, application, context)
    }

    /// Passes on the channel of a session that has opened. The carrier may end between our answer and the peer's proof. The
    /// session then opens on a later carrier.
    fn pass_on(&mut self) {
        let (End::Channel { shared, entry }, Serves::Channels(queue)) = (&mut self.end, &self.inner.serves)
        else {
            return;
        };
        if entry.is_none() || !shared.lock().driven.is_open() {
            return;
        }
        let Some(entry) = entry.take() else { return };
        match queue.try_reserve() {
            Ok(slot) => {
                slot.send(Channel::new(Arc::new(SessionLink::new(Arc::clone(shared), entry))));
            }
            Err(_) => {
                self.inner.permits.count(Counted::Busy);
                shared.lock().close(CloseCode::BUSY.0, NOT_ACCEPTING);
            }
        }
    }
}

/// Removes the session, also after a panic.
impl Drop for Begun {
    fn drop(&mut self) {
        if let Some((id, _)) = &self.calls {
            let waiting = self.inner.sessions.remove(id);
            waiting.into_iter().for_each(|call| self.inner.refuse_unknown(call));
        }
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
