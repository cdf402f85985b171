//! The paper's figures as scenarios, and a queue at its bounds.

use nowcast_queue::{Bounds, Key, Put, Refusal, UpdatableQueue};

const A: Key = Key::state(1);
const B: Key = Key::state(2);

fn delivered(queue: &mut UpdatableQueue<Vec<u8>>) -> String {
    std::iter::from_fn(|| queue.pop()).map(|(_, value)| value[0] as char).collect()
}

fn queue_of(puts: &[(Key, u8)]) -> UpdatableQueue<Vec<u8>> {
    let mut queue = UpdatableQueue::new(Bounds::default());
    for &(key, value) in puts {
        queue.put(key, vec![value]).unwrap();
    }
    queue
}

#[test]
fn figure_3_a_newer_value_takes_the_place_of_the_older_one() {
    assert_eq!(delivered(&mut queue_of(&[(A, b'1'), (B, b'2'), (A, b'3')])), "32");
}

#[test]
fn figure_4_a_state_before_an_event_is_not_replaced() {
    assert_eq!(delivered(&mut queue_of(&[(A, b'1'), (Key::EVENT, b'!'), (A, b'2')])), "1!2");
}

#[test]
fn figure_5_removing_the_archived_states_leaves_the_new_interval_replaceable() {
    let mut queue = queue_of(&[(A, b'1'), (Key::EVENT, b'!'), (A, b'2')]);
    assert_eq!(queue.pop(), Some((A, vec![b'1'])));
    assert_eq!(queue.put(A, vec![b'3']).unwrap(), Put::Replaced);
    assert_eq!(delivered(&mut queue), "!3");
}

#[test]
fn a_million_replacements_hold_one_entry_and_one_value_of_memory() {
    let mut queue = UpdatableQueue::new(Bounds { entries_max: 1, bytes_max: 8 });
    for sample in 0..1_000_000_u64 {
        queue.put(A, sample.to_le_bytes().to_vec()).unwrap();
    }
    assert_eq!((queue.len(), queue.bytes(), queue.counters().replaced), (1, 8, 999_999));
}

#[test]
fn a_refused_value_leaves_the_older_one_in_place() {
    let mut queue = UpdatableQueue::new(Bounds { entries_max: 4, bytes_max: 4 });
    queue.put(A, vec![1; 2]).unwrap();
    queue.put(B, vec![2; 2]).unwrap();
    assert_eq!(queue.put(A, vec![3; 3]).unwrap_err().refusal, Refusal::Full);
    let too_large = queue.put(A, vec![3; 5]).unwrap_err();
    assert_eq!(too_large.refusal, Refusal::TooLarge { bytes: 5, bytes_max: 4 });
    assert_eq!(too_large.value, [3; 5], "the value comes back");
    assert_eq!(queue.pop(), Some((A, vec![1; 2])));
}
