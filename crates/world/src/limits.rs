//! Limits of one world. Every table of a world has a maximum. If a table is full, new entries are refused with an error that
//! names the table.

/// The maxima of one world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Entities at a time.
    pub entities_max: usize,
    /// People at a time, and programs at a time.
    pub players_max: usize,
    /// Joints at a time.
    pub joints_max: usize,
    /// Waiting timers at a time.
    pub timers_max: usize,
    /// Waiting commands for one step.
    pub commands_max: usize,
    /// Waiting commands of one player for one step.
    pub commands_per_player_max: usize,
    /// Unpolled events. If there are more, the oldest events are dropped and counted.
    pub events_max: usize,
    /// Bytes of the world's state as MessagePack.
    pub state_bytes_max: usize,
    /// Maximum bytes of one value as MessagePack: an attribute, an entity's private value, a timer's data, an event's
    /// payload, a screen value.
    pub value_bytes_max: usize,
    /// Bytes in memory of all stored values: attributes, private values, the state, screens and the data of timers.
    pub kept_bytes_max: usize,
    /// Maximum memory for one step's events, in bytes: events that the rules emit, and values that they show on
    /// screens.
    pub event_bytes_max: usize,
    /// Tags of one entity.
    pub tags_max: usize,
    /// Maximum number of values on all players' screens together.
    pub screens_max: usize,
    /// Hits of one query. Further hits are dropped, the highest ids first.
    pub hits_max: usize,
    /// Maximum number of bodies whose bounding boxes overlap the bounding box of a new or teleported body. Each pair of
    /// overlapping boxes costs physics work in every step: 50 dynamic bodies that are spawned at one point cost 9 ms, 100
    /// cost 31 ms, and 1,000 cost 15 s.
    pub overlaps_max: usize,
}

impl Limits {
    /// Limits that suffice for a large world on one core.
    pub const DEFAULT: Limits = Limits {
        entities_max: 16_384,
        players_max: 256,
        joints_max: 4_096,
        timers_max: 4_096,
        commands_max: 65_536,
        commands_per_player_max: 64,
        events_max: 65_536,
        state_bytes_max: 1 << 20,
        value_bytes_max: 16 << 10,
        kept_bytes_max: 24 << 20,
        event_bytes_max: 2 << 20,
        tags_max: 16,
        screens_max: 16_384,
        hits_max: 1_024,
        overlaps_max: 64,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// Roles of one player.
pub const ROLES_MAX: usize = 8;

/// The longest name of a kind, an attribute, an action, an event, a timer, a tag or a place on the screen, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Kinds in one definition.
pub const KINDS_MAX: usize = 1_024;

/// Actions in one definition.
pub const ACTIONS_MAX: usize = 256;

/// Declared events of a definition.
pub const EVENTS_MAX: usize = 256;

/// Attributes of one kind.
pub const ATTRIBUTES_MAX: usize = 64;

/// Depth of a dynamic value: of a state, an argument, a payload.
pub const VALUE_DEPTH_MAX: usize = 16;

/// Maximum length of a chain of parents.
pub const PARENTS_DEPTH_MAX: usize = 8;

/// The largest coordinate, in metres.
pub const POSITION_MAX: f32 = 100_000.0;

/// Up to this coordinate, in metres, bodies that forces move and walkers go as far as at the origin, to a few thousandths. At greater
/// coordinates, 32-bit floats round each step noticeably. Kinematic bodies go as far everywhere.
pub const PRECISE_POSITION_MAX: f32 = 2_000.0;

/// The largest speed that rules can set, in metres a second. The solver limits speeds to [`crate::SPEED_MAX`].
pub const VELOCITY_MAX: f32 = 1_000.0;

/// Maximum duration of a ban by rules, in seconds: one year.
pub const BAN_SECONDS_MAX: f64 = 365.0 * 86_400.0;

/// Maximum size of the data that a player carries to another room, as MessagePack.
pub const CARRIED_BYTES_MAX: usize = 4_096;

/// Maximum age of the past for [`crate::Scene::rewind`], in milliseconds.
pub const REWIND_MS_MAX: u16 = 500;

/// Maximum number of recorded past poses. If there are more, the oldest step is dropped.
pub const PLACES_REMEMBERED_MAX: usize = 131_072;

const _: () = assert!(Limits::DEFAULT.value_bytes_max <= Limits::DEFAULT.state_bytes_max);
const _: () = assert!(Limits::DEFAULT.value_bytes_max * 4 <= Limits::DEFAULT.event_bytes_max);
const _: () = assert!(Limits::DEFAULT.state_bytes_max <= Limits::DEFAULT.kept_bytes_max);
const _: () = assert!(Limits::DEFAULT.commands_per_player_max <= Limits::DEFAULT.commands_max);
