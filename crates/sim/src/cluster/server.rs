//! A server's process: the node, and the threads of its rooms.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use nowcast_cluster::{Batch, Epoch, Name, Node, RoomEvent, SnapshotRef, Standing, StoredSnapshot, Time};

use super::checker::{Checker, Process};
use super::jetstream::JetStream;
use super::world::{Action, World};

/// The thread that steps a room.
#[derive(Debug, Default)]
pub(super) struct Thread {
    world: World,
    epoch: Epoch,
    runs: bool,
    is_moved: bool,
    wants_stop: bool,
    is_stopped: bool,
    /// Actions that wait for the next step.
    inbox: Vec<Action>,
    /// The last action of each client that is in the journal, so that it may be confirmed again.
    durable: World,
    /// The actions of batches that are not confirmed yet.
    waiting: VecDeque<(u64, Vec<Action>)>,
    last_number: u64,
}

/// A server's process.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) process: Process,
    pub(super) node: Node,
    pub(super) threads: BTreeMap<Name, Thread>,
    pub(super) damages_snapshot: bool,
    pub(super) diverges: bool,
    pub(super) is_draining: bool,
}

impl Server {
    pub(super) fn new(process: Process, node: Node) -> Server {
        let (damages_snapshot, diverges, is_draining) = (false, false, false);
        Server { process, node, threads: BTreeMap::new(), damages_snapshot, diverges, is_draining }
    }

    /// A client's action arrives. Actions that are in the journal are confirmed again.
    pub(super) fn act(&mut self, now: Time, room: Name, action: Action) -> Option<(Epoch, Action)> {
        let (standing, _) = self.node.standing(now, room)?;
        let thread = self.threads.get_mut(&room).filter(|thread| thread.runs)?;
        if standing == Standing::Running
            && action.number <= thread.durable.applied[usize::from(action.client)]
        {
            return Some((thread.epoch, action));
        }
        if !thread.inbox.contains(&action) {
            thread.inbox.push(action);
        }
        None
    }

    /// Steps a room that runs here, and shows the step to its clients.
    pub(super) fn step(&mut self, now: Time, room: Name, checker: &mut Checker) {
        let Some((standing, epoch)) = self.node.standing(now, room) else { return };
        let Some(thread) = self.threads.get_mut(&room) else { return };
        if standing != Standing::Running || !thread.runs || thread.is_stopped {
            return;
        }
        let applied = thread.world.applied;
        thread.inbox.retain(|action| action.number > applied[usize::from(action.client)]);
        let actions = std::mem::take(&mut thread.inbox);
        let mut bytes = Vec::new();
        actions.iter().for_each(|action| action.write(&mut bytes));
        let mut world = thread.world;
        let step = world.step + 1;
        if let Err(what) = world.step(step, &bytes) {
            return checker.fail(what);
        }
        let Ok(number) = self.node.batch(now, room, step, bytes.into(), Some(world.hash)) else { return };
        let Some(thread) = self.threads.get_mut(&room) else { return };
        thread.world = world;
        thread.waiting.push_back((number, actions));
        thread.last_number = number;
        checker.shows(room, epoch, step);
        if thread.wants_stop {
            thread.wants_stop = false;
            thread.is_stopped = true;
            self.node.stopped(now, room, step, world.hash, Arc::default());
        }
    }

    /// Carries out an instruction to the thread of a room. Returns confirmations.
    pub(super) fn carry_out(
        &mut self,
        now: Time,
        room: Name,
        event: RoomEvent,
        jetstream: &mut JetStream,
        checker: &mut Checker,
    ) -> Vec<(Epoch, Action)> {
        match event {
            RoomEvent::Restore { snapshot, batches } => {
                self.restore(now, room, snapshot, &batches, jetstream)
            }
            RoomEvent::Replay { through_step, bytes } => self.replay(now, room, through_step, &bytes),
            RoomEvent::Run { epoch, step, batch_number, .. } => {
                let Some(thread) = self.threads.get_mut(&room) else { return Vec::new() };
                (thread.epoch, thread.runs, thread.durable) = (epoch, true, thread.world);
                thread.last_number = batch_number;
                checker.runs(room, self.process, epoch, &thread.world, thread.is_moved);
                if step != thread.world.step {
                    checker.fail(format!("epoch {epoch} runs from step {step}, not {}", thread.world.step));
                }
            }
            RoomEvent::TakeSnapshot => self.store_snapshot(now, room, jetstream),
            RoomEvent::Confirm { number } => return self.confirm(room, number),
            RoomEvent::Stop => self.threads.entry(room).or_default().wants_stop = true,
            RoomEvent::Continue { .. } => {
                let thread = self.threads.entry(room).or_default();
                (thread.is_stopped, thread.wants_stop) = (false, false);
            }
            RoomEvent::Ended { .. } => drop(self.threads.remove(&room)),
        }
        Vec::new()
    }

    fn restore(
        &mut self,
        now: Time,
        room: Name,
        snapshot: Option<SnapshotRef>,
        batches: &[Batch],
        jetstream: &JetStream,
    ) {
        let is_moved = self.node.standing(now, room).is_some_and(|(at, _)| at == Standing::Receiving);
        let world = match snapshot {
            Some(snapshot) => jetstream.object(room, &snapshot),
            None => Some(World::default()),
        };
        let Some(mut world) = world else { return self.node.restored(now, room, false) };
        let is_whole = batches.iter().all(|batch| world.step(batch.through_step, &batch.bytes).is_ok());
        self.threads.insert(room, Thread { world, is_moved, ..Thread::default() });
        self.node.restored(now, room, is_whole);
        if is_moved && is_whole {
            self.node.replayed(now, room, Some((world.step, world.hash)));
        }
    }

    fn replay(&mut self, now: Time, room: Name, through_step: u64, bytes: &[u8]) {
        let Some(thread) = self.threads.get_mut(&room) else { return };
        let is_wrong = std::mem::take(&mut self.diverges);
        let is_replayed = thread.world.step(through_step, bytes).is_ok();
        if is_wrong {
            thread.world.applied[0] = thread.world.applied[0].saturating_sub(1);
            thread.world.hash ^= 1;
        }
        let replayed = is_replayed.then_some((thread.world.step, thread.world.hash));
        self.node.replayed(now, room, replayed);
    }

    fn store_snapshot(&mut self, now: Time, room: Name, jetstream: &mut JetStream) {
        let is_damaged = std::mem::take(&mut self.damages_snapshot);
        let Some(thread) = self.threads.get(&room).filter(|thread| thread.runs) else { return };
        let world = thread.world;
        jetstream.put_object(room, thread.epoch, world.step, (!is_damaged).then_some(world));
        let stored = StoredSnapshot {
            batch_number: thread.last_number,
            step: world.step,
            hash: world.hash,
            digest: [world.hash as u8; 32],
            bytes: 1,
        };
        self.node.snapshot_stored(now, room, Some(stored));
    }

    fn confirm(&mut self, room: Name, number: u64) -> Vec<(Epoch, Action)> {
        let Some(thread) = self.threads.get_mut(&room) else { return Vec::new() };
        let mut confirmed = Vec::new();
        while let Some((_, actions)) = thread.waiting.pop_front_if(|(first, _)| *first <= number) {
            for action in actions {
                thread.durable.applied[usize::from(action.client)] = action.number;
                confirmed.push((thread.epoch, action));
            }
        }
        confirmed
    }
}
