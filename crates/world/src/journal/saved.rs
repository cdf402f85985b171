//! A journal's byte format: columns of records, each entry as the difference to the previous one.

use nowcast_wire::Wire;

use super::{Entry, JournalError, Record};
use crate::id::PlayerId;

/// Any number of entries.
#[derive(Wire)]
pub(super) struct Saved {
    /// The player of the first command; 0 without one.
    first_player: u32,
    entries: Vec<SavedEntry>,
}

#[derive(Wire)]
struct SavedEntry {
    /// Ticks since the previous entry.
    #[wire(var)]
    ticks: u64,
    /// The player's number minus the number that [`Neighbours::expected`] returns.
    #[wire(var)]
    player: i64,
    record: Record,
}

impl Saved {
    pub(super) fn of(entries: &[Entry]) -> Saved {
        let first_player = entries.iter().find_map(player_of).unwrap_or_default();
        let (mut tick, mut neighbours) = (0u64, Neighbours::new(first_player));
        let entries = entries.iter().map(|entry| {
            let ticks = entry.tick.wrapping_sub(tick);
            tick = entry.tick;
            let expected = neighbours.expected(ticks);
            let player = player_of(entry).unwrap_or(expected);
            neighbours.note(player);
            let player = i64::from(player) - i64::from(expected);
            SavedEntry { ticks, player, record: entry.record.clone() }
        });
        Saved { entries: entries.collect(), first_player }
    }

    pub(super) fn load(self) -> Result<Vec<Entry>, JournalError> {
        let (mut tick, mut neighbours) = (0u64, Neighbours::new(self.first_player));
        let entries = self.entries.into_iter().enumerate().map(|(index, entry)| {
            let invalid = |what| JournalError::Invalid { index, what };
            tick =
                tick.checked_add(entry.ticks).ok_or_else(|| invalid("its tick does not fit into 64 bits"))?;
            let expected = neighbours.expected(entry.ticks);
            let player = i64::from(expected).checked_add(entry.player).and_then(|it| u32::try_from(it).ok());
            let player = player.ok_or_else(|| invalid("its player's number does not fit into 32 bits"))?;
            neighbours.note(player);
            let mut record = entry.record;
            if let Record::Command(command) = &mut record {
                *command.player_mut() = PlayerId(player);
            }
            Ok(Entry { tick, record })
        });
        entries.collect()
    }
}

fn player_of(entry: &Entry) -> Option<u32> {
    match &entry.record {
        Record::Command(command) => Some(command.player().0),
        Record::Settled | Record::Hash(_) => None,
    }
}

/// Predicts the player of the next command. A server polls its players in the same order in every step. So the player
/// numbers of one tick mostly grow in small steps, and the first number of the next tick is near the first number of this
/// tick.
struct Neighbours {
    /// The player of the first entry of the tick.
    first: u32,
    last: u32,
    is_first: bool,
}

impl Neighbours {
    fn new(first: u32) -> Neighbours {
        Neighbours { first, last: first, is_first: true }
    }

    /// Predicts the number of an entry that follows the previous one after this many ticks.
    fn expected(&mut self, ticks: u64) -> u32 {
        if ticks > 0 {
            (self.last, self.is_first) = (self.first, true);
        }
        self.last
    }

    fn note(&mut self, player: u32) {
        self.last = player;
        if std::mem::take(&mut self.is_first) {
            self.first = player;
        }
    }
}

#[cfg(test)]
mod tests {
    use nowcast_wire::Shape;

    use super::*;
    use crate::account::SavedData;
    use crate::command::{Command, Edit, JoinRequest};
    use crate::id::EntityId;
    use crate::input::Input;
    use crate::pose::{Pose, Velocity};

    /// `spec/STORE.md`, section 4, with single spaces.
    fn page() -> String {
        include_str!("../../../../spec/STORE.md").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_specification_states_the_structs_of_a_journal() {
        for shape in [
            Shape::of::<Saved>(),
            Shape::of::<SavedEntry>(),
            Shape::of::<JoinRequest>(),
            Shape::of::<Input>(),
            Shape::of::<Pose>(),
            Shape::of::<Velocity>(),
            Shape::of::<SavedData>(),
            Shape::of::<EntityId>(),
            Shape::of::<PlayerId>(),
        ] {
            assert!(page().contains(&format!("struct {shape}")), "{shape}");
        }
    }

    #[test]
    fn the_specification_states_the_records_of_a_journal_in_their_order() {
        let written = |variant: &str| match variant.split_once(" { 0: ") {
            Some((name, ty)) if !ty.contains(", 1: ") => format!("{name}({})", ty.trim_end_matches(" }")),
            _ => variant.to_owned(),
        };
        for (name, shape, count) in [
            ("Record", Shape::of::<Record>(), 3),
            ("Command", Shape::of::<Command>(), 16),
            ("Edit", Shape::of::<Edit>(), 7),
        ] {
            let shape = shape.to_string();
            let variants: Vec<String> = shape.split(" | ").map(written).collect();
            assert_eq!(variants.len(), count, "{shape}");
            let expected = format!("enum {name} {{ {}, }}", variants.join(", "));
            assert!(page().contains(&expected), "{expected}");
        }
    }
}
