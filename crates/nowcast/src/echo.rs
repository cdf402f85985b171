//! The echo of a channel.

use crate::channel::{Channel, Error, MessageKind};

/// Echoes every message on its lane: states as states of the same key, events as events, commands as replies. The echo
/// obeys the laws of the queue, so a program in any language can be tested, and a path measured, with it. While the
/// peer does not read, the echo reads nothing more. Returns the error that ended the channel.
///
/// Values of typed lanes are echoed as bytes, because their announcements end here.
pub async fn echo(channel: &Channel) -> Error {
    loop {
        if let Err(error) = send_back(channel).await {
            return error;
        }
    }
}

async fn send_back(channel: &Channel) -> Result<(), Error> {
    let message = channel.receive().await?;
    let lane = channel.lane(message.lane);
    match message.kind {
        MessageKind::State { key } => lane.state(key, &message.bytes).await,
        MessageKind::Event => lane.event(&message.bytes).await,
        MessageKind::Command(id) => channel.reply(id, &message.bytes).await,
        MessageKind::Replication { .. } => Ok(()),
    }
}
