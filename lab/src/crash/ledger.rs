//! The ledger of a witness: its durable actions, their answers, and their effects in the world.

use std::collections::BTreeSet;
use std::ops::{AddAssign, Sub};

/// Maximum distance of a client's newest number from its oldest unanswered one (`spec/WORLD.md`, section 3).
const UNDER_WAY_MAX: u32 = 64;

/// A set of numbers from 1 on. It contains all numbers up to a limit, and some above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    through: u32,
    beyond: BTreeSet<u32>,
}

impl Numbers {
    fn insert(&mut self, number: u32) {
        if number > self.through {
            self.beyond.insert(number);
        }
        while self.beyond.remove(&(self.through + 1)) {
            self.through += 1;
        }
    }

    fn contains(&self, number: u32) -> bool {
        number <= self.through || self.beyond.contains(&number)
    }

    /// Counts the numbers of the set up to `number`.
    fn count_up_to(&self, number: u32) -> u64 {
        u64::from(self.through.min(number)) + self.beyond.range(..=number).count() as u64
    }

    /// Returns the numbers that `others` lacks.
    fn missing_in<'n>(&'n self, others: &'n Numbers) -> impl Iterator<Item = u32> + 'n {
        let first = others.through + 1;
        let up_to_one = (first..=self.through).filter(move |number| !others.contains(*number));
        up_to_one.chain(self.beyond.iter().copied().filter(move |number| !others.contains(*number)))
    }
}

/// The actions of a witness that a world has applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// How often actions were applied, in total.
    times: u64,
    numbers: Numbers,
}

impl Carried {
    /// Returns how often actions were applied, in total.
    pub(crate) fn times(&self) -> u64 {
        self.times
    }

    /// Reads the text that the rules of the trial show: "TIMES THROUGH BEYOND,BEYOND", such as "7 5 7,8".
    pub(crate) fn read(text: &str) -> Option<Carried> {
        let mut words = text.split(' ');
        let (times, through) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let beyond = words.next()?.split(',').filter(|number| !number.is_empty());
        let beyond = beyond.map(str::parse).collect::<Result<_, _>>().ok()?;
        words.next().is_none().then_some(Carried { times, numbers: Numbers { through, beyond } })
    }
}

/// Reads the data that the rules of the trial save for an account: the client's number, and its count as in [`Carried::read`].
pub(crate) fn read_saved(text: &str) -> Option<(u16, Carried)> {
    let (client, count) = text.split_once(' ')?;
    Some((client.parse().ok()?, Carried::read(count)?))
}

/// The differences between confirmed actions and the saved data of accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SavedTally {
    /// Comparisons of one account's data.
    pub(crate) compared: u64,
    /// Actions that were confirmed, but are not in the account's data.
    pub(crate) lost: u64,
    /// Applications in addition to the first one of each number.
    pub(crate) doubled: u64,
}

impl AddAssign for SavedTally {
    fn add_assign(&mut self, other: SavedTally) {
        self.compared += other.compared;
        self.lost += other.lost;
        self.doubled += other.doubled;
    }
}

/// Counts of durable actions by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) confirmed: u64,
    /// Actions that were confirmed, but are not in the world.
    pub(crate) lost: u64,
    /// Applications in addition to the first one of each number.
    pub(crate) doubled: u64,
    /// Actions that had no answer at the end of a session, but were applied. The next session showed this.
    pub(crate) kept_unanswered: u64,
    /// Actions that had no answer at the end of a session, were not applied, and were sent again.
    pub(crate) undone: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.confirmed += other.confirmed;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.kept_unanswered += other.kept_unanswered;
        self.undone += other.undone;
    }
}

impl Sub for Tally {
    type Output = Tally;

    fn sub(self, before: Tally) -> Tally {
        Tally {
            confirmed: self.confirmed - before.confirmed,
            lost: self.lost - before.lost,
            doubled: self.doubled - before.doubled,
            kept_unanswered: self.kept_unanswered - before.kept_unanswered,
            undone: self.undone - before.undone,
        }
    }
}

/// The durable actions of one witness, over all server processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The number of the newest action.
    last: u32,
    /// The numbers of the actions that have no answer yet.
    open: BTreeSet<u32>,
    confirmed: Numbers,
    lost: BTreeSet<u32>,
    tally: Tally,
    lost_in_account: BTreeSet<u32>,
    saved: SavedTally,
}

impl Ledger {
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    pub(crate) fn saved(&self) -> SavedTally {
        self.saved
    }

    /// Compares the ledger with the world at the beginning of a session. Returns the unanswered actions, which must be sent
    /// again.
    pub(crate) fn begin_session(&mut self, carried: &Carried) -> Vec<u32> {
        self.compare(carried);
        let (kept, undone): (Vec<u32>, Vec<u32>) =
            self.open.iter().copied().partition(|number| carried.numbers.contains(*number));
        self.tally.kept_unanswered += kept.len() as u64;
        self.tally.undone += undone.len() as u64;
        self.open()
    }

    /// Returns the unanswered actions, oldest first.
    pub(crate) fn open(&self) -> Vec<u32> {
        self.open.iter().copied().collect()
    }

    /// Returns the next action; `None` while too many are unanswered.
    pub(crate) fn begin(&mut self) -> Option<u32> {
        let number = self.last + 1;
        if self.open.first().is_some_and(|oldest| number - oldest >= UNDER_WAY_MAX) {
            return None;
        }
        self.last = number;
        self.open.insert(number);
        Some(number)
    }

    /// Records that the server confirmed an action. Returns whether the action had no answer before.
    pub(crate) fn confirm(&mut self, number: u32) -> bool {
        let is_first = self.open.remove(&number);
        if is_first {
            self.tally.confirmed += 1;
            self.confirmed.insert(number);
        }
        is_first
    }

    /// Compares the ledger with the newest record that the world has shown. The world must contain all confirmed actions. It must not contain an action more
    /// often than the action was sent.
    pub(crate) fn compare(&mut self, carried: &Carried) {
        self.lost.extend(self.confirmed.missing_in(&carried.numbers));
        self.tally.lost = self.lost.len() as u64;
        let once = carried.numbers.count_up_to(self.last);
        self.tally.doubled = self.tally.doubled.max(carried.times.saturating_sub(once));
    }

    /// Compares the ledger with the account's data in a store that no server writes.
    pub(crate) fn compare_saved(&mut self, carried: &Carried) {
        self.saved.compared += 1;
        self.lost_in_account.extend(self.confirmed.missing_in(&carried.numbers));
        self.saved.lost = self.lost_in_account.len() as u64;
        let once = carried.numbers.count_up_to(self.last);
        self.saved.doubled = self.saved.doubled.max(carried.times.saturating_sub(once));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(text: &str) -> Carried {
        Carried::read(text).unwrap_or_else(|| panic!("{text}"))
    }

    /// Makes a ledger with five sent actions, of which the first three are confirmed.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        assert!(ledger.begin_session(&Carried::default()).is_empty());
        assert_eq!([(); 5].map(|()| ledger.begin()), [1, 2, 3, 4, 5].map(Some));
        for number in [1, 3, 2] {
            assert!(ledger.confirm(number));
        }
        assert!(!ledger.confirm(3), "it is confirmed already");
        ledger.compare(&carried("3 3 "));
        assert_eq!(ledger.tally(), Tally { confirmed: 3, ..Tally::default() });
        ledger
    }

    #[test]
    fn only_values_on_screens_of_the_rules_are_read() {
        assert_eq!(carried("0 0 "), Carried::default());
        let found = carried("5 3 6,5");
        assert_eq!((found.times, found.numbers.count_up_to(9), found.numbers.contains(4)), (5, 5, false));
        for text in ["", "5", "5 3", "5 3 x", "5 3 6 7", "-1 3 "] {
            assert_eq!(Carried::read(text), None, "{text}");
        }
    }

    #[test]
    fn an_unanswered_action_is_sent_again_and_counts_by_its_effect() {
        let mut ledger = ledger();
        assert_eq!(ledger.begin_session(&carried("4 4 ")), [4, 5]);
        let expected = Tally { confirmed: 3, kept_unanswered: 1, undone: 1, ..Tally::default() };
        assert_eq!(ledger.tally(), expected);
        for number in [4, 5] {
            ledger.confirm(number);
        }
        assert_eq!(ledger.tally() - expected, Tally { confirmed: 2, ..Tally::default() });
        assert!(ledger.begin_session(&carried("5 5 ")).is_empty());
    }

    #[test]
    fn a_lost_confirmed_action_is_counted_once() {
        let mut ledger = ledger();
        for _ in 0..2 {
            ledger.begin_session(&carried("3 1 3,4"));
        }
        assert_eq!(ledger.tally().lost, 1, "the second");
        ledger.confirm(4);
        ledger.confirm(5);
        ledger.compare(&carried("3 1 3,4"));
        assert_eq!(ledger.tally().lost, 2, "the fifth was confirmed, and the world does not have it");
    }

    #[test]
    fn an_action_applied_more_often_than_sent_is_doubled() {
        for text in ["4 3 ", "4 3 6"] {
            let mut ledger = ledger();
            ledger.begin_session(&carried(text));
            assert_eq!(ledger.tally().doubled, 1, "{text}");
        }
        let mut ledger = ledger();
        ledger.begin_session(&carried("5 3 4,5"));
        assert_eq!(ledger.tally().doubled, 0);
    }

    #[test]
    fn the_data_of_an_account_is_compared_with_the_confirmed_actions() {
        assert_eq!(read_saved("7 5 3 6,5"), Some((7, carried("5 3 6,5"))));
        for text in ["", "7", "7 5", "70000 5 3 ", "x 5 3 "] {
            assert_eq!(read_saved(text), None, "{text}");
        }
        let mut ledger = ledger();
        ledger.compare_saved(&carried("4 4 "));
        assert_eq!(ledger.saved(), SavedTally { compared: 1, lost: 0, doubled: 0 });
        ledger.compare_saved(&carried("4 1 3,4"));
        ledger.compare_saved(&carried("5 4 "));
        assert_eq!(ledger.saved(), SavedTally { compared: 3, lost: 1, doubled: 1 });
        assert_eq!(ledger.tally().lost, 0, "the world has them");
    }

    #[test]
    fn no_number_is_far_above_the_oldest_unanswered_one() {
        let mut ledger = Ledger::default();
        let begun = std::iter::from_fn(|| ledger.begin()).take(1_000).count();
        assert_eq!(begun, 64);
        ledger.confirm(1);
        assert_eq!(ledger.begin(), Some(65));
        assert_eq!(ledger.begin(), None);
    }
}
