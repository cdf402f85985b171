use std::f32::consts::{FRAC_PI_2, PI};

use super::*;

#[test]
fn forward_at_yaw_zero_goes_toward_minus_z_and_a_quarter_turn_left_toward_minus_x() {
    let (mut world, ada) = plain_with_ada();
    let start = position(&world, ada);
    world.set_input(ada, walk(0.0));
    steps(&mut world, 60);
    let north = position(&world, ada);
    assert!((start[2] - north[2] - 3.2).abs() < 0.3, "walks about 3.2 m a second: {start:?} to {north:?}");
    assert!((start[0] - north[0]).abs() < 0.02);

    world.set_input(ada, walk(FRAC_PI_2));
    steps(&mut world, 60);
    let west = position(&world, ada);
    assert!(north[0] - west[0] > 2.5, "{north:?} to {west:?}");

    world.set_input(ada, Input::new(0.0, 1.0, 0.0, false, false).unwrap());
    steps(&mut world, 60);
    assert!(position(&world, ada)[0] - west[0] > 2.5, "right of −Z is +X");
}

#[test]
fn running_is_twice_as_fast_and_diagonals_are_no_faster() {
    let speed = |input: Input| {
        let (mut world, ada) = plain_with_ada();
        world.set_input(ada, input);
        steps(&mut world, 20);
        let start = position(&world, ada);
        steps(&mut world, 60);
        distance(start, position(&world, ada))
    };
    let walking = speed(walk(0.0));
    let running = speed(run(0.0));
    let diagonal = speed(Input::new(1.0, 1.0, 0.0, false, false).unwrap());
    assert!((running / walking - 2.0).abs() < 0.05, "{walking} and {running}");
    assert!((diagonal - walking).abs() < 0.05, "{walking} and {diagonal}");
}

#[test]
fn letting_go_of_the_controls_stops_within_a_step_and_then_everything_sleeps() {
    let (mut world, ada) = plain_with_ada();
    world.set_input(ada, run(0.0));
    steps(&mut world, 60);
    world.set_input(ada, stand());
    let start = position(&world, ada);
    steps(&mut world, 60);
    assert!(distance(start, position(&world, ada)) < 0.6);
    steps(&mut world, 60);
    assert_eq!(world.awake(), 0);
}

#[test]
fn a_jump_clears_a_metre_and_a_fifth_and_needs_ground_to_start_from() {
    let (mut world, ada) = plain_with_ada();
    let ground = position(&world, ada)[1];
    assert!((ground - 0.9).abs() < 0.03, "stands on the soles: {ground}");
    world.set_input(ada, Input::new(0.0, 0.0, 0.0, false, true).unwrap());
    let mut heights = Vec::new();
    for _ in 0..240 {
        world.step();
        heights.push(position(&world, ada)[1] - ground);
    }
    let top = heights.iter().copied().fold(0.0, f32::max);
    assert!((1.1..1.3).contains(&top), "jumped {top} m");
    let hops = heights.windows(2).filter(|pair| pair[0] < 0.1 && pair[1] >= 0.1).count();
    assert!(
        (3..=4).contains(&hops),
        "held for four seconds the button makes {hops} jumps, none of them in the air"
    );
}

#[test]
fn the_ramp_and_the_stairs_lead_up_to_the_terrace() {
    for (foot, top) in [([-9.0, 0.9, 6.5], [-17.0, 2.4, 6.5]), ([-18.5, 0.9, 15.0], [-17.0, 2.4, 6.5])] {
        let (mut world, ada) = playground_with_ada();
        go_to(&mut world, ada, [-8.0, 0.9, 15.0], 1.0, 10);
        go_to(&mut world, ada, foot, 0.4, 10);
        go_to(&mut world, ada, top, 0.4, 8);
        steps(&mut world, 30);
        let height = position(&world, ada)[1];
        assert!((height - 2.4).abs() < 0.05, "from {foot:?} to {:?}", position(&world, ada));
    }
}

#[test]
fn standing_on_a_ramp_does_not_slide() {
    let (mut world, ada) = playground_with_ada();
    go_to(&mut world, ada, [-8.0, 0.9, 11.5], 1.0, 10);
    go_to(&mut world, ada, [-9.0, 0.9, 6.5], 0.4, 10);
    go_to(&mut world, ada, [-12.5, 1.5, 6.5], 0.3, 8);
    steps(&mut world, 30);
    let start = position(&world, ada);
    assert!(start[1] > 1.2, "on the ramp: {start:?}");
    steps(&mut world, 300);
    assert!(distance(start, position(&world, ada)) < 0.05, "{start:?} to {:?}", position(&world, ada));
}

#[test]
fn walls_stop_people() {
    let (mut world, ada) = playground_with_ada();
    go_to(&mut world, ada, [26.0, 0.9, 20.0], 0.5, 10);
    world.set_input(ada, run(-FRAC_PI_2));
    steps(&mut world, 180);
    assert!(position(&world, ada)[0] < 28.0, "{:?}", position(&world, ada));
}

#[test]
fn whoever_walks_off_the_edge_comes_back_to_a_spawn_point() {
    let (mut world, ada) = plain_with_ada();
    drain(&mut world);
    world.set_input(ada, run(PI));
    let events = (0..1200).find_map(|_| {
        world.step();
        Some(drain(&mut world)).filter(|events| !events.is_empty())
    });
    assert_eq!(events, Some(vec![Event::Returned(ada)]));
    world.set_input(ada, stand());
    steps(&mut world, 60);
    let back = position(&world, ada);
    assert!((back[1] - 0.9).abs() < 0.05 && back[2] < 20.0, "{back:?}");
}
