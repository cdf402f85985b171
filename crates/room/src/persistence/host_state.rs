//! The server's records that are stored with a world.

use std::collections::BTreeMap;

use nowcast_script::{Limits, Script, Sources};
use nowcast_store::{HOST_BYTES_MAX, Snapshot};
use nowcast_wire::{Limits as WireLimits, Wire};
use nowcast_world::{Definition, PlayerId, World};
use ring::digest::{Context, SHA256};

use crate::client_key::ClientKey;

/// The version of the format, in the first byte.
const VERSION: u8 = 2;

/// The version of a note, in its first byte.
const NOTE_VERSION: u8 = 1;

const LIMITS: WireLimits = WireLimits { memory_bytes_max: 8 * HOST_BYTES_MAX, ..WireLimits::MESSAGE };

/// The server's records that are stored with a world.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct HostState {
    /// The name of the offered world.
    pub(crate) offered: String,
    /// The highest player number so far.
    pub(crate) last_player: u32,
    /// The rules of the world. `None` if the rules are a program.
    pub(crate) sources: Option<Sources>,
    /// The keys of the players whose clients can reconnect to them.
    pub(crate) seats: BTreeMap<PlayerId, ClientKey>,
}

/// The error for bytes that are not valid records of a server.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub(crate) enum HostStateError {
    #[error(
        "the server's data in it has version {0}, and this program reads version {VERSION}: use the release that wrote it"
    )]
    Version(u8),
    #[error("the server's data in it cannot be read: {0}")]
    Damaged(#[from] nowcast_wire::Error),
    #[error("the server stored no data with it: another program made this world")]
    Missing,
}

impl HostState {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let modules = self.sources.as_ref().map(|sources| {
            sources.iter().map(|(path, text)| SavedModule { path: path.into(), text: text.into() }).collect()
        });
        let seats = self.seats.iter().map(|(player, key)| SavedSeat { player: player.0, key: key.0 });
        let rules = SavedRules { offered: self.offered.clone(), last_player: self.last_player, modules };
        let saved = Saved { rules, seats: seats.collect() };
        let mut bytes = vec![VERSION];
        nowcast_wire::encode(&saved, &mut bytes);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, HostStateError> {
        let (version, body) = bytes.split_first().ok_or(HostStateError::Missing)?;
        if *version != VERSION {
            return Err(HostStateError::Version(*version));
        }
        let Saved { rules, seats } = nowcast_wire::decode_with(body, &LIMITS)?;
        let SavedRules { offered, last_player, modules } = rules;
        let seats = seats.into_iter().map(|seat| (PlayerId(seat.player), ClientKey(seat.key))).collect();
        let sources = modules
            .map(|modules| modules.into_iter().map(|SavedModule { path, text }| (path, text)).collect());
        Ok(Self { offered, last_player, sources, seats })
    }
}

/// Encodes a note of the journal: the key of a player who joined since the last snapshot.
pub(super) fn seat_note(player: PlayerId, key: ClientKey) -> Vec<u8> {
    let mut bytes = vec![NOTE_VERSION];
    nowcast_wire::encode(&SavedSeat { player: player.0, key: key.0 }, &mut bytes);
    bytes
}

/// Decodes a note of a seat. Returns `None` for another note.
pub(super) fn read_seat_note(bytes: &[u8]) -> Option<(PlayerId, ClientKey)> {
    let body = bytes.strip_prefix(&[NOTE_VERSION])?;
    let SavedSeat { player, key } = nowcast_wire::decode(body).ok()?;
    Some((PlayerId(player), ClientKey(key)))
}

/// Restores the world from a server's snapshot, with its rules. This function is for tools that read a store.
///
/// # Errors
/// Fails if another program made the snapshot, if it is damaged, if its rules do not load, or if its rules are a
/// program.
pub fn restore_kept(snapshot: &Snapshot) -> Result<World, String> {
    let state = HostState::from_bytes(&snapshot.host).map_err(|error| error.to_string())?;
    let sources = state.sources.ok_or("its rules are a program's, and only that program can restore it")?;
    let script = Script::load(&sources, Limits::DEFAULT).map_err(|fault| fault.to_string())?;
    World::restore(script.definition(), Box::new(script), &snapshot.world).map_err(|error| error.to_string())
}

/// Returns a hash that identifies these rules.
pub(crate) fn sources_hash(sources: &Sources) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in sources.iter().flat_map(|(path, text)| [path, text]) {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part.as_bytes());
    }
    finish(context)
}

/// Returns a hash that identifies this definition.
pub(crate) fn definition_hash(definition: &Definition) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(format!("{definition:?}").as_bytes());
    finish(context)
}

fn finish(context: Context) -> [u8; 32] {
    context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[derive(Wire)]
struct Saved {
    rules: SavedRules,
    seats: Vec<SavedSeat>,
}

#[derive(Wire)]
struct SavedSeat {
    player: u32,
    key: [u8; 16],
}

#[derive(Wire)]
struct SavedRules {
    offered: String,
    last_player: u32,
    modules: Option<Vec<SavedModule>>,
}

#[derive(Wire)]
struct SavedModule {
    path: String,
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_written_and_damage_is_an_error() {
        let sources = Sources::from_iter([("world.luau", "-- one"), ("a/b.luau", "return 7")]);
        let seats = BTreeMap::from([(PlayerId(3), ClientKey([9; 16])), (PlayerId(7), ClientKey([1; 16]))]);
        let state = HostState { offered: "park".into(), last_player: 7, sources: Some(sources), seats };
        let bytes = state.to_bytes();
        assert_eq!(HostState::from_bytes(&bytes), Ok(state));
        for cut in 0..bytes.len() {
            assert!(HostState::from_bytes(&bytes[..cut]).is_err(), "cut off after {cut} bytes");
        }
        for other in [VERSION - 1, VERSION + 1] {
            assert_eq!(HostState::from_bytes(&[other, 1]), Err(HostStateError::Version(other)));
        }
        let program = HostState { sources: None, ..HostState::default() };
        assert_eq!(HostState::from_bytes(&program.to_bytes()), Ok(program));
    }

    #[test]
    fn a_seat_note_is_read_back_and_other_notes_are_ignored() {
        let note = seat_note(PlayerId(7), ClientKey([5; 16]));
        assert_eq!(read_seat_note(&note), Some((PlayerId(7), ClientKey([5; 16]))));
        assert!((0..note.len()).all(|cut| read_seat_note(&note[..cut]).is_none()));
        assert_eq!(read_seat_note(b"something else"), None);
    }

    #[test]
    fn rules_that_divide_the_same_text_differently_have_different_hashes() {
        let hash = |path: &str, text: &str| sources_hash(&Sources::from_iter([(path, text)]));
        assert_ne!(hash("ab", "c"), hash("a", "bc"));
    }
}
