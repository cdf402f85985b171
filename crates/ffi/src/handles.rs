//! The table of objects that C programs name by handles.
//!
//! A handle has the kind of its object (8 bits, never 0), the index of a slot (24 bits), and the generation of the slot
//! (32 bits). Freeing an object raises the generation, so that the old handle is invalid. Free slots are used in the order in
//! which they became free, so that a generation repeats only after 2^32 uses of one slot.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use nowcast::{Listener, Publisher, Service};

use crate::channel::ChannelObject;
use crate::failure::{Failure, Status};
use crate::save::Save;
use crate::world::World;

const CHUNK: usize = 256;
const CHUNKS: usize = 64;

/// An object with a handle.
#[derive(Clone)]
pub(crate) enum Object {
    Channel(Arc<ChannelObject>),
    Listener(Arc<Listener>),
    Service(Arc<Mutex<Service>>),
    Publisher(Arc<Publisher>),
    World(Arc<World>),
    Save(Arc<Mutex<Save>>),
}

impl Object {
    fn tag(&self) -> u8 {
        match self {
            Self::Channel(_) => 1,
            Self::Listener(_) => 2,
            Self::Service(_) => 3,
            Self::Publisher(_) => 4,
            Self::World(_) => 5,
            Self::Save(_) => 6,
        }
    }
}

/// A type of objects.
pub(crate) trait Kind: Sized {
    /// The name of the type in messages, with its article.
    const NAME: &'static str;

    fn of(object: &Object) -> Option<&Arc<Self>>;
}

macro_rules! kinds {
    ($($type:ty => $variant:ident, $name:literal;)*) => {$(
        impl Kind for $type {
            const NAME: &'static str = $name;

            fn of(object: &Object) -> Option<&Arc<Self>> {
                match object {
                    Object::$variant(object) => Some(object),
                    _ => None,
                }
            }
        }
    )*};
}

kinds! {
    ChannelObject => Channel, "a channel";
    Listener => Listener, "a listener";
    Mutex<Service> => Service, "a service";
    Publisher => Publisher, "a publisher";
    World => World, "a world";
    Mutex<Save> => Save, "a save file";
}

struct Slot {
    generation: u32,
    object: Option<Object>,
}

struct Free {
    slots: VecDeque<u32>,
    /// The first slot that was never used.
    unused: u32,
}

static SLOTS: [OnceLock<Box<[RwLock<Slot>]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
static FREE: Mutex<Free> = Mutex::new(Free { slots: VecDeque::new(), unused: 0 });

/// Adds an object, and returns its handle.
///
/// # Errors
/// [`Status::LimitReached`] if the table is full.
pub(crate) fn add(object: Object) -> Result<u64, Failure> {
    let index = {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        match free.slots.pop_front() {
            Some(index) => index,
            None if (free.unused as usize) < CHUNK * CHUNKS => {
                free.unused += 1;
                free.unused - 1
            }
            None => return Err(Failure::new(Status::LimitReached, "16384 handles exist: free some")),
        }
    };
    let chunk = SLOTS[index as usize / CHUNK]
        .get_or_init(|| (0..CHUNK).map(|_| RwLock::new(Slot { generation: 1, object: None })).collect());
    let mut slot = chunk[index as usize % CHUNK].write().unwrap_or_else(PoisonError::into_inner);
    let handle = u64::from(object.tag()) << 56 | u64::from(index) << 32 | u64::from(slot.generation);
    slot.object = Some(object);
    Ok(handle)
}

fn slot(handle: u64) -> Option<&'static RwLock<Slot>> {
    let index = (handle >> 32 & 0xff_ffff) as usize;
    SLOTS.get(index / CHUNK)?.get()?.get(index % CHUNK)
}

fn invalid(handle: u64) -> Failure {
    let text = match handle {
        0 => "the handle is 0: an earlier call failed, or the variable was never set",
        _ => "the handle names no object: it was freed, or it never came from this library",
    };
    Failure::new(Status::InvalidHandle, text)
}

/// Calls `use_object` with the object. The call must not wait, because freeing the handle waits for it.
///
/// # Errors
/// [`Status::InvalidHandle`].
#[inline]
pub(crate) fn with<T: Kind, R>(
    handle: u64,
    use_object: impl FnOnce(&Arc<T>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let slot = slot(handle).ok_or_else(|| invalid(handle))?.read().unwrap_or_else(PoisonError::into_inner);
    match &slot.object {
        Some(object) if slot.generation == handle as u32 => match T::of(object) {
            Some(found) if object.tag() == (handle >> 56) as u8 => use_object(found),
            _ => Err(Failure::new(Status::InvalidHandle, format!("the handle is not that of {}", T::NAME))),
        },
        _ => Err(invalid(handle)),
    }
}

/// Returns the object. It lives at least as long as the returned reference.
///
/// # Errors
/// [`Status::InvalidHandle`].
pub(crate) fn get<T: Kind>(handle: u64) -> Result<Arc<T>, Failure> {
    with(handle, |object| Ok(Arc::clone(object)))
}

/// Removes an object, and drops it.
///
/// # Errors
/// [`Status::InvalidHandle`].
pub(crate) fn free(handle: u64) -> Result<(), Failure> {
    let object = {
        let place = slot(handle).ok_or_else(|| invalid(handle))?;
        let mut slot = place.write().unwrap_or_else(PoisonError::into_inner);
        if slot.generation != handle as u32
            || slot.object.as_ref().is_none_or(|object| object.tag() != (handle >> 56) as u8)
        {
            return Err(invalid(handle));
        }
        slot.generation = slot.generation.checked_add(1).unwrap_or(1);
        slot.object.take()
    };
    // The slot is free even if the destructor panics.
    let index = (handle >> 32 & 0xff_ffff) as u32;
    FREE.lock().unwrap_or_else(PoisonError::into_inner).slots.push_back(index);
    drop(object);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nowcast::blocking;

    fn service(name: &str) -> Object {
        let name = format!("ffi-handles-{name}-{}", std::process::id());
        Object::Service(Arc::new(Mutex::new(blocking::advertise(&name).expect("the name is free"))))
    }

    fn status<T: Kind>(handle: u64) -> Option<Status> {
        get::<T>(handle).err().map(|failure| failure.status)
    }

    #[test]
    fn freed_handles_stay_invalid_when_their_slot_is_used_again() {
        let first = add(service("first")).unwrap();
        assert_eq!(status::<Mutex<Service>>(first), None);
        free(first).unwrap();
        assert_eq!(free(first).unwrap_err().status, Status::InvalidHandle);
        let later: Vec<u64> = (0..4).map(|number| add(service(&format!("later{number}"))).unwrap()).collect();
        assert!(!later.contains(&first));
        assert_eq!(status::<Mutex<Service>>(first), Some(Status::InvalidHandle));
        later.into_iter().for_each(|handle| free(handle).unwrap());
    }

    #[test]
    fn invented_handles_and_handles_of_other_kinds_are_refused() {
        let handle = add(service("kinds")).unwrap();
        for wrong in [0, 1, u64::MAX, handle ^ 1 << 56, handle + 1, handle ^ 1 << 40] {
            assert_eq!(status::<Mutex<Service>>(wrong), Some(Status::InvalidHandle), "{wrong:x}");
            assert_eq!(free(wrong).unwrap_err().status, Status::InvalidHandle, "{wrong:x}");
        }
        assert_eq!(status::<World>(handle), Some(Status::InvalidHandle));
        free(handle).unwrap();
    }
}
