//! Compatibility between versions of a type on a typed lane (`spec/WIRE.md`, section 3.2). Before the first value of a type, an
//! event on the same lane announces the shape of the type under a number. Each value begins with that number. These events are
//! not passed on to the application. A reply contains its announcement, because the task that waits for the reply may not read
//! events.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use nowcast_wire::{Read, Receiver, Shape};

use super::Error;

/// Prefix of announcements and other special events, and of typed replies.
const MARK: [u8; 8] = *b"\0NCTYPED";
/// Follows the mark: the rest is an event of the application that itself begins with the mark.
const ESCAPED: u8 = 1;
/// Follows the mark: the rest is an announcement of `spec/WIRE.md`, section 3.1.
const ANNOUNCEMENT: u8 = 0;
/// The smallest number of a shape. Smaller numbers have other meanings.
const SHAPE_ID_MIN: usize = 2;
const SHAPE_ID_MAX: usize = 16_383;

/// The number of a shape. It precedes each value of the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeId(u16);

impl ShapeId {
    /// Appends the number in one or two bytes.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        put_varint(out, self.0.into());
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_announcement(out: &mut Vec<u8>, id: ShapeId, shape: &[u8]) {
    out.push(ANNOUNCEMENT);
    id.write(out);
    put_varint(out, shape.len());
    out.extend_from_slice(shape);
}

/// Returns the bit of a lane. A channel has at most 16 lanes.
fn bit(lane: u8) -> u32 {
    1_u32.checked_shl(lane.into()).unwrap_or(0)
}

/// The announcement of a type to a peer.
#[derive(Clone, Copy)]
pub struct TypeShape {
    /// The type in this process.
    pub(super) kind: TypeId,
    pub(super) shape: fn() -> Shape,
}

/// A channel's shapes, in both directions.
#[derive(Default)]
pub(crate) struct Shapes {
    ours: Mutex<Announcer>,
    theirs: Arc<Announced>,
}

/// The shapes that this side has announced.
#[derive(Default)]
pub(crate) struct Announcer {
    /// The number of the shape that has these bytes.
    ids: BTreeMap<Vec<u8>, ShapeId>,
    /// The number of a type, and a bit for each lane on which it was announced.
    known: HashMap<TypeId, (ShapeId, u32)>,
    /// Headers of typed replies.
    heads: HashMap<TypeId, Arc<[u8]>>,
}

impl Announcer {
    /// Returns the number of the shape of a type. Before the first value on a lane, announces the shape there with `announce`.
    pub(crate) fn announce(
        &mut self,
        TypeShape { kind, shape }: TypeShape,
        lane: u8,
        announce: impl FnOnce(&[u8]) -> Poll<Result<(), Error>>,
    ) -> Poll<Result<ShapeId, Error>> {
        if let Some((id, lanes)) = self.known.get(&kind)
            && lanes & bit(lane) != 0
        {
            return Poll::Ready(Ok(*id));
        }
        // Lanes do not wait for each other, so each lane gets its own announcement.
        let (id, event) = self.announcement(&shape());
        let announced = announce(&event);
        if let Poll::Ready(Ok(())) = announced {
            self.known.entry(kind).or_insert((id, 0)).1 |= bit(lane);
        }
        announced.map(|put| put.map(|()| id))
    }

    /// Returns the header for replies of a type: the announcement and the shape's number.
    pub(super) fn head_of_reply(&mut self, TypeShape { kind, shape }: TypeShape) -> Arc<[u8]> {
        if let Some(head) = self.heads.get(&kind) {
            return Arc::clone(head);
        }
        let (id, mut head) = self.announcement(&shape());
        id.write(&mut head);
        Arc::clone(self.heads.entry(kind).or_insert(head.into()))
    }

    /// Returns the number of a shape, and the mark with its announcement.
    ///
    /// # Panics
    /// If a program puts values of more types than there are numbers (16,382).
    fn announcement(&mut self, shape: &Shape) -> (ShapeId, Vec<u8>) {
        let next = SHAPE_ID_MIN + self.ids.len();
        assert!(next <= SHAPE_ID_MAX, "more types on one channel than shape numbers");
        let bytes = shape.to_bytes();
        let id = *self.ids.entry(bytes.clone()).or_insert(ShapeId(next as u16));
        let mut announcement = MARK.to_vec();
        put_announcement(&mut announcement, id, &bytes);
        (id, announcement)
    }

    /// Returns an event that announces all shapes announced so far, for a peer that joins later.
    pub(crate) fn all(&self) -> Option<Vec<u8>> {
        let mut event = MARK.to_vec();
        self.ids.iter().for_each(|(shape, id)| put_announcement(&mut event, *id, shape));
        (!self.ids.is_empty()).then_some(event)
    }
}

impl Shapes {
    pub(crate) fn ours(&self) -> MutexGuard<'_, Announcer> {
        // A panic leaves no partial change.
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Examines an event that arrived. Returns true for an announcement. An announcement is not passed to the application.
    #[inline]
    pub(crate) fn take_in(&self, lane: u8, event: &mut Vec<u8>) -> bool {
        event.starts_with(&MARK) && self.theirs.take_in(lane, event)
    }

    /// Returns the message in a typed reply and its type; `None` for a reply of bytes.
    pub(super) fn of_reply<'a>(&self, reply: &'a [u8]) -> Option<(&Announced, &'a [u8])> {
        reply.strip_prefix(&MARK).map(|message| (&*self.theirs, message))
    }

    /// Returns the types of a lane, if the peer has announced shapes on it.
    pub(crate) fn of(&self, lane: u8) -> Option<Arc<Announced>> {
        self.theirs.has(lane).then(|| Arc::clone(&self.theirs))
    }
}

/// The shapes that the peer has announced.
#[derive(Default)]
pub(crate) struct Announced {
    /// A bit for each lane on which there was an announcement.
    lanes: AtomicU32,
    scope: Mutex<Scope>,
}

#[derive(Default)]
struct Scope {
    receiver: Receiver,
    /// The fault of an announcement.
    fault: Option<String>,
}

impl Announced {
    fn has(&self, lane: u8) -> bool {
        self.lanes.load(Ordering::Relaxed) & bit(lane) != 0
    }

    fn take_in(&self, lane: u8, event: &mut Vec<u8>) -> bool {
        match event.get(MARK.len()) {
            Some(&ESCAPED) => {
                event.drain(..=MARK.len());
                false
            }
            Some(&ANNOUNCEMENT) => {
                let mut scope = self.scope();
                let wrong = match scope.receiver.accept(&event[MARK.len()..]) {
                    Ok(false) => None,
                    Ok(true) => Some("more than announcements".to_owned()),
                    Err(error) => Some(error.to_string()),
                };
                if scope.fault.is_none() {
                    scope.fault = wrong;
                }
                drop(scope);
                self.lanes.fetch_or(bit(lane), Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }

    /// Decodes a message of any version of the type `T`.
    pub(crate) fn decode<'de, T: Read<'de>>(&self, message: &'de [u8]) -> Result<T, Error> {
        let mut scope = self.scope();
        scope.receiver.decode(message).map_err(|error| {
            let fault = scope.fault.as_ref();
            let fault = fault.map(|fault| format!("; an announcement of the peer was invalid: {fault}"));
            Error::Invalid(format!("{error}{}", fault.unwrap_or_default()))
        })
    }

    fn scope(&self) -> MutexGuard<'_, Scope> {
        // A panic leaves no partial change.
        self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Announced {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Announced").finish_non_exhaustive()
    }
}

/// Returns the bytes that are sent for an event of the application. An event that begins with the mark gets a prefix.
#[inline]
pub(crate) fn as_event(payload: &[u8]) -> Cow<'_, [u8]> {
    if payload.starts_with(&MARK) {
        return Cow::Owned([MARK.as_slice(), &[ESCAPED], payload].concat());
    }
    Cow::Borrowed(payload)
}

#[cfg(test)]
mod tests {
    use nowcast_wire::{Wire, encode_to_vec};

    use super::*;

    const LANE: u8 = 3;

    fn type_shape<T: Wire>() -> TypeShape {
        TypeShape { kind: typeid::of::<T>(), shape: Shape::of::<T> }
    }

    /// Returns the announcement of `T`, and its number.
    fn announcement<T: Wire>(announcer: &mut Announcer) -> (Option<Vec<u8>>, ShapeId) {
        let mut event = None;
        let announced = announcer.announce(type_shape::<T>(), LANE, |bytes| {
            event = Some(bytes.to_vec());
            Poll::Ready(Ok(()))
        });
        let Poll::Ready(Ok(id)) = announced else { panic!("there is room") };
        (event, id)
    }

    /// The test vector of `spec/WIRE.md`, section 3.2, which the TypeScript test also checks.
    #[test]
    fn an_announcement_has_the_bytes_of_the_specification() {
        let (event, id) = announcement::<u16>(&mut Announcer::default());
        assert_eq!(event.as_deref(), Some(b"\0NCTYPED\x00\x02\x02\x03\x00".as_slice()));
        assert_eq!(id, ShapeId(2));
    }

    /// The test vector of a reply.
    #[test]
    fn a_reply_has_its_announcement_within() {
        let head = Announcer::default().head_of_reply(type_shape::<u16>());
        let reply = [&*head, encode_to_vec(&300_u16).as_slice()].concat();
        assert_eq!(reply, b"\0NCTYPED\x00\x02\x02\x03\x00\x02\x2c\x01");
        let shapes = Shapes::default();
        let (announced, message) = shapes.of_reply(&reply).expect("the reply is typed");
        assert_eq!(announced.decode::<u64>(message), Ok(300));
        assert!(shapes.of_reply(&[0x2c, 1]).is_none(), "a reply of bytes is the value alone");
    }

    #[test]
    fn a_type_is_announced_once_a_lane_and_equal_shapes_share_a_number() {
        let mut announcer = Announcer::default();
        let (first, id) = announcement::<u16>(&mut announcer);
        assert!(first.is_some());
        assert_eq!(announcement::<u16>(&mut announcer), (None, id));
        let (event, other) = announcement::<String>(&mut announcer);
        assert!(event.is_some() && other != id);
        assert_eq!(announcer.all().map(|all| all.len()), Some(8 + 5 + 5));
    }

    #[test]
    fn an_announcement_that_found_no_room_is_repeated() {
        let mut announcer = Announcer::default();
        assert!(announcer.announce(type_shape::<u16>(), LANE, |_| Poll::Pending).is_pending());
        assert!(announcement::<u16>(&mut announcer).0.is_some());
    }

    #[test]
    fn announcements_are_bounded_and_faults_are_named() {
        let shapes = Shapes::default();
        let mut endless = [MARK.as_slice(), &[0, 2, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
        assert!(shapes.take_in(LANE, &mut endless), "an announcement is not a message");
        let announced = shapes.of(LANE).expect("there was an announcement");
        let Err(Error::Invalid(what)) = announced.decode::<u16>(&[2, 0, 0]) else {
            panic!("no shape is known")
        };
        assert!(what.contains("announcement"), "{what}");
        // Many shapes, each with its own number. The scope stores no more than its limit.
        for id in 0..3_000_u16 {
            let mut event = MARK.to_vec();
            put_announcement(&mut event, ShapeId(2 + id), &[3, 0]);
            assert!(shapes.take_in(LANE, &mut event));
        }
        assert_eq!(
            announced.decode::<u16>(&[0x80, 0x02, 9, 0]),
            Ok(9),
            "a message within the limit is known"
        );
        assert!(matches!(announced.decode::<u16>(&[0x80, 0x17, 9, 0]), Err(Error::Invalid(_))));
    }

    #[test]
    fn an_event_that_ends_after_the_mark_is_passed_to_the_application() {
        let shapes = Shapes::default();
        for rest in [&[][..], &[7, 7]] {
            let mut event = [MARK.as_slice(), rest].concat();
            let before = event.clone();
            assert!(!shapes.take_in(LANE, &mut event));
            assert_eq!(event, before);
            assert!(shapes.of(LANE).is_none());
        }
    }
}
