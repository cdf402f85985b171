//! Several queues, ordered by priority.

use crate::{Bounds, Counters, Key, Put, Refused, UpdatableQueue, Weigh};

/// The lanes of one direction of a channel. Each lane is an independent queue, and the lowest number has the highest priority.
///
/// Messages of the same lane follow the laws among each other. Messages of different lanes have no order. Put messages on
/// different lanes if they need not wait for each other, such as chat, poses and commands.
///
/// ```
/// use nowcast_queue::{Bounds, Key, Lanes};
///
/// let mut lanes = Lanes::new([Bounds::default(); 2]);
/// lanes.put(1, Key::EVENT, b"hello, everybody".to_vec()).unwrap();
/// lanes.put(0, Key::state(1), b"a pose".to_vec()).unwrap();
/// assert_eq!(lanes.pop().unwrap().0, 0, "the lane with the lower number goes first");
/// ```
#[derive(Debug, Clone)]
pub struct Lanes<V> {
    queues: Vec<UpdatableQueue<V>>,
}

impl<V: Weigh> Lanes<V> {
    /// Makes empty lanes, one for each element of `bounds`. The first has the highest priority.
    #[must_use]
    pub fn new(bounds: impl IntoIterator<Item = Bounds>) -> Self {
        Lanes { queues: bounds.into_iter().map(UpdatableQueue::new).collect() }
    }

    /// Puts a message on one lane; see [`UpdatableQueue::put`].
    ///
    /// # Errors
    /// Like [`UpdatableQueue::put`].
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn put(&mut self, lane: usize, key: Key, value: V) -> Result<Put, Refused<V>> {
        self.queues[lane].put(key, value)
    }

    /// Returns the lane, key and value of the message that [`pop`](Self::pop) would deliver.
    #[must_use]
    pub fn peek(&self) -> Option<(usize, Key, &V)> {
        let (lane, queue) = self.first_waiting()?;
        let (key, value) = queue.peek()?;
        Some((lane, key, value))
    }

    /// Delivers the next message of the first lane that has one. Returns its lane, key and value.
    pub fn pop(&mut self) -> Option<(usize, Key, V)> {
        let (lane, _) = self.first_waiting()?;
        let (key, value) = self.queues[lane].pop()?;
        Some((lane, key, value))
    }

    /// Returns one lane, for a scheduler that applies other rules.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn lane(&mut self, lane: usize) -> &mut UpdatableQueue<V> {
        &mut self.queues[lane]
    }

    /// Number of lanes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.queues.len()
    }

    /// Whether nothing waits on any lane.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(UpdatableQueue::is_empty)
    }

    /// The counters, summed over all lanes.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.queues.iter().map(UpdatableQueue::counters).fold(Counters::default(), |sum, lane| Counters {
            queued: sum.queued + lane.queued,
            replaced: sum.replaced + lane.replaced,
            refused: sum.refused + lane.refused,
            delivered: sum.delivered + lane.delivered,
        })
    }

    fn first_waiting(&self) -> Option<(usize, &UpdatableQueue<V>)> {
        self.queues.iter().enumerate().find(|(_, queue)| !queue.is_empty())
    }
}
