//! Keeps a client's session on the best working carrier (`spec/CARRIERS.md`, section 6).

use std::sync::{Arc, Weak};
use std::time::Duration;

use nowcast_engine::carrier::{Carrier, CarrierKind, Ending, retire};
use nowcast_engine::{Phase, clock};
use nowcast_session::Time;
use tokio::time::{Instant, sleep, sleep_until};

use super::error::{ConnectError, Opening};
use super::patience::Patience;
use super::remote::{Offer, Remote};
use crate::session_link::Shared;

/// Head start of WebTransport before a WebSocket is opened in parallel.
const HEAD_START: Duration = Duration::from_millis(300);
/// After this time without traffic in either direction, a ping tests whether datagrams still pass.
const QUIET: Duration = Duration::from_millis(400);
/// A task that runs later than planned by this much was delayed. Meanwhile, packets may have arrived that the task has not read
/// yet.
const LATE: Duration = Duration::from_millis(20);
/// Number of checks of a delayed task before it declares the carrier silent.
const LATE_LOOKS_MAX: u32 = 10;
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);
const COME_BACK_FIRST: Duration = Duration::from_secs(2);
const COME_BACK_MAX: Duration = Duration::from_secs(60);

/// One client's session and its possible carriers.
pub(super) struct Supervisor {
    pub(super) remote: Remote,
    pub(super) offer: Offer,
    pub(super) allowed: Vec<CarrierKind>,
    pub(super) shared: Weak<Shared>,
    patience: Patience,
    /// The time at which `recover` attached its last carrier.
    attached: Option<Time>,
    /// The pause before the next attempt.
    wait: Duration,
}

/// The event that the supervisor must handle next.
enum Trouble {
    /// The carrier ended or is silent.
    Fallen { was: Option<CarrierKind>, is_silent: bool },
    /// It is time to try WebTransport again.
    ComeBack,
    /// The session is closed.
    Over,
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let mut come_back_wait = COME_BACK_FIRST;
        let mut come_back_at = Instant::now() + come_back_wait;
        loop {
            match self.trouble(come_back_at).await {
                Trouble::Over => return,
                Trouble::Fallen { was, is_silent } => {
                    if is_silent {
                        self.patience.note_silence(clock::now());
                    }
                    if !self.recover(was).await {
                        return;
                    }
                    come_back_wait = COME_BACK_FIRST;
                }
                Trouble::ComeBack => {
                    let opened = self.remote.open(&self.offer, CarrierKind::WebTransport, Opening::Resuming);
                    if let Ok(carrier) = opened.await {
                        self.attach(carrier);
                        come_back_wait = COME_BACK_FIRST;
                    } else {
                        come_back_wait = (2 * come_back_wait).min(COME_BACK_MAX);
                    }
                }
            }
            come_back_at = Instant::now() + come_back_wait;
        }
    }

    /// Waits for the next event.
    async fn trouble(&self, come_back_at: Instant) -> Trouble {
        let mut changes = {
            let Some(shared) = self.shared.upgrade() else { return Trouble::Over };
            let core = shared.lock();
            core.handles.watch()
        };
        let mut received = None;
        let (mut late, mut late_looks) = (Duration::ZERO, 0);
        loop {
            let until = {
                let Some(shared) = self.shared.upgrade() else { return Trouble::Over };
                let mut core = shared.lock();
                let was = core.driven.carrier_kind();
                if core.closed().is_some() {
                    return Trouble::Over;
                }
                if core.driven.protocol.is_detached() {
                    return Trouble::Fallen { was, is_silent: was.is_some() };
                }
                let now = clock::now();
                let silent_at = self.patience.silent_at(&core.driven.protocol, now);
                let is_silent = silent_at.is_some_and(|at| at <= now);
                let looks_again = is_silent && late > LATE && late_looks < LATE_LOOKS_MAX;
                if is_silent && !looks_again {
                    return Trouble::Fallen { was, is_silent };
                }
                late_looks = if looks_again { late_looks + 1 } else { 0 };
                let wants_back = was == Some(CarrierKind::WebSocket) && self.may(CarrierKind::WebTransport);
                if wants_back && core.driven.protocol.is_open() && Instant::now() >= come_back_at {
                    return Trouble::ComeBack;
                }
                let can_fall = was == Some(CarrierKind::WebTransport) && self.may(CarrierKind::WebSocket);
                let heard = core.driven.protocol.stats().packets_received;
                let was_quiet = received.replace(heard) == Some(heard);
                if was_quiet && can_fall && silent_at.is_none() && core.driven.protocol.is_open() {
                    core.driven.protocol.ping();
                    core.handles.wake_driver();
                }
                let next = match silent_at {
                    Some(_) if looks_again => Instant::now() + LATE,
                    Some(at) => clock::instant(at).into(),
                    None => Instant::now() + QUIET,
                };
                if wants_back { next.min(come_back_at.max(Instant::now() + RETRY_FIRST)) } else { next }
            };
            tokio::select! {
                () = sleep_until(until) => late = until.elapsed(),
                changed = changes.changed() => if changed.is_err() { return Trouble::Over },
            }
        }
    }

    /// Opens carriers until the session continues, on a new carrier or the old one. Returns false if the session is closed.
    async fn recover(&mut self, was: Option<CarrierKind>) -> bool {
        let since = clock::now();
        // An endpoint may accept carriers and end each of them at once.
        let mut was_vain = self.attached.is_some_and(|at| !self.has_heard_since(at));
        if !was_vain {
            self.wait = RETRY_FIRST;
        }
        loop {
            if was_vain {
                tokio::select! {
                    () = sleep(self.wait) => {}
                    outcome = self.received_or_closed(since) => return outcome,
                }
                self.wait = (2 * self.wait).min(RETRY_MAX);
                // The endpoint may have restarted with another certificate.
                if let Ok(offer) = self.remote.ask(self.opening()).await {
                    self.offer = offer;
                }
            }
            was_vain = true;
            let found = tokio::select! {
                found = self.open_again(was) => found,
                outcome = self.received_or_closed(since) => return outcome,
            };
            match found {
                // After this process was stopped, the new carrier may be ready before the old one has been checked.
                Ok(carrier) if self.is_heard(since) == Some(true) => {
                    retire(carrier, Ending::Done);
                    return true;
                }
                Ok(carrier) => {
                    self.attach(carrier);
                    self.attached = Some(clock::now());
                    return true;
                }
                Err(error) => tracing::debug!(%error, "no other carrier yet"),
            }
        }
    }

    async fn open_again(&self, was: Option<CarrierKind>) -> Result<Box<dyn Carrier>, ConnectError> {
        // If WebTransport has fallen silent, a head start for it would gain nothing.
        let head_start = if was == Some(CarrierKind::WebTransport) { Duration::ZERO } else { HEAD_START };
        open_first(&self.remote, &self.offer, &self.allowed, head_start, self.opening()).await
    }

    /// If the carrier fell silent before the peer answered its HELLO, there is no session to resume.
    fn opening(&self) -> Opening {
        match self.shared.upgrade() {
            Some(shared) if *shared.lock().driven.phase() == Phase::Connecting => Opening::Beginning,
            _ => Opening::Resuming,
        }
    }

    /// Waits until packets arrive on the old carrier (true) or the session is closed (false).
    async fn received_or_closed(&self, since: Time) -> bool {
        loop {
            match self.is_heard(since) {
                None => return false,
                Some(true) => return true,
                Some(false) => sleep(RETRY_FIRST / 4).await,
            }
        }
    }

    /// Whether a packet has arrived on the old carrier since it fell. `None` if the session is closed.
    fn is_heard(&self, since: Time) -> Option<bool> {
        let shared = self.shared.upgrade()?;
        let core = shared.lock();
        if core.closed().is_some() {
            return None;
        }
        Some(core.driven.protocol.last_heard() > since && !core.driven.protocol.is_detached())
    }

    fn has_heard_since(&self, at: Time) -> bool {
        self.shared.upgrade().is_some_and(|shared| shared.lock().driven.protocol.last_heard() > at)
    }

    fn attach(&self, carrier: Box<dyn Carrier>) {
        match self.shared.upgrade() {
            Some(shared) if shared.lock().closed().is_none() => shared.lock().attach(carrier),
            _ => retire(carrier, Ending::Done),
        }
    }

    fn may(&self, kind: CarrierKind) -> bool {
        self.allowed.contains(&kind) && self.offer.has(kind)
    }
}

/// Opens WebTransport. Opens a WebSocket in parallel if WebTransport has failed or is not open after the head start. Returns the
/// first carrier that is ready.
pub(super) async fn open_first(
    remote: &Remote,
    offer: &Offer,
    allowed: &[CarrierKind],
    head_start: Duration,
    opening: Opening,
) -> Result<Box<dyn Carrier>, ConnectError> {
    let may = |kind| allowed.contains(&kind) && offer.has(kind);
    let webtransport = remote.open(offer, CarrierKind::WebTransport, opening);
    let websocket = remote.open(offer, CarrierKind::WebSocket, opening);
    match (may(CarrierKind::WebTransport), may(CarrierKind::WebSocket)) {
        (true, false) => return webtransport.await,
        (false, true) => return websocket.await,
        (false, false) => return Err(ConnectError::NoCarrier),
        (true, true) => {}
    }
    tokio::pin!(webtransport, websocket);
    tokio::select! {
        opened = &mut webtransport => match opened {
            Ok(carrier) => return Ok(carrier),
            Err(_) => return websocket.await,
        },
        () = sleep(head_start) => {}
    }
    tokio::select! {
        opened = &mut webtransport => match opened {
            Ok(carrier) => Ok(carrier),
            Err(_) => websocket.await,
        },
        opened = &mut websocket => match opened {
            Ok(carrier) => Ok(carrier),
            Err(_) => webtransport.await,
        },
    }
}

/// Opens the first carrier of a new session.
pub(super) async fn open_at_first(
    remote: &Remote,
    offer: &Offer,
    allowed: &[CarrierKind],
) -> Result<Box<dyn Carrier>, ConnectError> {
    open_first(remote, offer, allowed, HEAD_START, Opening::Beginning).await
}

/// Watches a session. Only its channel and its driver keep `shared` alive.
pub(super) fn watch(remote: Remote, offer: Offer, allowed: Vec<CarrierKind>, shared: &Arc<Shared>) {
    let patience = Patience::default();
    let shared = Arc::downgrade(shared);
    let supervisor =
        Supervisor { remote, offer, allowed, shared, patience, attached: None, wait: RETRY_FIRST };
    tokio::spawn(supervisor.run());
}
