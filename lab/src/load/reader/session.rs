//! A client on a session over one carrier. Of each movement packet, it decodes only the step.

use std::convert::Infallible;

use nowcast::{CarrierKind, Channel, Connector, Message};
use nowcast_wire::{decode, encode_to_vec};
use nowcast_world_client::{Incoming, Join};
use nowcast_world_protocol::session::{CONTROLS_KEY, Controls, FromWorld};
use tokio::time::{MissedTickBehavior, interval};

use super::{ControlsSent, Shared, ns_of_tick};
use crate::local::now_ns;

/// Joins, and counts itself in `shared.joined`. Then reads until the session ends or the task is dropped.
pub(super) async fn read(
    url: &str,
    carrier: CarrierKind,
    name: String,
    shared: &Shared,
) -> Result<Infallible, String> {
    let connector = Connector::new().carriers([carrier]);
    let channel = connector.connect(url).await.map_err(|error| error.to_string())?;
    let join = Join::new(name).network_hz(shared.orders.hz);
    join.send(&channel).map_err(|error| error.to_string())?;
    let mut sent = ControlsSent::default();
    let mut controls = shared.orders.controls_interval().map(interval);
    if let Some(controls) = &mut controls {
        controls.set_missed_tick_behavior(MissedTickBehavior::Skip);
    }
    let mut client = Client { shared, newest: None };
    loop {
        let due = async {
            match &mut controls {
                Some(controls) => drop(controls.tick().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            message = channel.receive() => client.take(&message.map_err(|error| error.to_string())?),
            () = due => steer(&channel, &mut sent).map_err(|error| error.to_string())?,
        }
    }
}

struct Client<'a> {
    shared: &'a Shared,
    /// The newest received step, and the time of its arrival.
    newest: Option<(u32, u64)>,
}

impl Client<'_> {
    fn take(&mut self, message: &Message) {
        self.shared.measurements().payload_bytes += message.bytes.len() as u64;
        match Incoming::of(message) {
            Incoming::Movement(payload) => self.update(payload),
            Incoming::Event(event) if is_welcome(event) => self.shared.join(),
            _ => {}
        }
    }

    /// Records an update. A round may take several packets. The first one counts, unless a newer round has overtaken it.
    fn update(&mut self, payload: &[u8]) {
        let Some(tick) = payload.first_chunk().copied().map(u32::from_le_bytes) else { return };
        let is_newer = self.newest.is_none_or(|(newest, _)| tick.wrapping_sub(newest) as i32 > 0);
        if is_newer {
            let now_ns = now_ns();
            let before = self.newest.replace((tick, now_ns)).map(|(_, at)| at);
            self.shared.measurements().update(before, now_ns, ns_of_tick(tick));
        }
    }
}

fn is_welcome(event: &[u8]) -> bool {
    matches!(decode(event), Ok(FromWorld::Welcome { .. }))
}

fn steer(channel: &Channel, sent: &mut ControlsSent) -> Result<(), nowcast::Error> {
    let yaw = sent.next_yaw();
    let controls = Controls { number: sent.number(), forward: 1.0, yaw, ..Controls::default() };
    channel.try_state(CONTROLS_KEY, &encode_to_vec(&controls))
}
