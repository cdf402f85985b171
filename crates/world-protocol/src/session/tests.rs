use nowcast_wire::Shape;
use nowcast_wire::schema;

use super::*;

#[test]
fn the_types_equal_those_of_the_schema_for_the_typescript_implementation() {
    let text = include_str!("../../../../packages/nowcast/src/world/session/messages.schema");
    let written: Vec<String> = schema::parse(text).unwrap().iter().map(Shape::to_string).collect();
    let ours = [
        Shape::of::<ToWorld>(),
        Shape::of::<Controls>(),
        Shape::of::<Steps>(),
        Shape::of::<Step>(),
        Shape::of::<Line>(),
        Shape::of::<FromWorld>(),
        Shape::of::<Definition>(),
        Shape::of::<Kind>(),
        Shape::of::<Action>(),
        Shape::of::<Declared>(),
        Shape::of::<Asset>(),
        Shape::of::<Outcome>(),
        Shape::of::<Entity>(),
        Shape::of::<Place>(),
        Shape::of::<Player>(),
        Shape::of::<Screen>(),
        Shape::of::<Said>(),
        Shape::of::<Missed>(),
        Shape::of::<Owned>(),
        Shape::of::<Moving>(),
        Shape::of::<View>(),
    ];
    assert_eq!(ours.map(|shape| shape.to_string()).to_vec(), written);
}

#[test]
fn key_of_a_join_is_the_only_secret_of_an_event() {
    let key = vec![7; 16];
    let (protocol, name, network_hz) = (PROTOCOL, "Ada".to_owned(), 0);
    let join = ToWorld::Join { protocol, name: name.clone(), network_hz, key: key.clone() };
    let bytes = nowcast_wire::encode_to_vec(&join);
    assert_eq!(bytes[secret_in(&bytes).expect("the join has a key")], key);
    let join = ToWorld::JoinProgram { protocol, name: name.clone(), network_hz, key: key.clone() };
    let bytes = nowcast_wire::encode_to_vec(&join);
    assert_eq!(bytes[secret_in(&bytes).expect("the join has a key")], key);
    let join = ToWorld::Join { protocol, name: name.clone(), network_hz, key: Vec::new() };
    for event in [join, ToWorld::Rename { name }, ToWorld::Forget] {
        assert_eq!(secret_in(&nowcast_wire::encode_to_vec(&event)), None);
    }
}

#[test]
fn keys_have_the_meaning_they_were_made_with() {
    for key in [
        StateKey::Entity(EntityId(1)),
        StateKey::Entity(EntityId(u32::MAX)),
        StateKey::Player(PlayerId(0)),
        StateKey::Player(PlayerId(u32::MAX)),
        StateKey::Screen(7),
    ] {
        assert_eq!(StateKey::of(key.number()), Some(key));
    }
    assert_eq!(StateKey::of(3 << 32), None);
}
