//! Owners in scripts: calls and hooks.

use nowcast_script::{Limits, Live, Sources};
use nowcast_world::{Command, EntityId, Event, JoinRequest, OwnerError, PlayerId, Pose, Refusal};

const RULES: &str = "local world = require('@nowcast/world')
    local Hand = world.kind('hand', { owner = { by = 'program', speed = 5, leave = 'keep' } })
    world.state { heard = '' }
    local function note(word) world.state.heard ..= word .. ' ' end
    world.on('start', function()
        Hand:spawn { at = vector.zero }
        Hand:spawn { at = vector.one }
    end)
    world.on('join', function() note('join') end)
    world.on('program_join', function(player)
        note(if player.is_program and #world.players() == 0 and #world.programs() == 1 then 'program' else 'wrong')
    end)
    world.on('program_leave', function(player) note('gone') end)
    Hand:on('own', function(hand, player)
        note('own' .. hand.id)
        if hand.id == 2 then error('no') end
        return true
    end)
    Hand:on('release', function(hand, player)
        note(if hand.owner == player then 'release' else 'wrong')
    end)";

fn heard(live: &Live) -> String {
    let state = live.world().scene().state("heard");
    state.and_then(|heard| heard.as_text()).unwrap_or_default().trim().to_owned()
}

#[test]
fn hooks_of_programs_and_owners_are_called_and_a_failed_hook_refuses_the_owner() {
    let mut live = Live::new(Sources::of_main(RULES), 1, Limits::DEFAULT).expect("the script loads");
    let player = PlayerId(1);
    let request = JoinRequest { is_program: true, ..JoinRequest::default() };
    live.apply(Command::Join { player, request }).unwrap();
    for entity in [EntityId(1), EntityId(2)] {
        live.apply(Command::Own { player, entity, number: entity.0 }).unwrap();
    }
    let pose = Pose { position: [0.0, 0.0, 1.0], ..Pose::IDENTITY };
    live.apply(Command::Move { player, entity: EntityId(1), pose, velocity: None }).unwrap();
    live.step();
    let events: Vec<_> = std::iter::from_fn(|| live.poll_event()).collect();
    assert!(events.contains(&Event::Granted { player, entity: EntityId(1), number: 1 }));
    let is_denied = |event: &Event| {
        matches!(
            event,
            Event::Refused { refusal: Refusal::Owner { number: 2, why: OwnerError::Denied, .. }, .. }
        )
    };
    assert!(events.iter().any(is_denied), "{events:?}");
    (0..60).for_each(|_| live.step());
    let place = live.world().entity(EntityId(1)).unwrap().pose.position;
    assert!((place[2] - 1.0).abs() < 1e-4, "{place:?}");
    live.apply(Command::Leave { player }).unwrap();
    live.step();
    assert_eq!(heard(&live), "program own1 own2 gone release");
    assert_eq!(live.world().entity(EntityId(1)).unwrap().owner, Some(player), "it is kept");
}

#[test]
fn a_wrong_owner_field_is_refused_with_the_accepted_values() {
    let mistake = |owner: &str| {
        let text = format!(
            "local world = require('@nowcast/world')
            world.kind('hand', {{ attributes = {{ grip = 'bool' }}, owner = {{ {owner} }} }})"
        );
        match Live::new(Sources::of_main(&text), 1, Limits::DEFAULT) {
            Ok(_) => String::new(),
            Err(fault) => fault.to_string(),
        }
    };
    for (owner, words) in [
        ("by = 'dog'", "hand.owner.by: expected \"player\", \"program\" or \"anyone\", got dog"),
        ("leave = 'stays'", "hand.owner.leave: expected \"release\", \"keep\" or \"despawn\", got stays"),
        ("beyond = 1", "hand.owner.beyond: expected a text"),
        ("speed = -1", "kinds.hand.owner.speed"),
        ("area = {}", "hand.owner.area.size is missing"),
        ("attributes = { 'color' }", "kinds.hand.owner.attributes.color"),
        ("pace = 3", "hand.owner.pace is not a field"),
    ] {
        let found = mistake(owner);
        assert!(found.contains(words), "{owner}: {found}");
    }
    assert_eq!(mistake("by = 'player', speed = 5, reach = 2, attributes = { 'grip' }, spawns = 2"), "");
}
