//! Publishes room events as NATS subjects, for programs outside the servers (`docs/how-to/cluster.md`).

use std::sync::Arc;

use nowcast_jetstream::Link;
use nowcast_room::PublicEvent;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::warn;

/// The version of the messages.
const VERSION: u32 = 1;

/// Maximum number of events that wait for the connection to NATS.
const WAITING_MAX: usize = 4_096;

/// The events that wait for the connection.
pub(super) struct Publisher(Sender<Waiting>);

/// An event of a room, and the epoch of the room's owner.
struct Waiting {
    room: String,
    epoch: u64,
    event: Arc<PublicEvent>,
}

/// The first fields of a message.
#[derive(Serialize)]
struct Head<'e> {
    version: u32,
    room: &'e str,
    epoch: u64,
}

impl Publisher {
    /// Starts to publish. It ends when the publisher is dropped.
    pub(super) fn start(link: Link, handle: &Handle) -> Self {
        let (sender, waiting) = channel(WAITING_MAX);
        handle.spawn(publish(link, waiting));
        Self(sender)
    }

    /// Queues an event. Returns false if too many events wait, and the event is dropped.
    pub(super) fn queue(&self, room: &str, epoch: u64, event: Arc<PublicEvent>) -> bool {
        self.0.try_send(Waiting { room: room.to_owned(), epoch, event }).is_ok()
    }
}

async fn publish(link: Link, mut waiting: Receiver<Waiting>) {
    while let Some(Waiting { room, epoch, event }) = waiting.recv().await {
        let subject = format!("rooms.{room}.{}", event.topic());
        let head = Head { version: VERSION, room: &room, epoch };
        if let Err(error) = link.publish(&subject, event.to_json(&head)).await {
            warn!(room, %error, "an event is not published");
        }
    }
}
