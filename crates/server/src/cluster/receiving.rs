//! Receives programs' commands through NATS subjects, and passes them to this server's rooms.

use std::sync::{Arc, Weak};
use std::time::Instant;

use nowcast_jetstream::{Link, Requests};
use nowcast_limits::Bucket;
use tracing::warn;

use super::Node;
use crate::shared::Shared;
use crate::studio::subject_commands::{Answer, give};

/// Limits of the commands to one room: the burst, and the average rate a second.
const COMMANDS_BURST: f64 = 30.0;
const COMMANDS_HZ: f64 = 10.0;

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
    /// Gives commands to the rooms of the server from now on, if commands are accepted.
    pub(super) fn serve_commands(self: &Arc<Self>, shared: &Arc<Shared>) {
        let Some(commands) = self.commands() else { return };
        let (node, shared) = (Arc::downgrade(self), Arc::downgrade(shared));
        commands.receive_by(Box::new(move |handle, room, link| {
            handle.spawn(receive(room, link, node.clone(), shared.clone()))
        }));
    }

    /// Ends the receipt of commands to rooms that another server has taken, or that have ended.
    pub(super) fn prune_commands(self: &Arc<Self>, shared: &Shared) {
        let Some(commands) = self.commands() else { return };
        let owned = self.member().owned();
        commands.retain(|room| owned.iter().any(|name| name.as_str() == room) && shared.rooms.is_open(room));
    }
}
