//! Commands of programs to the rooms of this server, by subjects of NATS (`docs/CLUSTER.md`, "Commands by subject").

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use nowcast_jetstream::{Link, Requests};
use nowcast_limits::Bucket;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::warn;

use super::Node;
use crate::shared::Shared;
use crate::studio::subject_commands::{Answer, give};

/// Commands to one room: at once, and a second on average.
const COMMANDS_BURST: f64 = 30.0;
const COMMANDS_HZ: f64 = 10.0;

/// The subjects of the rooms that run on this server.
#[derive(Default)]
pub(super) struct Commands {
    rooms: Mutex<BTreeMap<String, JoinHandle<()>>>,
    served: OnceLock<(Weak<Node>, Weak<Shared>)>,
}

impl Commands {
    /// Sets the server whose rooms get the commands. Until then, no subject is received.
    pub(super) fn serve(&self, node: Weak<Node>, shared: Weak<Shared>) {
        // The server calls this once.
        let _ = self.served.set((node, shared));
    }

    /// Receives the commands to a room that runs here.
    pub(super) fn begin(&self, room: &str, link: Link, handle: &Handle) {
        let Some((node, shared)) = self.served.get().cloned() else { return };
        let receiving = handle.spawn(receive(room.to_owned(), link, node, shared));
        if let Some(before) = self.lock().insert(room.to_owned(), receiving) {
            before.abort();
        }
    }

    /// Ends the receipt of commands to a room that does not run here any more.
    pub(super) fn end(&self, room: &str) {
        if let Some(receiving) = self.lock().remove(room) {
            receiving.abort();
        }
    }

    /// Ends the receipt of commands to all rooms but those for which `runs` returns true.
    pub(super) fn retain(&self, runs: impl Fn(&str) -> bool) {
        self.lock().retain(|room, receiving| {
            let is_here = runs(room);
            if !is_here {
                receiving.abort();
            }
            is_here
        });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, JoinHandle<()>>> {
        // Each statement leaves the map valid, so poisoning is ignored.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the commands to a room until the task is aborted.
async fn receive(room: String, link: Link, node: Weak<Node>, shared: Weak<Shared>) {
    let mut requests = match Requests::receive(&link, &format!("command.{room}")).await {
        Ok(requests) => requests,
        Err(error) => return warn!(room, %error, "the room gets no commands by its subject"),
    };
    let mut rate = Bucket::new(COMMANDS_HZ, COMMANDS_BURST, Instant::now());
    while let Some(request) = requests.next().await {
        let (Some(node), Some(shared)) = (node.upgrade(), shared.upgrade()) else { return };
        let given = if rate.take(Instant::now()) {
            give(&shared, &room, request.body())
        } else {
            Err(Answer::too_often(&room))
        };
        let epoch = node.epoch_of(&room);
        // The next command may be given to the room before this one is answered.
        tokio::spawn(async move {
            let answer = match given {
                Ok(given) => given.answer(&shared, epoch).await,
                Err(answer) => answer,
            };
            node.metrics().commanded(answer.code);
            request.answer(answer.bytes).await;
        });
    }
}

impl Node {
    /// Ends the receipt of commands to rooms that another server has taken, or that have ended.
    pub(super) fn prune_commands(self: &Arc<Self>, shared: &Shared) {
        let Some(commands) = self.commands() else { return };
        let owned = self.member().owned();
        commands.retain(|room| owned.iter().any(|name| name.as_str() == room) && shared.rooms.is_open(room));
    }
}
