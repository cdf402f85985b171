//! One life of a cluster: the event loop in true time, the links, the clocks and the clients.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use nowcast_cluster::{
    Answer, EngineFacts, Epoch, Found, NATS_VERSION_MIN, Name, Node, PeerMessage, Request, Revision,
    ServerEntry, ServerId, Time,
};
use nowcast_queue::conformance::Random;

use super::checker::{Checker, Process};
use super::clock::Clock;
use super::jetstream::JetStream;
use super::script::{CALM_MS, FAULTS_MS, Fault, SERVERS_MAX, Script};
use super::server::Server;
use super::world::{Action, mix};
use super::{Lived, Setup};

pub(super) const MS: u64 = 1_000;
/// Interval of a room's steps, in microseconds.
const STEP_US: u64 = 40 * MS;
/// Interval in which a client repeats an unconfirmed action.
const REPEAT_US: u64 = 90 * MS;
/// Time without progress after which a client uses another server.
const PATIENCE_US: u64 = 300 * MS;
/// Maximum number of events in a life. A life that exceeds it repeats something without a pause.
const EVENTS_MAX: u64 = 200_000;
/// Maximum number of servers that a client's action passes.
const HOPS_MAX: u8 = 3;

#[derive(Debug)]
pub(super) enum Event {
    Wake {
        server: u8,
    },
    Step {
        server: u8,
    },
    /// A request arrives at NATS. `answer_at` is the time at which its answer reaches the server, if it does.
    Execute {
        process: Process,
        request: Request,
        answer_at: Option<u64>,
    },
    Answer {
        process: Process,
        answer: Answer,
    },
    Peer {
        to: ServerId,
        from: ServerId,
        message: PeerMessage,
    },
    Watch {
        process: Process,
        revision: Revision,
        entry: ServerEntry,
    },
    Client {
        client: u8,
    },
    Act {
        server: u8,
        action: Action,
        hops: u8,
    },
    Confirmed {
        action: Action,
    },
    Fault {
        index: usize,
    },
    Start {
        server: u8,
    },
    Undrain {
        server: u8,
    },
}

#[derive(Debug)]
struct Client {
    room: Name,
    edge: u8,
    /// The number of the newest action, and of the newest confirmed one.
    number: u16,
    confirmed: u16,
    progress_at: u64,
    /// The confirmed actions when the faults ended.
    confirmed_in_faults: u16,
}

#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: Name,
    clock: Clock,
    pub(super) server: Option<Server>,
    starts: u32,
    paused_until: u64,
    pub(super) cut_until: u64,
    /// The true time of the next scheduled wake.
    wake_at: u64,
}

/// One life of a cluster.
pub(super) struct Life<'a> {
    pub(super) script: &'a Script,
    setup: &'a Setup,
    pub(super) random: Random,
    pub(super) now: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Option<Event>>,
    free: Vec<usize>,
    pub(super) jetstream: JetStream,
    pub(super) places: Vec<Place>,
    links: [[Link; SERVERS_MAX as usize]; SERVERS_MAX as usize],
    /// NATS has no leader until this time.
    pub(super) down_until: u64,
    /// The bucket of rooms has no leader until this time.
    pub(super) rooms_down_until: u64,
    /// NATS is slow until this time, by this delay.
    pub(super) slow: (u64, u64),
    clients: Vec<Client>,
    requires: Arc<[Name]>,
    rooms: Vec<Name>,
    pub(super) checker: Checker,
    digest: u64,
    handled: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    cut_until: u64,
    last_at: u64,
}

impl<'a> Life<'a> {
    pub(super) fn new(script: &'a Script, setup: &'a Setup) -> Life<'a> {
        let name = |letter: char, index: u8| Name::new(&format!("{letter}{index}")).expect("a short name");
        let rooms: Vec<Name> = (0..script.rooms).map(|room| name('r', room)).collect();
        let mut random = Random::new(script.seed);
        let places = (0..script.servers).map(|server| Place {
            name: name('s', server),
            clock: Clock::new(script.clock_ppm[usize::from(server)], random.below(1 << 40)),
            server: None,
            starts: 0,
            paused_until: 0,
            cut_until: 0,
            wake_at: u64::MAX,
        });
        let places = places.collect();
        let clients = (0..script.clients).map(|client| Client {
            room: rooms[usize::from(client) % rooms.len()],
            edge: client % script.servers,
            number: 0,
            confirmed: 0,
            progress_at: 0,
            confirmed_in_faults: 0,
        });
        Life {
            script,
            setup,
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            jetstream: JetStream::new(),
            places,
            links: Default::default(),
            down_until: 0,
            rooms_down_until: 0,
            slow: (0, 0),
            clients: clients.collect(),
            requires: [].into(),
            rooms,
            checker: Checker::new(script.has_wild_clocks),
            digest: script.seed,
            handled: 0,
            random,
        }
    }

    /// Lives the script.
    pub(super) fn run(mut self) -> Result<Lived, String> {
        if self.is_engine_refused() {
            return Ok(Lived { lives: 1, engines_refused: 1, ..Lived::default() });
        }
        for server in 0..self.script.servers {
            let at = self.random.below(20 * MS);
            self.push(at, Event::Start { server });
        }
        for client in 0..self.script.clients {
            let at = self.random.below(100 * MS);
            self.push(at, Event::Client { client });
        }
        for index in 0..self.script.faults.len() {
            self.push(self.script.faults[index].0 * MS, Event::Fault { index });
        }
        let end = (FAULTS_MS + CALM_MS) * MS;
        let mut is_calm = false;
        while let Some(Reverse((at, _, slot))) = self.queue.pop() {
            if at > end {
                break;
            }
            if !is_calm && at >= FAULTS_MS * MS {
                is_calm = true;
                self.clients.iter_mut().for_each(|client| client.confirmed_in_faults = client.confirmed);
            }
            self.now = at;
            self.checker.now_steps = at / STEP_US;
            self.handled += 1;
            let event = self.events[slot].take();
            self.free.push(slot);
            self.digest = mix(self.digest, at ^ (slot as u64) << 40);
            event.into_iter().for_each(|event| self.handle(event));
            if let Some(violation) = self.checker.violation() {
                return Err(format!("{violation} (at {} ms)", at / MS));
            }
            if self.handled > EVENTS_MAX {
                return Err(format!("more than {EVENTS_MAX} events"));
            }
        }
        self.finish()
    }

    /// Every client must have made progress after the faults: every room was found again.
    fn finish(self) -> Result<Lived, String> {
        for (index, client) in self.clients.iter().enumerate() {
            if client.confirmed < client.confirmed_in_faults + 2 {
                let view: Vec<_> =
                    self.places.iter().map(|place| place.server.as_ref().map(|s| s.node.member())).collect();
                let lost = format!(
                    "client {index} of room {} has no confirmed action after the faults",
                    client.room
                );
                let entry = self.jetstream.rooms.read(client.room, 0);
                return Err(if self.setup.is_verbose {
                    format!("{lost}: {entry:?} {view:#?}")
                } else {
                    lost
                });
            }
        }
        Ok(Lived {
            lives: 1,
            engines_refused: 0,
            virtual_time: Duration::from_micros(self.now),
            events: self.handled,
            shown: self.checker.shown,
            confirmed: self.checker.confirmed,
            takeovers: self.checker.takeovers,
            hand_overs: self.checker.hand_overs,
            freeze_steps: self.checker.freeze_steps,
            faults: self.script.faults.len() as u64,
            digest: mix(self.digest, self.checker.confirmed),
        })
    }

    /// The check that each server makes before it joins.
    fn is_engine_refused(&self) -> bool {
        let syncs_always = Some(!self.script.is_engine_unsafe);
        let facts = EngineFacts { version: NATS_VERSION_MIN, has_jetstream: true, syncs_always };
        facts.check().is_err() && !self.setup.skips_engine_check
    }

    pub(super) fn push(&mut self, at: u64, event: Event) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[slot] = Some(event);
        self.order += 1;
        self.queue.push(Reverse((at, self.order, slot)));
    }

    fn handle(&mut self, event: Event) {
        // A stopped process handles nothing. Everything that reaches it waits.
        if let Some(server) = self.receiver(&event)
            && self.places[usize::from(server)].paused_until > self.now
        {
            let at = self.places[usize::from(server)].paused_until;
            return self.push(at, event);
        }
        match event {
            Event::Wake { server } => {
                if self.places[usize::from(server)].wake_at <= self.now {
                    self.places[usize::from(server)].wake_at = u64::MAX;
                    self.with(server, |server, now, _, _| server.node.handle_timeout(now));
                }
            }
            Event::Step { server } => self.step(server),
            Event::Execute { process, request, answer_at } => self.execute(process, request, answer_at),
            Event::Answer { process, answer } => {
                if self.is_alive(process) {
                    self.with(process.0, |server, now, _, _| server.node.handle_answer(now, answer));
                }
            }
            Event::Peer { to, from, message } => {
                let Some(server) = self.index(to) else { return };
                if self.id(server) == Some(to) {
                    self.with(server, |server, now, _, _| server.node.handle_message(now, from, message));
                }
            }
            Event::Watch { process, revision, entry } => {
                if self.is_alive(process) {
                    self.with(process.0, |server, now, _, _| {
                        server.node.handle_server_entry(now, revision, entry);
                    });
                }
            }
            Event::Client { client } => self.act(client),
            Event::Act { server, action, hops } => self.arrive(server, action, hops),
            Event::Confirmed { action } => {
                let client = &mut self.clients[usize::from(action.client)];
                if action.number == client.number && client.confirmed < action.number {
                    client.confirmed = action.number;
                    client.progress_at = self.now;
                }
            }
            Event::Fault { index } => self.fault(self.script.faults[index].1),
            Event::Start { server } => self.start(server),
            Event::Undrain { server } => self.drain(server, false),
        }
    }

    fn receiver(&self, event: &Event) -> Option<u8> {
        match event {
            Event::Wake { server } | Event::Step { server } | Event::Act { server, .. } => Some(*server),
            Event::Answer { process, .. } | Event::Watch { process, .. } => Some(process.0),
            Event::Peer { to, .. } => self.index(*to),
            _ => None,
        }
    }

    fn index(&self, id: ServerId) -> Option<u8> {
        self.places.iter().position(|place| place.name == id.name).map(|index| index as u8)
    }

    fn id(&self, server: u8) -> Option<ServerId> {
        self.places[usize::from(server)].server.as_ref().and_then(|server| server.node.member().id())
    }

    fn is_alive(&self, process: Process) -> bool {
        self.places[usize::from(process.0)].server.as_ref().is_some_and(|server| server.process == process)
    }

    /// Calls a server, and carries out everything that it wants.
    fn with(&mut self, index: u8, f: impl FnOnce(&mut Server, Time, &mut JetStream, &mut Checker)) {
        let place = &mut self.places[usize::from(index)];
        let now = place.clock.local(self.now);
        let Some(mut server) = place.server.take() else { return };
        f(&mut server, now, &mut self.jetstream, &mut self.checker);
        let mut confirmed = Vec::new();
        while let Some((room, event)) = server.node.poll_event() {
            let confirmations = server.carry_out(now, room, event, &mut self.jetstream, &mut self.checker);
            confirmed.extend(confirmations.into_iter().map(|(epoch, action)| (room, epoch, action)));
        }
        for (room, epoch, action) in confirmed {
            self.confirm(room, epoch, action);
        }
        let process = server.process;
        while let Some(request) = server.node.poll_request() {
            self.request(process, request);
        }
        let from = server.node.member().id();
        while let Some((to, message)) = server.node.poll_message() {
            from.into_iter().for_each(|from| self.send(index, from, to, message.clone()));
        }
        let is_ended = server.node.member().is_ended();
        let timeout = server.node.poll_timeout();
        let place = &mut self.places[usize::from(index)];
        place.server = (!is_ended).then_some(server);
        if is_ended {
            // A real server starts its part of the cluster anew.
            self.push(self.now + 5 * MS, Event::Start { server: index });
        } else if let Some(timeout) = timeout {
            let at = place.clock.when(timeout).max(self.now);
            if at < place.wake_at {
                place.wake_at = at;
                self.push(at, Event::Wake { server: index });
            }
        }
    }

    fn start(&mut self, index: u8) {
        let place = &mut self.places[usize::from(index)];
        if place.server.is_some() {
            return;
        }
        place.starts += 1;
        place.wake_at = u64::MAX;
        let process = (index, place.starts);
        let node = Node::new(place.clock.local(self.now), place.name, self.setup.config.clone());
        place.server = Some(Server::new(process, node));
        self.with(index, |_, _, _, _| {});
        if process.1 == 1 {
            self.push(self.now + STEP_US, Event::Step { server: index });
        }
    }

    fn step(&mut self, index: u8) {
        self.push(self.now + STEP_US, Event::Step { server: index });
        let random = self.random.number();
        for room in self.rooms.clone() {
            self.with(index, |server, now, _, checker| {
                server.step(now, room, checker);
                if server.is_draining {
                    let targets: Vec<ServerEntry> = server.node.member().servers().collect();
                    let index = random.checked_rem(targets.len() as u64).unwrap_or(0);
                    if let Some(target) = targets.get(index as usize) {
                        // A room that cannot be handed over now is tried again in the next step.
                        let _ = server.node.hand_over(now, room, target.id.name);
                    }
                }
            });
        }
    }

    fn confirm(&mut self, room: Name, epoch: Epoch, action: Action) {
        self.checker.confirms(room, epoch, action);
        if !self.random.percent(3) {
            let at = self.now + self.latency();
            self.push(at, Event::Confirmed { action });
        }
    }

    /// A client sends its action, or the next one, to its edge server.
    fn act(&mut self, index: u8) {
        let servers = self.script.servers;
        let client = &mut self.clients[usize::from(index)];
        if client.confirmed == client.number {
            client.number += 1;
            client.progress_at = self.now;
        } else if self.now - client.progress_at > PATIENCE_US {
            client.edge = (client.edge + 1) % servers;
            client.progress_at = self.now;
        }
        let (server, number) = (client.edge, client.number);
        let at = self.now + self.latency();
        self.push(at, Event::Act { server, action: Action { client: index, number }, hops: 0 });
        let again = self.now + REPEAT_US + self.random.below(20 * MS);
        self.push(again, Event::Client { client: index });
    }

    /// A client's action arrives at a server, which may have to forward it.
    fn arrive(&mut self, index: u8, action: Action, hops: u8) {
        let room = self.clients[usize::from(action.client)].room;
        let (random, requires) = (self.random.number(), self.requires.clone());
        let mut forward = None;
        let mut confirmed = None;
        self.with(index, |server, now, _, _| match server.node.find(now, room, &requires, random) {
            Found::Here(_) => confirmed = server.act(now, room, action),
            Found::At(holder) => forward = Some(holder),
            Found::Soon | Found::Nowhere => {}
        });
        if let Some((epoch, action)) = confirmed {
            self.confirm(room, epoch, action);
        }
        let Some(server) = forward.and_then(|holder| self.index(holder)) else { return };
        let is_open = self.links[usize::from(index)][usize::from(server)].cut_until <= self.now;
        if hops + 1 < HOPS_MAX && is_open {
            let at = self.now + self.latency();
            self.push(at, Event::Act { server, action, hops: hops + 1 });
        }
    }

    pub(super) fn latency(&mut self) -> u64 {
        500 + self.random.below(3 * MS) + if self.random.percent(3) { self.random.below(40 * MS) } else { 0 }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.now >= FAULTS_MS * MS
    }

    /// Sends a message over the link between two servers.
    fn send(&mut self, index: u8, from: ServerId, to: ServerId, message: PeerMessage) {
        let Some(server) = self.index(to) else { return };
        let delay = self.latency();
        let is_lost = !self.is_calm() && self.random.percent(self.script.lost_messages);
        let link = &mut self.links[usize::from(index)][usize::from(server)];
        if is_lost {
            link.cut_until = link.cut_until.max(self.now + 30 * MS);
        }
        if link.cut_until > self.now {
            return;
        }
        link.last_at = (self.now + delay).max(link.last_at);
        let at = link.last_at;
        self.push(at, Event::Peer { to, from, message });
    }

    fn drain(&mut self, index: u8, is_draining: bool) {
        self.with(index, |server, now, _, _| {
            server.is_draining = is_draining;
            server.node.member_mut().set_draining(now, is_draining);
        });
    }

    fn fault(&mut self, fault: Fault) {
        let until = |ms: u64| (self.now + ms * MS).min(FAULTS_MS * MS);
        match fault {
            Fault::Pause { server, ms } => {
                let at = until(ms);
                let place = &mut self.places[usize::from(server)];
                place.paused_until = place.paused_until.max(at);
            }
            Fault::Kill { server, ms } => {
                let at = until(ms);
                let place = &mut self.places[usize::from(server)];
                place.server = None;
                place.paused_until = 0;
                self.push(at, Event::Start { server });
            }
            Fault::CutNats { server, ms } => self.places[usize::from(server)].cut_until = until(ms),
            Fault::CutLink { a, b, ms } => {
                let at = until(ms);
                for (from, to) in [(a, b), (b, a)] {
                    self.links[usize::from(from)][usize::from(to)].cut_until = at;
                }
            }
            Fault::NatsDown { ms } => self.down_until = until(ms),
            Fault::RoomsDown { ms } => self.rooms_down_until = until(ms),
            Fault::NatsSlow { ms, by_ms } => self.slow = (until(ms), by_ms * MS),
            Fault::Move { room, to } => {
                let (room, to) = (self.rooms[usize::from(room)], self.places[usize::from(to)].name);
                for server in 0..self.script.servers {
                    if self.places[usize::from(server)].paused_until <= self.now {
                        self.with(server, |server, now, _, _| {
                            // Only the owner can move the room, and only to a server that takes it.
                            let _ = server.node.hand_over(now, room, to);
                        });
                    }
                }
            }
            Fault::Drain { server, ms } => {
                let at = until(ms);
                self.drain(server, true);
                self.push(at, Event::Undrain { server });
            }
            Fault::DamageSnapshot { server } => {
                self.with(server, |server, _, _, _| server.damages_snapshot = true);
            }
            Fault::Diverge { server } => self.with(server, |server, _, _, _| server.diverges = true),
            Fault::Jump { server, ms } => self.places[usize::from(server)].clock.jump(ms * MS),
            Fault::PowerLoss { writes } => {
                if self.script.is_engine_unsafe {
                    self.jetstream.lose(writes.into());
                }
            }
        }
    }
}
