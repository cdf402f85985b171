//! The rooms of this server that receive commands by subjects of NATS (`docs/how-to/cluster.md`, "Commands").

use std::collections::BTreeMap;
use std::sync::OnceLock;

use nowcast_jetstream::Link;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Starts the task that receives the commands to a room.
type Start = Box<dyn Fn(&Handle, String, Link) -> JoinHandle<()> + Send + Sync>;

/// The subjects of the rooms that run on this server.
#[derive(Default)]
pub(super) struct Commands {
    rooms: Mutex<BTreeMap<String, JoinHandle<()>>>,
    start: OnceLock<Start>,
}

impl Commands {
    /// Sets the task that receives the commands to a room. Until then, no subject is received.
    pub(super) fn receive_by(&self, start: Start) {
        // The server calls this once.
        let _ = self.start.set(start);
    }

    /// Receives the commands to a room that runs here.
    pub(super) fn begin(&self, room: &str, link: Link, handle: &Handle) {
        let Some(start) = self.start.get() else { return };
        let receiving = start(handle, room.to_owned(), link);
        if let Some(before) = self.rooms.lock().insert(room.to_owned(), receiving) {
            before.abort();
        }
    }

    /// Ends the receipt of commands to a room that does not run here any more.
    pub(super) fn end(&self, room: &str) {
        if let Some(receiving) = self.rooms.lock().remove(room) {
            receiving.abort();
        }
    }

    /// Ends the receipt of commands to all rooms but those for which `runs` returns true.
    pub(super) fn retain(&self, runs: impl Fn(&str) -> bool) {
        self.rooms.lock().retain(|room, receiving| {
            let is_here = runs(room);
            if !is_here {
                receiving.abort();
            }
            is_here
        });
    }
}
