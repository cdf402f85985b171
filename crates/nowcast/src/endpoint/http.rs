//! The few words of HTTP that a stand-alone endpoint speaks: questions about a name, and upgrades.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
    VARY,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{Asking, Directory, Refusal, name_in, no_such_name};
use crate::acceptor::{Acceptor, Entry};
use crate::carrier::{OverTcp, SUBPROTOCOL, WebSocket};

/// The head of a request has to fit, with its address and all headers.
const REQUEST_HEAD_BYTES_MAX: usize = 16 * 1_024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

type Answer = Response<Full<Bytes>>;

/// Answers the requests of one connection, until it is upgraded or ends.
pub(super) async fn serve<S>(
    stream: S,
    address: SocketAddr,
    is_encrypted: bool,
    directory: Arc<dyn Directory>,
) where
    S: OverTcp + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer::<S>(request, address, is_encrypted, &*directory);
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

fn answer<S>(
    mut request: Request<Incoming>,
    address: SocketAddr,
    is_encrypted: bool,
    directory: &dyn Directory,
) -> Answer
where
    S: OverTcp + 'static,
{
    let key = upgrade_key(request.method(), request.headers());
    let origin = request.headers().get(ORIGIN).cloned();
    let origin_text = origin.as_ref().and_then(|origin| origin.to_str().ok());
    if request.method() != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, String::new());
    }
    let uri = request.uri().clone();
    let admitted = name_in(uri.path()).ok_or_else(no_such_name).and_then(|name| {
        let is_joining = key.is_some();
        let query = uri.query();
        let asking = Asking { name, query, origin: origin_text, address, is_encrypted, is_joining };
        Ok((name, directory.admit(asking)?))
    });
    match (admitted, key) {
        (Err(refusal), _) => refused(&refusal, origin),
        (Ok((name, _)), None) => {
            let mut answer = text(StatusCode::OK, directory.describe(name).to_json());
            allow(&mut answer, origin);
            answer
        }
        (Ok((_, (acceptor, entry))), Some(key)) => {
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                match upgrade.await {
                    Ok(upgraded) => take_over::<S>(upgraded, &acceptor, entry).await,
                    Err(error) => tracing::debug!(%address, %error, "the client left before the upgrade"),
                }
            });
            upgraded(&key)
        }
    }
}

async fn take_over<S>(upgraded: hyper::upgrade::Upgraded, acceptor: &Acceptor, entry: Entry)
where
    S: OverTcp + 'static,
{
    let Ok(parts) = upgraded.downcast::<TokioIo<S>>() else { return };
    let carrier = WebSocket::accepted(parts.io.into_inner(), parts.read_buf.to_vec()).await;
    acceptor.hand_over(Box::new(carrier), entry);
}

/// The answer to the key of a request that asks for a WebSocket of ours (RFC 6455, section 4.2).
#[must_use]
pub fn upgrade_key(method: &Method, headers: &HeaderMap) -> Option<String> {
    let key = headers.get(SEC_WEBSOCKET_KEY)?;
    let asks = method == Method::GET
        && has(headers, CONNECTION, "upgrade")
        && has(headers, UPGRADE, "websocket")
        && has(headers, SEC_WEBSOCKET_VERSION, "13")
        && has(headers, SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
    asks.then(|| derive_accept_key(key.as_bytes()))
}

fn has(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(token))
}

fn upgraded(accept: &str) -> Answer {
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, accept)
        .header(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .body(Full::default())
        .expect("these are header values")
}

fn refused(refusal: &Refusal, origin: Option<HeaderValue>) -> Answer {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut answer = text(status, refusal.to_json());
    // A page that may join may also read why it may not join now.
    if refusal.error != "wrong_origin" {
        allow(&mut answer, origin);
    }
    answer
}

fn allow(answer: &mut Answer, origin: Option<HeaderValue>) {
    answer.headers_mut().insert(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
}

fn text(status: StatusCode, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
