//! Pages of entities, with search.

use nowcast_world::{EntityId, EntityRef, Kind, World};
use serde_json::{Value as Json, json};

use super::StudioError;
use super::values::{numbers, to_json};

/// Maximum rows of a page.
pub const ROWS_MAX: usize = 1_000;

/// Rows of a page by default.
const ROWS: usize = 200;

/// Maximum entities that are examined after one step.
const EXAMINED_MAX: usize = 16_384;

/// Attributes that name an entity for people.
const LABELS: [&str; 3] = ["name", "label", "title"];

/// The wanted entities.
#[derive(Clone, Debug, Default)]
pub struct EntityFilter {
    /// Text in the kind, a tag or the label, in lower case.
    search: Option<String>,
    /// Only this entity.
    id: Option<u32>,
    kind: Option<String>,
    tag: Option<String>,
    /// An attribute, and the value that it has.
    attribute: Option<(String, Option<Json>)>,
    /// A position and a radius, in metres.
    near: Option<([f32; 3], f32)>,
    /// Only rows after this id.
    after: Option<u32>,
    limit: Option<usize>,
}

impl EntityFilter {
    /// Reads the parameters of a query. Empty values are ignored.
    ///
    /// # Errors
    /// [`StudioError::Invalid`] names the parameter.
    pub fn parse<'q>(query: impl IntoIterator<Item = (&'q str, &'q str)>) -> Result<Self, StudioError> {
        let mut filter = Self::default();
        for (name, value) in query {
            let invalid = |form: &str| StudioError::Invalid(format!("'{name}' must be {form}"));
            match name {
                _ if value.is_empty() => {}
                "search" => match value.strip_prefix('#') {
                    Some(id) => filter.id = Some(id.parse().map_err(|_| invalid("text, or # and an id"))?),
                    None => filter.search = Some(value.to_lowercase()),
                },
                "kind" => filter.kind = Some(value.to_owned()),
                "tag" => filter.tag = Some(value.to_owned()),
                "attribute" => {
                    let (name, wanted) =
                        value.split_once('=').map_or((value, None), |(name, value)| (name, Some(value)));
                    let wanted =
                        wanted.map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.into()));
                    filter.attribute = Some((name.to_owned(), wanted));
                }
                "near" => {
                    let numbers: Result<Vec<f32>, _> = value.split(',').map(str::parse).collect();
                    let Ok([x, y, z, radius]) = numbers.as_deref() else {
                        return Err(invalid("x,y,z,radius in metres"));
                    };
                    filter.near = Some(([*x, *y, *z], *radius));
                }
                "after" => filter.after = Some(value.parse().map_err(|_| invalid("an id"))?),
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=ROWS_MAX).contains(limit));
                    filter.limit = Some(limit.ok_or_else(|| invalid("1 to 1000"))?);
                }
                _ => return Err(StudioError::Invalid(format!("there is no parameter '{name}'"))),
            }
        }
        Ok(filter)
    }

    fn is_empty(&self) -> bool {
        let Self { search, id, kind, tag, attribute, near, after: _, limit: _ } = self;
        search.is_none()
            && id.is_none()
            && kind.is_none()
            && tag.is_none()
            && attribute.is_none()
            && near.is_none()
    }

    fn matches(&self, entity: &EntityRef<'_>, kind: &Kind) -> bool {
        let Self { search, id, kind: wanted, tag, attribute, near, .. } = self;
        let has_text = |text: &str| {
            kind.name.to_lowercase().contains(text)
                || entity.tags.iter().any(|tag| tag.to_lowercase().contains(text))
                || label(entity, kind).is_some_and(|label| label.to_lowercase().contains(text))
        };
        id.is_none_or(|id| entity.id.0 == id)
            && wanted.as_ref().is_none_or(|wanted| kind.name == *wanted)
            && tag.as_ref().is_none_or(|tag| entity.tags.contains(tag))
            && near.is_none_or(|(at, radius)| is_near(entity.pose.position, at, radius))
            && attribute
                .as_ref()
                .is_none_or(|(name, value)| has_attribute(entity, kind, name, value.as_ref()))
            && search.as_deref().is_none_or(has_text)
    }
}

fn is_near(a: [f32; 3], b: [f32; 3], radius: f32) -> bool {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>() <= radius * radius
}

fn has_attribute(entity: &EntityRef<'_>, kind: &Kind, name: &str, wanted: Option<&Json>) -> bool {
    let Some(index) = kind.attributes.index(name) else { return false };
    wanted.is_none_or(|wanted| {
        let found = to_json(&entity.attributes[index]);
        match (found.as_f64(), wanted.as_f64()) {
            (Some(found), Some(wanted)) => found == wanted,
            _ => found == *wanted,
        }
    })
}

/// Returns the attribute that names an entity, if it is text.
fn label<'e>(entity: &EntityRef<'e>, kind: &Kind) -> Option<&'e str> {
    let index = LABELS.iter().find_map(|name| kind.attributes.index(name))?;
    entity.attributes[index].as_text()
}

/// A listing that examines the entities of a world, over several steps if there are many.
pub(crate) struct Scan {
    filter: EntityFilter,
    /// The first entity that was not examined.
    next: EntityId,
    rows: Vec<Json>,
    last: u32,
    total: usize,
    has_more: bool,
}

impl Scan {
    pub(crate) fn new(filter: EntityFilter) -> Scan {
        let first = match (filter.id, filter.is_empty()) {
            (Some(id), _) => id,
            (None, true) => filter.after.map_or(0, |after| after.saturating_add(1)),
            (None, false) => 0,
        };
        Scan { filter, next: EntityId(first), rows: Vec::new(), last: 0, total: 0, has_more: false }
    }

    /// Examines entities until the listing is complete, or until [`EXAMINED_MAX`]. Returns whether it is complete.
    pub(crate) fn run(&mut self, world: &World) -> bool {
        let limit = self.filter.limit.unwrap_or(ROWS);
        let is_counted = !self.filter.is_empty();
        for (examined, entity) in world.entities().iter_from(self.next).enumerate() {
            if examined >= EXAMINED_MAX {
                return false;
            }
            self.next = EntityId(entity.id.0.saturating_add(1));
            let kind = world.scene().kind_of(entity.kind);
            if !self.filter.matches(&entity, kind) {
                if self.filter.id.is_some() {
                    return true;
                }
                continue;
            }
            self.total += 1;
            if self.filter.after.is_some_and(|after| entity.id.0 <= after) {
                continue;
            }
            if self.rows.len() < limit {
                self.last = entity.id.0;
                self.rows.push(describe_row(&entity, kind));
            } else {
                self.has_more = true;
                if !is_counted {
                    return true;
                }
            }
        }
        true
    }

    pub(crate) fn finish(&mut self, world: &World) -> Json {
        let total = if self.filter.is_empty() { world.entities().len() } else { self.total };
        json!({
            "tick": world.tick(),
            "total": total,
            "rows": std::mem::take(&mut self.rows),
            "next": self.has_more.then_some(self.last),
        })
    }
}

/// Describes an entity in one row.
pub(super) fn describe_row(entity: &EntityRef<'_>, kind: &Kind) -> Json {
    json!({
        "id": entity.id.0,
        "kind": kind.name,
        "position": numbers(&entity.pose.position),
        "tags": entity.tags,
        "owner": entity.owner.map(|owner| owner.0),
        "parent": entity.parent.map(|parent| parent.0),
        "label": label(entity, kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nowcast_world::{Attributes, Definition, Spawn};

    /// Makes a world of crates, of which every tenth is large.
    fn world(count: u32) -> World {
        let attributes = Attributes::parse("name: text, size: f32").unwrap();
        let kinds = vec![Kind::new("crate").with_attributes(attributes), Kind::new("lamp")];
        let mut definition = Definition { kinds, ..Definition::default() };
        definition.limits.entities_max = 131_072;
        struct Fill(u32);
        impl nowcast_world::Behaviour for Fill {
            fn start(&mut self, scene: &mut nowcast_world::Scene) {
                let kind = scene.kind("crate").unwrap();
                for n in 0..self.0 {
                    let size = if n % 10 == 0 { 2.0f32 } else { 1.0 };
                    let spawn = Spawn::at([n as f32, 0.0, 0.0]).with("size", size);
                    scene.spawn(kind, spawn.with("name", format!("Crate {n}"))).unwrap();
                }
                let lamp = scene.kind("lamp").unwrap();
                scene.spawn(lamp, Spawn::at([5.0, 1.0, 0.0])).unwrap();
            }
        }
        World::new(definition, 1, Box::new(Fill(count))).unwrap()
    }

    fn list(world: &World, query: &[(&str, &str)]) -> Json {
        let mut scan = Scan::new(EntityFilter::parse(query.iter().copied()).unwrap());
        while !scan.run(world) {}
        scan.finish(world)
    }

    #[test]
    fn pages_contain_every_entity_once() {
        let world = world(450);
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let page = list(&world, &[("after", &after)]);
            assert_eq!(page["total"], 451);
            seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()));
            let Some(next) = page["next"].as_u64() else { break };
            after = next.to_string();
        }
        assert_eq!(seen.len(), 451);
        assert!(seen.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_listing_is_filtered_by_kind_label_attribute_and_place() {
        let world = world(100);
        for (query, total) in [
            (&[("kind", "lamp")][..], 1),
            (&[("search", "LAM")], 1),
            (&[("search", "crate 4")], 11),
            (&[("search", "#3")], 1),
            (&[("search", "#99999")], 0),
            (&[("attribute", "size=2")], 10),
            (&[("attribute", "name=Crate 7")], 1),
            (&[("attribute", "size")], 100),
            (&[("near", "5,0,0,1.5")], 4),
            (&[("tag", "none")], 0),
            (&[("kind", "crate"), ("near", "5,0,0,1.5"), ("limit", "2")], 3),
        ] {
            let page = list(&world, query);
            assert_eq!(page["total"], total, "{query:?}: {page}");
            let limit = query.iter().any(|(name, _)| *name == "limit");
            assert_eq!(page["rows"].as_array().unwrap().len(), if limit { 2 } else { total }, "{query:?}");
        }
        for wrong in [("limit", "0"), ("limit", "9999"), ("near", "1,2"), ("after", "x"), ("colour", "red")] {
            assert!(EntityFilter::parse([wrong]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_large_world_is_examined_over_several_steps() {
        let world = world(100_000);
        let mut scan = Scan::new(EntityFilter::parse([("search", "lamp")]).unwrap());
        let mut runs = 1;
        while !scan.run(&world) {
            runs += 1;
        }
        assert_eq!(runs, 7);
        assert_eq!(scan.finish(&world)["total"], 1);
        let mut scan = Scan::new(EntityFilter::parse([("limit", "200")]).unwrap());
        assert!(scan.run(&world), "the first page of all entities takes one step");
    }
}
