//! Messages of a room for one client on a session, on their path to the session's driver.
//!
//! A room only ever posts: it never waits for a driver, which may be filling packets. Everything else is worked out where the
//! mail is read, in `delivery.rs`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use nowcast_world::PlayerId;

use super::board::Board;
use super::news::News;
use crate::closing::Closing;
use crate::room::told::Shown;
use crate::room_metrics::RoomMetrics;

/// Mails that may wait. A driver reads them whenever it looks, so that is a client that has been stuck for many seconds.
const MAILS_MAX: usize = 4_096;

/// One thing that is said to a client.
pub(super) enum Mail {
    /// The client's number and the world's state; the first message about the world.
    Welcome(Box<Welcome>),
    /// The update of a step.
    News(Arc<News>),
    /// Something that concerns this client alone, encoded.
    Event(Vec<u8>),
    /// It lost what it knew of movement.
    Forget,
    /// Holds up the driver until the other end is dropped.
    #[cfg(test)]
    Hold(Receiver<()>),
}

/// The first messages for a newcomer.
pub(crate) struct Welcome {
    pub(crate) player: PlayerId,
    /// The room's count of steps.
    pub(crate) tick: u64,
    /// The welcome message, encoded.
    pub(crate) event: Vec<u8>,
    /// The present state for all clients.
    pub(crate) all: Arc<News>,
    /// The values on its screen.
    pub(crate) screens: Vec<Shown>,
    /// Where it looks from now on.
    pub(crate) board: Arc<Board>,
    /// Where what it is told is counted.
    pub(crate) metrics: Arc<RoomMetrics>,
    /// Bytes of movement in a round.
    pub(crate) bytes_per_round_max: usize,
}

/// The room's end.
pub(super) struct Poster {
    mails: Sender<Mail>,
    flags: Arc<Flags>,
}

/// The driver's end.
pub(super) struct Letterbox {
    mails: Receiver<Mail>,
    flags: Arc<Flags>,
}

#[derive(Default)]
struct Flags {
    waiting: AtomicUsize,
    /// A round of movement is due.
    is_due: AtomicBool,
    /// Why the client may not stay.
    closing: OnceLock<Closing>,
}

/// A pair of ends.
pub(super) fn post() -> (Poster, Letterbox) {
    let (sender, receiver) = channel();
    let flags = Arc::<Flags>::default();
    (Poster { mails: sender, flags: Arc::clone(&flags) }, Letterbox { mails: receiver, flags })
}

impl Poster {
    /// Posts a mail. A client for which too many wait is ended.
    pub(super) fn post(&self, mail: Mail) {
        if self.flags.waiting.fetch_add(1, Ordering::AcqRel) >= MAILS_MAX {
            self.flags.waiting.fetch_sub(1, Ordering::AcqRel);
            return self.close(Closing::TooSlow);
        }
        // Where nobody reads any more, the client is gone.
        let _ = self.mails.send(mail);
    }

    /// A round of movement is due. To be said when the board has the picture that it is of.
    pub(super) fn ask_for_round(&self) {
        self.flags.is_due.store(true, Ordering::Release);
    }

    /// Ends the client, before all that waits. The first reason stays.
    pub(super) fn close(&self, closing: Closing) {
        let _ = self.flags.closing.set(closing);
    }
}

impl Letterbox {
    /// Why the client is ended, if it is.
    pub(super) fn closing(&self) -> Option<&Closing> {
        self.flags.closing.get()
    }

    /// Whether a round was asked for since this was last called.
    pub(super) fn take_round(&self) -> bool {
        self.flags.is_due.swap(false, Ordering::AcqRel)
    }

    /// The next mail.
    pub(super) fn take(&self) -> Option<Mail> {
        let mail = self.mails.try_recv().ok()?;
        self.flags.waiting.fetch_sub(1, Ordering::AcqRel);
        Some(mail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mails_come_in_order_and_too_many_unread_end_the_client() {
        let (poster, letterbox) = post();
        let event = |number: usize| Mail::Event(number.to_le_bytes().to_vec());
        (0..MAILS_MAX).for_each(|number| poster.post(event(number)));
        assert!(letterbox.closing().is_none());
        for number in 0..10 {
            let Some(Mail::Event(bytes)) = letterbox.take() else { panic!("it was posted") };
            assert_eq!(bytes, number_bytes(number));
        }
        (0..10).for_each(|number| poster.post(event(number)));
        assert!(letterbox.closing().is_none(), "there was room again");
        poster.post(event(0));
        assert!(matches!(letterbox.closing(), Some(Closing::TooSlow)));
        poster.close(Closing::ShuttingDown);
        assert!(matches!(letterbox.closing(), Some(Closing::TooSlow)), "the first reason stays");
    }

    fn number_bytes(number: usize) -> Vec<u8> {
        number.to_le_bytes().to_vec()
    }

    #[test]
    fn a_round_is_asked_for_once_however_often() {
        let (poster, letterbox) = post();
        assert!(!letterbox.take_round());
        (0..3).for_each(|_| poster.ask_for_round());
        assert!(letterbox.take_round());
        assert!(!letterbox.take_round());
    }
}
