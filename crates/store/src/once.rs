//! Actions that happen once, even if a client sends them several times.

use std::collections::{BTreeMap, BTreeSet};

use nowcast_wire::Wire;

/// How many clients' actions a world remembers. If this number is reached, [`Once::has_room`] is false for a new client
/// until the oldest remembered client is a day old. [`Once::insert`] evicts the oldest client in any case.
pub const CLIENTS_MAX: usize = 16_384;

/// Maximum number of a client's unanswered durable actions. A client with this many starts no further action.
pub const UNDER_WAY_MAX: usize = 64;

/// A client may be forgotten when the world has taken this many steps since the client's last durable action: one day.
pub const ONCE_TICKS: u64 = 24 * 3_600 * nowcast_world::STEP_HZ as u64;

/// The id that a client gives to one durable action. Each retry has the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Wire)]
pub struct ActionId {
    /// Identifies the client across all reconnections.
    pub client: [u8; 16],
    /// Number of this action among the client's durable actions, from 1.
    pub number: u64,
}

/// The durable actions that were done. A snapshot stores all actions, and a batch stores only the new actions.
///
/// ```
/// use nowcast_store::{ActionId, Once};
///
/// let mut once = Once::default();
/// let buy = ActionId { client: [7; 16], number: 1 };
/// assert!(once.insert(buy, 100), "the first try is carried out");
/// assert!(!once.insert(buy, 130), "the second is not");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Once {
    clients: BTreeMap<[u8; 16], Numbers>,
    /// Clients by the tick of their last new action.
    by_age: BTreeSet<(u64, [u8; 16])>,
}

/// The durable actions of one client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Numbers {
    /// Every number up to this one is done, or was abandoned by the client.
    pub(crate) floor: u64,
    /// Done numbers above `floor`.
    pub(crate) above: BTreeSet<u64>,
    /// The tick of the last new action.
    pub(crate) tick: u64,
}

impl Once {
    /// Records an action. Returns false if it was done before. An action also counts as done if [`UNDER_WAY_MAX`] later
    /// actions of the client are done. The client must have received the answer to that action, because otherwise it could
    /// not have begun the later ones.
    pub fn insert(&mut self, id: ActionId, tick: u64) -> bool {
        if self.contains(id) {
            return false;
        }
        let is_full = self.clients.len() >= CLIENTS_MAX && !self.clients.contains_key(&id.client);
        let mut to_forget = usize::from(is_full);
        while let Some((last, oldest)) = self.by_age.first().copied()
            && (to_forget > 0 || last.saturating_add(ONCE_TICKS) < tick)
        {
            self.by_age.pop_first();
            self.clients.remove(&oldest);
            to_forget = to_forget.saturating_sub(1);
        }
        let numbers = self.clients.entry(id.client).or_default();
        self.by_age.remove(&(numbers.tick, id.client));
        numbers.tick = tick;
        self.by_age.insert((tick, id.client));
        numbers.above.insert(id.number);
        while numbers.above.len() > UNDER_WAY_MAX
            || numbers.above.first() == Some(&numbers.floor.wrapping_add(1))
        {
            numbers.floor = numbers.above.pop_first().unwrap_or(numbers.floor);
        }
        true
    }

    /// Takes back an action that was recorded in this step, because the world did not carry it out. The client may retry it.
    pub fn take_back(&mut self, id: ActionId) {
        let Some(numbers) = self.clients.get_mut(&id.client) else { return };
        if !numbers.above.remove(&id.number) && id.number <= numbers.floor {
            numbers.above.extend(id.number + 1..=numbers.floor);
            numbers.floor = id.number.saturating_sub(1);
        }
    }

    /// Whether actions of a client are remembered.
    pub fn knows(&self, client: [u8; 16]) -> bool {
        self.clients.contains_key(&client)
    }

    /// Whether an action of a client can be recorded without forgetting a client of the last day.
    pub fn has_room(&self, client: [u8; 16], tick: u64) -> bool {
        let is_old = |(last, _): &(u64, [u8; 16])| last.saturating_add(ONCE_TICKS) < tick;
        self.clients.len() < CLIENTS_MAX
            || self.clients.contains_key(&client)
            || self.by_age.first().is_some_and(is_old)
    }

    /// Whether an action was done.
    pub fn contains(&self, id: ActionId) -> bool {
        self.clients
            .get(&id.client)
            .is_some_and(|numbers| id.number <= numbers.floor || numbers.above.contains(&id.number))
    }

    /// Number of remembered clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = ([u8; 16], &Numbers)> {
        self.clients.iter().map(|(client, numbers)| (*client, numbers))
    }

    /// Adds a saved client. Returns false if there is no room, or if the client exists already.
    pub(crate) fn restore(&mut self, client: [u8; 16], numbers: Numbers) -> bool {
        let fits = self.clients.len() < CLIENTS_MAX
            && numbers.above.len() <= UNDER_WAY_MAX
            && numbers.above.first().is_none_or(|first| *first > numbers.floor)
            && !self.clients.contains_key(&client);
        if fits {
            self.by_age.insert((numbers.tick, client));
            self.clients.insert(client, numbers);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(client: u8, number: u64) -> ActionId {
        ActionId { client: [client; 16], number }
    }

    proptest! {
        #[test]
        fn no_action_is_new_twice_within_the_window(numbers in proptest::collection::vec((0u8..3, 1u64..40), 0..200)) {
            let (mut once, mut model) = (Once::default(), BTreeSet::new());
            for (tick, (client, number)) in numbers.into_iter().enumerate() {
                let is_new = model.insert((client, number));
                prop_assert_eq!(once.insert(id(client, number), tick as u64), is_new);
            }
        }
    }

    #[test]
    fn a_client_costs_a_bounded_number_of_bytes_for_any_numbers() {
        let mut once = Once::default();
        for number in (2..10_000).step_by(2) {
            assert!(once.insert(id(1, number), number));
        }
        assert!(once.clients[&[1; 16]].above.len() <= UNDER_WAY_MAX);
        assert!(!once.insert(id(1, 2), 10_000), "it is too far behind to be a first attempt");
        assert!(!once.insert(id(1, 0), 10_000) && once.insert(id(1, u64::MAX), 10_000));
        assert!(!once.insert(id(1, u64::MAX), 10_000));
    }

    #[test]
    fn clients_that_were_silent_for_a_day_are_forgotten_when_another_does_something() {
        let mut once = Once::default();
        once.insert(id(1, 1), 0);
        once.insert(id(2, 1), 1);
        once.insert(id(3, 1), ONCE_TICKS);
        assert_eq!(once.clients(), 3);
        once.insert(id(3, 2), ONCE_TICKS + 1);
        assert!(!once.contains(id(1, 1)) && once.contains(id(2, 1)) && once.contains(id(3, 1)));
    }

    #[test]
    fn newcomers_have_no_room_while_every_remembered_client_acted_within_a_day() {
        let mut once = Once::default();
        let client = |index: usize| {
            let mut client = [0; 16];
            client[..8].copy_from_slice(&(index as u64).to_le_bytes());
            client
        };
        for index in 0..CLIENTS_MAX {
            assert!(once.has_room(client(index), 5));
            once.insert(ActionId { client: client(index), number: 1 }, 5);
        }
        assert!(!once.has_room([255; 16], ONCE_TICKS + 5), "the oldest would lose its day");
        assert!(once.has_room(client(7), ONCE_TICKS + 5), "a known client continues");
        assert!(once.has_room([255; 16], ONCE_TICKS + 6));
    }

    #[test]
    fn the_client_that_was_silent_for_the_longest_is_forgotten_first() {
        let mut once = Once::default();
        let client = |index: usize| {
            let mut client = [0; 16];
            client[..8].copy_from_slice(&(index as u64).to_le_bytes());
            client
        };
        for index in 0..CLIENTS_MAX {
            once.insert(ActionId { client: client(index), number: 1 }, index as u64);
        }
        once.insert(ActionId { client: client(0), number: 2 }, 1 << 20);
        once.insert(ActionId { client: [255; 16], number: 1 }, 1 << 20);
        assert_eq!(once.clients(), CLIENTS_MAX);
        assert!(once.contains(ActionId { client: client(0), number: 1 }));
        assert!(!once.contains(ActionId { client: client(1), number: 1 }));
    }
}
