//! The room's end of a client on a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nowcast::Channel;

use super::FromWorld;
use super::client_replicator::ClientReplicator;
use super::outbox::{Delivery, DeliverySender, Welcome, outbox};
use super::step_update::StepUpdate;
use crate::closing::Closing;
use crate::metrics::Metrics;

/// Bytes of movement a second for one client; beyond that what is far away is told more seldom.
const BYTES_PER_SECOND_MAX: usize = 256 * 1024;

/// A room's end of a client's channel. Nothing here waits for the session: what is said is posted, and its driver puts it into
/// the channel.
pub(crate) struct SessionWriter {
    channel: Arc<Channel>,
    sender: DeliverySender,
    network_hz: u32,
    /// Whether something of this step is posted that is to be told when the step's picture is out, and not with the next round.
    is_posted: AtomicBool,
}

impl SessionWriter {
    pub(crate) fn new(channel: Arc<Channel>, network_hz: u32, metrics: &Arc<Metrics>) -> Self {
        let (sender, receiver) = outbox();
        channel.set_source(Box::new(ClientReplicator::new(receiver, Arc::clone(metrics))));
        Self { channel, sender, network_hz, is_posted: AtomicBool::new(false) }
    }

    /// Bytes of movement in one round.
    pub(crate) fn bytes_per_round_max(&self) -> usize {
        BYTES_PER_SECOND_MAX / self.network_hz.max(1) as usize
    }

    /// Tells a newcomer who it is and what is there; from now on it is told of movement. The driver does it when the picture of
    /// this step is out.
    pub(crate) fn welcome(&self, welcome: Welcome) {
        self.sender.send(Delivery::Welcome(Box::new(welcome)));
        self.is_posted.store(true, Ordering::Relaxed);
    }

    /// Tells what happened in a step, as far as the client sees and hears it. The driver does it when the picture of this step is
    /// out.
    pub(crate) fn update(&self, update: &Arc<StepUpdate>) {
        self.sender.send(Delivery::StepUpdate(Arc::clone(update)));
        if !update.can_wait() {
            self.is_posted.store(true, Ordering::Relaxed);
        }
    }

    /// The picture of a step is out: what was posted can be read, and if it `is_due`, a round of movement begins.
    pub(crate) fn step_is_out(&self, is_due: bool) {
        if is_due {
            self.sender.ask_for_round();
        }
        if self.is_posted.swap(false, Ordering::Relaxed) || is_due {
            self.channel.source_has_more();
        }
    }

    /// Tells something that concerns this client alone.
    pub(crate) fn event(&self, event: &FromWorld) {
        self.sender.send(Delivery::Event(nowcast_wire::encode_to_vec(event)));
        self.channel.source_has_more();
    }

    /// The client lost what it knew of movement.
    pub(crate) fn forget(&self) {
        self.sender.send(Delivery::Forget);
        self.channel.source_has_more();
    }

    /// Ends the session; the client's task learns of it by its next read.
    pub(crate) fn close(&self, closing: Closing) {
        self.sender.close(closing);
        self.channel.source_has_more();
    }

    /// Holds up the session's driver until what this returns is dropped.
    #[cfg(test)]
    pub(crate) fn hold_up_driver(&self) -> std::sync::mpsc::Sender<()> {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.sender.send(Delivery::Hold(receiver));
        self.channel.source_has_more();
        sender
    }
}
