//! World owners: journal claims, and worlds that are read before their claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use nowcast_cluster::{Epoch, ServerId};
use nowcast_store::{Problem, StoreError, WorldName};

use super::{JetStreamStore, Parts};
use crate::journal::{Claim, Journal};
use crate::prefetched::{Known, World as PrefetchedWorld};
use crate::reader::{accounts_since_snapshot, owners, read_snapshot};
use crate::writer::WorldWriter;

impl JetStreamStore {
    /// Makes this server the owner of a world's journal. The previous owner can write nothing from then on. Without an epoch,
    /// takes the epoch after the last owner's. Returns the epoch. Waits for NATS.
    ///
    /// # Errors
    /// Returns [`Problem::Fenced`] if a later epoch is in the journal.
    pub fn claim(&self, world: &WorldName, epoch: Option<Epoch>) -> Result<Epoch, StoreError> {
        self.claim_for(world, self.parts.options.server, epoch, None)
    }

    /// Like [`claim`](Self::claim), for a server of a cluster with the epoch that the directory gave it. `after` is the message
    /// with which the previous owner has ended the journal for this server. If that is so and the world was
    /// [prefetched](Self::prefetch), one message to NATS is enough.
    ///
    /// # Errors
    /// Returns [`Problem::Fenced`] if a later epoch is in the journal.
    pub fn claim_for(
        &self,
        world: &WorldName,
        owner: ServerId,
        epoch: Option<Epoch>,
        after: Option<u64>,
    ) -> Result<Epoch, StoreError> {
        let name = world.clone();
        let claimed = self.wait_for(move |Parts { link, buckets, prefetched, .. }| {
            let name = name.clone();
            async move {
                let (journal, after) = match prefetched.journal(&name) {
                    Some(journal) => (journal, prefetched.note(&name).zip(after)),
                    None => (Journal::open(&link, &name).await?, None),
                };
                let (claim, note, is_direct) = journal.claim(owner, epoch, after).await?;
                let accounts = accounts_since_snapshot(&journal, &buckets, &name, note.as_ref(), claim.last);
                for account in accounts.await? {
                    buckets.put_account(&account).await?;
                }
                Ok::<_, Problem>((journal, claim, is_direct))
            }
        });
        let (journal, claim, is_direct) = claimed.map_err(|problem| self.failed(problem, Some(world)))?;
        self.parts.prefetched.claimed(world, is_direct.then_some(claim.last));
        Ok(self.begin_writing(world, journal, claim))
    }

    /// Starts the writer of a claimed world. Returns the epoch of the claim.
    fn begin_writing(&self, world: &WorldName, journal: Journal, claim: Claim) -> Epoch {
        let epoch = claim.epoch;
        let writer = WorldWriter {
            world: world.clone(),
            lanes: Arc::clone(&self.parts.lanes),
            wake: self.parts.lanes.open(world, claim.last),
            journal,
            claim,
            buckets: self.parts.buckets.clone(),
            commit_interval: self.parts.options.commit_interval,
            since_snapshot: (0, 0),
            accounts: BTreeMap::new(),
        };
        self.runtime().spawn(writer.run());
        epoch
    }

    /// The sequence number of the newest message that this server has written to the journal of a claimed world.
    pub fn last_message(&self, world: &WorldName) -> Option<u64> {
        self.parts.lanes.last(world)
    }

    /// Reads the newest snapshot of a world that another server owns. Loads of the world are faster until this server has
    /// claimed and loaded it.
    ///
    /// # Errors
    /// Fails if the world has no snapshot, if it is damaged, or if NATS does not answer.
    pub async fn prefetch(&self, world: &WorldName) -> Result<(), StoreError> {
        let read = async {
            let missing = || Problem::Unreachable("there is no snapshot yet".to_owned());
            let journal = Journal::find(&self.parts.link, world).await?.ok_or_else(missing)?;
            let note = journal.last_snapshot().await?.ok_or_else(missing)?;
            let snapshot = read_snapshot(&self.parts.buckets, world, &note).await?;
            let journal = journal.remembering();
            let snapshot = Known { note, snapshot, last: None };
            let read = PrefetchedWorld { journal, snapshot, is_claimed: false };
            self.parts.prefetched.remember(world.clone(), read);
            Ok::<_, Problem>(())
        };
        read.await.map_err(|problem| self.failed(problem, Some(world)))
    }

    /// Whether this server has claimed a world, and has not noticed another owner since.
    pub fn is_owner(&self, world: &WorldName) -> bool {
        self.parts.lanes.is_owned(world)
    }

    /// Returns the owners in a world's journal with their epochs, in the order of their heads. Heads before the oldest kept
    /// snapshot are purged. Waits for NATS.
    ///
    /// # Errors
    /// Fails if the journal is damaged, or if NATS does not answer.
    pub fn owners(&self, world: &WorldName) -> Result<Vec<(Epoch, ServerId)>, StoreError> {
        let read = |journal: Journal, _, _| async move { owners(&journal).await };
        Ok(self.read_journal(world, read)?.unwrap_or_default())
    }
}
