//! Measurements of a room's ticks.

use std::time::{Duration, Instant};

use nowcast_world::STEP_HZ;

use super::context::RoomContext;
use super::publishing::SteppedRoom;
use crate::thread_time::thread_cpu_time;

/// Measures the ticks of a room.
#[derive(Default)]
pub(super) struct TickMeter {
    /// The number that this room has added to the server's gauge of awake bodies.
    awake_shown: i64,
}

/// The beginning of a tick, on the monotonic clock and on the thread's processor clock.
pub(super) struct Started {
    pub(super) at: Instant,
    cpu_time: Option<Duration>,
}

impl Started {
    pub(super) fn now() -> Self {
        Self { at: Instant::now(), cpu_time: thread_cpu_time() }
    }
}

impl TickMeter {
    /// Measures a tick that ends now.
    pub(super) fn measure(
        &mut self,
        started: &Started,
        room: SteppedRoom<'_>,
        clients: usize,
        script_work: Option<f64>,
    ) {
        let SteppedRoom { context, world, tick } = room;
        self.show_awake(context, world.awake() as i64);
        let took = started.at.elapsed().as_secs_f64();
        context.rooms.metrics.tick_seconds.observe(took);
        context.metrics.tick_seconds.observe(took);
        context.metrics.clients.set(clients as i64);
        context.metrics.entities.set(world.entities().ids().len() as i64);
        if let Some(share) = script_work {
            context.metrics.show_script_work(share);
        }
        if tick.is_multiple_of(u64::from(STEP_HZ)) {
            context.metrics.forget_ages();
        }
        if let (Some(before), Some(after)) = (started.cpu_time, thread_cpu_time()) {
            context.rooms.metrics.tick_cpu_seconds.observe((after - before).as_secs_f64());
        }
    }

    /// Sets the number of awake bodies in the gauges.
    pub(super) fn show_awake(&mut self, context: &RoomContext, awake: i64) {
        context.rooms.metrics.bodies_awake.inc_by(awake - self.awake_shown);
        context.metrics.bodies_awake.set(awake);
        self.awake_shown = awake;
    }
}
