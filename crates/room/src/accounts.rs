//! The accounts that rooms of this server hold, and the newest data of accounts.
//!
//! The rooms of one world share the data of an account, so at most one room holds an account at a time. A client that joins
//! another room takes the account there: the first room closes its clients with this account, records their data, and then
//! gives up the account. Within one room, any number of clients may have the same account.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use nowcast_store::StoreError;
use nowcast_world::SavedData;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::persistence::PersistenceThread;

/// Maximum accounts whose newest data stays in memory after their rooms have given them up. A server without a store keeps
/// the data of no further accounts.
const REMEMBERED_MAX: usize = 4_096;

/// Maximum bytes of this data.
const REMEMBERED_BYTES_MAX: usize = 32 << 20;

/// Maximum wait for earlier writes before data is read from the disk.
const COMMIT_PATIENCE: Duration = Duration::from_secs(10);

/// The accounts that clients take from a room to other rooms, until the room gives them up.
#[derive(Debug, Default)]
pub(crate) struct WantedAccounts(Mutex<Vec<String>>);

impl WantedAccounts {
    fn push(&self, account: &str) {
        let mut wanted = self.0.lock();
        if !wanted.iter().any(|known| known == account) {
            wanted.push(account.to_owned());
        }
    }

    /// Returns the accounts that the room is to give up.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// The world by its folder, and the name of the account.
type Key = (String, String);

/// The accounts that rooms of this server hold.
pub(crate) struct Accounts {
    persistence: Arc<PersistenceThread>,
    table: Mutex<Table>,
    /// Notified when a room has given up an account.
    freed: Notify,
}

#[derive(Default)]
struct Table {
    holders: BTreeMap<Key, Holder>,
    newest: BTreeMap<Key, SavedData>,
    /// The keys of `newest`, oldest first. A key may occur several times; its last place counts.
    order: VecDeque<Key>,
    newest_bytes: usize,
}

struct Holder {
    room: Arc<WantedAccounts>,
    /// Number of [`HeldAccount`]s.
    count: usize,
}

/// An account that a room holds. Dropping the last one of a room gives up the account.
pub struct HeldAccount {
    accounts: Arc<Accounts>,
    key: Key,
}

impl Accounts {
    pub(crate) fn new(persistence: Arc<PersistenceThread>) -> Accounts {
        Accounts { persistence, table: Mutex::default(), freed: Notify::new() }
    }

    /// Holds an account for a room, which its wanted accounts identify.
    ///
    /// # Errors
    /// Returns the wanted accounts of the room that holds the account.
    pub(crate) fn try_hold(
        self: &Arc<Self>,
        world: &str,
        account: &str,
        room: &Arc<WantedAccounts>,
    ) -> Result<HeldAccount, Arc<WantedAccounts>> {
        let key = (world.to_owned(), account.to_owned());
        let mut table = self.table.lock();
        let holder =
            table.holders.entry(key.clone()).or_insert_with(|| Holder { room: Arc::clone(room), count: 0 });
        if !Arc::ptr_eq(&holder.room, room) {
            return Err(Arc::clone(&holder.room));
        }
        holder.count += 1;
        Ok(HeldAccount { accounts: Arc::clone(self), key })
    }

    /// Holds an account as soon as other rooms have given it up.
    pub(crate) async fn hold(
        self: &Arc<Self>,
        world: &str,
        account: &str,
        room: &Arc<WantedAccounts>,
    ) -> HeldAccount {
        loop {
            let freed = self.freed.notified();
            match self.try_hold(world, account, room) {
                Ok(held) => return held,
                Err(holder) => holder.push(account),
            }
            freed.await;
        }
    }

    /// Remembers the newest data of accounts.
    pub(crate) fn remember(&self, world: &str, changed: &BTreeMap<String, SavedData>) {
        let mut table = self.table.lock();
        for (account, saved) in changed {
            table.remember((world.to_owned(), account.clone()), saved.clone());
        }
    }
}

impl Table {
    fn remember(&mut self, key: Key, saved: SavedData) {
        self.newest_bytes += saved.memory_bytes();
        if let Some(before) = self.newest.insert(key.clone(), saved) {
            self.newest_bytes -= before.memory_bytes();
            self.order.retain(|known| *known != key);
        }
        self.order.push_back(key);
        while self.newest.len() > REMEMBERED_MAX || self.newest_bytes > REMEMBERED_BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(forgotten) = self.newest.remove(&oldest) {
                self.newest_bytes -= forgotten.memory_bytes();
            }
        }
    }
}

impl HeldAccount {
    /// The name of the account.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.key.1
    }

    /// Returns the newest data of the account; `None` if it has none. Blocks on the disk.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if the stored data is damaged.
    pub fn load(&self) -> Result<Option<SavedData>, StoreError> {
        if let Some(saved) = self.accounts.table.lock().newest.get(&self.key) {
            return Ok(Some(saved.clone()));
        }
        let Some(store) = self.accounts.persistence.store() else { return Ok(None) };
        // The data may have been forgotten before it was written.
        store.commit(COMMIT_PATIENCE)?;
        store.account(&self.key.0, &self.key.1)
    }
}

impl Drop for HeldAccount {
    fn drop(&mut self) {
        let mut table = self.accounts.table.lock();
        if let Some(holder) = table.holders.get_mut(&self.key) {
            holder.count -= 1;
            if holder.count == 0 {
                table.holders.remove(&self.key);
                drop(table);
                self.accounts.freed.notify_waiters();
            }
        }
    }
}

impl std::fmt::Debug for HeldAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HeldAccount").field(&self.key).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Arc<Accounts> {
        Arc::new(Accounts::new(Arc::default()))
    }

    fn data(revision: u64) -> SavedData {
        SavedData { version: 1, revision, value: "x".into() }
    }

    #[test]
    fn an_account_is_held_by_one_room_of_a_world_at_a_time() {
        let accounts = accounts();
        let (plaza, garden): (Arc<WantedAccounts>, Arc<WantedAccounts>) = Default::default();
        let first = accounts.try_hold("shop", "key:ada", &plaza).expect("no room holds it");
        let second = accounts.try_hold("shop", "key:ada", &plaza).expect("the same room holds it");
        assert!(accounts.try_hold("party", "key:ada", &garden).is_ok(), "another world has data of its own");
        let holder = accounts.try_hold("shop", "key:ada", &garden).expect_err("the plaza holds it");
        assert!(Arc::ptr_eq(&holder, &plaza));
        drop(first);
        assert!(accounts.try_hold("shop", "key:ada", &garden).is_err());
        drop(second);
        assert!(accounts.try_hold("shop", "key:ada", &garden).is_ok());
    }

    #[test]
    fn a_room_that_wants_an_account_asks_the_holder_and_gets_it_afterwards() {
        let accounts = accounts();
        let (plaza, garden): (Arc<WantedAccounts>, Arc<WantedAccounts>) = Default::default();
        let held = accounts.try_hold("shop", "key:ada", &plaza).expect("no room holds it");
        let mut wanting = std::pin::pin!(accounts.hold("shop", "key:ada", &garden));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(wanting.as_mut().poll(&mut context).is_pending());
        assert_eq!(plaza.take(), ["key:ada"]);
        drop(held);
        let std::task::Poll::Ready(held) = wanting.as_mut().poll(&mut context) else {
            panic!("the account is free")
        };
        assert_eq!(held.account(), "key:ada");
    }

    #[test]
    fn the_newest_data_is_remembered_within_limits() {
        let accounts = accounts();
        let lobby = Arc::default();
        let remember = |account: String, revision| {
            accounts.remember("shop", &BTreeMap::from([(account, data(revision))]));
        };
        for revision in 1..5 {
            remember("key:ada".into(), revision);
        }
        for number in 1..REMEMBERED_MAX {
            remember(format!("key:{number}"), 1);
        }
        let load = |account: &str| {
            let held = accounts.try_hold("shop", account, &lobby).expect("no room holds it");
            held.load().expect("no disk is read")
        };
        assert_eq!(load("key:ada"), Some(data(4)));
        remember("key:bo".into(), 1);
        assert_eq!((load("key:ada"), load("key:bo")), (None, Some(data(1))));
        assert_eq!(accounts.table.lock().order.len(), REMEMBERED_MAX);
    }
}
