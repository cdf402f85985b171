//! Migration of a stored world to other rules: the changes, and the resulting world.

use std::collections::BTreeMap;

use nowcast_script::{Fault, Limits, Live, PROBATION_STEPS, Report, ResumeError, Sources};
use nowcast_store::{HOST_BYTES_MAX, SavedWorld, Snapshot};
use nowcast_world::{
    Attributes, Behaviour, Command, Definition, EntityId, Kind, KindId, PlayerId, Scene, World,
};

use super::{HostState, kept_rules, origin};

/// A migration of a stored world to other rules. Creating a migration changes nothing. To apply the migration, give its
/// [`Migration::snapshot`] to a store.
#[derive(Clone, Debug)]
pub struct Migration {
    /// The changes, to show to people. Empty if the world already has these rules.
    pub changes: Vec<String>,
    /// The world under the new rules. This world begins a new history, because the stored history does not lead to it.
    pub snapshot: Snapshot,
}

/// The reason why a world cannot be migrated. The world stays unchanged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MigrationError {
    /// The stored world cannot be restored.
    #[error("the stored world cannot be restored: {0}")]
    World(String),
    /// The new rules do not load, or do not accept the world.
    #[error("the rules do not accept the stored world: {0}")]
    Refused(Fault),
    /// The rules raise an error within the first two seconds of the world.
    #[error("the rules fail within two seconds after the migration: {0}")]
    Failed(Fault),
    /// The caller listed a kind to remove that the world does not have.
    #[error("the world has no kind {0}, so no entities of it can be removed")]
    NoKind(String),
    /// The rules are larger than a stored world allows.
    #[error("the rules have {bytes} bytes, and a stored world holds {HOST_BYTES_MAX} at most")]
    TooLarge {
        /// Size of the rules in bytes.
        bytes: usize,
    },
}

/// Migrates a stored world to other rules. Runs the rules for the same trial period as new rules in a server. Entities of
/// the kinds in `lost` are removed. The migration fails if the rules lack the kind of any other entity.
///
/// # Errors
/// Fails if the stored world cannot be restored, or the rules fail with it.
pub fn migrate(
    saved: &SavedWorld,
    sources: Sources,
    lost: &[String],
    now_ms: u64,
) -> Result<Migration, MigrationError> {
    let mut state = HostState::from_bytes(&saved.snapshot.host)
        .map_err(|error| MigrationError::World(error.to_string()))?;
    let (_, before) = kept_rules(&saved.snapshot).map_err(MigrationError::World)?;
    let mut live = resume(saved, before)?;
    let old = counts(live.world());
    if !lost.is_empty() {
        state.last_player += 1;
        live = leave_behind(live, lost, PlayerId(state.last_player))?;
    }
    live.reload(sources.clone()).map_err(MigrationError::Refused)?;
    let (world, _) = live.parts();
    let bytes = world.snapshot();
    let (tick, hash) = (world.tick(), world.hash());
    let new_origin = origin(world, Some(&sources), saved.snapshot.origin.seed);
    let new = counts(world);
    state.sources = Some(sources);
    let host = state.to_bytes();
    if host.len() > HOST_BYTES_MAX {
        return Err(MigrationError::TooLarge { bytes: host.len() });
    }
    let mut changes = differences(&old, &new);
    changes.extend(try_out(live)?);
    let snapshot =
        Snapshot { origin: new_origin, tick, hash, time_ms: now_ms, world: bytes, once: saved.once(), host };
    Ok(Migration { changes, snapshot })
}

/// Restores the stored world with the rules that are stored with it.
fn resume(saved: &SavedWorld, sources: Sources) -> Result<Live, MigrationError> {
    let replayed = |is_checked: bool| {
        Live::resume(sources.clone(), Limits::DEFAULT, |definition, rules| {
            let restore = |snapshot: &Snapshot| World::restore(definition, rules, &snapshot.world);
            if is_checked { saved.replay(restore) } else { saved.replay_unchecked(restore) }
        })
    };
    // If rules store values in variables, their replay may not be exact. Then the result is almost the same world, as in a
    // server.
    let live = match replayed(true) {
        Err(ResumeError::World(_)) => replayed(false),
        other => other,
    };
    live.map_err(|error| MigrationError::World(error.to_string()))
}

/// Returns the world without the entities of some kinds. The rules of the world are not called.
fn leave_behind(mut live: Live, lost: &[String], stranger: PlayerId) -> Result<Live, MigrationError> {
    let failed = |error: String| MigrationError::World(error);
    let (world, sources) = live.parts();
    let (definition, sources) = (world.scene().definition().clone(), sources.clone());
    if let Some(kind) = lost.iter().find(|lost| definition.kinds.iter().all(|kind| kind.name != **lost)) {
        return Err(MigrationError::NoKind(kind.clone()));
    }
    let bytes = world.snapshot();
    let left = LeftBehind(lost.to_vec());
    let mut world =
        World::restore(definition, Box::new(left), &bytes).map_err(|error| failed(error.to_string()))?;
    // Between two steps, only joins and actions run a behaviour.
    for command in [Command::join(stranger, ""), Command::Leave { player: stranger }] {
        world.apply(command).map_err(|error| failed(error.to_string()))?;
    }
    world.apply_waiting();
    let bytes = world.snapshot();
    let restore = |definition, rules| World::restore(definition, rules, &bytes);
    Live::resume(sources, Limits::DEFAULT, restore).map_err(|error| failed(error.to_string()))
}

/// A behaviour that removes all entities of these kinds at the next join.
struct LeftBehind(Vec<String>);

impl Behaviour for LeftBehind {
    fn join(&mut self, scene: &mut Scene, _: PlayerId) {
        let kinds: Vec<_> = self.0.iter().filter_map(|name| scene.kind(name)).collect();
        let of_these = scene.entities().iter().filter(|entity| kinds.contains(&entity.kind));
        let ids: Vec<EntityId> = of_these.map(|entity| entity.id).collect();
        for id in ids {
            // An entity attached to a removed one is already gone.
            let _ = scene.despawn(id);
        }
    }
}

/// Runs the new rules for the trial period. Fails if a server would roll them back.
fn try_out(mut live: Live) -> Result<Vec<String>, MigrationError> {
    while live.poll_report().is_some() {}
    let mut warnings = Vec::new();
    for _ in 0..PROBATION_STEPS {
        live.step();
        while live.poll_event().is_some() {}
        while let Some(report) = live.poll_report() {
            match report {
                Report::RolledBack { fault, .. } | Report::Refused { fault, .. } => {
                    return Err(MigrationError::Failed(fault));
                }
                Report::Failed { fault, .. } => warnings.push(format!("in its first two seconds: {fault}")),
                Report::Runs { .. } => {}
            }
        }
    }
    Ok(warnings)
}

/// The definition of a world, and the kind of each entity.
struct Counts {
    definition: Definition,
    entities: BTreeMap<EntityId, String>,
}

fn counts(world: &World) -> Counts {
    let definition = world.scene().definition().clone();
    let kind_of = |kind: KindId| definition.kinds.get(usize::from(kind.0)).map(|kind| kind.name.clone());
    let entities =
        world.entities().iter().filter_map(|entity| Some((entity.id, kind_of(entity.kind)?))).collect();
    Counts { definition, entities }
}

/// Compares the entities of a kind before and after.
fn of_entities(kind: &str, old: &Counts, new: &Counts, changes: &mut Vec<String>) {
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lost = 0;
    for (id, _) in old.entities.iter().filter(|(_, had)| *had == kind) {
        match new.entities.get(id) {
            None => lost += 1,
            Some(has) if has != kind => *taken.entry(has).or_default() += 1,
            Some(_) => {}
        }
    }
    for (by, count) in taken {
        changes.push(format!("kind {kind}: {count} entities are of kind {by} now"));
    }
    if lost > 0 {
        changes.push(format!("kind {kind}: {lost} entities are lost"));
    }
}

fn differences(old: &Counts, new: &Counts) -> Vec<String> {
    let mut changes = Vec::new();
    for before in &old.definition.kinds {
        let kind = &before.name;
        match new.definition.kinds.iter().find(|after| after.name == before.name) {
            None => changes.push(format!("kind {kind}: gone")),
            Some(after) => {
                let rest = |known: &Kind| {
                    format!("{:?}", Kind { attributes: Attributes::default(), ..known.clone() })
                };
                if rest(before) != rest(after) {
                    changes.push(format!("kind {kind}: another form, body or look"));
                }
                of_attributes(kind, &before.attributes, &after.attributes, &mut changes);
            }
        }
        of_entities(kind, old, new, &mut changes);
    }
    let is_new = |kind: &&Kind| old.definition.kinds.iter().all(|old| old.name != kind.name);
    let added = new.definition.kinds.iter().filter(is_new);
    changes.extend(added.map(|kind| format!("kind {}: new", kind.name)));
    let actions = |counts: &Counts| -> Vec<String> {
        counts.definition.actions.iter().map(|action| action.name.clone()).collect()
    };
    let (old, new) = (actions(old), actions(new));
    let gone = old.iter().filter(|name| !new.contains(name));
    changes.extend(gone.map(|action| format!("action {action}: gone")));
    let added = new.iter().filter(|name| !old.contains(name));
    changes.extend(added.map(|action| format!("action {action}: new")));
    changes
}

fn of_attributes(kind: &str, before: &Attributes, after: &Attributes, changes: &mut Vec<String>) {
    for field in before.fields() {
        let attribute = &field.name;
        match after.fields().iter().find(|known| known.name == field.name) {
            None => changes.push(format!("kind {kind}: {attribute} is forgotten")),
            Some(known) if known.ty != field.ty => changes.push(format!(
                "kind {kind}: {attribute} has another type; values that do not fit are replaced by the default"
            )),
            Some(_) => {}
        }
    }
    for field in after.fields() {
        if before.fields().iter().all(|known| known.name != field.name) {
            changes.push(format!("kind {kind}: {} is new", field.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use nowcast_store::{Batch, Once, WorldName};

    use super::*;

    const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { score = 3 }
local Ball = world.kind("ball", { attributes = { heat = "f32", title = "text" } })
local Cone = world.kind("cone", {})
world.on("start", function() Ball:spawn { heat = 2 } Ball:spawn {} Cone:spawn {} end)
world.action("kick", {}, function() end)
"#;

    fn stored_world(rules: &str) -> SavedWorld {
        let sources = Sources::of_main(rules);
        let mut live = Live::new(sources.clone(), 7, Limits::DEFAULT).expect("the rules load");
        (0..3).for_each(|_| live.step());
        let (world, _) = live.parts();
        let bytes = world.snapshot();
        let host = HostState {
            offered: "park".into(),
            last_player: 4,
            seats: Default::default(),
            sources: Some(sources.clone()),
        };
        let snapshot = Snapshot {
            origin: origin(world, Some(&sources), 7),
            tick: world.tick(),
            hash: world.hash(),
            time_ms: 5,
            world: bytes,
            once: Once::default(),
            host: host.to_bytes(),
        };
        let name = WorldName::new("park").expect("the name is valid");
        let through_tick = world.tick() + 4;
        let rest = Batch { from_tick: world.tick(), through_tick, time_ms: 6, ..Batch::default() };
        SavedWorld { name, tick: through_tick, snapshot, batches: vec![rest], damage: Vec::new() }
    }

    fn changes_of(rules: &str, lost: &[String]) -> Vec<String> {
        let migration =
            migrate(&stored_world(RULES), Sources::of_main(rules), lost, 9).expect("the rules take it");
        let world = super::super::restore_kept(&migration.snapshot).expect("the bytes are a world");
        assert_eq!(world.hash(), migration.snapshot.hash);
        migration.changes
    }

    #[test]
    fn the_same_rules_change_nothing_and_the_world_stays_where_it_is() {
        let saved = stored_world(RULES);
        let migration = migrate(&saved, Sources::of_main(RULES), &[], 9).expect("the rules take it");
        assert!(migration.changes.is_empty(), "{:?}", migration.changes);
        assert_eq!((migration.snapshot.tick, migration.snapshot.time_ms), (saved.tick, 9));
        let world = super::super::restore_kept(&migration.snapshot).expect("the bytes are a world");
        assert_eq!((world.tick(), world.hash()), (saved.tick, migration.snapshot.hash));
    }

    #[test]
    fn a_plan_names_kinds_attributes_actions_and_the_entities_that_are_lost() {
        let other = RULES
            .replace(r#"heat = "f32", title = "text""#, r#"heat = "text", weight = "f32""#)
            .replace("heat = 2", "")
            .replace(r#"local Cone = world.kind("cone", {})"#, r#"local Cone = world.kind("tree", {})"#)
            .replace("\"kick\"", "\"throw\"");
        assert_eq!(
            changes_of(&other, &["cone".to_owned()]),
            [
                "kind ball: heat has another type; values that do not fit are replaced by the default",
                "kind ball: title is forgotten",
                "kind ball: weight is new",
                "kind cone: gone",
                "kind cone: 1 entities are lost",
                "kind tree: new",
                "action kick: gone",
                "action throw: new",
            ]
        );
    }

    #[test]
    fn a_kind_with_entities_that_is_not_listed_as_lost_is_an_error() {
        let saved = stored_world(RULES);
        let other = RULES.replace(r#"local Cone = world.kind("cone", {})"#, "").replace("Cone:spawn {}", "");
        let error = migrate(&saved, Sources::of_main(&other), &[], 9).expect_err("a cone would be lost");
        assert!(matches!(error, MigrationError::Refused(_)), "{error}");
        let error =
            migrate(&saved, Sources::of_main(&other), &["sphere".to_owned()], 9).expect_err("no kind");
        assert_eq!(error, MigrationError::NoKind("sphere".to_owned()));
        assert_eq!(
            changes_of(&other, &["cone".to_owned()]),
            ["kind cone: gone", "kind cone: 1 entities are lost"]
        );
    }

    #[test]
    fn rules_that_fail_in_their_first_steps_are_refused() {
        let saved = stored_world(RULES);
        let bad = format!("{RULES}\nworld.on('step', function() error('no') end)");
        let error = migrate(&saved, Sources::of_main(&bad), &[], 9).expect_err("the rules fail");
        assert!(matches!(error, MigrationError::Failed(_)), "{error}");
        let error = migrate(&saved, Sources::of_main("this is not a script"), &[], 9).expect_err("no script");
        assert!(matches!(error, MigrationError::Refused(_)), "{error}");
    }

    #[test]
    fn a_world_of_another_program_is_left_unchanged() {
        let mut saved = stored_world(RULES);
        saved.snapshot.host = Vec::new();
        let error =
            migrate(&saved, Sources::of_main(RULES), &[], 9).expect_err("the rules of the world are unknown");
        assert!(matches!(error, MigrationError::World(_)), "{error}");
    }
}
