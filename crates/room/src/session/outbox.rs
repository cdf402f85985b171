//! Messages of a room for one client on a session, which wait for the session's driver.
//!
//! A room only sends. It never waits for a driver, which may be filling packets. `client_replicator.rs` reads the deliveries
//! and puts them into the client's session.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use nowcast_world::PlayerId;
use parking_lot::Mutex;

use super::latest_snapshot::LatestSnapshot;
use super::step_update::StepUpdate;
use crate::closing::Closing;
use crate::room::replicated_state::ScreenValue;
use crate::room_metrics::RoomMetrics;

/// Maximum number of waiting deliveries. A driver that lets this many wait has not run for many seconds.
const DELIVERIES_MAX: usize = 4_096;

/// One delivery to a client.
pub enum Delivery {
    /// The client's number and the world's state. It is the first message about the world.
    Welcome(Box<Welcome>),
    /// The update of a step.
    StepUpdate(Arc<StepUpdate>),
    /// An event that concerns this client alone, encoded.
    Event(Vec<u8>),
    /// The client lost its baselines of movement, and needs new ones.
    Forget,
}

/// The first messages for a newcomer.
pub struct Welcome {
    /// The client's player.
    pub player: PlayerId,
    /// The room's count of steps.
    pub tick: u64,
    /// The welcome message, encoded.
    pub event: Vec<u8>,
    /// The current state that is the same for all clients.
    pub all: Arc<StepUpdate>,
    /// The values on the client's own screen.
    pub screens: Vec<ScreenValue>,
    /// The room's latest snapshot.
    pub latest_snapshot: Arc<LatestSnapshot>,
    /// The room's metrics.
    pub metrics: Arc<RoomMetrics>,
    /// Maximum bytes of movement in a round.
    pub bytes_per_round_max: usize,
    /// Steps that two movement rounds take.
    pub two_rounds_steps: u32,
}

/// The room's end of the outbox.
pub struct DeliverySender {
    deliveries: Sender<Delivery>,
    flags: Arc<Flags>,
}

/// The driver's end of the outbox.
pub struct DeliveryReceiver {
    deliveries: Receiver<Delivery>,
    flags: Arc<Flags>,
    /// The driver, as `flags` has it.
    driver: Option<Waker>,
}

#[derive(Default)]
struct Flags {
    driver: Mutex<Option<Waker>>,
    /// Whether [`DeliverySender::wake`] was called since the driver last looked. Only the call that sets it wakes the driver.
    has_news: AtomicBool,
    waiting: AtomicUsize,
    /// A round of movement is due.
    is_due: AtomicBool,
    /// Reason why the client must leave.
    closing: OnceLock<Closing>,
}

/// Creates an outbox, and returns both its ends.
pub fn outbox() -> (DeliverySender, DeliveryReceiver) {
    let (sender, receiver) = channel();
    let flags = Arc::<Flags>::default();
    (
        DeliverySender { deliveries: sender, flags: Arc::clone(&flags) },
        DeliveryReceiver { deliveries: receiver, flags, driver: None },
    )
}

impl DeliverySender {
    /// Wakes the driver, which then reads what was sent before, up to the first delivery whose snapshot is not published yet.
    pub fn wake(&self) {
        if !self.flags.has_news.swap(true, Ordering::AcqRel) {
            self.flags.driver.lock().iter().for_each(Waker::wake_by_ref);
        }
    }

    /// Sends a delivery. If too many deliveries wait, the client is closed.
    pub fn send(&self, delivery: Delivery) {
        if self.flags.waiting.fetch_add(1, Ordering::AcqRel) >= DELIVERIES_MAX {
            self.flags.waiting.fetch_sub(1, Ordering::AcqRel);
            return self.close(Closing::TooSlow);
        }
        // If the receiver was dropped, the client has left.
        let _ = self.deliveries.send(delivery);
    }

    /// Requests a round of movement. Call it after the round's snapshot was published.
    pub fn ask_for_round(&self) {
        self.flags.is_due.store(true, Ordering::Release);
    }

    /// Whether the driver has begun the last round that was requested.
    pub fn has_begun_round(&self) -> bool {
        !self.flags.is_due.load(Ordering::Relaxed)
    }

    /// Ends the client's connection. Only a closing that [delivers](Closing::delivers) lets the waiting deliveries arrive before.
    /// Later calls do not replace the first reason.
    pub fn close(&self, closing: Closing) {
        let _ = self.flags.closing.set(closing);
    }
}

impl DeliveryReceiver {
    /// Returns whether the sender has woken the driver since the last call. `driver` is woken for what follows, but only once until
    /// the next call. So a driver that was woken must call this.
    pub fn take_news(&mut self, driver: &Waker) -> bool {
        if !self.driver.as_ref().is_some_and(|known| known.will_wake(driver)) {
            self.driver = Some(driver.clone());
            self.flags.driver.lock().clone_from(&self.driver);
        }
        self.flags.has_news.swap(false, Ordering::AcqRel)
    }

    /// Returns the reason why the client's connection must end, if it must.
    pub fn closing(&self) -> Option<&Closing> {
        self.flags.closing.get()
    }

    /// Whether a round was requested since the last call.
    pub fn take_round(&self) -> bool {
        self.flags.is_due.swap(false, Ordering::AcqRel)
    }

    /// Returns the next delivery.
    pub fn take(&self) -> Option<Delivery> {
        let delivery = self.deliveries.try_recv().ok()?;
        self.flags.waiting.fetch_sub(1, Ordering::AcqRel);
        Some(delivery)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    #[test]
    fn deliveries_arrive_in_order_and_too_many_unread_close_the_client() {
        let (sender, receiver) = outbox();
        let event = |number: usize| Delivery::Event(number.to_le_bytes().to_vec());
        (0..DELIVERIES_MAX).for_each(|number| sender.send(event(number)));
        assert!(receiver.closing().is_none());
        for number in 0..10 {
            let Some(Delivery::Event(bytes)) = receiver.take() else { panic!("the event was sent") };
            assert_eq!(bytes, number_bytes(number));
        }
        (0..10).for_each(|number| sender.send(event(number)));
        assert!(receiver.closing().is_none(), "there was room again");
        sender.send(event(0));
        assert!(matches!(receiver.closing(), Some(Closing::TooSlow)));
        sender.close(Closing::ShuttingDown);
        assert!(matches!(receiver.closing(), Some(Closing::TooSlow)), "the first reason stays");
    }

    #[test]
    fn the_driver_is_woken_for_news_that_follow_its_look() {
        let (sender, mut receiver) = outbox();
        let wakes = Arc::<Wakes>::default();
        let waker = Waker::from(Arc::clone(&wakes));
        assert!(!receiver.take_news(&waker));
        sender.wake();
        assert!(receiver.take_news(&waker) && !receiver.take_news(&waker));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        sender.wake();
        sender.wake();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 2, "one wake-up until the driver looks");
    }

    /// Counts its wake-ups.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn number_bytes(number: usize) -> Vec<u8> {
        number.to_le_bytes().to_vec()
    }

    #[test]
    fn a_round_is_taken_once_however_often_it_is_requested() {
        let (sender, receiver) = outbox();
        assert!(!receiver.take_round() && sender.has_begun_round());
        (0..3).for_each(|_| sender.ask_for_round());
        assert!(!sender.has_begun_round());
        assert!(receiver.take_round() && sender.has_begun_round());
        assert!(!receiver.take_round());
    }
}
