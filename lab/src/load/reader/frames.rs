//! Parses WebSocket frames (RFC 6455, section 5.2) for a reader that decodes nothing. Such a reader needs only the end of each
//! frame and its first bytes.

/// Number of payload bytes of a frame that are kept. These bytes suffice for any control frame, and for the head of any other
/// frame.
const HEAD_BYTES: usize = 125;

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    /// A text or binary frame, or a continuation.
    Data,
    Close,
    Ping,
    Pong,
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) opcode: Opcode,
    /// The payload of the frame, or its first bytes.
    pub(super) head: &'a [u8],
    /// The full length of the payload.
    pub(super) payload_bytes: u64,
}

/// The stream is not a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the received bytes are not a WebSocket frame of a server")]
pub(super) struct NoFrame;

/// Divides a stream of bytes into frames without storing them.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The incomplete head of a frame, or the beginning of its payload.
    kept: Vec<u8>,
    /// The opcode, the length, and the number of missing bytes of the current frame.
    inside: Option<(Opcode, u64, u64)>,
}

impl Frames {
    /// Parses received bytes, and passes on each frame that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Frame<'_>)) -> Result<(), NoFrame> {
        loop {
            let Some((opcode, payload_bytes, mut left)) = self.inside else {
                let Some((&byte, rest)) = bytes.split_first() else { return Ok(()) };
                self.kept.push(byte);
                bytes = rest;
                if let Some((opcode, length)) = read_head(&self.kept)? {
                    self.kept.clear();
                    self.inside = Some((opcode, length, length));
                }
                if self.inside.is_none_or(|(_, _, left)| left > 0) {
                    continue;
                }
                self.finish(&mut each);
                continue;
            };
            let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (of_this, rest) = bytes.split_at(taken);
            let room = HEAD_BYTES - self.kept.len();
            self.kept.extend_from_slice(&of_this[..taken.min(room)]);
            (bytes, left) = (rest, left - taken as u64);
            self.inside = Some((opcode, payload_bytes, left));
            if left > 0 {
                return Ok(());
            }
            self.finish(&mut each);
        }
    }

    fn finish(&mut self, each: &mut impl FnMut(Frame<'_>)) {
        if let Some((opcode, payload_bytes, _)) = self.inside.take() {
            each(Frame { opcode, head: &self.kept, payload_bytes });
        }
        self.kept.clear();
    }
}

/// Reads a complete header. Servers do not mask.
fn read_head(head: &[u8]) -> Result<Option<(Opcode, u64)>, NoFrame> {
    let [first, second, length @ ..] = head else { return Ok(None) };
    let opcode = match first & 0x0F {
        0..=2 => Opcode::Data,
        8 => Opcode::Close,
        9 => Opcode::Ping,
        10 => Opcode::Pong,
        _ => return Err(NoFrame),
    };
    let is_known = first & 0x70 == 0 && second & 0x80 == 0;
    if !is_known || (opcode != Opcode::Data && *second > 125) {
        return Err(NoFrame);
    }
    Ok(match (second, length) {
        (0..=125, _) => Some((opcode, u64::from(*second))),
        (126, [high, low]) => Some((opcode, u64::from(u16::from_be_bytes([*high, *low])))),
        (126, _) => None,
        (_, length) => length.try_into().ok().map(|length| (opcode, u64::from_be_bytes(length))),
    })
}

/// Appends a frame of a client. The mask is zero, because there is no proxy between these two processes that could be confused.
/// `first` is the first byte: the opcode and the final bit.
pub(super) fn put_frame(first: u8, payload: &[u8], out: &mut Vec<u8>) {
    const MASKED: u8 = 0x80;
    out.push(first);
    if let Ok(length @ 0..=125) = u8::try_from(payload.len()) {
        out.push(MASKED | length);
    } else {
        let length = u16::try_from(payload.len()).expect("a reader sends only short frames");
        out.push(MASKED | 126);
        out.extend_from_slice(&length.to_be_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the frames of a stream that a server wrote: opcode, length, and first bytes.
    fn cut(stream: &[u8], piece: usize) -> Vec<(Opcode, u64, Vec<u8>)> {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for bytes in stream.chunks(piece) {
            let pushed = frames
                .push(bytes, |frame| found.push((frame.opcode, frame.payload_bytes, frame.head.to_vec())));
            pushed.expect("these are frames");
        }
        found
    }

    #[test]
    fn frames_are_found_however_the_stream_is_cut() {
        let mut stream = vec![0x82, 3, 1, 2, 3, 0x89, 0, 0x81, 126, 1, 44];
        stream.extend([7; 300]);
        stream.extend([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
        stream.extend(vec![9; 65_536]);
        stream.extend([0x88, 2, 3, 232]);
        for piece in [1, 2, 3, 7, 1_000, stream.len()] {
            let found = cut(&stream, piece);
            assert_eq!(found.len(), 5, "in pieces of {piece}");
            assert_eq!(found[0], (Opcode::Data, 3, vec![1, 2, 3]));
            assert_eq!(found[1], (Opcode::Ping, 0, vec![]));
            assert_eq!(found[2], (Opcode::Data, 300, vec![7; HEAD_BYTES]));
            assert_eq!(found[3], (Opcode::Data, 65_536, vec![9; HEAD_BYTES]));
            assert_eq!(found[4], (Opcode::Close, 2, vec![3, 232]));
        }
    }

    #[test]
    fn frames_that_no_server_sends_are_refused() {
        for stream in [[0x82, 0x81], [0x83, 0], [0xC2, 0], [0x89, 126]] {
            assert_eq!(Frames::default().push(&stream, |_| {}), Err(NoFrame), "{stream:?}");
        }
    }

    #[test]
    fn a_client_frame_has_its_length_and_its_mask() {
        let mut out = Vec::new();
        put_frame(0x82, &[5, 6], &mut out);
        assert_eq!(out, [0x82, 0x82, 0, 0, 0, 0, 5, 6]);
        out.clear();
        put_frame(0x81, &[1; 200], &mut out);
        assert_eq!(out[..8], [0x81, 0xFE, 0, 200, 0, 0, 0, 0]);
        assert_eq!(out.len(), 208);
    }
}
