//! Collision layers.

/// Maximum number of collision layers in a world.
pub const LAYERS_MAX: u8 = 16;

/// The collision layer of a kind, and the layers that it ignores. Two bodies collide unless one of them ignores the other's
/// layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layers {
    /// The layer, less than [`LAYERS_MAX`]; 0 for kinds that declare none.
    pub layer: u8,
    /// The ignored layers: bit `n` for layer `n`.
    pub ignores: u16,
}

impl Layers {
    /// Whether bodies of these two kinds pass through each other.
    pub fn pass(self, other: Layers) -> bool {
        let ignores = |a: Layers, b: Layers| a.ignores.checked_shr(b.layer.into()).unwrap_or(0) & 1 == 1;
        ignores(self, other) || ignores(other, self)
    }
}
