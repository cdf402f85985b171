//! Update rates by distance: how often clients receive the movement of an entity.

use crate::problem::{DefinitionError, Path, Problem};

/// Maximum number of distance classes.
pub const UPDATE_RATES_MAX: usize = 4;

/// The rate of one distance class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UpdateRate {
    /// The distance from a client's avatar at which the class ends, in metres: from 1 to 10,000, and greater than the
    /// previous class's. `None` for the last class, which has no end.
    pub within: Option<f32>,
    /// Maximum number of updates a second, from [`UpdateRate::HZ_MIN`] to [`UpdateRate::HZ_MAX`]. Rounds of updates limit
    /// the rate, too.
    pub hz: f32,
}

impl UpdateRate {
    /// Clients interpolate over at most a quarter of a second. At a lower rate, movement would not be smooth.
    pub const HZ_MIN: f32 = 4.0;
    /// How many steps a world makes in a second.
    pub const HZ_MAX: f32 = 60.0;
}

/// Checks the update rates of the kind or definition at `path`.
pub(crate) fn check(rates: &[UpdateRate], path: &Path<'_>) -> Result<(), DefinitionError> {
    path.field("update_rates").count(rates.len(), 1, UPDATE_RATES_MAX)?;
    let mut before = UpdateRate { within: Some(0.0), hz: UpdateRate::HZ_MAX };
    for (index, rate) in rates.iter().enumerate() {
        let path = path.index("update_rates", index);
        let invalid = |field, why| Err(path.field(field).error(Problem::Invalid(why)));
        path.field("hz").within(rate.hz, UpdateRate::HZ_MIN, UpdateRate::HZ_MAX)?;
        if rate.hz > before.hz {
            return invalid("hz", "a farther class must not have a higher rate");
        }
        let is_last = index + 1 == rates.len();
        match rate.within {
            Some(_) if is_last => {
                return invalid("within", "the last class has no end, and needs no `within`");
            }
            None if !is_last => {
                return invalid("within", "every class but the last needs the distance of its end");
            }
            None => {}
            Some(within) => {
                path.field("within").within(within, 1.0, 10_000.0)?;
                if before.within.is_some_and(|nearer| within <= nearer) {
                    return invalid("within", "a class must end farther away than the class before it");
                }
            }
        }
        before = *rate;
    }
    Ok(())
}
