//! Buffers of payloads, used again instead of allocated anew.

/// A buffer in a [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(u32);

/// Payloads between the application and the packets; in a steady state it allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Store {
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
}

/// A larger buffer gives its memory back when it is removed, so that an idle session stays small.
const KEPT_BYTES_MAX: usize = 2_048;

impl Store {
    pub(crate) fn insert(&mut self, payload: &[u8]) -> Handle {
        let handle = self.insert_zeroed(0);
        self.buffers[handle.0 as usize].extend_from_slice(payload);
        handle
    }

    pub(crate) fn insert_zeroed(&mut self, length: usize) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            (self.buffers.len() - 1) as u32
        });
        self.buffers[index as usize].resize(length, 0);
        Handle(index)
    }

    pub(crate) fn get(&self, handle: Handle) -> &[u8] {
        &self.buffers[handle.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut [u8] {
        &mut self.buffers[handle.0 as usize]
    }

    /// The handle must not be used afterwards.
    pub(crate) fn remove(&mut self, handle: Handle) {
        let buffer = &mut self.buffers[handle.0 as usize];
        buffer.clear();
        buffer.shrink_to(KEPT_BYTES_MAX);
        debug_assert!(!self.free.contains(&handle.0), "a buffer is removed once");
        self.free.push(handle.0);
    }

    /// Buffers in use.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.buffers.len() - self.free.len()
    }
}
