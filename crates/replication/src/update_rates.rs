//! Update rates by distance: how often the movement of an entity is sent to a viewer.

/// Maximum number of distance classes in [`UpdateRates`].
pub const RATE_CLASSES_MAX: usize = 4;

/// Names an entry of a [`RateTable`], and states whether the entities mostly move. The default names the rates of entities
/// that declare none and mostly rest. A group holds entities of one id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct RatesId(pub u16);

/// Update rates by distance. Classes are ordered by distance, and the last class has no end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UpdateRates {
    classes: [Class; RATE_CLASSES_MAX],
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Class {
    /// The class ends at this distance, in metres.
    within: f32,
    interval: Interval,
}

/// The time between two updates of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interval {
    /// The entity is sent in every round.
    EveryRound,
    /// The entity is sent in every second round.
    EverySecondRound,
    /// The entity is sent once in this number of steps, or in every round if rounds are rarer.
    Steps(u16),
}

impl UpdateRates {
    /// Rates of the given classes: the distance in metres at which a class ends, and its interval. Entities beyond the last
    /// class are sent like those in the last class. Without a class, entities are sent in every round. Classes beyond
    /// [`RATE_CLASSES_MAX`] have no effect.
    pub fn new(classes: &[(f32, Interval)]) -> Self {
        let at = |class: &(f32, Interval)| Class { within: class.0, interval: class.1 };
        let last = classes.last().map_or(Class { within: f32::INFINITY, interval: Interval::EveryRound }, at);
        let mut rates = Self { classes: [last; RATE_CLASSES_MAX] };
        for (place, class) in rates.classes.iter_mut().zip(classes) {
            *place = at(class);
        }
        rates
    }

    /// The rates of entities that declare none: every round within `far_metres`, every second round beyond.
    pub fn far(far_metres: f32) -> Self {
        Self::new(&[(far_metres, Interval::EveryRound), (f32::INFINITY, Interval::EverySecondRound)])
    }

    /// Returns the interval at a distance in metres.
    pub(crate) fn interval_at(&self, metres: f32) -> Interval {
        let [first, second, third, last] = &self.classes;
        let class = [first, second, third].into_iter().find(|class| metres <= class.within);
        class.unwrap_or(last).interval
    }
}

/// The update rates in use. The first entry is for entities that declare no update rates.
#[derive(Clone, PartialEq, Debug)]
pub struct RateTable {
    far_metres: f32,
    /// The rates, and whether they are those of entities that mostly move.
    rates: Vec<(UpdateRates, bool)>,
}

impl Default for RateTable {
    /// Makes a table in which every entity is sent in every round.
    fn default() -> Self {
        Self::new(f32::INFINITY, UpdateRates::new(&[]))
    }
}

impl RateTable {
    /// Makes a table with the rates of entities that declare none. Entities beyond `far_metres` count as far in
    /// [`crate::ViewerStats::oldest_steps`].
    pub fn new(far_metres: f32, default: UpdateRates) -> Self {
        Self { far_metres, rates: vec![(default, false)] }
    }

    /// Adds rates of entities that mostly rest, unless the table has them already. Returns their id. If the table is full, it
    /// is the id of the default.
    pub fn add(&mut self, rates: UpdateRates) -> RatesId {
        self.add_for((rates, false))
    }

    /// Adds rates of entities that mostly move, such as avatars. They share no group with entities that mostly rest: a group
    /// is encoded as a whole, and its resting entities would be encoded again with every step of the others.
    pub fn add_for_movers(&mut self, rates: UpdateRates) -> RatesId {
        self.add_for((rates, true))
    }

    fn add_for(&mut self, rates: (UpdateRates, bool)) -> RatesId {
        let at = self.rates.iter().position(|known| *known == rates).unwrap_or_else(|| {
            self.rates.push(rates);
            self.rates.len() - 1
        });
        u16::try_from(at).map_or_else(|_| RatesId::default(), RatesId)
    }

    /// Returns the rates of an id. For an unknown id, returns the default.
    pub(crate) fn of(&self, id: RatesId) -> &UpdateRates {
        &self.rates.get(usize::from(id.0)).unwrap_or(&self.rates[0]).0
    }

    /// The distance beyond which an entity counts as far, in metres.
    pub(crate) fn far_metres(&self) -> f32 {
        self.far_metres
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_class_that_holds_a_distance_decides() {
        let classes =
            [(10.0, Interval::EveryRound), (40.0, Interval::Steps(6)), (f32::INFINITY, Interval::Steps(15))];
        let rates = UpdateRates::new(&classes);
        let at = [0.0, 10.0, 10.1, 40.0, 41.0, 1e9].map(|metres| rates.interval_at(metres));
        let [near, middle, far] = classes.map(|(_, interval)| interval);
        assert_eq!(at, [near, near, middle, middle, far, far]);
        assert_eq!(UpdateRates::new(&[]).interval_at(1e9), Interval::EveryRound);
        assert_eq!(UpdateRates::far(5.0).interval_at(6.0), Interval::EverySecondRound);
    }

    #[test]
    fn equal_rates_share_an_id() {
        let mut table = RateTable::new(128.0, UpdateRates::far(128.0));
        assert_eq!(table.add(UpdateRates::far(128.0)), RatesId(0));
        let rare = UpdateRates::new(&[(f32::INFINITY, Interval::Steps(15))]);
        assert_eq!([table.add(rare), table.add(rare)], [RatesId(1); 2]);
        assert_eq!(table.of(RatesId(1)), &rare);
        assert_eq!([table.add_for_movers(rare), table.add_for_movers(rare)], [RatesId(2); 2]);
        assert_eq!(table.of(RatesId(2)), &rare);
        assert_eq!(table.add(rare), RatesId(1));
        assert_eq!(table.of(RatesId(9)), &UpdateRates::far(128.0), "an unknown id");
    }
}
