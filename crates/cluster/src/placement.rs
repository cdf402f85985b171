//! Chooses a server for a new room: the less loaded of two randomly chosen servers (Mitzenmacher, "The Power of Two Choices in
//! Randomized Load Balancing"). Loads in the directory are old, so the best of all would get every new room until its next
//! renewal.

use crate::entry::{Load, ServerEntry, ServerPhase};
use crate::name::{Name, ServerId};

/// Chooses a server that serves and has all required tags. `random` selects the two candidates. Returns `None` if no server
/// qualifies.
pub fn choose<'a>(
    servers: impl Iterator<Item = &'a ServerEntry>,
    requires: &[Name],
    random: u64,
) -> Option<ServerId> {
    let candidates: Vec<&ServerEntry> = servers.filter(|server| server.may_take(requires)).collect();
    let count = candidates.len() as u64;
    if count == 0 {
        return None;
    }
    let first = random % count;
    // The second candidate differs from the first one if there are two.
    let second = (first + 1 + (random >> 32) % count.saturating_sub(1).max(1)) % count;
    let [first, second] = [first, second].map(|index| candidates[index as usize]);
    let better = if second.load.rank() < first.load.rank() { second } else { first };
    Some(better.id)
}

/// A number of a room, by which all servers choose the same candidates (FNV-1a).
pub(crate) fn number_of(room: Name) -> u64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = room.as_str().bytes().fold(0xCBF2_9CE4_8422_2325, mix);
    hash ^ (hash >> 29)
}

impl ServerEntry {
    /// Whether the server may take a new room that requires these tags.
    #[must_use]
    pub(crate) fn may_take(&self, requires: &[Name]) -> bool {
        self.phase == ServerPhase::Serving && requires.iter().all(|tag| self.tags.contains(tag))
    }
}

impl Load {
    /// The order of loads: the scarcest resource first, then clients and rooms.
    fn rank(&self) -> (u64, u32, u32) {
        let clients_permille = u64::from(self.clients) * 1_000 / u64::from(self.clients_max.max(1));
        let scarcest = clients_permille.max(self.ticks_permille.into()).max(self.memory_permille.into());
        (scarcest, self.clients, self.rooms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::tests::server;
    use crate::release::Release;

    fn entry(name: &str, ticks_permille: u16, phase: ServerPhase, tags: &[&str]) -> ServerEntry {
        ServerEntry {
            id: server(name, 1),
            phase,
            release: Release::CURRENT,
            lease_ms: 2_000,
            client_address: "".into(),
            tags: tags.iter().map(|tag| Name::new(tag).unwrap()).collect(),
            load: Load { ticks_permille, clients_max: 100, ..Load::default() },
        }
    }

    #[test]
    fn rooms_go_to_the_better_of_two_and_never_to_servers_that_drain_or_lack_a_tag() {
        let servers = [
            entry("idle", 100, ServerPhase::Serving, &["eu"]),
            entry("busy", 900, ServerPhase::Serving, &["eu"]),
            entry("half", 500, ServerPhase::Serving, &["eu"]),
            entry("leaving", 0, ServerPhase::Draining, &["eu"]),
            entry("dead", 0, ServerPhase::Dead, &["eu"]),
            entry("far", 0, ServerPhase::Serving, &["us"]),
        ];
        let requires = [Name::new("eu").unwrap()];
        let mut counts = std::collections::BTreeMap::<String, u32>::new();
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..3_000 {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            let chosen = choose(servers.iter(), &requires, random ^ (random >> 29)).unwrap();
            *counts.entry(chosen.name.to_string()).or_default() += 1;
        }
        // The busiest of three is never the better of two, and the idlest wins two pairs of three.
        assert_eq!(counts.keys().collect::<Vec<_>>(), ["half", "idle"]);
        assert!(counts["idle"] > counts["half"] * 3 / 2, "{counts:?}");
        assert_eq!(choose(servers.iter(), &[Name::new("moon").unwrap()], 1), None);
        assert_eq!(choose(servers[..1].iter(), &requires, 7), Some(servers[0].id));
    }
}
