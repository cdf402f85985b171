//! An endpoint's description of a name (`spec/CARRIERS.md`, section 2).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use crate::certificate::CertificateHash;

/// Version of the answer.
const VERSION: u32 = 1;
/// Maximum length of a text in a refusal of a peer. Longer texts are cut. The texts are for people.
const TEXT_CHARS_MAX: usize = 300;

/// The carriers with which a client may begin a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// Version of the answer.
    pub nowcast: u32,
    /// The service.
    pub name: String,
    /// Whether the service accepts WebSockets over the scheme of the request: without encryption, or over TLS.
    #[serde(default)]
    pub websocket: bool,
    /// Whether the service accepts WebSockets only over TLS, although the request was not encrypted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secure_websocket: bool,
    /// The WebTransport endpoint, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webtransport: Option<WebTransportOffer>,
    /// The origin of the endpoint that has the service now, such as `http://10.0.0.2:7777`. A client asks there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
    /// The origins of endpoints that a client asks if this one does not answer any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// A WebTransport endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebTransportOffer {
    /// The UDP port.
    pub port: u16,
    /// Base64 of the SHA-256 of each certificate to accept; empty if an authority signed it.
    #[serde(default)]
    pub certificate_hashes: Vec<String>,
}

/// The reason why a session is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalAnswer {
    /// The HTTP status.
    #[serde(skip)]
    pub status: u16,
    /// The name of the error in the specification.
    pub error: String,
    /// The cause, for people.
    pub cause: String,
    /// The cure.
    pub cure: String,
}

impl Discovery {
    /// Describes `name` on an endpoint with WebSocket, and with WebTransport if it has a `port` for it.
    #[must_use]
    pub fn new(name: &str, webtransport: Option<(u16, &[CertificateHash])>) -> Self {
        let webtransport = webtransport.map(|(port, hashes)| WebTransportOffer {
            port,
            certificate_hashes: hashes.iter().map(hash_to_text).collect(),
        });
        Self {
            nowcast: VERSION,
            name: name.to_owned(),
            websocket: true,
            secure_websocket: false,
            webtransport,
            moved: None,
            others: Vec::new(),
        }
    }

    /// Converts the answer for a client whose WebSockets would be refused now, because they are not encrypted.
    #[must_use]
    pub fn over_tls_alone(self) -> Self {
        Self { websocket: false, secure_websocket: true, ..self }
    }

    /// Returns the body of the answer.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers become JSON")
    }
}

impl WebTransportOffer {
    /// Returns the hashes; `None` if one of them is invalid.
    #[must_use]
    pub fn hashes(&self) -> Option<Vec<CertificateHash>> {
        self.certificate_hashes.iter().map(|text| hash_from_text(text)).collect()
    }
}

impl RefusalAnswer {
    /// Makes a refusal from its name in the specification.
    #[must_use]
    pub fn new(error: &'static str, cause: impl Into<String>, cure: impl Into<String>) -> Self {
        let status = match error {
            "unauthorised" => 401,
            "wrong_origin" | "wrong_host" | "not_encrypted" => 403,
            "no_such_name" => 404,
            "too_many" => 429,
            "full" => 503,
            _ => 400,
        };
        Self { status, error: error.to_owned(), cause: cause.into(), cure: cure.into() }
    }

    /// Whether a page may read the refusal. A page that may not join learns nothing from it.
    #[must_use]
    pub fn is_for_the_page(&self) -> bool {
        !matches!(self.error.as_str(), "wrong_origin" | "wrong_host")
    }

    /// Returns the body of the answer.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts become JSON")
    }

    /// Makes a refusal from a peer's answer. The texts of the refusal are cut to a readable length.
    #[must_use]
    pub fn from_peer(status: u16, body: &[u8]) -> Self {
        let mut refusal: Self = serde_json::from_slice(body).unwrap_or_else(|_| {
            Self::new("refused", format!("the answer was {status}"), "check the address")
        });
        refusal.status = status;
        for text in [&mut refusal.error, &mut refusal.cause, &mut refusal.cure] {
            if text.chars().count() > TEXT_CHARS_MAX {
                *text = text.chars().take(TEXT_CHARS_MAX).collect();
            }
        }
        refusal
    }
}

/// Returns the hash in base64, the form in which pages pass it to their browser.
fn hash_to_text(hash: &CertificateHash) -> String {
    BASE64_STANDARD.encode(hash)
}

/// Parses a hash from base64.
fn hash_from_text(text: &str) -> Option<CertificateHash> {
    BASE64_STANDARD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_survive_their_text() {
        let hash: CertificateHash = std::array::from_fn(|index| (index * 37 + 5) as u8);
        assert_eq!(hash_to_text(&[0; 32]), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
        assert_eq!(hash_from_text(&hash_to_text(&hash)), Some(hash));
        assert_eq!(hash_from_text("AAAA"), None);
        assert_eq!(hash_from_text(&"A".repeat(1_000)), None);
        assert_eq!(hash_from_text("ä"), None);
    }

    #[test]
    fn the_answer_reads_as_the_specification_shows_it() {
        let answer = Discovery::new("tracker", Some((7_777, &[[0; 32]])));
        let read: Discovery = serde_json::from_str(&answer.to_json()).unwrap();
        assert_eq!(read, answer);
        let foreign = r#"{"nowcast":1,"name":"x","websocket":true,"later":{"a":1}}"#;
        assert!(serde_json::from_str::<Discovery>(foreign).unwrap().webtransport.is_none());
    }
}
