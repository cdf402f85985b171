//! Layers: wrappers around all carriers of a connector or an acceptor.

use std::fmt;

use super::Carrier;

/// Wraps each carrier of a connector or an acceptor. [`crate::record::PacketRecorder`] records packets.
pub trait CarrierLayer: fmt::Debug + Send + Sync {
    /// Returns a carrier that passes packets to and from this one.
    fn wrap(&self, carrier: Box<dyn Carrier>) -> Box<dyn Carrier>;
}
