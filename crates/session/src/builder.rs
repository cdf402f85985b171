//! A packet that is being filled.

use crate::packet::{StateHead, varint_length, write};
use crate::source::Space;

/// Appends frames to the packet that is being filled, and knows how much room is left.
pub(crate) struct Builder<'a> {
    out: &'a mut Vec<u8>,
    pub(crate) layout: Layout,
}

/// The state of a [`Builder`] while a source writes into the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    end: usize,
    /// The start and the end of the content. The first message may exceed the end if it needs more room.
    content: Option<(usize, usize)>,
    open: Option<Open>,
    pub(crate) is_eliciting: bool,
}

impl Layout {
    /// The layout of a packet with frames up to a length of `end`.
    pub(crate) fn new(end: usize) -> Self {
        Self { end, content: None, open: None, is_eliciting: false }
    }
}

/// Maximum size of the head of a REPLICATION frame, and of the content whose length fits into such a head.
const HEAD_BYTES: usize = 3;
const CONTENT_BYTES_MAX: usize = (1 << 14) - 1;

/// The open STATES frame, to which further records can be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    lane: u8,
    interval: u64,
    base: u64,
}

impl<'a> Builder<'a> {
    /// Appends to `out`, which has this layout.
    pub(crate) fn new(out: &'a mut Vec<u8>, layout: Layout) -> Self {
        Self { out, layout }
    }

    /// Begins the content, which ends at a length of `end`. The first message may exceed that end if it needs more room.
    pub(crate) fn begin_content(&mut self, end: usize) {
        self.layout.content = Some((self.out.len(), end.min(self.layout.end)));
    }

    fn end(&self) -> usize {
        match self.layout.content {
            Some((begin, end)) if self.out.len() > begin => end,
            _ => self.layout.end,
        }
    }

    /// Number of bytes that close the open STATES frame.
    fn closing_bytes(&self) -> usize {
        usize::from(self.layout.open.is_some())
    }

    /// Maximum number of bytes of the next frame.
    pub(crate) fn room(&self) -> usize {
        self.end().saturating_sub(self.out.len() + self.closing_bytes())
    }

    /// Begins a REPLICATION frame: leaves room for its head. Returns `None` if there is no room for content.
    pub(crate) fn begin_replication(&mut self, lane: u8, number: u64) -> Option<Space> {
        let room = self.room();
        // The content can be divided, so it should not exceed the end of the packet's content.
        let end = self.layout.content.map_or(self.layout.end, |(_, end)| end);
        let share = room.min(end.saturating_sub(self.out.len()));
        let rooms = [share, room].map(|room| room.saturating_sub(HEAD_BYTES).min(CONTENT_BYTES_MAX));
        let begin = self.out.len() + self.closing_bytes() + HEAD_BYTES;
        (rooms[1] > 0).then(|| self.out.resize(begin, 0))?;
        Some(Space { lane, number, rooms, begin })
    }

    /// Ends a REPLICATION frame after a source has written: writes the head, or removes the room for it if there is no content.
    pub(crate) fn end_replication(&mut self, space: &Space) -> bool {
        let start = space.begin - HEAD_BYTES - self.closing_bytes();
        let length = self.out.len() - space.begin;
        if length == 0 {
            self.out.truncate(start);
            return false;
        }
        let unused = HEAD_BYTES - 1 - varint_length(length as u64);
        self.out.drain(start..start + unused);
        let end = self.out.len();
        self.frame(|out| {
            write::replication_head(out, space.lane, length);
            out.copy_within(end.., start);
            out.truncate(end);
        });
        true
    }

    /// Appends an eliciting frame of at most [`Self::room`] bytes.
    pub(crate) fn frame(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.layout.open.take().is_some() {
            write::states_end(self.out);
        }
        write(self.out);
        self.layout.is_eliciting = true;
        debug_assert!(self.out.len() <= self.layout.end, "a frame is no larger than the room");
    }

    /// Appends a value, if possible to the open STATES frame. Returns whether there was room.
    pub(crate) fn state(&mut self, lane: u8, interval: u64, state: StateHead, value: &[u8]) -> bool {
        let joins = self
            .layout
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
            self.layout.open = Some(Open { lane, interval, base });
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
