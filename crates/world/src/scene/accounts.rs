//! The data of accounts.

use nowcast_wire::Value;

use super::{Scene, SceneError};
use crate::account::{SAVED_BYTES_MAX, SavedData, is_account};
use crate::conform::{self, held_bytes};
use crate::id::PlayerId;
use crate::player::Player;

/// Maximum changed data that wait for a host. A world without a host keeps no more.
const UNSAVED_MAX: usize = 1_024;

impl Scene {
    /// Returns the data of a player's account; `None` before the first [`Scene::set_saved`]. A guest has data, too, until it
    /// leaves. Players with the same account share their data.
    pub fn saved(&self, player: PlayerId) -> Option<&SavedData> {
        self.accounts.get(&self.player(player)?.saved_key())
    }

    /// Sets the data of a player's account, and the version of its format. The host stores both ([`crate::World::take_saved`]),
    /// unless the player is a guest.
    ///
    /// # Errors
    /// Fails if the player is unknown, if the value takes more than [`SAVED_BYTES_MAX`] bytes, or if the world holds too
    /// many bytes of values. Then nothing changes.
    pub fn set_saved(&mut self, player: PlayerId, version: u32, value: Value) -> Result<(), SceneError> {
        let known = self.player(player).ok_or(SceneError::UnknownPlayer(player))?;
        let key = known.saved_key();
        let before = self.accounts.get(&key);
        if before.is_some_and(|before| before.version == version && before.value == value) {
            return Ok(());
        }
        conform::bounded(&value, SAVED_BYTES_MAX)?;
        let revision = before.map_or(1, |before| before.revision + 1);
        let bytes_before = before.map_or(0, |before| account_bytes(&key, before));
        let data = SavedData { version, revision, value };
        self.replace_kept(bytes_before, account_bytes(&key, &data))?;
        if is_account(&key) && (self.unsaved.len() < UNSAVED_MAX || self.unsaved.contains_key(&key)) {
            self.unsaved.insert(key.clone(), data.clone());
        }
        self.accounts.insert(key, data);
        Ok(())
    }

    /// Whether another player of the world has the same account as this player.
    pub fn shares_account(&self, player: PlayerId) -> bool {
        let account = self.player(player).and_then(|player| player.account.as_ref());
        account.is_some()
            && self.players().any(|other| other.id != player && other.account.as_ref() == account)
    }

    /// Gives a player that joins its account and the stored data. If another player has this account, the data in the world is
    /// the newest, and the given data is ignored: an account is in one room at a time.
    pub(crate) fn enter_account(&mut self, player: PlayerId, account: String, saved: Option<SavedData>) {
        if !is_account(&account) {
            return;
        }
        let Some(known) = self.players.get_mut(&player) else { return };
        known.account = Some(account.clone());
        let Some(saved) = saved.filter(|saved| conform::bounded(&saved.value, SAVED_BYTES_MAX).is_ok())
        else {
            return;
        };
        if self.accounts.contains_key(&account) {
            return;
        }
        if self.replace_kept(0, account_bytes(&account, &saved)).is_ok() {
            self.accounts.insert(account, saved);
        }
    }

    /// Forgets the data of a removed player, unless another player has the same account.
    pub(super) fn forget_account(&mut self, player: Option<&Player>) {
        let Some(key) = player.map(Player::saved_key) else { return };
        if self.players().any(|other| other.saved_key() == key) {
            return;
        }
        if let Some(data) = self.accounts.remove(&key) {
            self.release_kept(account_bytes(&key, &data));
        }
    }
}

/// Bytes in memory of the data of an account.
pub(super) fn account_bytes(key: &str, data: &SavedData) -> usize {
    key.len() + size_of::<SavedData>() + held_bytes(&data.value)
}
