//! Clients that send durable actions, and the state that they share. All of them run on one thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nowcast::{CarrierKind, Connector};
use nowcast_wire::{Value, decode};
use nowcast_world_client::{Incoming, Join, WorldClient};
use nowcast_world_protocol::session::FromWorld;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::Load;
use crate::crash::ledger::{Carried, Ledger, Tally};

/// Interval between the joins of two clients.
const JOIN_INTERVAL: Duration = Duration::from_millis(2);

/// Time for a connection, and pause before the next attempt.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(100);

/// Pause before a refused action is sent again.
const REFUSED: Duration = Duration::from_millis(50);

/// The longest wait that is told apart, in microseconds.
const WAIT_MAX_US: u64 = 60_000_000;

/// The state of all clients.
pub(super) struct Shared {
    url: String,
    load: Load,
    /// The number of the server's life; clients play while it is odd.
    lives: watch::Sender<u32>,
    joined: Cell<usize>,
    /// Notified when a client joins.
    changed: Notify,
    /// Whether all clients have joined. They send nothing before.
    plays: watch::Sender<bool>,
    is_measuring: Cell<bool>,
    /// Confirmed actions of the measurement.
    confirmed: Cell<u64>,
    waits: RefCell<Histogram<u64>>,
    troubles: RefCell<Vec<(String, u32)>>,
    ledgers: RefCell<Vec<Ledger>>,
}

impl Shared {
    pub(super) fn new(url: String, load: Load) -> Shared {
        let clients = usize::from(load.clients);
        Shared {
            url,
            load,
            lives: watch::Sender::new(0),
            joined: Cell::new(0),
            changed: Notify::new(),
            plays: watch::Sender::new(false),
            is_measuring: Cell::new(false),
            confirmed: Cell::new(0),
            waits: RefCell::new(Histogram::new_with_max(WAIT_MAX_US, 3).expect("the bounds are valid")),
            troubles: RefCell::default(),
            ledgers: RefCell::new(vec![Ledger::default(); clients]),
        }
    }

    /// Lets all clients join.
    pub(super) fn begin_life(&self) {
        self.joined.set(0);
        self.plays.send_replace(false);
        self.lives.send_modify(|life| *life += 1);
    }

    /// Ends all sessions.
    pub(super) fn end_life(&self) {
        self.lives.send_modify(|life| *life += 1);
    }

    /// Waits until all clients have joined, and lets them send.
    pub(super) async fn play_when_all_have_joined(&self, patience: Duration) -> Result<(), String> {
        let all = usize::from(self.load.clients);
        let waiting = async {
            while self.joined.get() < all {
                self.changed.notified().await;
            }
        };
        if timeout(patience, waiting).await.is_ok() {
            self.plays.send_replace(true);
            return Ok(());
        }
        let (joined, troubles) = (self.joined.get(), self.troubles.borrow());
        Err(format!("{joined} of {all} have joined within {} s: {troubles:?}", patience.as_secs()))
    }

    /// Begins or ends a measurement. Returns the number of actions that were confirmed in the measurement that ends.
    pub(super) fn measure(&self, is_measuring: bool) -> u64 {
        self.is_measuring.set(is_measuring);
        self.confirmed.take()
    }

    /// Compares the confirmed actions of each client with the counts of the rules.
    pub(super) fn compare(&self, read: &[Carried]) {
        for (ledger, carried) in self.ledgers.borrow_mut().iter_mut().zip(read) {
            ledger.begin_session(carried);
        }
    }

    /// Returns the outcomes of all actions.
    pub(super) fn tally(&self) -> Tally {
        let mut all = Tally::default();
        self.ledgers.borrow().iter().for_each(|ledger| all += ledger.tally());
        all
    }

    /// Returns the times to the confirmations in all measurements, and the reasons of failures.
    pub(super) fn take_waits(&self) -> (Histogram<u64>, Vec<(String, u32)>) {
        (self.waits.borrow().clone(), self.troubles.take())
    }

    fn note(&self, trouble: String) {
        let mut troubles = self.troubles.borrow_mut();
        match troubles.iter_mut().find(|(known, _)| *known == trouble) {
            Some((_, count)) => *count += 1,
            None => troubles.push((trouble, 1)),
        }
    }
}

/// One client.
pub(super) struct Client {
    number: u16,
    key: [u8; 16],
    shared: Rc<Shared>,
    /// The actions without an answer, with the times at which they were sent, oldest first.
    sent: VecDeque<(u32, Instant)>,
}

impl Client {
    pub(super) fn new(number: u16, seed: u64, shared: &Rc<Shared>) -> Client {
        let mut key = [7; 16];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..10].copy_from_slice(&number.to_le_bytes());
        Client { number, key, shared: Rc::clone(shared), sent: VecDeque::new() }
    }

    /// Plays in every life of the server, until the trial ends.
    pub(super) async fn play(mut self) {
        let mut lives = self.shared.lives.subscribe();
        loop {
            if lives.wait_for(|life| life % 2 == 1).await.is_err() {
                return;
            }
            tokio::select! {
                () = self.live() => {}
                ended = lives.wait_for(|life| life % 2 == 0) => if ended.is_err() { return },
            }
        }
    }

    /// Joins, and sends actions. If a session ends by itself, another one follows.
    async fn live(&mut self) {
        sleep(JOIN_INTERVAL * u32::from(self.number)).await;
        loop {
            let Err(trouble) = self.visit().await;
            // A session that ends during a kill is expected.
            if self.shared.is_measuring.get() {
                self.shared.note(trouble);
            }
            sleep(RETRY).await;
        }
    }

    async fn visit(&mut self) -> Result<std::convert::Infallible, String> {
        let connector = Connector::new().carriers([CarrierKind::WebSocket]);
        let channel = timeout(CONNECT_WITHIN, connector.connect(&self.shared.url)).await;
        let channel = channel.map_err(|_| "no answer".to_owned())?.map_err(|error| error.to_string())?;
        let join = Join::new(format!("client-{}", self.number)).network_hz(5).key(self.key);
        let client = WorldClient::join(channel, join).map_err(|error| error.to_string())?;
        let (mut plays, mut is_playing) = (self.shared.plays.subscribe(), false);
        loop {
            let message = tokio::select! {
                message = client.channel().receive() => message.map_err(|error| error.to_string())?,
                begun = plays.wait_for(|plays| *plays), if !is_playing => {
                    is_playing = begun.is_ok();
                    self.begin(&client)?;
                    continue;
                }
            };
            // Only events are decoded, so that the clients cost little.
            let Incoming::Event(event) = Incoming::of(&message) else { continue };
            match decode(event) {
                Ok(FromWorld::Welcome { .. }) => {
                    self.shared.joined.set(self.shared.joined.get() + 1);
                    self.shared.changed.notify_one();
                }
                Ok(FromWorld::Done { number }) => {
                    self.confirmed(number);
                    self.fill(&client)?;
                }
                Ok(FromWorld::Refused { reason, number: Some(number), .. }) => {
                    self.shared.note(reason);
                    self.sent.retain(|(sent, _)| *sent != number);
                    sleep(REFUSED).await;
                    self.send(&client, number)?;
                }
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Sends the actions without an answer again, and new ones.
    fn begin(&mut self, client: &WorldClient) -> Result<(), String> {
        self.sent.clear();
        let open = self.shared.ledgers.borrow()[usize::from(self.number)].open();
        open.into_iter().try_for_each(|number| self.send(client, number))?;
        self.fill(client)
    }

    /// Sends new actions until the planned number is under way.
    fn fill(&mut self, client: &WorldClient) -> Result<(), String> {
        while self.sent.len() < self.shared.load.under_way {
            let begun = self.shared.ledgers.borrow_mut()[usize::from(self.number)].begin();
            let Some(number) = begun else { break };
            self.send(client, number)?;
        }
        Ok(())
    }

    fn send(&mut self, client: &WorldClient, number: u32) -> Result<(), String> {
        let arguments = vec![
            ("client".into(), Value::F64(self.number.into())),
            ("number".into(), Value::F64(number.into())),
        ];
        self.sent.push_back((number, Instant::now()));
        client.act_once(number, "count", Value::Map(arguments)).map_err(|error| error.to_string())
    }

    fn confirmed(&mut self, number: u32) {
        let at = self.sent.iter().position(|(sent, _)| *sent == number);
        let sent_at = at.and_then(|at| self.sent.remove(at)).map(|(_, sent_at)| sent_at);
        let is_first = self.shared.ledgers.borrow_mut()[usize::from(self.number)].confirm(number);
        if is_first && self.shared.is_measuring.get() {
            self.shared.confirmed.set(self.shared.confirmed.get() + 1);
            let wait = sent_at.map_or(Duration::ZERO, |sent_at| sent_at.elapsed());
            self.shared.waits.borrow_mut().saturating_record(wait.as_micros() as u64);
        }
    }
}
