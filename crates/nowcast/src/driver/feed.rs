//! Moves published messages into a subscriber's session, but only when a packet may leave, and only as many as fit into the
//! packet. So no subscriber's messages wait outside the shared table.

use std::task::Context;

use nowcast_queue::Refusal;
use nowcast_session::{CloseCode, Refused, Time};

use super::core::Core;

/// Maximum overhead of a message in a packet.
const HEAD_BYTES: usize = 24;
/// The lane of published messages.
const LANE: u8 = 0;

/// Puts messages into the session, but no more than fit into a packet now.
pub(super) fn feed(core: &mut Core, now: Time) {
    if core.session.is_closed() {
        core.subscription = None;
    }
    let Core { session, subscription: Some(subscription), .. } = core else { return };
    let mut room = None;
    loop {
        let bytes = match subscription.peek(|_, value| value.bytes.len()) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(refusal) => return end(core, now, refusal),
        };
        let cost = bytes + HEAD_BYTES;
        let is_first = room.is_none();
        let room = room.get_or_insert_with(|| session.content_room(now));
        // A message larger than any packet is put alone and leaves in fragments.
        if *room == 0 || cost > *room && !is_first {
            return;
        }
        *room = room.saturating_sub(cost);
        let put = match subscription.take() {
            Ok(Some((key, value))) if key.is_event() => session.put_event(now, LANE, &value.bytes),
            Ok(Some((key, value))) => session.put_state(value.at, LANE, key.raw(), &value.bytes),
            Ok(None) | Err(_) => return,
        };
        if let Err(refused) = put {
            return refuse(core, now, &refused);
        }
    }
}

/// Returns the time at which the session may take published messages. Returns `None` if there are no messages; the next message
/// then wakes the driver.
pub(super) fn feed_at(core: &mut Core, now: Time, context: &mut Context<'_>) -> Option<Time> {
    let Core { session, subscription: Some(subscription), .. } = core else { return None };
    if subscription.poll_ready(context).is_pending() {
        return None;
    }
    // A peer that accepts nothing falls behind and must then be closed.
    if subscription.poll_behind(context).is_ready() {
        end(core, now, Refusal::Behind);
        return Some(now);
    }
    session.content_room_at(now)
}

/// Ends the subscription, because the publisher has no further messages for this subscriber.
fn end(core: &mut Core, now: Time, refusal: Refusal) {
    core.subscription = None;
    match refusal {
        Refusal::Closed => core.linger(now, CloseCode::DONE, ""),
        refusal => core.session.close(now, CloseCode::BEHIND, &refusal.to_string()),
    }
}

/// The session refuses the message although its queue is empty. So the message is larger than this peer or its lane accepts.
fn refuse(core: &mut Core, now: Time, refused: &Refused) {
    core.subscription = None;
    core.session.close(
        now,
        CloseCode::LIMIT_EXCEEDED,
        &format!("a published message cannot be sent to this peer: {refused}"),
    );
}
