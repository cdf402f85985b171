//! How clients of the plain protocol join: `GET /ws/ROOM?encoding=…&name=…&hz=…`, upgraded to a WebSocket (RFC 6455,
//! section 4.2).

use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONNECTION, SEC_WEBSOCKET_ACCEPT, UPGRADE};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use nowcast::admission::{AdmissionRefusal, AdmissionRequest, Entry, Now, Page, Peer, origin_of};
use nowcast::endpoint::{UpgradeError, upgrade_key, upgrade_required_headers};
use serde::Deserialize;
use tokio::time::timeout;
use tracing::debug;

use crate::client::Client;
use crate::client_handle::{ClientHandle, may_be_program, may_edit};
use crate::client_key::{ClientKey, SECRET_BYTES, read_hex};
use crate::closing::NO_PROGRAM;
use crate::connection::Connection;
use crate::names::Name;
use crate::persistence::hold_token;
use crate::plain::{Encoding, NETWORK_HZ};
use crate::plain_sink::PlainSink;
use crate::room_name::room_of;
use crate::room_refusal::RoomRefusal;
use crate::rooms::{Opener, Seat};
use crate::shared::{Host, Shared};

/// The longest `name` parameter in bytes; the world shortens it to 24 characters.
const NAME_BYTES_MAX: usize = 512;

/// Why a client is not let in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    #[error("this address speaks WebSocket: connect with a WebSocket client (version 13)")]
    NotWebSocket,
    #[error(transparent)]
    Upgrade(UpgradeError),
    #[error("{0}: {cure}", cure = .0.cure())]
    Admission(AdmissionRefusal),
    #[error("bad parameter: {0}")]
    Parameter(String),
    #[error("{NO_PROGRAM}")]
    NoProgram,
    #[error("this address joins too often: wait a second")]
    TooOften,
    #[error("{0}: {cure}", cure = .0.cure())]
    Room(#[from] RoomRefusal),
}

impl JoinError {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotWebSocket => StatusCode::UPGRADE_REQUIRED,
            Self::Upgrade(error) => error.status(),
            Self::Admission(refusal) => {
                let refusal = nowcast::endpoint::RefusalAnswer::from(refusal.clone());
                StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN)
            }
            Self::NoProgram => StatusCode::FORBIDDEN,
            Self::TooOften | Self::Room(RoomRefusal::OpensTooOften) => StatusCode::TOO_MANY_REQUESTS,
            Self::Parameter(_) | Self::Room(RoomRefusal::BadName(_)) => StatusCode::BAD_REQUEST,
            Self::Room(RoomRefusal::NotEditor) => StatusCode::FORBIDDEN,
            Self::Room(RoomRefusal::NoStore) => StatusCode::NOT_FOUND,
            Self::Room(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The label in `/metrics`.
    fn label(&self) -> &'static str {
        match self {
            Self::NotWebSocket | Self::Upgrade(_) => "not_websocket",
            Self::Admission(AdmissionRefusal::Origin(_)) => "origin",
            Self::Admission(refusal) => refusal.word(),
            Self::NoProgram => "no_program",
            Self::TooOften => "join_rate",
            Self::Parameter(_) => "parameter",
            Self::Room(refusal) => refusal.label(),
        }
    }
}

impl IntoResponse for JoinError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), format!("{self}\n")).into_response();
        response.headers_mut().insert(CACHE_CONTROL, "no-store".parse().expect("it is a header value"));
        if response.status() == StatusCode::UPGRADE_REQUIRED {
            response.headers_mut().extend(upgrade_required_headers());
        }
        response
    }
}

/// What the address asks for.
#[derive(Debug, Deserialize)]
struct Parameters {
    #[serde(default)]
    encoding: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    hz: Option<String>,
    #[serde(default)]
    key: Option<String>,
    role: Option<String>,
}

/// Answers `GET /ws/{room}`.
pub(crate) async fn join(
    State(shared): State<Arc<Shared>>,
    Path(room): Path<String>,
    request: Request,
) -> Result<Response, JoinError> {
    upgrade(&shared, &room, request).inspect_err(|error| {
        shared.metrics.refuse(error.label());
        debug!(room, %error, "join refused");
    })
}

fn upgrade(shared: &Arc<Shared>, room: &str, mut request: Request) -> Result<Response, JoinError> {
    let accept = upgrade_key(request.method(), request.headers(), None)
        .map_err(JoinError::Upgrade)?
        .ok_or(JoinError::NotWebSocket)?;
    // A token that is good for a room is good for its past.
    let entry = ask_admission(shared, room_of(room), &request).map_err(JoinError::Admission)?;
    if room_of(room) != room && !may_edit(&entry, &shared.config.entry) {
        return Err(RoomRefusal::NotEditor.into());
    }
    let (handle, sink) = read_parameters(request.uri().query().unwrap_or_default(), shared, &entry)?;
    let on_upgrade = request.extensions_mut().remove::<OnUpgrade>().ok_or(JoinError::NotWebSocket)?;
    if !entry.address.is_some_and(|address| shared.connection_limits.may_join(address.ip())) {
        return Err(JoinError::TooOften);
    }
    let seat = shared.rooms.reserve(room, Opener::of(&entry))?;
    if let Some(ticket) = entry.ticket {
        ticket.redeem(Now::read()).map_err(JoinError::Admission)?;
    }
    let kept = entry.single_use.map(|token| hold_token(&token, handle.key)).transpose();
    let kept = kept.map_err(JoinError::Admission)?;

    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let upgraded = timeout(shared.config.timeouts.handshake, on_upgrade).await;
        if let Some(kept) = kept {
            kept.wait().await;
        }
        match upgraded {
            Ok(Ok(upgraded)) => run(upgraded, seat, (handle, sink), &shared).await,
            Ok(Err(error)) => debug!(%error, "the client went away during the handshake"),
            Err(_) => debug!("the handshake took too long"),
        }
    });
    let headers = [
        (CONNECTION, "upgrade".to_owned()),
        (UPGRADE, "websocket".to_owned()),
        (SEC_WEBSOCKET_ACCEPT, accept),
    ];
    Ok((StatusCode::SWITCHING_PROTOCOLS, headers).into_response())
}

/// Runs the client on the bare connection, without the HTTP machinery around it.
async fn run(
    upgraded: Upgraded,
    seat: Seat,
    (handle, sink): (ClientHandle, Arc<PlainSink>),
    shared: &Shared,
) {
    let parts = upgraded.downcast::<TokioIo<Connection>>().expect("every connection is served as this type");
    let client = Client {
        seat,
        handle: Arc::new(handle),
        sink,
        metrics: Arc::clone(&shared.metrics),
        timeouts: shared.config.timeouts.clone(),
        heard_at: Mutex::new(Instant::now()),
    };
    client.run(parts.io.into_inner(), parts.read_buf.to_vec()).await;
}

/// Asks the admission of the sessions: programs send no origin, and pages cannot hide theirs.
fn ask_admission(shared: &Shared, room: &str, request: &Request) -> Result<Entry, AdmissionRefusal> {
    let Peer { address, is_encrypted, is_local } =
        *request.extensions().get::<Peer>().expect("every request is given its peer");
    let origin = origin_of(request.headers());
    let page = Page { host: Host::of(request), origin: origin.as_deref() };
    let admission = &shared.sessions.admission;
    // There is nothing to resume here.
    let asked = AdmissionRequest::new(room, address).query(request.uri().query()).page(page).resuming(false);
    // Where a token is needed, it must not be told to everybody on the way.
    let is_private = is_encrypted || admission.policy().key.is_none();
    let asked = if is_private { asked.encrypted() } else { asked };
    let asked = if is_local { asked.local() } else { asked };
    admission.check(Now::read(), &asked)
}

fn read_parameters(
    query: &str,
    shared: &Shared,
    entry: &Entry,
) -> Result<(ClientHandle, Arc<PlainSink>), JoinError> {
    let config = &shared.config;
    let parameters: Parameters =
        serde_urlencoded::from_str(query).map_err(|error| JoinError::Parameter(error.to_string()))?;
    let encoding = match &parameters.encoding {
        None => Encoding::default(),
        Some(name) => name.parse().map_err(JoinError::Parameter)?,
    };
    let hz = match &parameters.hz {
        None => config.network_hz,
        Some(text) => match text.parse() {
            Ok(hz) if NETWORK_HZ.contains(&hz) => hz,
            _ => {
                let (low, high) = NETWORK_HZ.into_inner();
                return Err(JoinError::Parameter(format!(
                    "hz is '{text}', not a number from {low} to {high}"
                )));
            }
        },
    };
    if parameters.name.len() > NAME_BYTES_MAX {
        return Err(JoinError::Parameter(format!("name is longer than {NAME_BYTES_MAX} bytes")));
    }
    let may_edit = may_edit(entry, &config.entry);
    let is_program = match parameters.role.as_deref() {
        None | Some("player") => false,
        Some("program") if may_be_program(entry, &config.entry) => true,
        Some("program") => return Err(JoinError::NoProgram),
        Some(other) => {
            return Err(JoinError::Parameter(format!("role is '{other}', not player or program")));
        }
    };
    // A name in a token is the operator's word, the other one the client's.
    let name = entry.name.clone().map_or(Name::Asked(parameters.name), Name::Verified);
    let secret = parameters.key.as_deref().map(read_secret).transpose()?;
    let key = secret.map(|secret| ClientKey::of(&secret, &name, is_program));
    let sink = Arc::new(PlainSink::new(encoding, Arc::clone(&shared.metrics)));
    let handle = ClientHandle::new(name, Arc::<PlainSink>::clone(&sink), hz, may_edit, is_program);
    let address = entry.address.map(|address| address.ip());
    Ok((handle.with_key(key).with_address(address), sink))
}

/// A client's secret, in 32 hexadecimal digits.
fn read_secret(text: &str) -> Result<[u8; SECRET_BYTES], JoinError> {
    read_hex(text).ok_or_else(|| JoinError::Parameter("key is not 32 hexadecimal digits".into()))
}
