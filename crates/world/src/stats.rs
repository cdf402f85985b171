//! Counters of a world.

/// Counters of refused and repaired values. All are zero in normal operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Inputs and poses with numbers outside their bounds, refused by [`crate::World::apply`].
    pub invalid_refused: u64,
    /// Commands that [`crate::World::apply`] had no room for.
    pub commands_dropped: u64,
    /// Commands that could not be carried out, each told by an [`crate::Event::Refused`].
    pub commands_refused: u64,
    /// Goals of owners that were brought back to where their kind allows them.
    pub moves_clamped: u64,
    /// Events that nobody polled, dropped oldest first.
    pub events_dropped: u64,
    /// Bodies whose pose or velocity was no number any more; they were put back to where they were, at rest.
    pub bodies_repaired: u64,
    /// Steps after which the past was forgotten before its time, because too much moved.
    pub past_shortened: u64,
    /// Attributes of a restored world that did not fit its definition and have their defaults.
    pub attributes_defaulted: u64,
}
