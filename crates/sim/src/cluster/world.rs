//! A world that is small enough to be obviously correct: how often each client's durable actions were carried out.

use super::script::CLIENTS_MAX;

/// A world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct World {
    /// The number of the last action of each client. Actions have the numbers 1, 2, 3, ….
    pub(super) applied: [u16; CLIENTS_MAX],
    pub(super) step: u64,
    pub(super) hash: u64,
}

/// One durable action of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Action {
    pub(super) client: u8,
    pub(super) number: u16,
}

impl World {
    /// Steps the world. Actions that were carried out before are ignored, as by a real server.
    ///
    /// # Errors
    /// Fails if an action is missing. A client begins an action when its previous action is confirmed.
    pub(super) fn step(&mut self, through_step: u64, actions: &[u8]) -> Result<(), String> {
        for action in Action::read(actions) {
            let applied = &mut self.applied[usize::from(action.client)];
            if action.number > *applied + 1 {
                return Err(format!(
                    "action {} of client {} was confirmed and is lost",
                    *applied + 1,
                    action.client
                ));
            }
            *applied = (*applied).max(action.number);
            self.hash = mix(self.hash, u64::from(action.client) << 16 | u64::from(action.number));
        }
        self.step = through_step;
        self.hash = mix(self.hash, through_step);
        Ok(())
    }
}

impl Action {
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let [low, high] = self.number.to_le_bytes();
        out.extend([self.client, low, high]);
    }

    pub(super) fn read(bytes: &[u8]) -> impl Iterator<Item = Action> {
        bytes
            .chunks_exact(3)
            .map(|bytes| Action { client: bytes[0], number: u16::from_le_bytes([bytes[1], bytes[2]]) })
    }
}

/// Mixes a number into a hash.
pub(super) fn mix(hash: u64, number: u64) -> u64 {
    (hash ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}
