//! Accepts carriers. A HELLO that resumes a session is passed to that session, on any carrier. Any other HELLO begins a session.

mod limits;
mod sessions;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use nowcast_admission::{Entry, Now};
use nowcast_session::packet::{Hello, Refuse};
use nowcast_session::{CloseCode, ClosedBy, Config, Session};
use tokio::sync::Notify;
use tokio::time::timeout;

pub use limits::{AcceptCounters, AcceptLimits, AcceptRefusal};
use limits::{Counted, Permit, Permits};
use sessions::{Resumption, Resumptions, Sessions};

use crate::carrier::{Carrier, CarrierLayer, Ended, Ending, retire};
use crate::driver::{Application, DrivenSession, SessionOwner};
use crate::io;

/// Time after which a carrier without a HELLO is closed (`spec/CARRIERS.md`, section 6).
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Receives accepted carriers, and serves their sessions; cheap to clone.
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
    serve: Box<dyn Serve>,
}

/// Serves the sessions of an [`Acceptor`]. The usual implementation is a function that makes an application for each session.
pub trait Serve: Send + Sync + 'static {
    /// Whether new sessions are refused as busy.
    fn is_busy(&self) -> bool {
        false
    }

    /// Begins to serve a session whose peer was admitted with `entry`. The owner is dropped after the session is over.
    fn begin(&self, entry: Entry, session: DrivenSession) -> Box<dyn SessionOwner>;
}

impl<F: Fn(Entry) -> Box<dyn Application> + Send + Sync + 'static> Serve for F {
    fn begin(&self, entry: Entry, session: DrivenSession) -> Box<dyn SessionOwner> {
        Box::new((session, self(entry)))
    }
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

impl Acceptor {
    /// Makes an acceptor whose sessions are driven together with their applications.
    ///
    /// ```
    /// use std::task::Context;
    ///
    /// use nowcast_engine::session::{PacketOutcome, Source};
    /// use nowcast_engine::{AcceptConfig, Acceptor, Application, DrivenSession, Entry};
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
    /// let make = |_: Entry| Box::new(Echo::default()) as Box<dyn Application>;
    /// let acceptor = Acceptor::new(AcceptConfig::default(), make);
    /// ```
    #[must_use]
    pub fn new(config: AcceptConfig, serve: impl Serve) -> Acceptor {
        let inner = Inner {
            session: config.session,
            permits: Permits::new(config.limits),
            sessions: Sessions::default(),
            layers: config.layers,
            is_closing: AtomicBool::new(false),
            serve: Box::new(serve),
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
        self.inner.sessions.wake_all();
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Acceptor").field("counters", &self.counters()).finish_non_exhaustive()
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
            drop(permit);
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
                if let Err(refused) = self.sessions.resume(&session, Resumption { carrier, hello, packet }) {
                    self.refuse_unknown(*refused);
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
    fn refuse_unknown(&self, Resumption { carrier, hello, .. }: Resumption) {
        self.permits.count(Counted::UnknownSession);
        refuse(carrier, &hello, CloseCode::UNKNOWN_SESSION, "there is no such session here");
    }

    /// Continues a session on another carrier, in the session's job.
    fn resume(&self, Resumption { carrier, hello, packet }: Resumption, session: &mut DrivenSession) {
        let Some(resume) = &hello.resume else { return };
        match session.protocol.check_resume(resume) {
            Ok(()) => {
                session.attach(carrier);
                let now = session.look();
                session.protocol.handle_packet(now, &packet);
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
        if self.serve.is_busy() || self.is_closing.load(Ordering::SeqCst) {
            self.permits.count(Counted::Busy);
            return refused(carrier, CloseCode::BUSY, "the service does not accept now");
        }
        let Some(permit) = permit.become_session() else {
            return refused(carrier, CloseCode::BUSY, "the service accepts no more sessions");
        };
        if let Some(Err(refusal)) = entry.ticket.take().map(|ticket| ticket.redeem(Now::read())) {
            let code = if refusal.word() == "full" { CloseCode::BUSY } else { CloseCode::UNAUTHORISED };
            return refused(carrier, code, refusal.brief());
        }
        let session = DrivenSession::accept(&self.session, carrier, packet);
        let id = session.protocol.identity().map(|resume| resume.session);
        let owner = self.serve.begin(entry, session);
        let resumptions = id.map(|id| (id, self.sessions.insert(id)));
        Some(Begun { owner, resumptions, job: None, inner: self, _permit: permit })
    }
}

/// A session, from its begin to its end.
struct Begun {
    owner: Box<dyn SessionOwner>,
    /// The session's id, and its resumptions.
    resumptions: Option<([u8; 8], Arc<Resumptions>)>,
    /// The job that runs the session.
    job: Option<Waker>,
    inner: Arc<Inner>,
    _permit: Permit,
}

impl Begun {
    /// Runs the session until it is closed.
    async fn run(mut self) {
        let Self { owner, resumptions, job, inner, .. } = &mut self;
        poll_fn(|context| {
            let mut done = Poll::Pending;
            owner.lend(&mut |session, application| {
                if let Some((_, resumptions)) = resumptions {
                    if !job.as_ref().is_some_and(|job| job.will_wake(context.waker())) {
                        resumptions.set_job(job.insert(context.waker().clone()));
                    }
                    resumptions.take().into_iter().for_each(|resumption| inner.resume(resumption, session));
                }
                if inner.is_closing.load(Ordering::SeqCst) && session.closed().is_none() {
                    session.close(CloseCode::GOING_AWAY.0, "the endpoint goes away");
                }
                done = session.poll(application, context);
            });
            done
        })
        .await;
        owner.lend(&mut |session, _| {
            // The owner found no place for the session when it opened.
            if session
                .closed()
                .is_some_and(|closed| closed.code == CloseCode::BUSY && closed.by == ClosedBy::Us)
            {
                inner.permits.count(Counted::Busy);
            }
        });
    }
}

/// Removes the session, also after a panic.
impl Drop for Begun {
    fn drop(&mut self) {
        if let Some((id, resumptions)) = &self.resumptions {
            self.inner.sessions.remove(id);
            resumptions.close().into_iter().for_each(|resumption| self.inner.refuse_unknown(resumption));
        }
    }
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
