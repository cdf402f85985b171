//! How a subscriber's session takes from its publisher: when a packet may leave, and no more than goes into it. So nothing
//! of a subscriber waits anywhere but in what all subscribers share.

use std::task::Context;

use nowcast_queue::Refusal;
use nowcast_session::{CloseCode, Refused, Time};

use super::core::Core;

/// Maximum overhead of a message in a packet.
const HEAD_BYTES: usize = 24;
/// The lane of everything that is published.
const LANE: u8 = 0;

/// Puts into the session what a packet that leaves now has room for.
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
        // A message that is larger than any packet goes alone, in parts.
        if *room == 0 || cost > *room && !is_first {
            return;
        }
        *room = room.saturating_sub(cost);
        let put = match subscription.take() {
            Ok(Some((key, value))) if key.is_event() => {
                session.put_event(now, LANE, &value.bytes, None).map(drop)
            }
            Ok(Some((key, value))) => session.put_state(value.at, LANE, key.raw(), &value.bytes),
            Ok(None) | Err(_) => return,
        };
        if let Err(refused) = put {
            return refuse(core, now, &refused);
        }
    }
}

/// When the session may take what has been published; `None` if there is nothing, and then the driver is woken by the next.
pub(super) fn feed_at(core: &mut Core, now: Time, context: &mut Context<'_>) -> Option<Time> {
    let Core { session, subscription: Some(subscription), .. } = core else { return None };
    if subscription.poll_ready(context).is_pending() {
        return None;
    }
    // A peer that takes nothing falls behind at last, and is to hear of it then.
    if subscription.poll_behind(context).is_ready() {
        end(core, now, Refusal::Behind);
        return Some(now);
    }
    session.content_room_at(now)
}

/// The publisher has no more for this subscriber.
fn end(core: &mut Core, now: Time, refusal: Refusal) {
    core.subscription = None;
    match refusal {
        Refusal::Closed => core.linger(now),
        refusal => core.session.close(now, CloseCode::BEHIND, &refusal.to_string()),
    }
}

/// The queue is empty, so the message is larger than this peer accepts, or than its lane may hold.
fn refuse(core: &mut Core, now: Time, refused: &Refused) {
    core.subscription = None;
    core.session.close(
        now,
        CloseCode::LIMIT_EXCEEDED,
        &format!("published, but not for this peer: {refused}"),
    );
}
