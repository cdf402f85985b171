//! Durable actions over several processes, as in the engine's clients and servers (`spec/WORLD.md`, section 3).
//!
//! A client numbers its actions from 1, and sends unanswered ones again in its next session. A server applies each number of a
//! client once, stores its actions in commits, and answers after the commit. A killed server continues from its last commit, and
//! a killed client returns as another client. This module is a model of the client and the server, small enough to be obviously
//! correct. The test subject is the sessions between the two.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The lane of durable actions and their answers.
pub(crate) const DURABLE_LANE: u8 = 5;

/// Interval between the beginnings of two commits.
const COMMIT_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum distance of a client's newest number from its oldest unanswered one.
const UNDER_WAY_MAX: u32 = 64;

/// One action of one client, identified by its number. The number 0 introduces the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Act {
    pub(crate) client: u32,
    pub(crate) number: u32,
}

impl Act {
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        ((u64::from(self.client) << 32) | u64::from(self.number)).to_le_bytes()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Act, String> {
        let bytes: [u8; 8] = bytes.try_into().map_err(|_| "a durable action of another size")?;
        let both = u64::from_le_bytes(bytes);
        Ok(Act { client: (both >> 32) as u32, number: both as u32 })
    }
}

/// The durable actions of a world, and how often each was applied.
type Carried = BTreeMap<Act, u32>;

/// The server, which applies actions, and its storage.
#[derive(Debug, Default)]
pub(crate) struct Server {
    /// The world in memory.
    world: Carried,
    /// The world on disk.
    kept: Carried,
    /// Actions that were applied since the last commit began.
    unanswered: Vec<Act>,
    commit: Option<Commit>,
    next_commit: Duration,
    /// The session's last message: a client, and the number of one of its actions.
    heard: Option<Act>,
}

#[derive(Debug)]
struct Commit {
    ends_at: Duration,
    keeps: Carried,
    answers: Vec<Act>,
}

impl Server {
    /// Handles an action that a session delivered.
    pub(crate) fn take(&mut self, act: Act) -> Result<(), String> {
        match (self.heard, act.number) {
            (None, 0) => {}
            (None, _) => return Err(format!("{act:?} arrived before its client was introduced")),
            (Some(last), number) if last.client != act.client || number <= last.number => {
                return Err(format!("{act:?} arrived after {last:?} in one session"));
            }
            _ => {}
        }
        self.heard = Some(act);
        if act.number > 0 {
            if !self.world.contains_key(&act) {
                *self.world.entry(act).or_default() += 1;
            }
            self.unanswered.push(act);
        }
        Ok(())
    }

    /// Advances the time. Commits begin and end; each takes `commit_takes`. Returns the answers that may be sent.
    pub(crate) fn pass(&mut self, now: Duration, commit_takes: Duration) -> Vec<Act> {
        let ended = self.commit.take_if(|commit| commit.ends_at <= now);
        let answers = ended.map_or_else(Vec::new, |commit| {
            self.kept = commit.keeps;
            commit.answers
        });
        if self.commit.is_none() && !self.unanswered.is_empty() && self.next_commit <= now {
            let answers = std::mem::take(&mut self.unanswered);
            self.commit = Some(Commit { ends_at: now + commit_takes, keeps: self.world.clone(), answers });
            self.next_commit = now + COMMIT_INTERVAL;
        }
        answers
    }

    /// Kills the process, and starts another one from the stored state. `is_commit_kept` states whether a commit in progress was
    /// stored.
    pub(crate) fn restart(&mut self, is_commit_kept: bool) {
        if let Some(commit) = self.commit.take().filter(|_| is_commit_kept) {
            self.kept = commit.keeps;
        }
        *self =
            Server { world: self.kept.clone(), kept: std::mem::take(&mut self.kept), ..Server::default() };
    }

    /// Begins another session, in which the client introduces itself. Pending answers are dropped.
    pub(crate) fn begin_session(&mut self) {
        self.heard = None;
        self.unanswered.clear();
        if let Some(commit) = &mut self.commit {
            commit.answers.clear();
        }
    }
}

/// A client, and its record of its actions. It forgets the record when it is killed.
#[derive(Debug, Default)]
pub(crate) struct Client {
    key: u32,
    last: u32,
    open: BTreeSet<u32>,
    confirmed: BTreeSet<u32>,
}

impl Client {
    pub(crate) fn new(key: u32) -> Client {
        Client { key, ..Client::default() }
    }

    pub(crate) fn key(&self) -> u32 {
        self.key
    }

    /// Returns the next action; `None` while too many are unanswered.
    pub(crate) fn act(&mut self) -> Option<Act> {
        let number = self.last + 1;
        if self.open.first().is_some_and(|oldest| number - oldest >= UNDER_WAY_MAX) {
            return None;
        }
        self.last = number;
        self.open.insert(number);
        Some(Act { client: self.key, number })
    }

    /// Returns the first messages of a session: the identity, and all unanswered actions.
    pub(crate) fn begin_session(&self) -> Vec<Act> {
        let act = |number| Act { client: self.key, number };
        std::iter::once(0).chain(self.open.iter().copied()).map(act).collect()
    }

    /// Handles the server's confirmation that an action is stored.
    pub(crate) fn confirmed(&mut self, act: Act, server: &Server) -> Result<(), String> {
        if act.client != self.key || !self.open.remove(&act.number) {
            return Err(format!(
                "{act:?} was confirmed to client {}, which has no such unanswered action",
                self.key
            ));
        }
        self.confirmed.insert(act.number);
        match server.kept.get(&act) {
            Some(_) => Ok(()),
            None => Err(format!("{act:?} was confirmed and is not stored")),
        }
    }

    /// Whether all actions are answered.
    pub(crate) fn is_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Checks the stored actions against this client's answers. Each confirmed action must be stored once, and each other
    /// action at most once. No further actions may be stored.
    pub(crate) fn check(&self, server: &Server) -> Result<(), String> {
        let kept = |number: u32| {
            let act = Act { client: self.key, number };
            server.kept.get(&act).copied().unwrap_or(0)
        };
        for number in 1..=self.last {
            let (times, was_confirmed) = (kept(number), self.confirmed.contains(&number));
            if times > 1 || (was_confirmed && times == 0) {
                let said = if was_confirmed { "was confirmed" } else { "has no answer" };
                return Err(format!(
                    "action {number} of client {} {said} and is stored {times} times",
                    self.key
                ));
            }
        }
        let all = Act { client: self.key, number: 0 }..=Act { client: self.key, number: u32::MAX };
        let beyond = server.kept.range(all).find(|(act, _)| act.number == 0 || act.number > self.last);
        beyond.map_or(Ok(()), |(act, _)| Err(format!("{act:?} is stored, and no client sent it")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Passes all these actions to the server, and returns its answers after the commit.
    fn commit(server: &mut Server, acts: &[Act], now: Duration) -> Vec<Act> {
        acts.iter().for_each(|act| server.take(*act).expect("the actions are in order"));
        assert_eq!(server.pass(now, 10 * MS), []);
        server.pass(now + 10 * MS, 10 * MS)
    }

    #[test]
    fn confirmed_acts_outlast_a_kill_and_unconfirmed_ones_are_applied_once_when_sent_again() {
        let (mut server, mut client) = (Server::default(), Client::new(1));
        let mut acts = client.begin_session();
        acts.extend(client.act());
        for act in commit(&mut server, &acts, Duration::ZERO) {
            client.confirmed(act, &server).unwrap();
        }
        server.take(client.act().expect("few are under way")).unwrap();
        server.restart(false);
        client.check(&server).unwrap();
        let again = client.begin_session();
        assert_eq!(again.len(), 2, "the identity, and the second action");
        for act in commit(&mut server, &again, 100 * MS) {
            client.confirmed(act, &server).unwrap();
        }
        assert!(client.is_settled());
        client.check(&server).unwrap();
    }

    #[test]
    fn a_commit_in_progress_at_the_kill_is_stored_or_not_and_never_answered() {
        for is_kept in [false, true] {
            let (mut server, mut client) = (Server::default(), Client::new(1));
            client.begin_session().into_iter().chain(client.act()).for_each(|act| server.take(act).unwrap());
            assert_eq!(server.pass(Duration::ZERO, 10 * MS), []);
            server.restart(is_kept);
            assert_eq!(server.kept.len(), usize::from(is_kept));
            assert_eq!(server.pass(20 * MS, 10 * MS), []);
            client.check(&server).unwrap();
        }
    }

    #[test]
    fn a_server_that_forgets_or_repeats_and_a_session_that_mixes_messages_are_detected() {
        let (mut server, mut client) = (Server::default(), Client::new(1));
        let acts: Vec<Act> = client.begin_session().into_iter().chain(client.act()).collect();
        for act in commit(&mut server, &acts, Duration::ZERO) {
            client.confirmed(act, &server).unwrap();
        }
        assert!(client.confirmed(acts[1], &server).is_err(), "nothing is confirmed twice");
        assert!(server.take(acts[1]).is_err(), "nothing comes twice in one session");
        assert!(server.take(Act { client: 2, number: 9 }).is_err(), "no client acts for another");
        server.kept.insert(acts[1], 2);
        assert!(client.check(&server).is_err(), "the action is stored twice");
        server.kept.clear();
        assert!(client.check(&server).is_err(), "the action is lost");
        server.begin_session();
        assert!(server.take(acts[1]).is_err(), "the client does not introduce itself");
    }
}
