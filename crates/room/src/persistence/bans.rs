//! Bans by name, key or address, for a room, a world or all rooms, until a time (`docs/how-to/stored-worlds.md`, "Bans").

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nowcast_limits::network_of;
use nowcast_store::{Mark, MarkCompletion, MarkKind, UtcTime, WorldStore, read_duration};
use nowcast_world::text::sanitize;
use nowcast_world_protocol::is_room_name;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use tracing::warn;

use super::{PersistenceThread, now_ms};
use crate::client_key::{ClientKey, hex, read_hex};

/// Maximum bans at a time. Further bans are refused.
pub const BANS_MAX: usize = 4_096;

/// Default duration of a ban by address, because the address may later belong to another person.
pub const ADDRESS_BAN: Duration = Duration::from_secs(24 * 3_600);

/// Maximum duration of a ban by address.
pub const ADDRESS_BAN_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// End of a ban that lasts until it is lifted: the last millisecond of the year 9999.
const FOR_EVER_MS: u64 = 253_402_300_799_999;

/// The longest name and the longest reason of a ban, in characters.
const NAME_CHARS_MAX: usize = 64;
const WHY_CHARS_MAX: usize = 120;

/// The rooms in which a ban applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BanScope {
    /// In the room of this name.
    Room(String),
    /// In every room that shows the world of this name.
    World(String),
}

/// The mark by which a banned client is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BannedBy {
    /// The name in the token. Only its hash is stored.
    Token([u8; 16]),
    /// The key that the client presents when it reconnects. Only its hash is stored.
    Client([u8; 16]),
    /// The address: an IPv4 address, or an IPv6 network of 64 bits.
    Address(IpAddr),
}

impl BannedBy {
    /// Bans every bearer of a token with this name.
    pub fn token(name: &str) -> Self {
        let digest = digest(&SHA256, name.as_bytes());
        let mut hash = [0; 16];
        hash.copy_from_slice(&digest.as_ref()[..16]);
        Self::Token(hash)
    }

    /// Bans every client from the network of this address.
    pub fn address(address: IpAddr) -> Self {
        Self::Address(network_of(address))
    }
}

/// One ban.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    scope: BanScope,
    by: BannedBy,
    name: String,
    why: String,
    expires_ms: u64,
}

/// The reason why a ban is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BanError {
    /// There is no room or world of this name.
    #[error("'{0}' is not 1 to 32 of a-z 0-9 - _, as rooms and worlds are called")]
    Scope(String),
    /// The ban of an address would last too long.
    #[error("an address is banned for 30 days at most, because it may belong to another person later")]
    TooLong,
    /// The list of bans is full.
    #[error("the list of bans is full ({BANS_MAX}): remove some first")]
    Full,
    /// The store is behind with its writes.
    #[error("the ban cannot be stored now: the disk is behind, see /healthz")]
    NotTaken,
}

impl Ban {
    /// Creates a ban that starts now and lasts this long. Without a duration, it lasts until it is lifted. `name` and `why`
    /// are shown to people.
    ///
    /// # Errors
    /// Fails if the scope is not a valid name of a room or a world, or if an address would be banned for too long.
    pub fn new(
        scope: BanScope,
        by: BannedBy,
        lasts: Option<Duration>,
        name: &str,
        why: &str,
        now_ms: u64,
    ) -> Result<Self, BanError> {
        let (BanScope::Room(place) | BanScope::World(place)) = &scope;
        if !is_room_name(place) {
            return Err(BanError::Scope(sanitize(place, NAME_CHARS_MAX)));
        }
        let is_address = matches!(by, BannedBy::Address(_));
        let lasts = if is_address { lasts.or(Some(ADDRESS_BAN)) } else { lasts };
        if is_address && lasts.is_some_and(|lasts| lasts > ADDRESS_BAN_MAX) {
            return Err(BanError::TooLong);
        }
        let until = |lasts: Duration| {
            now_ms.saturating_add(u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX)).min(FOR_EVER_MS)
        };
        let expires_ms = lasts.map_or(FOR_EVER_MS, until);
        let (name, why) = (sanitize(name, NAME_CHARS_MAX), sanitize(why, WHY_CHARS_MAX));
        Ok(Self { scope, by, name, why, expires_ms })
    }

    /// The name of the room or the world in which the ban applies.
    pub fn place(&self) -> &str {
        let (BanScope::Room(place) | BanScope::World(place)) = &self.scope;
        place
    }

    /// Identifies the ban for people: eight hexadecimal digits.
    pub fn id(&self) -> String {
        hex(&digest(&SHA256, self.key().as_bytes()).as_ref()[..4])
    }

    /// Whether this name or id identifies the ban.
    pub fn is_called(&self, who: &str) -> bool {
        self.name.eq_ignore_ascii_case(who) || self.id() == who
    }

    /// Returns the message that the banned client receives.
    pub(crate) fn message(&self) -> String {
        let place = match &self.scope {
            BanScope::Room(_) => "this room",
            BanScope::World(_) => "this world",
        };
        let until = match self.expires_ms {
            FOR_EVER_MS => String::new(),
            expires_ms => format!(" until {}", UtcTime(expires_ms)),
        };
        let why = if self.why.is_empty() { String::new() } else { format!(": {}", self.why) };
        format!("you are banned from {place}{until}{why}")
    }

    /// Encodes the ban for a store.
    pub fn to_mark(&self) -> Mark {
        let note = format!("{}\n{}", self.name, self.why);
        Mark { kind: MarkKind::Ban, key: self.key().into_bytes(), note, expires_ms: self.expires_ms }
    }

    /// Decodes a ban from a store. Returns `None` for a form that this release does not know.
    pub fn from_mark(mark: &Mark) -> Option<Self> {
        let mut parts = std::str::from_utf8(&mark.key).ok()?.splitn(4, '/');
        let (scope, place, by, what) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if !is_room_name(place) {
            return None;
        }
        let scope = match scope {
            "room" => BanScope::Room(place.to_owned()),
            "world" => BanScope::World(place.to_owned()),
            _ => return None,
        };
        let by = match by {
            "token" => BannedBy::Token(read_hex(what)?),
            "client" => BannedBy::Client(read_hex(what)?),
            "address" => BannedBy::address(what.parse().ok()?),
            _ => return None,
        };
        let (name, why) = mark.note.split_once('\n').unwrap_or((&mark.note, ""));
        let (name, why) = (sanitize(name, NAME_CHARS_MAX), sanitize(why, WHY_CHARS_MAX));
        Some(Self { scope, by, name, why, expires_ms: mark.expires_ms })
    }

    fn key(&self) -> String {
        key(&self.scope, &self.by)
    }
}

/// The key of the mark of a ban.
fn key(scope: &BanScope, by: &BannedBy) -> String {
    let (kind, place) = match scope {
        BanScope::Room(place) => ("room", place),
        BanScope::World(place) => ("world", place),
    };
    match by {
        BannedBy::Token(hash) => format!("{kind}/{place}/token/{}", hex(hash)),
        BannedBy::Client(hash) => format!("{kind}/{place}/client/{}", hex(hash)),
        BannedBy::Address(address) => format!("{kind}/{place}/address/{address}"),
    }
}

impl fmt::Display for Ban {
    /// Formats the ban in one line: id, name, scope, mark, end, reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "(no name)" } else { &self.name };
        write!(f, "{}  {name}, ", self.id())?;
        match &self.scope {
            BanScope::Room(place) => write!(f, "room {place}, ")?,
            BanScope::World(place) => write!(f, "world {place}, ")?,
        }
        match &self.by {
            BannedBy::Token(_) => write!(f, "by the token's name")?,
            BannedBy::Client(_) => write!(f, "by the client's key")?,
            BannedBy::Address(address) if address.is_ipv6() => write!(f, "by the address {address}/64")?,
            BannedBy::Address(address) => write!(f, "by the address {address}")?,
        }
        if self.expires_ms != FOR_EVER_MS {
            write!(f, ", until {}", UtcTime(self.expires_ms))?;
        }
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.why) }
    }
}

/// The marks of a client that joins, by which a ban may match it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// The name in the token.
    pub(crate) token: Option<&'a str>,
    pub(crate) key: Option<ClientKey>,
    pub(crate) address: Option<IpAddr>,
}

impl Known<'_> {
    fn all(&self) -> impl Iterator<Item = BannedBy> {
        let token = self.token.map(BannedBy::token);
        let key = self.key.map(|key| BannedBy::Client(key.0));
        token.into_iter().chain(key).chain(self.address.map(BannedBy::address))
    }
}

/// The bans of a server. If there is a store, the bans are stored. Otherwise they end with the process.
pub(crate) struct Bans {
    persistence: Arc<PersistenceThread>,
    bans: Mutex<BTreeMap<String, Ban>>,
    /// The number of bans added so far. Rooms compare the number in each step.
    number: AtomicU64,
}

impl Bans {
    /// Loads the bans from a store.
    pub(crate) fn new(persistence: Arc<PersistenceThread>) -> Self {
        let kept = persistence.store().map(|store| store.marks(MarkKind::Ban, now_ms())).transpose();
        let kept = kept.unwrap_or_else(|error| {
            warn!(%error, "the bans cannot be read: no client is banned");
            None
        });
        let kept = kept.unwrap_or_default();
        let bans = kept.iter().filter_map(Ban::from_mark).take(BANS_MAX);
        let bans = bans.map(|ban| (ban.key(), ban)).collect();
        Self { persistence, bans: Mutex::new(bans), number: AtomicU64::new(0) }
    }

    /// Adds a ban that starts now. Calls `then` when the ban is stored, or at once if there is no store.
    pub(crate) fn add(&self, ban: Ban, then: MarkCompletion) -> Result<(), BanError> {
        let mut bans = self.bans.lock();
        bans.retain(|_, ban| ban.expires_ms > now_ms());
        if bans.len() >= BANS_MAX && !bans.contains_key(&ban.key()) {
            return Err(BanError::Full);
        }
        match self.persistence.store() {
            Some(store) => keep_ban(&*store, &ban, then)?,
            None => then(Ok(true)),
        }
        bans.insert(ban.key(), ban);
        drop(bans);
        self.number.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Lifts the bans with this name or id in a room and in its world. Returns the lifted bans.
    pub(crate) fn remove(&self, room: &str, world: &str, who: &str) -> Result<Vec<Ban>, BanError> {
        let mut bans = self.bans.lock();
        let gone: Vec<Ban> =
            bans.values().filter(|ban| ban.is_of(room, world) && ban.is_called(who)).cloned().collect();
        for ban in &gone {
            if let Some(store) = self.persistence.store() {
                let refused = store.unmark(MarkKind::Ban, ban.key().as_bytes(), Vec::new());
                refused.map_err(|_| BanError::NotTaken)?;
            }
            bans.remove(&ban.key());
        }
        Ok(gone)
    }

    /// Returns the bans of a room and of its world.
    pub(crate) fn list(&self, room: &str, world: &str) -> Vec<Ban> {
        let now_ms = now_ms();
        let bans = self.bans.lock();
        bans.values().filter(|ban| ban.expires_ms > now_ms && ban.is_of(room, world)).cloned().collect()
    }

    /// Returns the ban that excludes a client from a room, if there is one.
    pub(crate) fn find(&self, room: &str, world: &str, known: Known<'_>) -> Option<Ban> {
        let bans = self.bans.lock();
        if bans.is_empty() {
            return None;
        }
        let now_ms = now_ms();
        let scopes = [BanScope::Room(room.to_owned()), BanScope::World(world.to_owned())];
        known.all().find_map(|by| {
            let of = |scope: &BanScope| bans.get(&key(scope, &by)).filter(|ban| ban.expires_ms > now_ms);
            scopes.iter().find_map(of).cloned()
        })
    }

    /// Returns the number of bans added so far.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }
}

impl Ban {
    /// Whether the ban applies in a room that shows this world.
    fn is_of(&self, room: &str, world: &str) -> bool {
        match &self.scope {
            BanScope::Room(place) => place == room,
            BanScope::World(place) => place == world,
        }
    }
}

/// Writes a ban to a store.
///
/// # Errors
/// Fails if the store has no space now.
fn keep_ban(store: &dyn WorldStore, ban: &Ban, then: MarkCompletion) -> Result<(), BanError> {
    store.mark(ban.to_mark(), now_ms(), then).map_err(|_| BanError::NotTaken)
}

/// The arguments of a ban: `[--for 2h] [--world] [--token] NAME [: WHY]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BanRequest {
    /// The duration. Without one, the ban lasts until it is lifted.
    pub(crate) lasts: Option<Duration>,
    /// Whether the ban applies in all rooms of the world.
    pub(crate) is_of_world: bool,
    /// Whether the ban applies to every bearer of a token with this name, present or not.
    pub(crate) is_token: bool,
    pub(crate) name: String,
    pub(crate) why: String,
}

impl BanRequest {
    /// Parses the text after `/ban`. The error message states the expected form.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const USAGE: &str = "/ban [--for 2h] [--world] [--token] NAME [: WHY]: --world in all of its rooms, --token by the token name";
        let mut request = Self {
            lasts: None,
            is_of_world: false,
            is_token: false,
            name: String::new(),
            why: String::new(),
        };
        let mut rest = text.trim();
        while let Some(flag) = rest.split_whitespace().next().filter(|word| word.starts_with("--")) {
            rest = rest[flag.len()..].trim_start();
            match flag {
                "--world" => request.is_of_world = true,
                "--token" => request.is_token = true,
                "--for" => {
                    let word = rest.split_whitespace().next().ok_or(USAGE)?;
                    request.lasts = Some(read_duration(word).ok_or(USAGE)?);
                    rest = rest[word.len()..].trim_start();
                }
                _ => return Err(USAGE),
            }
        }
        let (name, why) = rest.split_once(": ").unwrap_or((rest, ""));
        (request.name, request.why) = (name.trim().to_owned(), why.trim().to_owned());
        if request.name.is_empty() { Err(USAGE) } else { Ok(request) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nowcast_store::{MARK_KEY_BYTES_MAX, MARK_NOTE_BYTES_MAX};

    const NOW: u64 = 1_700_000_000_000;

    fn room(name: &str) -> BanScope {
        BanScope::Room(name.to_owned())
    }

    fn ban(scope: BanScope, by: BannedBy) -> Ban {
        Ban::new(scope, by, None, "Ada", "shouting", now_ms()).expect("the ban is valid")
    }

    fn bans() -> Bans {
        Bans::new(Arc::default())
    }

    fn add(bans: &Bans, ban: Ban) -> Result<(), BanError> {
        bans.add(ban, Box::new(|_| ()))
    }

    #[test]
    fn a_stored_ban_is_read_back_and_other_marks_are_ignored() {
        let long = "雨".repeat(500);
        for scope in [room(&"x".repeat(32)), BanScope::World("football".into())] {
            for by in [
                BannedBy::token(&long),
                BannedBy::Client([7; 16]),
                BannedBy::address("203.0.113.7".parse().unwrap()),
                BannedBy::address("2001:db8:1:2:3:4:5:6".parse().unwrap()),
            ] {
                let ban = Ban::new(scope.clone(), by, Some(Duration::from_secs(60)), &long, &long, NOW);
                let ban = ban.expect("the ban is valid");
                let mark = ban.to_mark();
                assert!(mark.key.len() <= MARK_KEY_BYTES_MAX && mark.note.len() <= MARK_NOTE_BYTES_MAX);
                assert_eq!(mark.expires_ms, NOW + 60_000);
                assert_eq!(Ban::from_mark(&mark), Some(ban));
            }
        }
        for key in
            ["", "room", "room/x/token/00", "room/X y/client/00", "town/x/address/::1", "room/x/address/no"]
        {
            let mark = Mark { kind: MarkKind::Ban, key: key.into(), note: String::new(), expires_ms: NOW };
            assert_eq!(Ban::from_mark(&mark), None, "{key}");
        }
    }

    #[test]
    fn an_address_ban_lasts_a_day_by_default_and_30_days_at_most() {
        let by = || BannedBy::address("203.0.113.7".parse().unwrap());
        let day = Ban::new(room("plaza"), by(), None, "", "", NOW).expect("the ban is valid");
        assert_eq!(day.to_mark().expires_ms, NOW + 24 * 3_600_000);
        let month = Some(ADDRESS_BAN_MAX + Duration::from_secs(1));
        assert_eq!(Ban::new(room("plaza"), by(), month, "", "", NOW), Err(BanError::TooLong));
        assert!(matches!(Ban::new(room("Pla za"), by(), None, "", "", NOW), Err(BanError::Scope(_))));
        let token =
            Ban::new(room("plaza"), BannedBy::token("Ada"), None, "Ada", "", NOW).expect("the ban is valid");
        assert_eq!(token.message(), "you are banned from this room");
        let hour = Some(Duration::from_secs(3_600));
        let world = BanScope::World("park".into());
        let message =
            Ban::new(world, by(), hour, "Ada", "shouting", NOW).expect("the ban is valid").message();
        assert_eq!(message, "you are banned from this world until 2023-11-14T23:13:20Z: shouting");
    }

    #[test]
    fn a_ban_applies_by_name_key_or_address_in_its_room_or_world_only() {
        let bans = bans();
        let address: IpAddr = "2001:db8:1:2::9".parse().unwrap();
        let neighbour: IpAddr = "2001:db8:1:2:ff::1".parse().unwrap();
        let key = ClientKey([7; 16]);
        add(&bans, ban(room("plaza"), BannedBy::token("Ada"))).expect("the list has space");
        add(&bans, ban(room("plaza"), BannedBy::Client(key.0))).expect("the list has space");
        add(&bans, ban(BanScope::World("park".into()), BannedBy::address(address)))
            .expect("the list has space");
        assert_eq!(bans.number(), 3);
        let ada = Known { token: Some("Ada"), ..Known::default() };
        let client = Known { key: Some(key), token: Some("Ben"), ..Known::default() };
        let near = Known { address: Some(neighbour), ..Known::default() };
        for (known, place, is_banned) in [
            (ada, ("plaza", "plaza"), true),
            (client, ("plaza", "plaza"), true),
            (near, ("plaza", "plaza"), false),
            (ada, ("park-2", "park"), false),
            (near, ("park-2", "park"), true),
            (Known { token: Some("ada"), ..ada }, ("plaza", "plaza"), false),
            (Known::default(), ("plaza", "plaza"), false),
        ] {
            assert_eq!(bans.find(place.0, place.1, known).is_some(), is_banned, "{known:?} in {place:?}");
        }
        assert_eq!(bans.list("plaza", "plaza").len(), 2);
        assert_eq!(bans.list("park-2", "park").len(), 1);
        assert_eq!(bans.remove("park", "park", "ada").map(|gone| gone.len()), Ok(1), "by the name");
        let id = bans.list("plaza", "plaza")[0].id();
        assert_eq!(bans.remove("plaza", "plaza", &id).map(|gone| gone.len()), Ok(1), "by the id");
        assert_eq!(bans.remove("plaza", "plaza", "Eve").map(|gone| gone.len()), Ok(0));
    }

    #[test]
    fn bans_are_limited_and_expired_ones_free_their_place() {
        let bans = bans();
        let by = |number: usize| {
            let mut hash = [0; 16];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            BannedBy::Client(hash)
        };
        let short = Some(Duration::ZERO);
        let over = Ban::new(room("plaza"), by(BANS_MAX + 1), short, "", "", 0).expect("the ban is valid");
        add(&bans, over).expect("the list has space");
        for number in 0..BANS_MAX {
            add(&bans, ban(room("plaza"), by(number))).expect("the list has space");
        }
        assert_eq!(add(&bans, ban(room("plaza"), by(BANS_MAX))), Err(BanError::Full));
        assert_eq!(add(&bans, ban(room("plaza"), by(0))), Ok(()), "the ban is already in the list");
    }

    #[test]
    fn a_request_names_a_player_after_its_flags() {
        let plain = |name: &str, why: &str| BanRequest {
            lasts: None,
            is_of_world: false,
            is_token: false,
            name: name.into(),
            why: why.into(),
        };
        assert_eq!(BanRequest::parse(" Ian Bell "), Ok(plain("Ian Bell", "")));
        assert_eq!(BanRequest::parse("Ian Bell: shouts: a lot"), Ok(plain("Ian Bell", "shouts: a lot")));
        let all =
            BanRequest { lasts: Some(Duration::from_secs(7_200)), is_of_world: true, ..plain("Ada", "") };
        assert_eq!(BanRequest::parse("--for 2h --world Ada"), Ok(all));
        let token = BanRequest { is_token: true, ..plain("Ada", "") };
        assert_eq!(BanRequest::parse("--token Ada"), Ok(token));
        for wrong in ["", "--for", "--for Ada", "--for 2h", "--always Ada", ": why"] {
            assert!(BanRequest::parse(wrong).is_err(), "{wrong}");
        }
    }
}
