//! Reused buffers for payloads.

/// A buffer in a [`Store`]. The handle holds the index of the buffer. Its highest bit marks a long buffer, so that the removal
/// of a short buffer needs no lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(u32);

const LONG: u32 = 1 << 31;

impl Handle {
    fn index(self) -> usize {
        (self.0 & !LONG) as usize
    }

    fn is_long(self) -> bool {
        self.0 & LONG != 0
    }
}

/// The payloads between the application and the packets. In a steady state it allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Store {
    buffers: Vec<Buffer>,
    free: Vec<u32>,
}

/// A payload, stored inline while it is short. Most payloads are short, and one cache line holds such a buffer.
#[derive(Debug)]
enum Buffer {
    Short { length: u8, bytes: [u8; SHORT_BYTES_MAX] },
    Long(Vec<u8>),
}

const SHORT_BYTES_MAX: usize = 62;
/// A larger buffer frees its memory when it is removed, so that an idle session stays small.
const KEPT_BYTES_MAX: usize = 2_048;

impl Buffer {
    const EMPTY: Self = Self::Short { length: 0, bytes: [0; SHORT_BYTES_MAX] };

    fn set(&mut self, payload: &[u8]) {
        match self {
            Buffer::Short { length, bytes } if payload.len() <= SHORT_BYTES_MAX => {
                bytes[..payload.len()].copy_from_slice(payload);
                *length = payload.len() as u8;
            }
            Buffer::Short { .. } => *self = Buffer::Long(payload.to_vec()),
            Buffer::Long(bytes) => {
                bytes.clear();
                bytes.extend_from_slice(payload);
            }
        }
    }

    fn set_zeroed(&mut self, length: usize) {
        match self {
            Buffer::Short { .. } => *self = Buffer::Long(vec![0; length]),
            Buffer::Long(bytes) => {
                bytes.clear();
                bytes.resize(length, 0);
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Buffer::Short { length, bytes } => &bytes[..usize::from(*length)],
            Buffer::Long(bytes) => bytes,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Buffer::Short { length, bytes } => &mut bytes[..usize::from(*length)],
            Buffer::Long(bytes) => bytes,
        }
    }

    fn shrink(&mut self) {
        if let Buffer::Long(bytes) = self
            && bytes.capacity() > KEPT_BYTES_MAX
        {
            *self = Buffer::EMPTY;
        }
    }
}

impl Store {
    pub(crate) fn insert(&mut self, payload: &[u8]) -> Handle {
        self.fill(|buffer| buffer.set(payload))
    }

    pub(crate) fn insert_zeroed(&mut self, length: usize) -> Handle {
        self.fill(|buffer| buffer.set_zeroed(length))
    }

    fn fill(&mut self, set: impl FnOnce(&mut Buffer)) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Buffer::EMPTY);
            (self.buffers.len() - 1) as u32
        });
        let buffer = &mut self.buffers[index as usize];
        set(buffer);
        Handle(if matches!(buffer, Buffer::Long(_)) { index | LONG } else { index })
    }

    pub(crate) fn get(&self, handle: Handle) -> &[u8] {
        self.buffers[handle.index()].bytes()
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut [u8] {
        self.buffers[handle.index()].bytes_mut()
    }

    /// Frees a buffer. The handle must not be used afterwards.
    pub(crate) fn remove(&mut self, handle: Handle) {
        if handle.is_long() {
            self.buffers[handle.index()].shrink();
        }
        let index = handle.index() as u32;
        debug_assert!(!self.free.contains(&index), "a buffer is removed once");
        self.free.push(index);
    }

    /// Number of buffers in use.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.buffers.len() - self.free.len()
    }
}
