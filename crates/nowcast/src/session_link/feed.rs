//! Moves published messages into a subscriber's session, but only when a packet may leave, and only as many as fit into the
//! packet. So no subscriber's messages wait outside the shared table.

use std::task::Context;

use nowcast_engine::DrivenSession;
use nowcast_queue::Refusal;
use nowcast_session::{CloseCode, Refused, Time};

use crate::published::Subscription;

/// Maximum overhead of a message in a packet.
const HEAD_BYTES: usize = 24;
/// The lane of published messages.
const LANE: u8 = 0;

/// Puts messages into the session, but no more than fit into a packet now.
pub(super) fn feed(source: &mut Option<Subscription>, driven: &mut DrivenSession) {
    if driven.protocol.is_closed() {
        *source = None;
    }
    let Some(subscription) = source else { return };
    let now = driven.now();
    let mut room = None;
    loop {
        let bytes = match subscription.peek(|_, value| value.bytes.len()) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(refusal) => {
                end(driven, refusal);
                break;
            }
        };
        let cost = bytes + HEAD_BYTES;
        let is_first = room.is_none();
        let room = room.get_or_insert_with(|| driven.protocol.content_room(now));
        // A message larger than any packet is put alone and leaves in fragments.
        if *room == 0 || cost > *room && !is_first {
            return;
        }
        *room = room.saturating_sub(cost);
        let put = match subscription.take() {
            Ok(Some((key, value))) if key.is_event() => driven.protocol.put_event(now, LANE, &value.bytes),
            Ok(Some((key, value))) => driven.protocol.put_state(value.at, LANE, key.raw(), &value.bytes),
            Ok(None) | Err(_) => return,
        };
        if let Err(refused) = put {
            refuse(driven, &refused);
            break;
        }
    }
    *source = None;
}

/// Returns the time at which the session may take published messages. Returns `None` if there are no messages; the next message
/// then wakes the driver.
pub(super) fn feed_at(
    source: &mut Option<Subscription>,
    driven: &mut DrivenSession,
    context: &mut Context<'_>,
) -> Option<Time> {
    let subscription = source.as_mut()?;
    if subscription.poll_ready(context).is_pending() {
        return None;
    }
    // A peer that accepts nothing falls behind and must then be closed.
    if subscription.poll_behind(context).is_ready() {
        *source = None;
        end(driven, Refusal::Behind);
        return Some(driven.now());
    }
    driven.protocol.content_room_at(driven.now())
}

/// Ends the session, because the publisher has no further messages for this subscriber.
fn end(driven: &mut DrivenSession, refusal: Refusal) {
    match refusal {
        Refusal::Closed => driven.close_after_delivery(CloseCode::DONE.0, ""),
        refusal => driven.close(CloseCode::BEHIND.0, &refusal.to_string()),
    }
}

/// The session refuses the message although its queue is empty. So the message is larger than this peer or its lane accepts.
fn refuse(driven: &mut DrivenSession, refused: &Refused) {
    let reason = format!("a published message cannot be sent to this peer: {refused}");
    driven.close(CloseCode::LIMIT_EXCEEDED.0, &reason);
}
