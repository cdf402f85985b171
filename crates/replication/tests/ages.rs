//! Tests the age of the oldest group in the counters of a viewer.

use nowcast_replication::{History, Transform, Viewer};

#[test]
fn groups_without_room_in_a_round_are_older_in_the_next() {
    let (mut history, mut viewer) = (History::default(), Viewer::default());
    let mut ages = Vec::new();
    for tick in 0..=12u32 {
        let place = Transform { position: [tick as f32, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        history.publish(tick, [(1, place)].into_iter());
        if tick % 3 == 0 {
            viewer.begin_round(history.frames(), Some(place.position));
            ages.push(viewer.stats.oldest_steps);
            // The packet of this round has no room.
            if tick != 6 {
                viewer.fill(history.frames(), u64::from(tick), 1_100, &mut Vec::new());
            }
        }
    }
    // Without a far distance all groups count as near. Groups that were never sent have no age.
    assert_eq!(ages, [[0, 0, 0], [3, 0, 0], [3, 0, 0], [6, 0, 0], [3, 0, 0]]);
}
