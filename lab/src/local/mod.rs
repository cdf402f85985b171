//! Two processes on one machine, and all carriers between them: our queue, the limit of the hardware, the means of the kernel,
//! and peers.
//!
//! The program starts itself again as a child ([`child`]), so every figure is measured between real processes. Sender and
//! receiver run on two different cores. They share a page (`control`) for signals that are not measured: ready, go, acknowledged,
//! stop.

mod carrier;
pub mod child;
mod control;
mod cores;
mod ends;
mod kernel;
mod mailbox;
mod message;
mod queue;

pub use carrier::{Carrier, Meeting};
pub use control::{Control, Word};
pub use cores::{Pinned, two_cores};
pub use ends::{Inlet, Outlet, Patience};
pub use message::{MESSAGE_BYTES, Message, now_ns};

/// Errors between two processes.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The system refused a request.
    #[error("{what}: {cause}")]
    System {
        /// The request.
        what: &'static str,
        /// The system's error.
        cause: std::io::Error,
    },
    /// A carrier refused a request.
    #[error("{carrier}: {cause}")]
    Carrier {
        /// The name of the carrier.
        carrier: &'static str,
        /// The error text of the carrier.
        cause: String,
    },
    /// The other process did not act in time.
    #[error("the other process did not answer within {seconds} s ({waiting_for})")]
    Late {
        /// The event that did not happen.
        waiting_for: &'static str,
        /// Duration of the wait in seconds.
        seconds: u64,
    },
    /// The other process ended with an error. Its standard error states the reason.
    #[error("the other process failed")]
    Child,
    /// A message differs from the message that was sent.
    #[error("a message was torn: its number is {number}, but its content belongs to another number")]
    Torn {
        /// The number of the message.
        number: u64,
    },
}

impl LocalError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> LocalError {
        move |cause| LocalError::System { what, cause }
    }

    pub(crate) fn carrier(carrier: &'static str, cause: impl ToString) -> LocalError {
        LocalError::Carrier { carrier, cause: cause.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// This test uses two threads, and a measurement uses two processes. The carriers treat both alike.
    #[test]
    fn every_carrier_delivers_whole_messages_in_order() {
        use Carrier::{Events, Futex, Mailbox, Tcp, Unix, Updates};
        for carrier in [Mailbox, Futex, Updates, Events, Unix, Tcp] {
            let control = Arc::new(Control::create().unwrap());
            let name = format!("lab-test-{}-{}", std::process::id(), carrier.word());
            let meeting = Meeting::prepare(carrier, &name, &control).unwrap();
            let address = meeting.address.clone();
            let page = control.path().to_string_lossy().into_owned();
            let reader = std::thread::spawn(move || {
                let control = Arc::new(Control::open(&page).unwrap());
                let mut inlet = carrier.receive_at(&address, &control, Patience::Spin, 1).unwrap();
                control.word(Word::Ready).store(1, std::sync::atomic::Ordering::Release);
                for number in 1..=5 {
                    let message = loop {
                        if let Some(message) = inlet.try_receive().unwrap() {
                            break message;
                        }
                        std::thread::yield_now();
                    };
                    assert_eq!(message.number(), number, "{carrier:?}");
                    message.check().unwrap();
                    control.word(Word::Taken).store(number, std::sync::atomic::Ordering::Release);
                }
            });
            let mut outlet = meeting.connect(None).unwrap();
            control.wait(Word::Ready, 1, 10, "the reader").unwrap();
            for number in 1..=5 {
                outlet.send(&Message::new(number, now_ns())).unwrap();
                control.wait(Word::Taken, number, 10, "the message to be taken").unwrap();
            }
            reader.join().unwrap();
        }
    }

    #[test]
    fn a_torn_message_is_noticed() {
        let mut message = Message::new(7, 1);
        assert!(message.check().is_ok());
        message.0[40] ^= 1;
        assert!(matches!(message.check(), Err(LocalError::Torn { number: 7 })));
    }
}
