//! One life of a cluster: the event loop in true time, the links, the clocks and the clients.

pub(super) mod requests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use nowcast_cluster::{Answer, Config, ControlAnswer, ControlRequest, Epoch, Name, Node, Release, Time};
use nowcast_queue::conformance::Random;

use super::checker::{Checker, Process};
use super::clock::Clock;
use super::jetstream::JetStream;
use super::script::{CALM_MS, FAULTS_MS, Fault, Script};
use super::server::Server;
use super::world::{Action, mix};
use super::{Lived, Setup};
use requests::{Reply, Request};

pub(super) const MS: u64 = 1_000;
/// Interval of a room's steps, in microseconds.
const STEP_US: u64 = 40 * MS;
/// Interval in which a client repeats an unconfirmed action.
const REPEAT_US: u64 = 90 * MS;
/// Time without progress after which a client uses another server.
const PATIENCE_US: u64 = 300 * MS;
/// Pause before a store asks NATS again.
const RETRY_US: u64 = 30 * MS;
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
    Reply {
        process: Process,
        reply: Reply,
    },
    /// A request of one server arrives at another one.
    Ask {
        server: u8,
        from: Process,
        number: u64,
        request: ControlRequest,
    },
    /// The answer of another server, or the end of the time for it.
    Told {
        process: Process,
        number: u64,
        answer: Result<ControlAnswer, String>,
    },
    /// A store tries again.
    Resume {
        process: Process,
        job: u64,
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
    Restart {
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
    /// The earliest next start of a server that ends in order.
    start_at: u64,
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
    /// NATS has no leader until this time.
    pub(super) down_until: u64,
    /// The bucket of rooms has no leader until this time.
    pub(super) rooms_down_until: u64,
    /// NATS stores nothing until this time.
    pub(super) full_until: u64,
    /// NATS is slow until this time, by this delay.
    pub(super) slow: (u64, u64),
    clients: Vec<Client>,
    rooms: Vec<Name>,
    pub(super) checker: Checker,
    digest: u64,
    handled: u64,
}

impl<'a> Life<'a> {
    pub(super) fn new(script: &'a Script, setup: &'a Setup) -> Life<'a> {
        let name = |letter: char, index: u8| Name::new(&format!("{letter}{index}")).expect("a short name");
        let rooms: Vec<Name> = (0..script.rooms).map(|room| name('r', room)).collect();
        let mut random = Random::new(script.seed);
        let places = (0..script.servers).map(|server| Place {
            name: name('s', if script.has_twin && server + 1 == script.servers { 0 } else { server }),
            clock: Clock::new(script.clock_ppm[usize::from(server)], random.below(1 << 40)),
            server: None,
            starts: 0,
            paused_until: 0,
            cut_until: 0,
            start_at: 0,
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
            down_until: 0,
            rooms_down_until: 0,
            full_until: 0,
            slow: (0, 0),
            clients: clients.collect(),
            rooms,
            checker: Checker::new(script.has_wild_clocks),
            digest: script.seed,
            handled: 0,
            random,
        }
    }

    /// Lives the script.
    pub(super) fn run(mut self) -> Result<Lived, String> {
        for server in 0..self.script.servers {
            let is_twin = self.script.has_twin && server + 1 == self.script.servers;
            let at = self.random.below(if is_twin { FAULTS_MS } else { 20 } * MS);
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
                let view: Vec<_> = self.places.iter().map(|place| &place.server).collect();
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
                    self.with(server, |server, now, _| server.node.handle_timeout(now));
                }
            }
            Event::Step { server } => {
                self.push(self.now + STEP_US, Event::Step { server });
                self.with(server, |server, now, checker| server.step(now, checker));
            }
            Event::Execute { process, request, answer_at } => self.execute(process, request, answer_at),
            Event::Reply { process, reply } => {
                self.with_process(process, |server, now, checker| server.handle_reply(now, reply, checker));
            }
            Event::Ask { server, from, number, request } => {
                self.with(server, |server, now, _| server.handle_request(now, from, number, request));
            }
            Event::Told { process, number, answer } => {
                self.with_process(process, |server, now, _| {
                    server.node.handle_answer(now, number, Answer::Told(answer));
                });
            }
            Event::Resume { process, job } => self.with_process(process, |server, _, _| server.resume(job)),
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
            Event::Restart { server } => self.kill(server, self.now),
        }
    }

    fn receiver(&self, event: &Event) -> Option<u8> {
        match event {
            Event::Wake { server }
            | Event::Step { server }
            | Event::Act { server, .. }
            | Event::Ask { server, .. } => Some(*server),
            Event::Reply { process, .. } | Event::Told { process, .. } | Event::Resume { process, .. } => {
                Some(process.0)
            }
            _ => None,
        }
    }

    /// The place of a server. Of two processes with one name, the first one that runs is meant.
    fn index(&self, name: Name) -> Option<u8> {
        let of_name = || self.places.iter().enumerate().filter(|(_, place)| place.name == name);
        let running = of_name().find(|(_, place)| place.server.is_some());
        running.or_else(|| of_name().next()).map(|(index, _)| index as u8)
    }

    fn with_process(&mut self, process: Process, f: impl FnOnce(&mut Server, Time, &mut Checker)) {
        let place = &self.places[usize::from(process.0)];
        if place.server.as_ref().is_some_and(|server| server.process == process) {
            self.with(process.0, f);
        }
    }

    /// Calls a server, and carries out everything that it wants.
    fn with(&mut self, index: u8, f: impl FnOnce(&mut Server, Time, &mut Checker)) {
        let place = &mut self.places[usize::from(index)];
        let now = place.clock.local(self.now);
        let Some(mut server) = place.server.take() else { return };
        f(&mut server, now, &mut self.checker);
        server.pump(now);
        let effects = std::mem::take(&mut server.effects);
        let process = server.process;
        for (room, epoch, action) in effects.confirmed {
            self.confirm(room, epoch, action);
        }
        for request in effects.requests {
            self.request(process, request);
        }
        for (number, name, request, within) in effects.asks {
            let answer = Err("no answer came in time".to_owned());
            let late = self.now + within.as_micros() as u64;
            self.push(late, Event::Told { process, number, answer });
            let Some(server) = self.index(name).filter(|server| self.passes(index, *server)) else {
                continue;
            };
            let at = self.now + self.latency();
            self.push(at, Event::Ask { server, from: process, number, request });
        }
        for (process, number, answer) in effects.answers {
            if self.passes(index, process.0) {
                let at = self.now + self.latency();
                self.push(at, Event::Told { process, number, answer: Ok(answer) });
            }
        }
        for (name, action, hops) in effects.forwards {
            let Some(server) = self.index(name).filter(|_| hops < HOPS_MAX) else { continue };
            let at = self.now + self.latency();
            self.push(at, Event::Act { server, action, hops });
        }
        for job in effects.pauses {
            self.push(self.now + RETRY_US, Event::Resume { process, job });
        }
        let timeout = server.node.poll_timeout();
        let place = &mut self.places[usize::from(index)];
        if effects.has_left {
            // A supervisor starts the server again.
            let again = place.start_at.max(self.now + 50 * MS);
            self.push(again, Event::Start { server: index });
            return;
        }
        place.server = Some(server);
        if let Some(timeout) = timeout {
            let at = place.clock.when(timeout).max(self.now);
            if at < place.wake_at {
                place.wake_at = at;
                self.push(at, Event::Wake { server: index });
            }
        }
    }

    /// Whether a message of one server reaches another one over NATS.
    fn passes(&mut self, from: u8, to: u8) -> bool {
        let is_cut = [from, to].iter().any(|server| self.places[usize::from(*server)].cut_until > self.now);
        let is_lost = !self.is_calm() && self.random.percent(self.script.lost_messages);
        !is_cut && !is_lost
    }

    fn start(&mut self, index: u8) {
        let place = &mut self.places[usize::from(index)];
        if place.server.is_some() {
            return;
        }
        place.starts += 1;
        place.wake_at = u64::MAX;
        let process = (index, place.starts);
        // A server that starts again is upgraded to the next release.
        let minor = Release::CURRENT.minor + u16::from(place.starts > 1);
        let config = Config {
            name: place.name,
            release: Release { minor, ..Release::CURRENT },
            client_address: place.name.as_str().into(),
            ..self.setup.config.clone()
        };
        place.server = Some(Server::new(process, Node::new(place.clock.local(self.now), config)));
        self.with(index, |_, _, _| {});
        if process.1 == 1 {
            self.push(self.now + STEP_US, Event::Step { server: index });
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

    /// A client's action arrives at a server, which may send the client to another one.
    fn arrive(&mut self, index: u8, action: Action, hops: u8) {
        let room = self.clients[usize::from(action.client)].room;
        self.with(index, |server, now, _| server.act_for_client(now, room, action, hops));
    }

    pub(super) fn latency(&mut self) -> u64 {
        500 + self.random.below(3 * MS) + if self.random.percent(3) { self.random.below(40 * MS) } else { 0 }
    }

    pub(super) fn is_calm(&self) -> bool {
        self.now >= FAULTS_MS * MS
    }

    fn fault(&mut self, fault: Fault) {
        let until = |ms: u64| (self.now + ms * MS).min(FAULTS_MS * MS);
        match fault {
            Fault::Pause { server, ms } => {
                let at = until(ms);
                let place = &mut self.places[usize::from(server)];
                place.paused_until = place.paused_until.max(at);
            }
            Fault::Kill { server, ms } => self.kill(server, until(ms)),
            Fault::Leave { server, ms } => {
                self.places[usize::from(server)].start_at = until(ms);
                self.order(server, |server, now| _ = server.node.leave(now));
            }
            Fault::Desert { room } => {
                let room = self.rooms[usize::from(room)];
                (0..self.script.servers).for_each(|index| self.order(index, |server, _| server.desert(room)));
            }
            Fault::CutNats { server, ms } => self.places[usize::from(server)].cut_until = until(ms),
            Fault::NatsDown { ms } => self.down_until = until(ms),
            Fault::RoomsDown { ms } => self.rooms_down_until = until(ms),
            Fault::NatsFull { ms } => self.full_until = until(ms),
            Fault::NatsSlow { ms, by_ms } => self.slow = (until(ms), by_ms * MS),
            Fault::Move { room, to } => {
                let (room, target) = (self.rooms[usize::from(room)], self.places[usize::from(to)].name);
                // Only the owner moves the room.
                (0..self.script.servers).for_each(|index| {
                    self.order(index, |server, now| {
                        server.node.request(now, ControlRequest::Move { room, target });
                    });
                });
            }
            Fault::Drain { server, ms } => {
                let at = until(ms);
                self.order(server, Server::drain);
                self.push(at, Event::Restart { server });
            }
            Fault::Jump { server, ms } => self.places[usize::from(server)].clock.jump(ms * MS),
        }
    }

    /// Gives an order to a server, unless its process is stopped.
    fn order(&mut self, index: u8, f: impl FnOnce(&mut Server, Time)) {
        if self.places[usize::from(index)].paused_until <= self.now {
            self.with(index, |server, now, _| f(server, now));
        }
    }

    fn kill(&mut self, server: u8, start_at: u64) {
        let place = &mut self.places[usize::from(server)];
        (place.server, place.paused_until) = (None, 0);
        self.push(start_at, Event::Start { server });
    }
}
