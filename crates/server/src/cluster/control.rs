//! The state of rooms as a server's membership needs it, and the figures that the server reports.

use std::sync::{Arc, Weak};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use nowcast_cluster::{Event, Load};
use nowcast_jetstream::Host;
use nowcast_room::Opener;
use tokio::time::{interval, sleep};
use tracing::{info, warn};

use super::Node;
use crate::process;
use crate::shared::Shared;

/// Interval of the reports of load.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);

/// Time for which a room that comes to this server stays open for its clients.
const OPEN_FOR: Duration = Duration::from_secs(10);

impl Node {
    /// Answers requests and reports the load, until the server ends.
    pub(crate) fn serve(self: &Arc<Self>, shared: &Arc<Shared>) {
        let (node, weak) = (Arc::downgrade(self), Arc::downgrade(shared));
        self.serve_commands(shared);
        self.member().serve(Arc::new(Rooms { node: node.clone(), shared: weak.clone() }));
        self.handle().spawn(report(node, weak));
    }
}

/// The rooms of a server.
struct Rooms {
    node: Weak<Node>,
    shared: Weak<Shared>,
}

impl Host for Rooms {
    fn look_at(&self, room: &str) -> (bool, usize) {
        let shared = self.shared.upgrade();
        shared.map_or((false, 0), |shared| (shared.rooms.is_open(room), shared.rooms.waiting(room)))
    }

    fn open(&self, room: &str) -> Result<(), String> {
        let shared = self.shared.upgrade().ok_or_else(|| "the server ends".to_owned())?;
        let opener = Opener { address: None, is_local: true, is_program: true };
        let seat = shared.rooms.reserve(room, opener).map_err(|refusal| refusal.line())?;
        tokio::spawn(async move {
            sleep(OPEN_FOR).await;
            drop(seat);
        });
        Ok(())
    }

    fn note(&self, event: Event) {
        let Some(node) = self.node.upgrade() else { return };
        match event {
            Event::Moved(room, target, frozen) => {
                info!(%room, server = %target, frozen_us = frozen.as_micros() as u64, "room moved");
                node.metrics().moved(frozen);
            }
            Event::Stayed(_) => node.metrics().stayed(),
            Event::NotBegun(room, target) => {
                warn!(%room, server = %target, "the target does not run the room")
            }
            Event::SourceDied(room, owner) => {
                info!(%room, %owner, "the owner of a room that moves here has died");
            }
            _ => {}
        }
    }
}

/// Reports the load, and admits the pages of the other servers, until the server ends.
async fn report(node: Weak<Node>, shared: Weak<Shared>) {
    let mut reports = interval(REPORT_INTERVAL);
    let cores = available_parallelism().map_or(1, usize::from) as f64;
    let memory = process::memory_bytes();
    let (mut last, mut last_seconds) = (Instant::now(), process::cpu_seconds().unwrap_or_default());
    loop {
        reports.tick().await;
        let (Some(node), Some(shared)) = (node.upgrade(), shared.upgrade()) else { return };
        let seconds = process::cpu_seconds().unwrap_or_default();
        let elapsed = last.elapsed().as_secs_f64().max(0.001);
        let busy = ((seconds - last_seconds) / (elapsed * cores)).clamp(0.0, 1.0);
        (last, last_seconds) = (Instant::now(), seconds);
        let used = process::resident_bytes().zip(memory).map_or(0.0, |(own, all)| own as f64 / all as f64);
        let (rooms, clients) = shared.rooms.count();
        let limits = &shared.config.limits;
        node.member().set_load(Load {
            ticks_permille: (busy * 1_000.0) as u16,
            memory_permille: (used * 1_000.0) as u16,
            clients: clients as u32,
            clients_max: limits.connections_max as u32,
            rooms: rooms as u32,
        });
        node.prune_commands(&shared);
        shared.sessions.admission.admit_pages_of(&node.member().known_addresses());
    }
}
