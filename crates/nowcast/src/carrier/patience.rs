//! How QUIC waits: patiently, because what it waits for is bookkeeping.
//!
//! QUIC acknowledges after 25 ms at the latest, in a packet of its own if nothing else leaves until then, and quinn lets nobody
//! change that on paths with short round trips. Of two ends that send every 50 ms one always waits longer for its next packet.
//! Sessions have acknowledgements of their own and do not wait for QUIC's; so QUIC's timers go off a little later, and its
//! acknowledgements ride in the next packet. Where one does not come, they leave alone.

use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use tokio::time::{Sleep, sleep_until};

/// What is due sooner may hold up packets, and is done in time.
const SOON: Duration = Duration::from_millis(10);

/// What is due later is done so much later: with QUIC's 25 ms in sum a little longer than the 50 ms between two packets of most sessions.
const PATIENCE: Duration = Duration::from_millis(40);

/// Tokio, with timers for QUIC.
#[derive(Debug)]
pub(crate) struct QuicRuntime;

impl Runtime for QuicRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(PatientTimer(Box::pin(sleep_until(patient(Instant::now(), at).into()))))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

#[derive(Debug)]
struct PatientTimer(Pin<Box<Sleep>>);

impl AsyncTimer for PatientTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        Sleep::reset(self.0.as_mut(), patient(Instant::now(), at).into());
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Future::poll(self.0.as_mut(), context)
    }
}

/// When a timer goes off that QUIC wants at `at`.
fn patient(now: Instant, at: Instant) -> Instant {
    if at.saturating_duration_since(now) < SOON { at } else { at + PATIENCE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_hold_up_packets_is_in_time_and_an_acknowledgement_outlasts_a_round_of_20_a_second() {
        let now = Instant::now();
        let soon = now + SOON / 2;
        assert_eq!([patient(now, now), patient(now, soon)], [now, soon]);
        let acknowledged = patient(now, now + Duration::from_millis(25));
        assert!(acknowledged > now + Duration::from_millis(60), "a round, and some lateness");
        // Longer waits are those of a peer that is gone, for which it makes no difference.
        assert!(acknowledged < now + Duration::from_millis(100));
    }
}
