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
    /// The largest number of buffers in use since the last call of [`shrink`](Self::shrink).
    peak: usize,
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
/// Half of the number of buffers that are always kept.
const KEPT_BUFFERS_MIN: usize = 8;

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
        self.peak = self.peak.max(self.used());
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
    pub(crate) fn used(&self) -> usize {
        self.buffers.len() - self.free.len()
    }

    /// Frees memory after a burst: keeps twice as many buffers as were in use at once since the last call. A buffer in use keeps
    /// its place, and with it all buffers before it.
    pub(crate) fn shrink(&mut self) {
        let kept = 2 * self.peak.max(KEPT_BUFFERS_MIN);
        self.peak = self.used();
        if self.buffers.len() <= 2 * kept {
            return;
        }
        let mut is_free = vec![false; self.buffers.len()];
        self.free.iter().for_each(|&index| is_free[index as usize] = true);
        let end_of_used = is_free.iter().rposition(|is_free| !is_free).map_or(0, |last| last + 1);
        self.buffers.truncate(kept.max(end_of_used));
        self.buffers.shrink_to_fit();
        self.free.retain(|&index| (index as usize) < self.buffers.len());
        self.free.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_burst_the_memory_of_unused_buffers_is_freed_and_used_ones_keep_their_bytes() {
        let mut store = Store::default();
        let handles: Vec<_> = (0..200u8).map(|number| store.insert(&[number])).collect();
        handles.iter().skip(20).for_each(|&handle| store.remove(handle));
        store.shrink();
        assert_eq!(store.buffers.len(), 200, "all were in use since the last call");
        store.shrink();
        assert_eq!(store.buffers.len(), 40, "twice the number in use");
        assert!(store.free.capacity() < 100);
        for (number, &handle) in (0..20).zip(&handles) {
            assert_eq!(store.get(handle), [number]);
        }
        let more: Vec<_> = (0..60u8).map(|number| store.insert(&[number])).collect();
        assert_eq!(store.used(), 80);
        assert!(more.iter().zip(0..).all(|(&handle, number)| store.get(handle) == [number]));
    }
}
