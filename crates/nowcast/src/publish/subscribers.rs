//! The tasks of a publisher that accept subscribers and keep them until they end.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use nowcast_queue::{Refusal, in_process};
use nowcast_session::CloseCode;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::channel::{Channel, Error, LaneId, Put, Shapes};
use crate::listener::Service;
use crate::published::{Published, Subscription};

/// The published messages.
pub(super) struct Table {
    pub(super) messages: in_process::Publisher<Published>,
    /// The announcements of message types to subscribers.
    pub(super) shapes: Shapes,
}

/// Accepts subscribers until the publisher is dropped, and runs until the last subscriber has ended.
pub(super) async fn serve_all(
    mut service: Service,
    table: Weak<Table>,
    ignored: Arc<AtomicU64>,
    mut is_open: watch::Receiver<()>,
) {
    let mut subscribers = JoinSet::new();
    loop {
        tokio::select! {
            accepted = service.accept() => {
                let (Ok(channel), Some(table)) = (accepted, table.upgrade()) else { break };
                let subscription = table.messages.subscribe();
                // These types were announced before the subscriber joined. Later announcements are among the messages.
                let types = table.shapes.ours().all();
                subscribers.spawn(serve(channel, subscription, types, Arc::clone(&ignored)));
            }
            Some(_) = subscribers.join_next() => {}
            _ = is_open.changed() => break,
        }
    }
    drop(service);
    while subscribers.join_next().await.is_some() {}
}

async fn serve(
    channel: Channel,
    subscription: Subscription,
    types: Option<Vec<u8>>,
    ignored: Arc<AtomicU64>,
) {
    if let Some(types) = types
        && let Err(error) = put(&channel, Put::Event(&types)).await
    {
        return channel
            .close(CloseCode::LIMIT_EXCEEDED.0, &format!("the types of published values: {error}"));
    }
    // A receive detects the end of the channel. No messages are expected before it.
    let ended = async {
        while channel.receive().await.is_ok() {
            ignored.fetch_add(1, Ordering::Relaxed);
        }
    };
    match channel.link().subscribe(subscription) {
        None => ended.await,
        Some(subscription) => {
            tokio::select! {
                _ = copy(&channel, subscription) => {}
                () = ended => {}
            }
        }
    }
}

/// Copies published messages into the queue of one subscriber whose link has no packets. While this queue is full, no messages
/// are taken from the publication.
async fn copy(channel: &Channel, mut subscription: Subscription) -> Result<(), Error> {
    loop {
        poll_fn(|context| subscription.poll_ready(context)).await;
        match subscription.take() {
            Ok(None) => {}
            Ok(Some((key, value))) if key.is_event() => put(channel, Put::Event(&value.bytes)).await?,
            Ok(Some((key, value))) => put(channel, Put::State(key, &value.bytes)).await?,
            Err(Refusal::Closed) => return Ok(()),
            Err(refusal) => {
                channel.close(CloseCode::BEHIND.0, &refusal.to_string());
                return Ok(());
            }
        }
    }
}

/// Puts a published message unchanged.
async fn put(channel: &Channel, message: Put<'_>) -> Result<(), Error> {
    let lane = LaneId::default();
    poll_fn(|context| channel.link().poll_put(lane, message, Some(context.waker()))).await.map(drop)
}
