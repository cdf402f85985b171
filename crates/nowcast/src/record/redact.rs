//! Removes secrets from packets before they are recorded.

use std::ops::Range;

use bytes::Bytes;
use nowcast_session::packet::{Frame, Packet};

/// Finds the secret in an event: the range of its bytes, if it has one.
pub type FindSecret = fn(event: &[u8]) -> Option<Range<usize>>;

/// Returns a packet without the token that resumes its session and without the secrets in its events. Zeros replace them, so the
/// packet keeps its length.
pub(super) fn redact(packet: &Bytes, find: FindSecret) -> Bytes {
    let mut out = Vec::new();
    match Packet::read(packet) {
        Ok(Packet::Hello(mut hello)) if hello.resume.is_some() => {
            hello.resume.iter_mut().for_each(|resume| resume.token = [0; 16]);
            hello.write(&mut out);
        }
        Ok(Packet::Welcome(mut welcome)) => {
            welcome.resume.token = [0; 16];
            welcome.write(&mut out);
        }
        Ok(Packet::Data(data)) => {
            for frame in data.frames() {
                let Frame::Event { payload, .. } = frame else { continue };
                let Some(secret) = find(payload) else { continue };
                // A payload is a part of its packet.
                let at = payload.as_ptr() as usize - packet.as_ptr() as usize;
                if out.is_empty() {
                    out.extend_from_slice(packet);
                }
                out[at..][secret].fill(0);
            }
        }
        _ => {}
    }
    if out.is_empty() { packet.clone() } else { out.into() }
}
