//! The bytes of a replication payload (`spec/WORLD.md`, section 5).

use crate::GROUPS_MAX;
use crate::row::Quantization;

/// Size of a payload's header: the tick and the number of the current input.
pub(crate) const HEAD_BYTES: usize = 4 + 2;
/// Group and depth, age, ages of the baselines and unchanged ticks (or the quantization, which is shorter), length.
pub(crate) const RECORD_HEAD_BYTES_MAX: usize = 3 + 5 + 4 * 5 + 2;

/// The lowest bits of a record's first number, below the group. They state whether the times of the record equal those of
/// the preceding record, how many baselines the record has, and whether its frame holds a motion row.
const GROUP_SHIFT: u32 = 4;
const MOTION: u32 = 8;
const ALIKE: u32 = 4;
const DEPTH: u32 = 3;

/// The header of the delta of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHead {
    pub(crate) group: u16,
    /// Whether the frame holds a motion row (`spec/MOTION.md`).
    pub(crate) is_motion: bool,
    /// The tick of the group's frame. The group has not changed since then.
    pub(crate) tick: u32,
    /// The ticks of the baselines that the frame is encoded against, newest first.
    pub(crate) baselines: [Option<u32>; 3],
    /// The number of ticks for which the first baseline stayed valid.
    pub(crate) unchanged_ticks: u32,
    /// The quantization of a frame without baselines. Other frames have the quantization of their baselines.
    pub(crate) quantization: Option<Quantization>,
}

/// A malformed payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// The payload ends within a field.
    #[error("malformed replication: {0} ends too early")]
    Short(&'static str),
    /// A field has a value that is not allowed.
    #[error("malformed replication: {0} is out of range")]
    Range(&'static str),
    /// The delta of a group cannot be read.
    #[error("malformed replication: group {group}: {error}")]
    Delta {
        /// The group.
        group: u16,
        /// The decoder's error.
        error: nowcast_wire::delta::DeltaError,
    },
}

impl RecordHead {
    /// Writes the head and then the delta. `before` is the previous record in the payload.
    pub(crate) fn write(&self, payload_tick: u32, before: Option<&Self>, delta: &[u8], out: &mut Vec<u8>) {
        let depth = self.baselines.iter().flatten().count() as u32;
        let is_alike = before.is_some_and(|before| match self.is_motion {
            true => before.tick == self.tick,
            false => depth > 0 && !before.is_motion && self.has_times_of(before),
        });
        let flags = if is_alike { ALIKE } else { 0 } | if self.is_motion { MOTION } else { 0 };
        out.reserve(RECORD_HEAD_BYTES_MAX + delta.len());
        put(u32::from(self.group) << GROUP_SHIFT | flags | depth, out);
        if !is_alike {
            put(payload_tick.wrapping_sub(self.tick), out);
        }
        if !is_alike || self.is_motion {
            for baseline in self.baselines.iter().flatten() {
                put(self.tick.wrapping_sub(*baseline), out);
            }
            match self.quantization {
                Some(quantization) => put(quantization.to_number(), out),
                None if self.is_motion => {}
                None => put(self.unchanged_ticks, out),
            }
        }
        put(delta.len() as u32, out);
        out.extend_from_slice(delta);
    }

    /// Whether both records have the times that most records of a payload share.
    fn has_times_of(&self, other: &Self) -> bool {
        self.tick == other.tick
            && self.unchanged_ticks == other.unchanged_ticks
            && self.baselines == other.baselines
    }
}

/// Reads a payload record by record.
pub(crate) struct PayloadReader<'a> {
    bytes: &'a [u8],
    before: Option<RecordHead>,
    pub(crate) tick: u32,
    pub(crate) controls: u16,
}

impl<'a> PayloadReader<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Result<Self, PayloadError> {
        let (tick, rest) = payload.split_first_chunk().ok_or(PayloadError::Short("tick"))?;
        let (controls, bytes) = rest.split_first_chunk().ok_or(PayloadError::Short("controls"))?;
        Ok(Self {
            bytes,
            before: None,
            tick: u32::from_le_bytes(*tick),
            controls: u16::from_le_bytes(*controls),
        })
    }

    /// Returns the next record, if there is one.
    pub(crate) fn record(&mut self) -> Result<Option<(RecordHead, &'a [u8])>, PayloadError> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let first = self.varint("group")?;
        let group = first >> GROUP_SHIFT;
        if group as usize >= GROUPS_MAX {
            return Err(PayloadError::Range("group"));
        }
        let (is_alike, is_motion, depth) = (first & ALIKE != 0, first & MOTION != 0, first & DEPTH);
        let head = if is_alike && !is_motion {
            let depth_of = |head: &RecordHead| head.baselines.iter().flatten().count() as u32;
            let is_like = |before: &RecordHead| !before.is_motion && depth_of(before) == depth && depth > 0;
            let alike = self.before.filter(is_like).ok_or(PayloadError::Range("group"))?;
            RecordHead { group: group as u16, ..alike }
        } else {
            if is_motion && depth > 1 {
                return Err(PayloadError::Range("group"));
            }
            let tick = match self.before {
                _ if !is_alike => self.tick.wrapping_sub(self.varint("age")?),
                Some(before) => before.tick,
                None => return Err(PayloadError::Range("group")),
            };
            self.head(group as u16, is_motion, depth, tick)?
        };
        self.before = Some(head);
        let length = self.varint("length")? as usize;
        let (delta, rest) = self.bytes.split_at_checked(length).ok_or(PayloadError::Short("delta"))?;
        self.bytes = rest;
        Ok(Some((head, delta)))
    }

    /// Reads the rest of a head whose times differ from those of the previous record.
    fn head(
        &mut self,
        group: u16,
        is_motion: bool,
        depth: u32,
        tick: u32,
    ) -> Result<RecordHead, PayloadError> {
        let mut baselines = [None; 3];
        let mut newer = 0;
        for at in &mut baselines[..depth as usize] {
            let age = self.varint("baseline age")?;
            if age <= newer {
                return Err(PayloadError::Range("baseline age"));
            }
            newer = age;
            *at = Some(tick.wrapping_sub(age));
        }
        let (mut unchanged_ticks, mut quantization) = (0, None);
        if baselines[0].is_none() {
            let number = self.varint("quantization")?;
            let known = Quantization::of_number(number).filter(|known| known.is_motion() == is_motion);
            quantization = Some(known.ok_or(PayloadError::Range("quantization"))?);
        } else if !is_motion {
            unchanged_ticks = self.varint("unchanged ticks")?;
        }
        if baselines[0].is_some_and(|baseline| unchanged_ticks >= tick.wrapping_sub(baseline)) {
            return Err(PayloadError::Range("unchanged ticks"));
        }
        Ok(RecordHead { group, is_motion, tick, baselines, unchanged_ticks, quantization })
    }

    fn varint(&mut self, field: &'static str) -> Result<u32, PayloadError> {
        let mut value = 0u32;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = self.bytes.split_first().ok_or(PayloadError::Short(field))?;
            self.bytes = rest;
            let bits = u32::from(byte & 0x7F);
            if bits << shift >> shift != bits || byte == 0 && shift > 0 {
                return Err(PayloadError::Range(field));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(PayloadError::Range(field))
    }
}

/// Appends a number as a varint.
fn put(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_survive_writing_and_reading(
            group: u16,
            payload_tick: u32,
            age: u32,
            mut gaps in proptest::collection::vec(1u32..1_000_000, 0..=3),
            is_motion: bool,
            delta in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let tick = payload_tick.wrapping_sub(age);
            if is_motion {
                gaps.truncate(1);
            }
            let mut baselines = [None; 3];
            let mut back = 0;
            for (at, gap) in gaps.iter().enumerate() {
                back += gap;
                baselines[at] = Some(tick.wrapping_sub(back));
            }
            let unchanged_ticks = gaps.first().filter(|_| !is_motion).map_or(0, |gap| gap / 2);
            let quantization = Quantization::within(Some(0.01), None);
            let quantization = if is_motion { quantization.motion() } else { quantization };
            let quantization = gaps.is_empty().then_some(quantization);
            let head = RecordHead { group, is_motion, tick, baselines, unchanged_ticks, quantization };
            let mut payload = payload_tick.to_le_bytes().to_vec();
            payload.extend_from_slice(&[0, 0]);
            head.write(payload_tick, None, &delta, &mut payload);
            let length = payload.len();
            prop_assert!(length <= HEAD_BYTES + RECORD_HEAD_BYTES_MAX + delta.len());
            let next = RecordHead { group: group ^ 1, ..head };
            next.write(payload_tick, Some(&head), &delta, &mut payload);
            let spared = 2 * length - HEAD_BYTES - payload.len();
            let least = if is_motion { 1 } else if gaps.is_empty() { 0 } else { 2 + gaps.len() };
            prop_assert!(spared >= least, "{} bytes spared", spared);
            let mut reader = PayloadReader::new(&payload).unwrap();
            prop_assert_eq!(reader.record(), Ok(Some((head, &delta[..]))));
            prop_assert_eq!(reader.record(), Ok(Some((next, &delta[..]))));
            prop_assert_eq!(reader.record(), Ok(None));
            for cut in (HEAD_BYTES + 1..payload.len()).filter(|cut| *cut != length) {
                let mut reader = PayloadReader::new(&payload[..cut]).unwrap();
                let is_cut = reader.record().is_err() || reader.record().is_err();
                prop_assert!(is_cut, "cut at {}", cut);
            }
        }

        #[test]
        fn records_share_times_only_with_a_previous_record_of_their_depth(group: u16, depth in 0u32..4) {
            let mut payload = vec![0; HEAD_BYTES];
            put(u32::from(group) << GROUP_SHIFT | ALIKE | depth, &mut payload);
            payload.push(0);
            let mut reader = PayloadReader::new(&payload).unwrap();
            prop_assert_eq!(reader.record(), Err(PayloadError::Range("group")));
        }

        #[test]
        fn arbitrary_bytes_are_read_or_refused(payload in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(mut reader) = PayloadReader::new(&payload) {
                while let Ok(Some(_)) = reader.record() {}
            }
        }
    }
}
