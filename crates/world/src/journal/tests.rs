use super::*;
use crate::command::Edit;
use crate::id::{EntityId, PlayerId};
use crate::input::Input;
use crate::pose::Pose;
use crate::{Action, Behaviour, Definition, Random, Scene};
use nowcast_wire::Value;
use proptest::prelude::*;

fn any_pose() -> impl Strategy<Value = Pose> {
    (any::<[f32; 3]>(), any::<[f32; 4]>()).prop_map(|(position, rotation)| Pose { position, rotation })
}

fn any_record() -> impl Strategy<Value = Record> {
    let player = any::<u32>().prop_map(PlayerId);
    let input = (-1.0f32..=1.0, -1.0f32..=1.0, any::<f32>(), any::<(bool, bool)>());
    let input = input.prop_filter_map("no number", |(forward, right, yaw, (run, jump))| {
        Input { forward, right, yaw, run, jump }.validate().ok()
    });
    let value = prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<String>().prop_map(Value::Text),
        proptest::collection::vec((any::<String>(), any::<f64>()), 0..4).prop_map(|pairs| {
            Value::Map(pairs.into_iter().map(|(key, value)| (key.into(), Value::F64(value))).collect())
        }),
    ];
    let edit = prop_oneof![
        (any::<String>(), any_pose()).prop_map(|(kind, pose)| Edit::Spawn { kind, pose }),
        any::<u32>().prop_map(|id| Edit::Despawn(EntityId(id))),
        (any::<u32>(), any_pose()).prop_map(|(id, pose)| Edit::Place(EntityId(id), pose)),
        (any::<u32>(), any::<String>(), value.clone()).prop_map(|(id, name, value)| Edit::Attribute(
            EntityId(id),
            name,
            value
        )),
        (any::<u32>(), value.clone()).prop_map(|(id, value)| Edit::Private(EntityId(id), value)),
        (any::<String>(), value.clone()).prop_map(|(key, value)| Edit::State(key, value)),
        (any::<u32>(), value.clone()).prop_map(|(id, value)| Edit::Saved(PlayerId(id), value)),
    ];
    let command = prop_oneof![
        (player.clone(), any::<String>()).prop_map(|(player, name)| Command::join(player, name)),
        player.clone().prop_map(|player| Command::Leave { player }),
        (player.clone(), input.clone()).prop_map(|(player, input)| Command::Input { player, input }),
        (player.clone(), input).prop_map(|(player, first)| Command::CatchUpStep { player, first }),
        player.clone().prop_map(|player| Command::StallStep { player }),
        (player.clone(), any::<u16>())
            .prop_map(|(player, behind_ms)| Command::SetViewDelay { player, behind_ms }),
        (player.clone(), any::<String>(), value).prop_map(|(player, name, arguments)| Command::Action {
            player,
            name,
            arguments
        }),
        (player.clone(), any::<String>()).prop_map(|(player, text)| Command::Message { player, text }),
        (player.clone(), any::<String>()).prop_map(|(player, name)| Command::Rename { player, name }),
        (player, edit).prop_map(|(player, edit)| Command::Edit { player, edit }),
    ];
    prop_oneof![
        8 => command.prop_map(Record::Command),
        1 => Just(Record::Settled),
        1 => any::<u64>().prop_map(Record::Hash),
    ]
}

fn any_entries() -> impl Strategy<Value = Vec<Entry>> {
    proptest::collection::vec((0u64..5_000, any_record()), 0..40).prop_map(|steps| {
        let mut tick = 0;
        let entry = |(ticks, record)| {
            tick += ticks;
            Entry { tick, record }
        };
        steps.into_iter().map(entry).collect()
    })
}

fn bytes_of(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(entries, &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn written_journals_are_read_to_the_last_bit(entries in any_entries()) {
        // Poses of edits may hold NaN, which does not equal itself, so their texts are compared.
        let read = decode(&bytes_of(&entries)).expect("the bytes are a journal");
        prop_assert_eq!(format!("{read:?}"), format!("{entries:?}"));
    }

    #[test]
    fn a_damaged_journal_is_an_error_or_another_journal_and_never_a_panic(
        entries in any_entries(), place in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<bool>()
    ) {
        let mut bytes = bytes_of(&entries);
        let place = place.index(bytes.len());
        if cut { bytes.truncate(place) } else { bytes[place] ^= 1 << bit }
        let _ = decode(&bytes);
    }
}

#[test]
fn a_newer_journal_is_refused_by_its_version() {
    let error = decode(&[VERSION + 1, 0]).unwrap_err();
    assert_eq!(error, JournalError::Newer { found: VERSION + 1 });
    assert_eq!(decode(&[]), Err(JournalError::Empty));
}

#[test]
fn an_older_journal_is_refused_by_its_version() {
    let error = decode(&[VERSION - 1, 0]).unwrap_err();
    assert_eq!(error, JournalError::Older { found: VERSION - 1 });
    assert!(error.to_string().contains(", which no release wrote"), "{error}");
}

/// The input of two hundred turning players over three steps. Each player sends thirty inputs a second, and the server polls
/// the players in a fixed order.
fn inputs(first_player: u32, has_turn: impl Fn(u32, u32) -> bool) -> Vec<Entry> {
    let mut random = Random::new(5);
    let mut entries = Vec::new();
    for tick in 0..3 {
        for player in (0..200).filter(|player| has_turn(tick, *player)) {
            let yaw = 3.0 * random.signed();
            let input = Input::new(1.0, 0.0, yaw, true, false).expect("within bounds");
            let command = Command::Input { player: PlayerId(first_player + player), input };
            entries.push(Entry { tick: 1_000_000 + u64::from(tick), record: Record::Command(command) });
        }
    }
    entries
}

/// Size of the entries if one field has the same value in all of them.
fn bytes_without(entries: &[Entry], level: impl Fn(&mut PlayerId, &mut Input)) -> usize {
    let mut same = entries.to_vec();
    for Entry { record, .. } in &mut same {
        let Record::Command(Command::Input { player, input }) = record else { panic!("all are inputs") };
        level(player, input);
    }
    bytes_of(&same).len()
}

#[test]
fn an_input_takes_two_bytes_for_its_yaw_and_little_more() {
    let mut random = Random::new(7);
    let at_random: Vec<bool> = (0..600).map(|_| random.signed() > 0.0).collect();
    for (what, entries) in [
        ("every second step", inputs(1, |tick, player| (tick + player).is_multiple_of(2))),
        ("players with high numbers", inputs(4_000_000, |tick, player| (tick + player).is_multiple_of(2))),
        ("at random", inputs(70_000, |tick, player| at_random[(200 * tick + player) as usize])),
    ] {
        let (count, bytes) = (entries.len(), bytes_of(&entries).len());
        let without_yaws = bytes_without(&entries, |_, input| input.yaw = 0.0);
        let without_players = bytes_without(&entries, |player, _| *player = PlayerId(1));
        let (of_yaws, of_players) = (bytes - without_yaws, bytes - without_players);
        println!(
            "{what}: {count} inputs take {bytes} bytes, of which {of_yaws} are yaws and {of_players} whose they are"
        );
        assert!(of_yaws <= 2 * count, "{what}: yaws take {of_yaws} bytes for {count} inputs");
        assert!(without_yaws <= count, "{what}: all else takes {without_yaws} bytes for {count} inputs");
    }
}

/// Counts its hook calls in the world's state.
struct Counter;

impl Behaviour for Counter {
    fn action(&mut self, scene: &mut Scene, _: PlayerId, _: &str, _: &Value) -> bool {
        let count = scene.state("count").and_then(Value::as_f64).unwrap_or(0.0) + scene.random();
        scene.set_state("count", count).expect("a number is small");
        true
    }
}

fn counting() -> World {
    let actions = vec![Action::new("count", "").expect("the text is a schema")];
    let definition = Definition { actions, ..Definition::default() };
    World::new(definition, 3, Box::new(Counter)).expect("the definition is good")
}

fn recorded() -> (World, Vec<Entry>) {
    let (mut world, mut entries) = (counting(), Vec::new());
    for tick in 0..100 {
        let command = if tick == 0 {
            Command::join(PlayerId(1), "Ada")
        } else {
            let arguments = Value::Map(Vec::new());
            Command::Action { player: PlayerId(1), name: "count".into(), arguments }
        };
        world.apply(command.clone()).expect("the world accepts the command");
        entries.push(Entry { tick, record: Record::Command(command) });
        if tick == 50 {
            world.apply_waiting();
            world.snapshot();
            entries.push(Entry { tick, record: Record::Settled });
            entries.push(Entry { tick, record: Record::Hash(world.hash()) });
        }
        world.step();
    }
    (world, entries)
}

#[test]
fn a_world_replayed_from_its_journal_is_identical() {
    let (world, entries) = recorded();
    let mut again = counting();
    replay(&mut again, decode(&bytes_of(&entries)).unwrap(), 100).unwrap();
    assert_eq!(again.hash(), world.hash());
    assert!(again.scene().state("count").is_some());
}

#[test]
fn a_journal_with_a_lost_or_a_foreign_command_is_noticed() {
    let (_, mut entries) = recorded();
    entries.remove(7);
    assert!(matches!(replay(&mut counting(), entries, 100), Err(ReplayError::Diverged { tick: 50, .. })));
    let (_, entries) = recorded();
    let mut late = counting();
    (0..20).for_each(|_| late.step());
    let misplaced = ReplayError::Misplaced { entry: 0, world: 20 };
    assert_eq!(replay(&mut late, entries, 100), Err(misplaced));
}
