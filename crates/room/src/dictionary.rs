//! Encodes the definition of a world for clients: kinds with bodies, attributes, actions and events.

use std::sync::Arc;

use nowcast_replication::{Interval, Placed, Quantization, RateTable, RatesId, Reach, UpdateRates};
use nowcast_script::Assets;
use nowcast_wire::{Effort, Value, encode_value};
use nowcast_world::{Attributes, Definition, EntityRef, Interest, KindId, STEP_HZ, UpdateRate};
use nowcast_world_protocol::session::{Action, Asset, Declared, Definition as Message, Kind};

/// Maximum bytes of the message that holds a definition (`spec/WORLD.md`, section 6).
const DEFINITION_BYTES_MAX: usize = 128 * 1024;

/// The fields of a body that may be long. A definition that is too large is sent without these fields; the longest is
/// removed first.
const LONG_WORDS: [&str; 4] = ["vertices", "triangles", "heights", "points"];

/// The encoding of a definition with its kinds.
pub struct Dictionary {
    /// The definition for clients on sessions.
    pub(crate) message: Message,
    /// For each kind, a hash of its description. If the hash changes, the entities of the kind are described again.
    fingerprints: Vec<u64>,
    /// For each kind, the replication of its entities.
    replication: Vec<KindReplication>,
    /// How often entities are sent, by distance.
    rates: Arc<RateTable>,
}

/// The replication of a kind's entities.
#[derive(Clone, Copy)]
struct KindReplication {
    interest: Interest,
    /// Radius of the kind's shape, in metres.
    size: f32,
    quantization: Quantization,
    rates: RatesId,
}

impl Dictionary {
    /// Describes a definition and its asset files. `version` is the version of the rules.
    pub(crate) fn new(definition: &Definition, assets: &Assets, version: u64) -> Self {
        let gravity = -definition.gravity[1];
        let kinds: Vec<Kind> = definition.kinds.iter().map(|kind| Kind::describe(kind, gravity)).collect();
        let fingerprints =
            kinds.iter().map(|kind| nowcast_wire::fnv1a(&nowcast_wire::encode_to_vec(kind))).collect();
        let far_metres = match definition.interest {
            Interest::Near { radius } => radius / 2.0,
            Interest::Always | Interest::Never | Interest::Owner => f32::INFINITY,
        };
        let default_rates = definition.update_rates.as_deref().map(update_rates);
        let default_rates = default_rates.unwrap_or_else(|| UpdateRates::far(far_metres));
        let mut rates = RateTable::new(far_metres, default_rates);
        let replication = definition.kinds.iter().map(|kind| {
            let of_kind = kind.update_rates.as_deref().map_or(default_rates, update_rates);
            KindReplication {
                interest: definition.interest_of(kind),
                size: kind.body.as_ref().map_or(0.0, |body| body.shape.reach()),
                quantization: Quantization::within(kind.precision, kind.rotation_precision),
                rates: match kind.walker {
                    Some(_) => rates.add_for_movers(of_kind),
                    None => rates.add(of_kind),
                },
            }
        });
        let replication = replication.collect();
        let actions = definition.actions.iter().map(|action| Action {
            name: action.name.clone(),
            arguments: action.arguments.shape().to_bytes(),
            hint: action.hint.clone(),
            durable: action.durable,
        });
        let events = definition
            .events
            .iter()
            .map(|event| Declared { name: event.name.clone(), payload: event.payload.shape().to_bytes() });
        let mut message = Message {
            version,
            kinds,
            actions: actions.collect(),
            events: events.collect(),
            assets: describe_assets(assets),
        };
        while nowcast_wire::encode_to_vec(&message).len() > DEFINITION_BYTES_MAX && shorten(&mut message) {}
        Self { message, fingerprints, replication, rates: Arc::new(rates) }
    }

    /// Returns the position of an entity, and the clients to which it is replicated.
    pub(crate) fn placed(&self, entity: &EntityRef<'_>) -> Placed {
        let KindReplication { interest, size, quantization, rates } = self.replication(entity.kind);
        let size = size * entity.scale.iter().fold(0.0, |most: f32, scale| most.max(scale.abs()));
        let reach = match interest {
            // An entity larger than a grid cell is visible from beyond the neighbour cells.
            Interest::Near { radius } if size > Reach::cell_metres(radius) => Reach::Always,
            Interest::Near { radius } => Reach::Within(radius),
            Interest::Always => Reach::Always,
            Interest::Never => Reach::Never,
            Interest::Owner => entity.owner.map_or(Reach::Never, |owner| Reach::Owner(owner.0)),
        };
        Placed { id: entity.id.0, position: entity.pose.position, reach, size, quantization, rates }
    }

    /// Whether the entities of a kind are replicated to some clients only. The plain protocol does not replicate them.
    pub(crate) fn is_private(&self, kind: KindId) -> bool {
        matches!(self.replication(kind).interest, Interest::Never | Interest::Owner)
    }

    /// How often entities are sent, by distance.
    pub fn rates(&self) -> &Arc<RateTable> {
        &self.rates
    }

    fn replication(&self, kind: KindId) -> KindReplication {
        let unknown = KindReplication {
            interest: Interest::DEFAULT,
            size: 0.0,
            quantization: Quantization::default(),
            rates: RatesId::default(),
        };
        self.replication.get(usize::from(kind.0)).copied().unwrap_or(unknown)
    }

    /// Whether the definition fits into one message.
    pub(crate) fn fits(&self) -> bool {
        nowcast_wire::encode_to_vec(&self.message).len() <= DEFINITION_BYTES_MAX
    }

    /// A hash of a kind's description.
    pub(crate) fn fingerprint(&self, kind: KindId) -> u64 {
        self.fingerprints.get(usize::from(kind.0)).copied().unwrap_or_default()
    }
}

/// Converts the update rates of a definition. An interval is rounded down to whole steps, so that rates are not lower than
/// declared.
fn update_rates(rates: &[UpdateRate]) -> UpdateRates {
    let class = |rate: &UpdateRate| {
        let steps = (STEP_HZ as f32 / rate.hz) as u16;
        let interval = if steps > 1 { Interval::Steps(steps) } else { Interval::EveryRound };
        (rate.within.unwrap_or(f32::INFINITY), interval)
    };
    UpdateRates::new(&rates.iter().map(class).collect::<Vec<_>>())
}

/// Removes the longest list of a body. Returns whether there was one.
fn shorten(message: &mut Message) -> bool {
    let lists = message.kinds.iter_mut().filter_map(|kind| match &mut kind.body {
        Value::Map(words) => Some(words),
        _ => None,
    });
    let length = |value: &Value| if let Value::List(items) = value { items.len() } else { 0 };
    let is_long = |(word, _): &(Value, Value)| word.as_text().is_some_and(|word| LONG_WORDS.contains(&word));
    let longest = |words: &Vec<(Value, Value)>| {
        words.iter().filter(|word| is_long(word)).map(|(_, value)| length(value)).max()
    };
    let Some(words) = lists.max_by_key(|words| longest(words)) else { return false };
    let Some(most) = longest(words) else { return false };
    words.retain(|word| !is_long(word) || length(&word.1) < most);
    true
}

/// Returns an entity's attributes as a map by name.
pub(crate) fn attributes_of(attributes: &Attributes, entity: &EntityRef<'_>) -> Value {
    let names = attributes.fields().iter().map(|field| Value::Text(field.name.clone()));
    Value::Map(names.zip(entity.attributes.iter().cloned()).collect())
}

/// Encodes an entity's attributes with the shape of its kind.
pub(crate) fn attribute_bytes(attributes: &Attributes, entity: &EntityRef<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_value(attributes.shape(), &attributes_of(attributes, entity), Effort::default(), &mut bytes)
        .expect("the engine keeps only values that fit");
    bytes
}

/// The names of a shape's fields, with their types as schemas write them.
pub(crate) fn field_types(attributes: &Attributes) -> impl Iterator<Item = (String, String)> {
    let shape = attributes.shape();
    attributes.fields().iter().map(|field| (field.name.clone(), shape.type_name(&field.ty)))
}

fn describe_assets(assets: &Assets) -> Vec<Asset> {
    let describe = |asset: &std::sync::Arc<nowcast_script::Asset>| Asset {
        name: asset.name.clone(),
        hash: asset.hash.clone(),
        bytes: u32::try_from(asset.content.len()).expect("a file of a world is short"),
        media_type: asset.media_type.to_owned(),
    };
    assets.iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use nowcast_world::{Body, ColliderShape};

    use super::*;

    #[test]
    fn a_definition_that_is_too_large_is_sent_without_its_longest_lists() {
        let ground = |name: &str, side: usize| {
            let shape =
                ColliderShape::HeightField { heights: vec![0.5; side * side], columns: side, size: [9.0; 2] };
            nowcast_world::Kind::new(name).with_body(Body::fixed(shape))
        };
        let definition =
            Definition { kinds: vec![ground("hill", 8), ground("alps", 400)], ..Definition::default() };
        let dictionary = Dictionary::new(&definition, &Assets::default(), 1);
        assert!(dictionary.fits());
        let [hill, alps] = &dictionary.message.kinds[..] else { panic!("two kinds") };
        assert!(hill.body.get("heights").is_some() && alps.body.get("heights").is_none());
        assert_eq!(alps.body.get("shape").and_then(Value::as_text), Some("heights"));
    }

    #[test]
    fn a_definition_whose_appearances_are_too_large_does_not_fit() {
        let look = Value::Text("x".repeat(10_000));
        let kind = |number: usize| nowcast_world::Kind {
            look: look.clone(),
            ..nowcast_world::Kind::new(&number.to_string())
        };
        let definition = Definition { kinds: (0..20).map(kind).collect(), ..Definition::default() };
        assert!(!Dictionary::new(&definition, &Assets::default(), 1).fits());
    }
}
