//! The congestion controller of QUIC connections that carry sessions.
//!
//! The session measures the delay and paces its packets by this delay (`spec/SESSION.md`, section 11). QUIC's usual controllers
//! treat every lost packet as congestion and would delay datagrams on a link with random loss. So this controller does not
//! limit anything, except during persistent congestion.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{Controller, ControllerFactory};

/// Windows above `u32::MAX` also switch off QUIC's own pacing.
const OPEN_BYTES: u64 = 1 << 33;
/// The window after persistent congestion; it doubles with every acknowledgement.
const OVERLOAD_BYTES: u64 = 128 * 1_024;
/// Window size at which the limit is removed again.
const RECOVERED_BYTES: u64 = 4 * 1_024 * 1_024;

/// Makes [`Aside`] controllers.
#[derive(Debug, Default)]
pub(super) struct AsideFactory;

impl ControllerFactory for AsideFactory {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Aside { window: OPEN_BYTES })
    }
}

/// Limits nothing unless the congestion is persistent (RFC 9002, section 7.6).
#[derive(Clone, Debug)]
struct Aside {
    window: u64,
}

impl Controller for Aside {
    fn on_end_acks(
        &mut self,
        _now: Instant,
        _in_flight: u64,
        _app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        if self.window < RECOVERED_BYTES {
            self.window *= 2;
        } else {
            self.window = OPEN_BYTES;
        }
    }

    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        is_persistent_congestion: bool,
        _lost_bytes: u64,
    ) {
        if is_persistent_congestion {
            self.window = OVERLOAD_BYTES;
        }
    }

    fn on_mtu_update(&mut self, _new_mtu: u16) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        OPEN_BYTES
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
