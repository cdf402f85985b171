//! The echo of a channel.

use crate::channel::{Channel, Error, MessageKind};

/// Sends every message back on its lane: states as states of the same key, events as events, commands as replies. The echo
/// follows the laws of the queue, so it can test a program in any language, and measure a path. While the peer does not read, the
/// echo reads nothing more. Returns the error that ended the channel.
///
/// Values of typed lanes are sent back as bytes, because the announcements of their types end here.
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
