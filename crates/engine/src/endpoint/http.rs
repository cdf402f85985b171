//! The small part of HTTP that a stand-alone endpoint needs: requests about a name, and upgrades.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
    VARY,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{ConnectRequest, Directory, RefusalAnswer, Stream, name_in, no_such_name};
use crate::acceptor::Acceptor;
use crate::carrier::{SUBPROTOCOL, WebSocket};
use nowcast_admission::{Entry, Page, Peer, host_of, origin_of};

/// Maximum size of the head of a request, including its URL and all headers.
const REQUEST_HEAD_BYTES_MAX: usize = 16 * 1_024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// An answer of an endpoint.
pub type HttpAnswer = Response<Full<Bytes>>;

/// Answers the requests of one connection, until it is upgraded or ends.
pub(super) async fn serve(stream: Stream, address: SocketAddr, directory: Arc<dyn Directory>) {
    let is_encrypted = stream.is_encrypted();
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request, Peer::connected(address, is_encrypted), &*directory);
        async move { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(REQUEST_HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%address, %error, "a connection ended");
    }
}

fn answer(mut request: Request<Incoming>, peer: Peer, directory: &dyn Directory) -> HttpAnswer {
    if request.method() != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, String::new());
    }
    let (uri, headers) = (request.uri().clone(), request.headers().clone());
    let host = match host_of(request.version(), &uri, &headers) {
        Ok(host) => host,
        Err(cause) => return bad_request(cause),
    };
    let peer = Peer::behind(directory.proxies(), peer, host, &headers);
    let (answer, upgrade) = answer_request(&mut request, name_in(uri.path()), peer, host, directory);
    if let Some(Upgrade { upgraded, acceptor, entry }) = upgrade {
        tokio::spawn(async move {
            match upgraded.await {
                Ok(upgraded) => take_over(upgraded, &acceptor, entry).await,
                Err(error) => tracing::debug!(%error, "the client left before the upgrade"),
            }
        });
    }
    answer
}

/// A connection that becomes a WebSocket for a session.
pub struct Upgrade {
    /// The connection, after the answer has been sent.
    pub upgraded: OnUpgrade,
    /// Accepts the WebSocket.
    pub acceptor: Acceptor,
    /// The admitted client.
    pub entry: Entry,
}

/// Answers a GET request about a name, or for a WebSocket to it.
pub fn answer_request<B>(
    request: &mut Request<B>,
    name: Option<&str>,
    peer: Peer,
    host: Option<&str>,
    directory: &dyn Directory,
) -> (HttpAnswer, Option<Upgrade>) {
    let key = match upgrade_key(request.method(), request.headers(), Some(SUBPROTOCOL)) {
        Ok(key) => key,
        Err(error) => {
            directory.count_bad_upgrade(error);
            return (not_upgraded(error), None);
        }
    };
    let origin = origin_of(request.headers());
    let page = Page { host, origin: origin.as_deref() };
    let (query, is_joining) = (request.uri().query(), key.is_some());
    let admitted = name.ok_or_else(no_such_name).and_then(|name| {
        let asking = ConnectRequest { name, query, page, peer, is_joining };
        Ok((asking, directory.admit(asking)?))
    });
    match (admitted, key) {
        (Err(refusal), _) => (refused(&refusal, request.headers()), None),
        (Ok((asking, _)), None) => {
            let mut answer = text(StatusCode::OK, directory.describe(&asking).to_json());
            allow(&mut answer, request.headers());
            (answer, None)
        }
        (Ok((_, (acceptor, entry))), Some(key)) => {
            (upgraded(&key), Some(Upgrade { upgraded: hyper::upgrade::on(request), acceptor, entry }))
        }
    }
}

async fn take_over(upgraded: hyper::upgrade::Upgraded, acceptor: &Acceptor, entry: Entry) {
    let Ok(parts) = upgraded.downcast::<TokioIo<Stream>>() else { return };
    let carrier = WebSocket::accepted(parts.io.into_inner(), parts.read_buf.to_vec()).await;
    acceptor.hand_over(Box::new(carrier), entry);
}

/// The reason why a request is not a valid upgrade to WebSocket (RFC 6455, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// The request names another version than 13. Answered with 426.
    #[error("this endpoint speaks WebSocket in version 13: connect with a client of that version")]
    Version,
    /// The request's key is not 16 bytes in base64. Answered with 400.
    #[error("Sec-WebSocket-Key is not 16 bytes in base64: connect with a WebSocket client")]
    Key,
}

impl UpgradeError {
    /// The status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Version => StatusCode::UPGRADE_REQUIRED,
            Self::Key => StatusCode::BAD_REQUEST,
        }
    }
}

/// Returns the headers of an answer 426 (RFC 9110, section 15.5.22; RFC 6455, section 4.2.2).
#[must_use]
pub fn upgrade_required_headers() -> [(HeaderName, HeaderValue); 3] {
    [(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_VERSION, "13")]
        .map(|(name, value)| (name, HeaderValue::from_static(value)))
}

/// Returns the answer to the key of a request for a WebSocket with this subprotocol (RFC 6455, section 4.2). Returns `None` for
/// any other request.
///
/// # Errors
/// [`UpgradeError`].
pub fn upgrade_key(
    method: &Method,
    headers: &HeaderMap,
    subprotocol: Option<&str>,
) -> Result<Option<String>, UpgradeError> {
    let asks = method == Method::GET
        && has(headers, CONNECTION, "upgrade")
        && has(headers, UPGRADE, "websocket")
        && subprotocol.is_none_or(|name| has(headers, SEC_WEBSOCKET_PROTOCOL, name));
    if !asks {
        return Ok(None);
    }
    if !has(headers, SEC_WEBSOCKET_VERSION, "13") {
        return Err(UpgradeError::Version);
    }
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).into_iter();
    let (Some(key), None) = (keys.next(), keys.next()) else { return Err(UpgradeError::Key) };
    match BASE64_STANDARD.decode(key) {
        Ok(nonce) if nonce.len() == 16 => Ok(Some(derive_accept_key(key.as_bytes()))),
        _ => Err(UpgradeError::Key),
    }
}

fn has(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(token))
}

fn upgraded(accept: &str) -> HttpAnswer {
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, accept)
        .header(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .body(Full::default())
        .expect("these are header values")
}

fn not_upgraded(error: UpgradeError) -> HttpAnswer {
    let refusal = RefusalAnswer::new("bad_request", error.to_string(), "connect with a WebSocket client");
    let mut answer = text(error.status(), refusal.to_json());
    if error == UpgradeError::Version {
        answer.headers_mut().extend(upgrade_required_headers());
    }
    answer
}

fn bad_request(cause: &'static str) -> HttpAnswer {
    let refusal =
        RefusalAnswer::new("bad_request", cause, "send exactly one Host header (RFC 9112, section 3.2)");
    text(StatusCode::BAD_REQUEST, refusal.to_json())
}

fn refused(refusal: &RefusalAnswer, asked: &HeaderMap) -> HttpAnswer {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut answer = text(status, refusal.to_json());
    // A page that may join may also read the reason why it cannot join now.
    if refusal.is_for_the_page() {
        allow(&mut answer, asked);
    }
    answer
}

fn allow(answer: &mut HttpAnswer, asked: &HeaderMap) {
    if let Some(origin) = asked.get(ORIGIN) {
        answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}

fn text(status: StatusCode, body: String) -> HttpAnswer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("origin"));
    answer
}
