//! The byte format of a journal: columns of records, each entry as the difference to the previous one.

use nowcast_wire::{Value, Wire};

use super::{Entry, JournalError, Record};
use crate::account::SavedData;
use crate::command::{Command, Edit};
use crate::id::{EntityId, PlayerId};
use crate::input::{self, Input};
use crate::pose::{Pose, Velocity};

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
    record: SavedRecord,
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
            let record = SavedRecord::of(&entry.record);
            SavedEntry { ticks, player: i64::from(player) - i64::from(expected), record }
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
            Ok(Entry { tick, record: entry.record.load(PlayerId(player)).map_err(invalid)? })
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

#[derive(Wire)]
enum SavedRecord {
    Join {
        name: String,
    },
    Leave,
    Input(SavedControls),
    Action {
        name: String,
        arguments: Value,
    },
    Message {
        text: String,
    },
    Rename {
        name: String,
    },
    Spawn {
        kind: String,
        position: [f32; 3],
        rotation: [f32; 4],
    },
    Despawn {
        entity: u32,
    },
    Place {
        entity: u32,
        position: [f32; 3],
        rotation: [f32; 4],
    },
    Attribute {
        entity: u32,
        name: String,
        value: Value,
    },
    Settled,
    Hash(u64),
    JoinProgram {
        name: String,
    },
    Own {
        entity: u32,
        number: u32,
    },
    Release {
        entity: u32,
        to: Option<u32>,
    },
    Move {
        entity: u32,
        position: [f32; 3],
        rotation: [f32; 4],
        velocity: Option<SavedVelocity>,
    },
    Set {
        entity: u32,
        attributes: Value,
    },
    SpawnOwned {
        kind: String,
        position: [f32; 3],
        rotation: [f32; 4],
        attributes: Value,
        number: u32,
    },
    DespawnOwned {
        entity: u32,
    },
    Wait,
    Stride(SavedControls),
    See {
        behind_ms: u16,
    },
    JoinWithRoles {
        name: String,
        is_program: bool,
        roles: Vec<String>,
    },
    JoinWithAccount {
        name: String,
        is_program: bool,
        roles: Vec<String>,
        account: String,
        saved: Option<SavedAccountData>,
    },
    EditPrivate {
        entity: u32,
        value: Value,
    },
    EditState {
        key: String,
        value: Value,
    },
    EditSaved {
        account_of: u32,
        value: Value,
    },
}

#[derive(Wire)]
struct SavedAccountData {
    version: u32,
    revision: u64,
    value: Value,
}

#[derive(Wire)]
struct SavedControls {
    forward: f32,
    right: f32,
    /// [`input::yaw_parts`].
    yaw: i16,
    run: bool,
    jump: bool,
}

impl SavedControls {
    fn of(controls: &Input) -> SavedControls {
        let Input { forward, right, yaw, run, jump } = *controls;
        SavedControls { forward, right, yaw: input::yaw_parts(yaw), run, jump }
    }

    fn load(self) -> Result<Input, &'static str> {
        let SavedControls { forward, right, yaw, run, jump } = self;
        let input = Input { forward, right, yaw: input::yaw_of(yaw), run, jump };
        // Converts the values unchanged; the world validates them again.
        let known = input.validate().map_err(|_| "controls are out of bounds")?;
        if known.yaw == input.yaw { Ok(input) } else { Err("a yaw is out of bounds") }
    }
}

#[derive(Wire)]
struct SavedVelocity {
    linear: [f32; 3],
    angular: [f32; 3],
}

impl SavedRecord {
    fn of(record: &Record) -> SavedRecord {
        let command = match record {
            Record::Command(command) => command,
            Record::Settled => return SavedRecord::Settled,
            Record::Hash(hash) => return SavedRecord::Hash(*hash),
        };
        match command {
            Command::Join { name, .. } => SavedRecord::Join { name: name.clone() },
            Command::JoinProgram { name, .. } => SavedRecord::JoinProgram { name: name.clone() },
            Command::JoinWithRoles { name, is_program, roles, .. } => SavedRecord::JoinWithRoles {
                name: name.clone(),
                is_program: *is_program,
                roles: roles.clone(),
            },
            Command::JoinWithAccount { name, is_program, roles, account, saved, .. } => {
                SavedRecord::JoinWithAccount {
                    name: name.clone(),
                    is_program: *is_program,
                    roles: roles.clone(),
                    account: account.clone(),
                    saved: saved.clone().map(|SavedData { version, revision, value }| SavedAccountData {
                        version,
                        revision,
                        value,
                    }),
                }
            }
            Command::Leave { .. } => SavedRecord::Leave,
            Command::Input { input, .. } => SavedRecord::Input(SavedControls::of(input)),
            Command::Action { name, arguments, .. } => {
                SavedRecord::Action { name: name.clone(), arguments: arguments.clone() }
            }
            Command::Message { text, .. } => SavedRecord::Message { text: text.clone() },
            Command::Rename { name, .. } => SavedRecord::Rename { name: name.clone() },
            Command::Edit { edit, .. } => SavedRecord::of_edit(edit),
            Command::Own { entity, number, .. } => SavedRecord::Own { entity: entity.0, number: *number },
            Command::Release { entity, to, .. } => {
                SavedRecord::Release { entity: entity.0, to: to.map(|to| to.0) }
            }
            Command::Move { entity, pose: Pose { position, rotation }, velocity, .. } => SavedRecord::Move {
                entity: entity.0,
                position: *position,
                rotation: *rotation,
                velocity: velocity.map(|Velocity { linear, angular }| SavedVelocity { linear, angular }),
            },
            Command::Set { entity, attributes, .. } => {
                SavedRecord::Set { entity: entity.0, attributes: attributes.clone() }
            }
            Command::Spawn { kind, pose: Pose { position, rotation }, attributes, number, .. } => {
                SavedRecord::SpawnOwned {
                    kind: kind.clone(),
                    position: *position,
                    rotation: *rotation,
                    attributes: attributes.clone(),
                    number: *number,
                }
            }
            Command::Despawn { entity, .. } => SavedRecord::DespawnOwned { entity: entity.0 },
            Command::StallStep { .. } => SavedRecord::Wait,
            Command::CatchUpStep { first, .. } => SavedRecord::Stride(SavedControls::of(first)),
            Command::SetViewDelay { behind_ms, .. } => SavedRecord::See { behind_ms: *behind_ms },
        }
    }

    fn of_edit(edit: &Edit) -> SavedRecord {
        match edit {
            Edit::Spawn { kind, pose: Pose { position, rotation } } => {
                SavedRecord::Spawn { kind: kind.clone(), position: *position, rotation: *rotation }
            }
            Edit::Despawn(id) => SavedRecord::Despawn { entity: id.0 },
            Edit::Place(id, Pose { position, rotation }) => {
                SavedRecord::Place { entity: id.0, position: *position, rotation: *rotation }
            }
            Edit::Attribute(id, name, value) => {
                SavedRecord::Attribute { entity: id.0, name: name.clone(), value: value.clone() }
            }
            Edit::Private(id, value) => SavedRecord::EditPrivate { entity: id.0, value: value.clone() },
            Edit::State(key, value) => SavedRecord::EditState { key: key.clone(), value: value.clone() },
            Edit::Saved(player, value) => {
                SavedRecord::EditSaved { account_of: player.0, value: value.clone() }
            }
        }
    }

    fn load(self, player: PlayerId) -> Result<Record, &'static str> {
        let edit = |edit| Command::Edit { player, edit };
        Ok(Record::Command(match self {
            SavedRecord::Join { name } => Command::Join { player, name },
            SavedRecord::Leave => Command::Leave { player },
            SavedRecord::Input(controls) => Command::Input { player, input: controls.load()? },
            SavedRecord::Action { name, arguments } => Command::Action { player, name, arguments },
            SavedRecord::Message { text } => Command::Message { player, text },
            SavedRecord::Rename { name } => Command::Rename { player, name },
            SavedRecord::Spawn { kind, position, rotation } => {
                edit(Edit::Spawn { kind, pose: Pose { position, rotation } })
            }
            SavedRecord::Despawn { entity } => edit(Edit::Despawn(EntityId(entity))),
            SavedRecord::Place { entity, position, rotation } => {
                edit(Edit::Place(EntityId(entity), Pose { position, rotation }))
            }
            SavedRecord::Attribute { entity, name, value } => {
                edit(Edit::Attribute(EntityId(entity), name, value))
            }
            SavedRecord::EditPrivate { entity, value } => edit(Edit::Private(EntityId(entity), value)),
            SavedRecord::EditState { key, value } => edit(Edit::State(key, value)),
            SavedRecord::EditSaved { account_of, value } => edit(Edit::Saved(PlayerId(account_of), value)),
            SavedRecord::JoinProgram { name } => Command::JoinProgram { player, name },
            SavedRecord::Own { entity, number } => Command::Own { player, entity: EntityId(entity), number },
            SavedRecord::Release { entity, to } => {
                Command::Release { player, entity: EntityId(entity), to: to.map(PlayerId) }
            }
            SavedRecord::Move { entity, position, rotation, velocity } => Command::Move {
                player,
                entity: EntityId(entity),
                pose: Pose { position, rotation },
                velocity: velocity.map(|SavedVelocity { linear, angular }| Velocity { linear, angular }),
            },
            SavedRecord::Set { entity, attributes } => {
                Command::Set { player, entity: EntityId(entity), attributes }
            }
            SavedRecord::SpawnOwned { kind, position, rotation, attributes, number } => {
                let pose = Pose { position, rotation };
                Command::Spawn { player, kind, pose, attributes, number }
            }
            SavedRecord::DespawnOwned { entity } => Command::Despawn { player, entity: EntityId(entity) },
            SavedRecord::Wait => Command::StallStep { player },
            SavedRecord::Stride(controls) => Command::CatchUpStep { player, first: controls.load()? },
            SavedRecord::See { behind_ms } => Command::SetViewDelay { player, behind_ms },
            SavedRecord::JoinWithRoles { name, is_program, roles } => {
                Command::JoinWithRoles { player, name, is_program, roles }
            }
            SavedRecord::JoinWithAccount { name, is_program, roles, account, saved } => {
                let saved = saved.map(|SavedAccountData { version, revision, value }| SavedData {
                    version,
                    revision,
                    value,
                });
                Command::JoinWithAccount { player, name, is_program, roles, account, saved }
            }
            SavedRecord::Settled => return Ok(Record::Settled),
            SavedRecord::Hash(hash) => return Ok(Record::Hash(hash)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use nowcast_wire::Shape;

    use super::*;

    /// `spec/STORE.md`, section 4, with single spaces.
    fn page() -> String {
        include_str!("../../../../spec/STORE.md").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_specification_states_the_structs_of_a_journal() {
        for shape in [
            Shape::of::<Saved>(),
            Shape::of::<SavedEntry>(),
            Shape::of::<SavedControls>(),
            Shape::of::<SavedVelocity>(),
            Shape::of::<SavedAccountData>(),
        ] {
            assert!(page().contains(&format!("struct {shape}")), "{shape}");
        }
    }

    #[test]
    fn the_specification_states_the_records_of_a_journal_in_their_order() {
        let written = |variant: &str| match variant.split_once(" { 0: ") {
            Some((name, ty)) => format!("{name}({})", ty.trim_end_matches(" }")),
            None => variant.to_owned(),
        };
        let shape = Shape::of::<SavedRecord>().to_string();
        let variants: Vec<String> = shape.split(" | ").map(written).collect();
        assert!(variants.len() > 20, "{shape}");
        let expected = format!("enum SavedRecord {{ {}, }}", variants.join(", "));
        assert!(page().contains(&expected), "{expected}");
    }
}
