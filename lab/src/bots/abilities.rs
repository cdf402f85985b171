//! The abilities of a bot in a world, read from the world's definition. They are the actions that the bot can use, and the kinds
//! that it approaches to use them.

use std::collections::HashMap;

use nowcast_wire::Value;
use nowcast_wire::shape::{Field, NumberType, Range, Type};

/// Distance for an action whose binding states none, in metres.
const REACH: f64 = 2.5;
/// Margin, in metres, that a bot subtracts from the required distance, because entities move.
const MARGIN: f64 = 0.4;
/// Upward angle of a bot's view when it uses full force, in radians.
const UPWARD: f64 = 0.4;
/// The inner part of the ground that bots prefer, as a share of half its width.
const INNER: f64 = 0.8;
/// Half of the ground's width, in metres, if no entity looks like a ground.
const HALF_WIDTH: f64 = 10.0;

/// A kind, as both protocols describe it.
pub(super) struct KindOffer {
    pub(super) name: String,
    pub(super) body: Value,
    pub(super) walker: Value,
    pub(super) attributes: Vec<Field>,
}

/// An action, as both protocols describe it.
pub(super) struct ActionOffer {
    pub(super) name: String,
    pub(super) arguments: Vec<Field>,
    pub(super) hint: Value,
}

/// The part of a definition that a bot uses.
#[derive(Default)]
pub(super) struct Abilities {
    kinds: HashMap<String, Kind>,
    /// Actions with a target entity.
    pub(super) targeted: Vec<Ability>,
    /// Actions without a target.
    pub(super) untargeted: Vec<Ability>,
}

struct Kind {
    is_walker: bool,
    is_dynamic: bool,
    /// The edges of the kind's box in metres, if the box is fixed.
    fixed_box: Option<[f64; 3]>,
    /// The names of attributes that may hold an entity.
    naming: Vec<String>,
}

/// The force with which an action is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Force {
    Gentle,
    Full,
}

/// An action that a bot can use.
#[derive(Clone)]
pub(super) struct Ability {
    name: String,
    /// Arguments that the bot fills. The others have their defaults.
    arguments: Vec<(String, Filling)>,
    /// The kinds of possible targets. If empty, every entity that can be pushed is a target.
    targets: Vec<String>,
    reach: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Filling {
    Target,
    /// A number between its minimum and its maximum. The force selects it.
    Charge {
        low: f64,
        high: f64,
    },
    Pitch {
        low: f64,
        high: f64,
    },
    Number {
        low: f64,
        high: f64,
    },
    Truth,
}

/// A horizontal rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// X and Z of its middle, in metres.
    pub(super) centre: [f64; 2],
    /// Half of its edges along X and Z.
    pub(super) half: [f64; 2],
}

impl Default for Area {
    fn default() -> Self {
        Area { centre: [0.0; 2], half: [HALF_WIDTH; 2] }
    }
}

impl Abilities {
    pub(super) fn new(kinds: Vec<KindOffer>, actions: &[ActionOffer]) -> Abilities {
        let kinds = kinds.into_iter().map(|offer| {
            let KindOffer { name, body, walker, attributes } = offer;
            let motion = body.get("motion").and_then(Value::as_text);
            let is_box = body.get("shape").and_then(Value::as_text) == Some("box");
            let kind = Kind {
                is_walker: walker != Value::Nil,
                is_dynamic: motion == Some("dynamic"),
                fixed_box: body.get("size").filter(|_| is_box && motion == Some("fixed")).and_then(edges),
                naming: attributes
                    .into_iter()
                    .filter(|field| matches!(&field.ty, Type::Option(inner) if is_number(inner)))
                    .map(|field| field.name)
                    .collect(),
            };
            (name, kind)
        });
        let kinds = kinds.collect();
        let able = actions.iter().filter_map(Ability::of);
        let (targeted, untargeted) = able.partition(Ability::has_target);
        Abilities { kinds, targeted, untargeted }
    }

    /// Whether entities of this kind are targets of an ability.
    pub(super) fn is_target(&self, ability: &Ability, kind: &str) -> bool {
        if ability.targets.is_empty() {
            return self.kinds.get(kind).is_some_and(|kind| kind.is_dynamic);
        }
        ability.targets.iter().any(|target| target == kind)
    }

    /// Whether entities of this kind are targets of any ability.
    pub(super) fn is_some_target(&self, kind: &str) -> bool {
        self.targeted.iter().any(|ability| self.is_target(ability, kind))
    }

    /// Returns the entities in the attributes of a person. Attributes of other kinds are not hands.
    pub(super) fn named(&self, kind: &str, attributes: &Value) -> Vec<u32> {
        let Some(kind) = self.kinds.get(kind).filter(|kind| kind.is_walker) else { return Vec::new() };
        kind.naming.iter().filter_map(|name| number(attributes.get(name)?)).collect()
    }

    /// Returns the ground that an entity of this kind offers, if any.
    pub(super) fn ground(&self, kind: &str, scale: [f64; 3], place: [f64; 3]) -> Option<Area> {
        let edges = self.kinds.get(kind)?.fixed_box?;
        let half = |axis: usize| 0.5 * INNER * (edges[axis] * scale[axis]).abs();
        Some(Area { centre: [place[0], place[2]], half: [half(0), half(2)] })
    }
}

impl Area {
    pub(super) fn square_metres(&self) -> f64 {
        4.0 * self.half[0] * self.half[1]
    }
}

impl Ability {
    /// Returns the ability of an action. Returns `None` if the meaning of a required argument is unknown.
    fn of(action: &ActionOffer) -> Option<Ability> {
        let hint = |name: &str| action.hint.get(name).and_then(Value::as_text);
        let mut arguments = Vec::new();
        for field in &action.arguments {
            let is_hinted = |name: &str| hint(name) == Some(&field.name);
            let bounds = bounds(&field.ty);
            let filling = match (&field.ty, bounds) {
                _ if is_hinted("target") => Some(Filling::Target),
                (_, Some((low, high))) if is_hinted("charge") => Some(Filling::Charge { low, high }),
                (_, Some((low, high))) if is_hinted("pitch") => Some(Filling::Pitch { low, high }),
                (_, Some((low, high))) => Some(Filling::Number { low, high }),
                (Type::Bool, None) => Some(Filling::Truth),
                // The number may stand for an entity that the bot does not know.
                (ty, None) if is_number(ty) => return None,
                _ => None,
            };
            arguments.extend(filling.map(|filling| (field.name.clone(), filling)));
        }
        let targets = match action.hint.get("of") {
            Some(Value::Text(kind)) => vec![kind.clone()],
            Some(Value::List(kinds)) => {
                kinds.iter().filter_map(|kind| Some(kind.as_text()?.to_owned())).collect()
            }
            _ => Vec::new(),
        };
        let reach = action.hint.get("reach").and_then(Value::as_f64).filter(|reach| reach.is_finite());
        let reach = (reach.unwrap_or(REACH) - MARGIN).max(MARGIN);
        Some(Ability { name: action.name.clone(), arguments, targets, reach })
    }

    fn has_target(&self) -> bool {
        self.arguments.iter().any(|(_, filling)| *filling == Filling::Target)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the maximum distance to the target, in metres.
    pub(super) fn reach(&self) -> f64 {
        self.reach
    }

    /// Whether the force of the ability can vary.
    pub(super) fn has_charge(&self) -> bool {
        self.arguments.iter().any(|(_, filling)| matches!(filling, Filling::Charge { .. }))
    }

    /// Returns the arguments of the ability. `draw` returns a random number below its argument.
    pub(super) fn fill(&self, target: Option<u32>, force: Force, mut draw: impl FnMut(u64) -> u64) -> Value {
        let mut fill = |filling: Filling| match (filling, force) {
            (Filling::Target, _) => target.map_or(Value::Nil, |id| u64::from(id).into()),
            (Filling::Charge { low, .. }, Force::Gentle) => low.into(),
            (Filling::Charge { high, .. }, Force::Full) => high.into(),
            (Filling::Pitch { low, high }, Force::Gentle) => within(0.0, low, high).into(),
            (Filling::Pitch { low, high }, Force::Full) => within(UPWARD, low, high).into(),
            (Filling::Number { low, high }, _) => (low + (high - low) * draw(1_001) as f64 / 1e3).into(),
            (Filling::Truth, _) => (draw(2) == 0).into(),
        };
        let arguments = self.arguments.iter().map(|(name, filling)| (name.as_str().into(), fill(*filling)));
        Value::Map(arguments.collect())
    }
}

/// Returns the smallest and the largest sensible number of a type.
fn bounds(ty: &Type) -> Option<(f64, f64)> {
    match *ty {
        Type::Range(Range { low, high, .. }) => {
            Some((low, high)).filter(|_| low.is_finite() && high.is_finite() && low <= high)
        }
        Type::Angle(_) => Some((0.0, std::f64::consts::TAU)),
        Type::Number(NumberType::F32 | NumberType::F64) => Some((0.0, 1.0)),
        _ => None,
    }
}

fn within(value: f64, low: f64, high: f64) -> f64 {
    value.max(low).min(high)
}

/// Whether a type can hold the number of an entity.
fn is_number(ty: &Type) -> bool {
    *ty == Type::Number(NumberType::U32)
}

fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Int(value) => u32::try_from(*value).ok(),
        Value::Uint(value) => u32::try_from(*value).ok(),
        _ => None,
    }
}

fn edges(size: &Value) -> Option<[f64; 3]> {
    let Value::List(edges) = size else { return None };
    let edges: Vec<f64> = edges.iter().filter_map(Value::as_f64).filter(|edge| edge.is_finite()).collect();
    edges.try_into().ok()
}

#[cfg(test)]
mod tests {
    use nowcast_world::Attributes;

    use super::*;

    fn map(pairs: &[(&str, Value)]) -> Value {
        Value::Map(pairs.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    }

    fn action(name: &str, arguments: &str, hint: Value) -> ActionOffer {
        let arguments = Attributes::parse(arguments).unwrap().fields().to_vec();
        ActionOffer { name: name.into(), arguments, hint }
    }

    #[test]
    fn arguments_are_filled_by_the_binding_and_by_their_types() {
        let hint = map(&[("charge", "power".into()), ("pitch", "pitch".into())]);
        let throw = action(
            "throw",
            "power: range(0, 2, 0.01), pitch: range(-1, 0.25, 0.01), spin: range(3, 4, 0.5), high: bool, note: text",
            hint,
        );
        let throw = Ability::of(&throw).unwrap();
        assert!(throw.has_charge() && !throw.has_target());
        let full = throw.fill(None, Force::Full, |_| 0);
        let expected =
            [("power", 2.0.into()), ("pitch", 0.25.into()), ("spin", 3.0.into()), ("high", true.into())];
        assert_eq!(full, map(&expected));
        let gentle = throw.fill(None, Force::Gentle, |below| below - 1);
        assert_eq!(gentle.get("power"), Some(&0.0.into()));
        assert_eq!(gentle.get("spin"), Some(&4.0.into()));
    }

    #[test]
    fn an_entity_argument_that_no_binding_describes_is_not_guessed() {
        assert!(Ability::of(&action("open", "door: u32", Value::Nil)).is_none());
        let hint = map(&[("target", "door".into()), ("of", Value::List(vec!["door".into(), "gate".into()]))]);
        let open = Ability::of(&action("open", "door: u32", hint)).unwrap();
        assert_eq!(open.fill(Some(7), Force::Gentle, |_| 0), map(&[("door", 7.into())]));
        assert!(Abilities::default().is_target(&open, "gate"));
        assert!(!Abilities::default().is_target(&open, "wall"));
        let maybe = Ability::of(&action("look", "door: u32?", Value::Nil)).unwrap();
        assert_eq!(maybe.fill(None, Force::Gentle, |_| 0), map(&[]), "the argument may be left out");
    }

    #[test]
    fn only_a_fixed_box_is_a_ground() {
        let floor = map(&[
            ("motion", "fixed".into()),
            ("shape", "box".into()),
            ("size", Value::List(vec![1.0.into(), 1.0.into(), 1.0.into()])),
        ]);
        let kind =
            KindOffer { name: "floor".into(), body: floor, walker: Value::Nil, attributes: Vec::new() };
        let abilities = Abilities::new(vec![kind], &[]);
        let area = abilities.ground("floor", [60.0, 2.0, 40.0], [1.0, -1.0, 2.0]);
        assert_eq!(area, Some(Area { centre: [1.0, 2.0], half: [24.0, 16.0] }));
        assert_eq!(abilities.ground("ball", [1.0; 3], [0.0; 3]), None);
    }
}
