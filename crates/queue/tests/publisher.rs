//! Tests one sender with many receivers: joining, falling behind, and the cost. `conformance.rs` tests the laws.

use nowcast_queue::conformance::{Model, Operation, Script, laws};
use nowcast_queue::{Bounds, Key, Publication, PublicationBounds, Put, Receiver, Refusal, in_process};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

const KEY: Key = Key::state(1);

const CASES: u64 = 2_000;

/// With one subscriber a publication behaves exactly like a queue, including the order of messages and the answers of calls.
#[test]
fn to_a_single_subscriber_a_publication_is_the_updatable_queue() {
    for seed in 0..CASES {
        let script = Script::random(seed);
        let bounds = Bounds { entries_max: 1 << 20, bytes_max: 1 << 30 };
        let mut publication = Publication::new(PublicationBounds { newest: bounds, backlog: bounds });
        let subscriber = publication.subscribe();
        let mut model = Model::new(bounds);
        for (step, operation) in script.operations.iter().enumerate() {
            if let Operation::Put { key, bytes } = *operation {
                let value = laws::value(step, bytes);
                let put = publication.put(key, value.clone()).map_err(|refused| refused.refusal);
                assert_eq!(put, model.put(key, value), "seed {seed}, step {step}\n{script}");
            } else if *operation == Operation::Get {
                assert_eq!(
                    publication.pop(subscriber),
                    Ok(model.get()),
                    "seed {seed}, step {step}\n{script}"
                );
            }
        }
        loop {
            let got = publication.pop(subscriber);
            assert_eq!(got, Ok(model.get()), "seed {seed}, at the end\n{script}");
            if got == Ok(None) {
                break;
            }
        }
    }
}

#[test]
fn a_late_subscriber_gets_the_newest_values_and_the_events_after_it() {
    let mut publication = Publication::new(PublicationBounds::default());
    publication.put(KEY, vec![1]).unwrap();
    publication.put(Key::EVENT, vec![2]).unwrap();
    publication.put(Key::state(2), vec![3]).unwrap();
    let late = publication.subscribe();
    publication.put(KEY, vec![4]).unwrap();
    publication.put(Key::EVENT, vec![5]).unwrap();
    publication.put(KEY, vec![6]).unwrap();
    let all: Vec<_> = std::iter::from_fn(|| publication.pop(late).unwrap()).collect();
    let want = [(KEY, vec![4]), (Key::state(2), vec![3]), (Key::EVENT, vec![5]), (KEY, vec![6])];
    assert_eq!(all, want, "the value of the first key was replaced before it was read");
}

#[test]
fn a_subscriber_that_falls_behind_is_closed_and_affects_no_other() {
    let backlog = Bounds { entries_max: 100, bytes_max: 10_000 };
    let mut publication = Publication::new(PublicationBounds { backlog, ..PublicationBounds::default() });
    let (stalled, diligent) = (publication.subscribe(), publication.subscribe());
    for number in 0..1_000_u32 {
        publication.put(KEY, number.to_le_bytes().to_vec()).unwrap();
        publication.put(Key::EVENT, number.to_le_bytes().to_vec()).unwrap();
        for key in [KEY, Key::EVENT] {
            let got = publication.pop(diligent).unwrap();
            assert_eq!(got, Some((key, number.to_le_bytes().to_vec())));
        }
        assert!(publication.backlog() <= 125, "the backlog is {}", publication.backlog());
    }
    assert_eq!(publication.pop(stalled), Err(Refusal::Behind));
    assert_eq!(publication.pop(stalled), Err(Refusal::Behind), "and stays closed");
    assert_eq!((publication.counters().behind, publication.subscribers()), (1, 2));
    publication.unsubscribe(stalled);
    assert_eq!(publication.pop(diligent), Ok(None));
}

#[test]
fn states_alone_never_make_a_subscriber_fall_behind() {
    let backlog = Bounds { entries_max: 4, bytes_max: 1_000 };
    let mut publication = Publication::new(PublicationBounds { backlog, ..PublicationBounds::default() });
    let (stalled, diligent) = (publication.subscribe(), publication.subscribe());
    for number in 0..10_000_u32 {
        publication.put(Key::state(1 + u64::from(number % 10)), number.to_le_bytes().to_vec()).unwrap();
        publication.pop(diligent).unwrap();
    }
    let got: Vec<_> = std::iter::from_fn(|| publication.pop(stalled).unwrap()).collect();
    assert_eq!(got.len(), 10, "the newest of each key");
    assert!(got.iter().all(|(_, value)| u32::from_le_bytes(value[..].try_into().unwrap()) >= 9_990));
}

/// Values are stored once, for any number of subscribers and any backlog.
#[test]
fn memory_grows_with_keys_and_unread_events_not_with_subscribers() {
    let held = |subscribers: usize| {
        let mut publication: Publication<Arc<[u8]>> = Publication::new(PublicationBounds::default());
        let ids: Vec<_> = (0..subscribers).map(|_| publication.subscribe()).collect();
        let value: Arc<[u8]> = vec![7; 100].into();
        for put in 0..3_000_u64 {
            let key = if put % 100 == 99 { Key::EVENT } else { Key::state(1 + put % 50) };
            publication.put(key, Arc::clone(&value)).unwrap();
            // Every tenth subscriber reads, and the others stall.
            for id in ids.iter().step_by(10) {
                publication.pop(*id).unwrap();
            }
        }
        (Arc::strong_count(&value), publication.bytes())
    };
    assert_eq!(held(1_000), held(10));
}

#[test]
fn puts_wake_only_the_distributor() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (tasks, herald) = (Arc::new(Count(AtomicUsize::new(0))), Arc::new(Count(AtomicUsize::new(0))));
    let (task, distributor) = (Waker::from(Arc::clone(&tasks)), Waker::from(Arc::clone(&herald)));
    let publisher = in_process::publisher(PublicationBounds::default());
    let mut subscribers: Vec<_> = (0..100).map(|_| publisher.subscribe()).collect();
    let mut distribution = pin!(publisher.distribution());
    let mut distribute = || distribution.as_mut().poll(&mut Context::from_waker(&distributor));
    assert_eq!(distribute(), Poll::Pending);
    let mut value = Vec::new();
    for subscriber in &mut subscribers {
        assert!(subscriber.poll_get(&mut Context::from_waker(&task), &mut value).is_pending());
    }
    publisher.put(KEY, vec![1]).unwrap();
    assert_eq!(publisher.put(Key::EVENT, vec![2]), Ok(Put::Queued));
    let woken = || (tasks.0.load(Ordering::Relaxed), herald.0.load(Ordering::Relaxed));
    assert_eq!(woken(), (0, 1));
    assert_eq!(distribute(), Poll::Pending);
    assert_eq!(woken(), (100, 1));
    drop(publisher);
    for subscriber in &mut subscribers {
        assert_eq!(subscriber.try_get(&mut value), Ok(Some(KEY)));
        assert_eq!(subscriber.try_get(&mut value), Ok(Some(Key::EVENT)));
        let end = pin!(poll_fn(|context| subscriber.poll_get(context, &mut Vec::new())))
            .poll(&mut Context::from_waker(&task));
        assert_eq!(end, Poll::Ready(Err(Refusal::Closed)));
    }
    assert_eq!(distribute(), Poll::Ready(()));
}
