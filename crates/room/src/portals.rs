//! Tickets of players whom rules sent to another room, with the data that they carry.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nowcast_world::Value;
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};

use crate::client_key::hex;

/// Maximum tickets at a time. If the table is full, the oldest ticket is dropped.
const TICKETS_MAX: usize = 4_096;

/// The time in which a player must arrive in the other room.
const TICKET_LASTS: Duration = Duration::from_secs(60);

/// A player on the way between two rooms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passage {
    /// The room that the player left.
    pub(crate) from: String,
    /// The room in which the ticket is valid.
    pub(crate) room: String,
    /// The account of the player; only this account may use the ticket.
    pub(crate) account: Option<String>,
    /// The data for the rules of that room.
    pub(crate) data: Value,
}

/// The tickets of a server. They end with the process.
#[derive(Default)]
pub(crate) struct Portals {
    tickets: Mutex<BTreeMap<String, (Instant, Passage)>>,
}

impl Portals {
    /// Stores a passage and returns its ticket, which nobody can guess. Returns `None` if the system has no random numbers.
    pub(crate) fn open(&self, passage: Passage, now: Instant) -> Option<String> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let ticket = hex(&bytes);
        let mut tickets = self.tickets.lock();
        tickets.retain(|_, (until, _)| *until > now);
        if tickets.len() >= TICKETS_MAX {
            let oldest =
                tickets.iter().min_by_key(|(_, (until, _))| *until).map(|(ticket, _)| ticket.clone());
            oldest.map(|oldest| tickets.remove(&oldest));
        }
        tickets.insert(ticket.clone(), (now + TICKET_LASTS, passage));
        Some(ticket)
    }

    /// Takes the passage of a ticket in a room. A ticket is valid once, in its room, for its account.
    pub(crate) fn take(
        &self,
        ticket: &str,
        room: &str,
        account: Option<&str>,
        now: Instant,
    ) -> Option<Passage> {
        let mut tickets = self.tickets.lock();
        let (until, passage) = tickets.get(ticket)?;
        let is_valid = *until > now && passage.room == room && passage.account.as_deref() == account;
        if is_valid { tickets.remove(ticket).map(|(_, passage)| passage) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(room: &str, account: Option<&str>) -> Passage {
        let account = account.map(str::to_owned);
        Passage { from: "hall".into(), room: room.into(), account, data: Value::Int(7) }
    }

    #[test]
    fn a_ticket_is_valid_once_in_its_room_for_its_account_and_for_a_minute() {
        let (portals, now) = (Portals::default(), Instant::now());
        let ticket = portals.open(passage("shop", Some("key:ada")), now).unwrap();
        assert_eq!(portals.take(&ticket, "park", Some("key:ada"), now), None, "another room");
        assert_eq!(portals.take(&ticket, "shop", Some("key:eve"), now), None, "another account");
        assert_eq!(portals.take(&ticket, "shop", None, now), None, "a guest");
        assert_eq!(portals.take("0", "shop", Some("key:ada"), now), None, "another ticket");
        let found = portals.take(&ticket, "shop", Some("key:ada"), now);
        assert_eq!(found, Some(passage("shop", Some("key:ada"))));
        assert_eq!(portals.take(&ticket, "shop", Some("key:ada"), now), None, "a second time");
        let late = portals.open(passage("shop", None), now).unwrap();
        assert_eq!(portals.take(&late, "shop", None, now + TICKET_LASTS), None, "a minute later");
    }

    #[test]
    fn the_oldest_ticket_gives_way_when_the_table_is_full() {
        let (portals, now) = (Portals::default(), Instant::now());
        let first = portals.open(passage("shop", None), now).unwrap();
        let later = now + Duration::from_secs(1);
        let rest: Vec<_> =
            (0..TICKETS_MAX).map(|_| portals.open(passage("shop", None), later).unwrap()).collect();
        assert_eq!(portals.take(&first, "shop", None, later), None);
        assert!(rest.iter().all(|ticket| portals.take(ticket, "shop", None, later).is_some()));
    }
}
