//! The part of a server that belongs to its cluster, as its rooms see it.

use std::sync::Arc;
use std::time::Duration;

use nowcast_cluster::{Departure, Report, RoomLease, TakeError, Turn};
use nowcast_jetstream::{Link, Member};
use nowcast_room::{EventSink, Ownership, PublicEvent};
use nowcast_store::WorldStore;
use tokio::runtime::{Handle, Runtime};

use super::commands::Commands;
use super::metrics::ClusterMetrics;
use super::publishing::Publisher;

/// The part of a server that belongs to its cluster.
pub(crate) struct Node {
    link: Link,
    member: Member,
    metrics: ClusterMetrics,
    /// The publisher of events, if they are published.
    publisher: Option<Publisher>,
    /// The subjects of commands, if commands are accepted.
    commands: Option<Commands>,
    /// The runtime of the connection. `None` after the drop has begun.
    runtime: Option<Runtime>,
}

impl Node {
    pub(super) fn new(runtime: Runtime, link: Link, member: Member) -> Self {
        let (metrics, runtime) = (ClusterMetrics::default(), Some(runtime));
        Self { link, member, metrics, publisher: None, commands: None, runtime }
    }

    /// Publishes the events of rooms from now on.
    pub(super) fn publish_events(&mut self) {
        self.publisher = Some(Publisher::start(self.link.clone(), self.handle()));
    }

    /// Accepts commands to rooms by subjects from now on.
    pub(super) fn accept_commands(&mut self) {
        self.commands = Some(Commands::default());
    }

    /// The subjects of commands, if commands are accepted.
    pub(super) fn commands(&self) -> Option<&Commands> {
        self.commands.as_ref()
    }

    /// The epoch in which this server owns a room; 0 if it does not.
    pub(super) fn epoch_of(&self, room: &str) -> u64 {
        self.member.epoch(room).map_or(0, |epoch| epoch.0)
    }

    pub(super) fn store(&self) -> Arc<dyn WorldStore> {
        Arc::clone(self.member.store()) as Arc<dyn WorldStore>
    }

    pub(super) fn member(&self) -> &Member {
        &self.member
    }

    pub(super) fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("the runtime exists until the drop").handle()
    }

    /// Returns the origin of the other server to which a room's client must go; `None` for this server.
    pub(crate) async fn locate(&self, room: &str) -> Option<String> {
        self.member.locate(room).await
    }

    /// Whether events of rooms are published.
    pub(crate) fn publishes(&self) -> bool {
        self.publisher.is_some()
    }

    pub(crate) fn metrics(&self) -> &ClusterMetrics {
        &self.metrics
    }

    /// The origins of the other servers.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.member.addresses()
    }

    /// Ends the membership, so that other servers may take the rooms at once.
    pub(crate) fn leave(&self) {
        self.member.leave();
    }

    /// Ends the waiting of rooms that come from other servers, because this server ends.
    pub(crate) fn expect_no_rooms(&self) {
        self.member.expect_no_rooms();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            self.member.leave();
            // The last reference may be dropped on a thread of a runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}

impl EventSink for Node {
    fn take(&self, room: &str, event: &Arc<PublicEvent>) {
        if let Some(publisher) = &self.publisher {
            let is_queued = publisher.queue(room, self.epoch_of(room), Arc::clone(event));
            self.metrics.published(is_queued);
        }
    }
}

impl Ownership for Node {
    fn take(&self, room: &str) -> Result<(), TakeError> {
        let taken = self.member.take(room);
        match &taken {
            Ok(_) => drop(self.metrics.epochs.inc()),
            Err(error) => self.metrics.refuse(error.label()),
        }
        taken.map(drop)
    }

    fn must_follow(&self, room: &str) -> bool {
        self.member.await_turn(room) == Turn::Follow
    }

    fn report(&self, room: &str, report: Report) {
        self.member.report(room, report);
    }

    fn opened(&self, room: &str) -> Duration {
        if let Some(commands) = &self.commands {
            commands.begin(room, self.link.clone(), self.handle());
        }
        self.member.opened(room)
    }

    fn departure(&self, room: &str) -> Option<Departure> {
        self.member.departure(room)
    }

    fn release(&self, room: &str) {
        if let Some(commands) = &self.commands {
            commands.end(room);
        }
        self.member.release(room);
    }

    fn lease(&self, room: &str) -> RoomLease {
        self.member.lease(room)
    }

    fn trouble(&self) -> Option<String> {
        (!self.member.has_lease()).then(|| {
            "this server's lease in the cluster is over, so its rooms wait: NATS does not answer in time, or another process \
             has the server's name. Check the nats-servers, and the names of the servers"
                .to_owned()
        })
    }
}
