//! A packet that is being filled.

use crate::packet::{StateHead, varint_length, write};

/// Appends frames to the packet that is being filled, and knows how much room is left.
pub(crate) struct Builder<'a> {
    out: &'a mut Vec<u8>,
    end: usize,
    /// The start and the end of the content. The first message may exceed the end if it needs more room.
    content: Option<(usize, usize)>,
    open: Option<Open>,
    pub(crate) is_eliciting: bool,
}

/// The open STATES frame, to which further records can be added.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    lane: u8,
    interval: u64,
    base: u64,
}

impl<'a> Builder<'a> {
    /// Appends to `out` until it has a length of `end`.
    pub(crate) fn new(out: &'a mut Vec<u8>, end: usize) -> Self {
        Self { out, end, content: None, open: None, is_eliciting: false }
    }

    /// Begins the content, which ends at a length of `end`. The first message may exceed that end if it needs more room.
    pub(crate) fn begin_content(&mut self, end: usize) {
        self.content = Some((self.out.len(), end.min(self.end)));
    }

    fn end(&self) -> usize {
        match self.content {
            Some((begin, end)) if self.out.len() > begin => end,
            _ => self.end,
        }
    }

    /// Maximum number of bytes of the next frame.
    pub(crate) fn room(&self) -> usize {
        let closing = usize::from(self.open.is_some());
        self.end().saturating_sub(self.out.len() + closing)
    }

    /// Number of bytes that the next frame should have at most, if its content can be divided.
    pub(crate) fn room_to_share(&self) -> usize {
        let end = self.content.map_or(self.end, |(_, end)| end);
        self.room().min(end.saturating_sub(self.out.len()))
    }

    /// Appends an eliciting frame of at most [`Self::room`] bytes.
    pub(crate) fn frame(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.open.take().is_some() {
            write::states_end(self.out);
        }
        write(self.out);
        self.is_eliciting = true;
        debug_assert!(self.out.len() <= self.end, "a frame is no larger than the room");
    }

    /// Appends a value, if possible to the open STATES frame. Returns whether there was room.
    pub(crate) fn state(&mut self, lane: u8, interval: u64, state: StateHead, value: &[u8]) -> bool {
        let joins = self
            .open
            .filter(|open| open.lane == lane && open.interval == interval && open.base <= state.stamp);
        let base = joins.map_or(state.stamp, |open| open.base);
        let record = record_length(state, state.stamp - base, value.len());
        let begin = 1 + varint_length(interval) + varint_length(base);
        let fits = match joins {
            Some(_) => record <= self.end().saturating_sub(self.out.len()),
            None => begin + record <= self.room(),
        };
        if !fits {
            return false;
        }
        if joins.is_none() {
            self.frame(|out| write::states(out, lane, interval, base));
            self.open = Some(Open { lane, interval, base });
        }
        write::record(self.out, base, state, value);
        true
    }
}

fn record_length(state: StateHead, offset: u64, length: usize) -> usize {
    varint_length(state.key)
        + varint_length(offset)
        + varint_length(state.age_ms)
        + varint_length(length as u64)
        + length
}
