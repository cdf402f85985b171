//! The server's records that are stored with a world.

use std::collections::BTreeMap;

use nowcast_script::{Limits, Script, Sources};
use nowcast_store::{HOST_BYTES_MAX, Snapshot};
use nowcast_wire::{Limits as WireLimits, Wire};
use nowcast_world::{Definition, PlayerId, World};
use ring::digest::{SHA256, digest};

use crate::client_key::ClientKey;

/// The version of the format, in the first byte.
const VERSION: u8 = 3;

/// The version of a note, in its first byte.
const NOTE_VERSION: u8 = 1;

const LIMITS: WireLimits = WireLimits { memory_bytes_max: 8 * HOST_BYTES_MAX, ..WireLimits::MESSAGE };

/// The server's records that are stored with a world.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
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
        let mut bytes = vec![VERSION];
        nowcast_wire::encode(self, &mut bytes);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, HostStateError> {
        let (version, body) = bytes.split_first().ok_or(HostStateError::Missing)?;
        if *version != VERSION {
            return Err(HostStateError::Version(*version));
        }
        Ok(nowcast_wire::decode_with(body, &LIMITS)?)
    }
}

/// Encodes a note of the journal: the key of a player who joined since the last snapshot.
pub(super) fn seat_note(player: PlayerId, key: ClientKey) -> Vec<u8> {
    let mut bytes = vec![NOTE_VERSION];
    nowcast_wire::encode(&(player, key), &mut bytes);
    bytes
}

/// Decodes a note of a seat. Returns `None` for another note.
pub(super) fn read_seat_note(bytes: &[u8]) -> Option<(PlayerId, ClientKey)> {
    nowcast_wire::decode(bytes.strip_prefix(&[NOTE_VERSION])?).ok()
}

/// Returns the name under which a world was offered, and its rules.
///
/// # Errors
/// Fails if another program made the snapshot, if it is damaged, or if its rules are a program.
pub fn kept_rules(snapshot: &Snapshot) -> Result<(String, Sources), String> {
    let state = HostState::from_bytes(&snapshot.host).map_err(|error| error.to_string())?;
    let sources = state.sources.ok_or("its rules are a program's, and only that program can restore it")?;
    Ok((state.offered, sources))
}

/// Restores the world from a server's snapshot, with its rules. This function is for tools that read a store.
///
/// # Errors
/// Fails if another program made the snapshot, if it is damaged, if its rules do not load, or if its rules are a
/// program.
pub fn restore_kept(snapshot: &Snapshot) -> Result<World, String> {
    let (_, sources) = kept_rules(snapshot)?;
    let script = Script::load(&sources, Limits::DEFAULT).map_err(|fault| fault.to_string())?;
    World::restore(script.definition(), Box::new(script), &snapshot.world).map_err(|error| error.to_string())
}

/// Returns a hash that identifies these rules.
pub(crate) fn sources_hash(sources: &Sources) -> [u8; 32] {
    sha256(&nowcast_wire::encode_to_vec(sources))
}

/// Returns a hash that identifies this definition.
pub(crate) fn definition_hash(definition: &Definition) -> [u8; 32] {
    sha256(format!("{definition:?}").as_bytes())
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
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
