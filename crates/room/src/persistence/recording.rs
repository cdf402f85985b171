//! Records a room's world for the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use nowcast_script::Sources;
use nowcast_store::{
    AccountRecord, ActionId, Completion, HOST_BYTES_MAX, Once, Origin, Recorder, WorldStore,
};
use nowcast_world::{Command, PlayerId, SavedData, World};
use tracing::warn;

use super::{HostState, JournalShare, definition_hash, now_ms, seat_note, sources_hash};
use crate::client_key::ClientKey;

/// Records a room's world. No call blocks on a disk.
pub(crate) struct Recording {
    store: Arc<dyn WorldStore>,
    recorder: Recorder,
    share: JournalShare,
    offered: String,
    seed: u64,
    last_player: u32,
    /// The keys of the players in the world whose clients can reconnect to them.
    seats: BTreeMap<PlayerId, ClientKey>,
    /// Whether recording has begun. A world that no player ever joined is not stored.
    has_begun: bool,
    /// Whether a player was in the world since the room opened.
    is_used: bool,
}

impl Recording {
    pub(crate) fn new(
        store: Arc<dyn WorldStore>,
        recorder: Recorder,
        share: JournalShare,
        offered: &str,
        seed: u64,
    ) -> Self {
        Self {
            store,
            recorder,
            share,
            offered: offered.to_owned(),
            seed,
            last_player: 0,
            seats: BTreeMap::new(),
            has_begun: false,
            is_used: false,
        }
    }

    /// Continues the recording of a stored world.
    pub(crate) fn resumed(self, last_player: u32, seats: BTreeMap<PlayerId, ClientKey>) -> Self {
        Self { last_player, seats, has_begun: true, ..self }
    }

    /// Records that the world accepted a command.
    pub(crate) fn took(&mut self, world: &World, command: Command) {
        match &command {
            Command::Join { player, .. } => self.last_player = self.last_player.max(player.0),
            Command::Leave { player } => {
                self.seats.remove(player);
            }
            _ => {}
        }
        self.recorder.took(world, command);
    }

    /// Records the key of a player who joins.
    pub(crate) fn seat(&mut self, world: &World, player: PlayerId, key: ClientKey) {
        self.seats.insert(player, key);
        self.recorder.note(world, seat_note(player, key));
    }

    /// Returns the durable actions that were applied.
    pub(crate) fn once(&self) -> &Once {
        self.recorder.once()
    }

    /// Records that the world accepted a durable action.
    pub(crate) fn took_once(&mut self, world: &World, id: ActionId, command: Command) {
        self.recorder.took_once(world, id, command);
    }

    /// Takes back a durable action that the last step refused.
    pub(crate) fn take_back(&mut self, id: ActionId) {
        self.recorder.take_back(id);
    }

    /// Records the data of accounts that the last step changed.
    pub(crate) fn save_accounts(&mut self, changed: BTreeMap<String, SavedData>) {
        for (account, saved) in changed {
            let world = self.offered.clone();
            self.recorder.save_account(AccountRecord { world, account, saved });
        }
    }

    /// Whether the store has accepted all data of accounts.
    pub(crate) fn has_saved_accounts(&self) -> bool {
        self.recorder.has_saved_accounts()
    }

    /// Calls a completion when all events recorded so far are stored.
    pub(crate) fn when_kept(&mut self, then: Completion) {
        self.recorder.when_kept(then);
    }

    /// Starts a new stored history, because the rules or the history of the world changed.
    pub(crate) fn begin_anew(&mut self, world: &World, sources: Option<&Sources>) {
        self.recorder.set_origin(origin(world, sources, self.seed));
    }

    /// Records the events since the previous call, which was made before the newest step. `is_used` states whether a player
    /// is in the world, or did anything since the room opened.
    pub(crate) fn record(&mut self, world: &mut World, sources: Option<&Sources>, is_used: bool) {
        self.is_used |= is_used;
        self.has_begun |= is_used;
        self.recorder.set_journal_bytes_max(self.share.bytes());
        if self.has_begun && self.recorder.is_snapshot_due(world, &*self.store) {
            self.snapshot(world, sources);
        } else {
            self.recorder.flush(world, &*self.store, now_ms());
        }
    }

    /// Records all events, because the room ends. Adds a snapshot if enough events were recorded. Then the next room has
    /// nothing to replay, and a check can compare the snapshot with the replay.
    pub(crate) fn finish(&mut self, world: &mut World, sources: Option<&Sources>) {
        if self.is_used || (self.has_begun && self.recorder.needs_snapshot()) {
            self.snapshot(world, sources);
        } else {
            self.recorder.flush_all(world, &*self.store, now_ms());
        }
    }

    /// Records a snapshot now, so that a room that continues the world soon has little to replay. Calls the completion when the
    /// snapshot is stored.
    pub(crate) fn snapshot_ahead(&mut self, world: &mut World, sources: Option<&Sources>, then: Completion) {
        self.snapshot(world, sources);
        self.recorder.when_kept(then);
    }

    /// Records all events since a snapshot that is stored.
    pub(crate) fn finish_after_snapshot(&mut self, world: &mut World, sources: Option<&Sources>) {
        if self.recorder.needs_snapshot() {
            self.snapshot(world, sources);
        } else {
            self.recorder.flush_all(world, &*self.store, now_ms());
        }
    }

    fn snapshot(&mut self, world: &mut World, sources: Option<&Sources>) {
        // Skips players that the world refused, because they never joined.
        let scene = world.scene();
        self.seats.retain(|player, _| scene.player(*player).is_some());
        let (offered, seats) = (self.offered.clone(), self.seats.clone());
        let state = HostState { offered, last_player: self.last_player, sources: sources.cloned(), seats };
        let host = state.to_bytes();
        if host.len() > HOST_BYTES_MAX {
            let bytes = host.len();
            warn!(
                world = self.offered,
                bytes,
                max = HOST_BYTES_MAX,
                "the world's rules are too large to be stored"
            );
        }
        self.recorder.snapshot(world, &*self.store, now_ms(), host);
    }
}

/// The origin of a world.
pub(crate) fn origin(world: &World, sources: Option<&Sources>, seed: u64) -> Origin {
    let definition = definition_hash(world.scene().definition());
    Origin { definition, sources: sources.map(sources_hash).unwrap_or_default(), seed }
}
