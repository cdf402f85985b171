//! How clients of the plain protocol join: `GET /ws/ROOM?encoding=…&name=…&hz=…`, which is upgraded to a WebSocket (RFC
//! 6455, section 4.2).

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONNECTION, LOCATION, SEC_WEBSOCKET_ACCEPT, UPGRADE};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use nowcast::admission::{Entry, Now, Page, Peer, origin_of};
use nowcast_engine::endpoint::{ConnectRequest, upgrade_key, upgrade_required_headers};
use nowcast_room::plain::PlainSink;
use nowcast_room::{ClientHandle, ClientKey, Name, Refusal, SECRET_BYTES, Seat, read_hex};
use nowcast_world_protocol::plain::{Encoding, NETWORK_HZ};
use serde::Deserialize;
use tokio::time::timeout;
use tracing::debug;

use crate::account;
use crate::client::Client;
use crate::config::Config;
use crate::connection::Connection;
use crate::entrance::{Entrance, admit, may_be_program, may_edit, opener_of, roles_of};
use crate::refusal::{of_admission, of_upgrade, status};
use crate::shared::{Host, Shared};
use crate::used_tokens::hold_token;

/// Maximum size of the `name` parameter in bytes. The world shortens the name to 24 characters.
const NAME_BYTES_MAX: usize = 512;

/// A refusal in the form of the plain protocol: a status and one line of text.
pub(crate) struct PlainRefusal(Refusal);

impl IntoResponse for PlainRefusal {
    fn into_response(self) -> Response {
        let mut response = (status(&self.0), format!("{}\n", self.0.line())).into_response();
        response.headers_mut().insert(CACHE_CONTROL, "no-store".parse().expect("the text is a header value"));
        if let Refusal::Elsewhere { address, .. } = &self.0
            && let Ok(address) = address.parse()
        {
            response.headers_mut().insert(LOCATION, address);
        }
        if response.status() == StatusCode::UPGRADE_REQUIRED {
            response.headers_mut().extend(upgrade_required_headers());
        }
        response
    }
}

/// The unchecked parameters in the query of the address.
#[derive(Debug, Deserialize)]
struct Query {
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
) -> Result<Response, PlainRefusal> {
    let elsewhere = match &shared.cluster {
        Some(node) => node.locate(&room).await,
        None => None,
    };
    let joined = match elsewhere {
        Some(origin) => {
            let address = request.uri().path_and_query().map_or("", |path| path.as_str());
            Err(Refusal::Elsewhere { address: format!("{origin}{address}"), room: room.clone() })
        }
        None => upgrade(&shared, &room, request),
    };
    joined.map_err(|refusal| {
        shared.metrics.refuse(refusal.label());
        debug!(room, %refusal, "join refused");
        PlainRefusal(refusal)
    })
}

fn upgrade(shared: &Arc<Shared>, room: &str, mut request: Request) -> Result<Response, Refusal> {
    let accept = upgrade_key(request.method(), request.headers(), None)
        .map_err(of_upgrade)?
        .ok_or(Refusal::NotWebSocket)?;
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default(), &shared.config)?;
    let (_, entry) = {
        let origin = origin_of(request.headers());
        let connecting = ConnectRequest {
            name: room,
            query: request.uri().query(),
            page: Page { host: Host::of(&request), origin: origin.as_deref() },
            peer: *request.extensions().get::<Peer>().expect("every request is given its peer"),
            is_joining: true,
        };
        admit(shared, connecting, Entrance::Plain)?
    };
    let (handle, sink) = parameters.into_client(shared, &entry)?;
    let on_upgrade = request.extensions_mut().remove::<OnUpgrade>().ok_or(Refusal::NotWebSocket)?;
    let seat = shared.rooms.reserve(room, opener_of(&entry, handle.is_program))?;
    if let Some(ticket) = entry.ticket {
        ticket.redeem(Now::read()).map_err(of_admission)?;
    }
    let account = entry.name.as_deref().map(account::of_token).filter(|_| seat.shows_present());
    let kept = entry.single_use.map(|token| hold_token(&token, handle.key)).transpose();
    let kept = kept.map_err(of_admission)?;

    let shared = Arc::clone(shared);
    // Requests are answered by the runtime. A connection that becomes a client belongs to an I/O thread.
    shared.clone().io.next().spawn(async move {
        let upgraded = timeout(shared.config.timeouts.handshake, on_upgrade).await;
        let handle = match account {
            Some(account) => match account::join(&seat, &account).await {
                Ok(account) => handle.with_account(Some(account)),
                Err(closing) => {
                    debug!(reason = closing.reason(), "the client does not join");
                    return;
                }
            },
            None => handle,
        };
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

/// Runs the client on the bare connection, without the HTTP layer.
async fn run(
    upgraded: Upgraded,
    seat: Seat,
    (handle, sink): (ClientHandle, Arc<PlainSink>),
    shared: &Shared,
) {
    let (connection, received) = match Connection::taken_over(upgraded) {
        Ok(taken_over) => taken_over,
        Err(error) => return debug!(%error, "the connection cannot be moved to an I/O thread"),
    };
    let client = Client {
        seat,
        handle: Arc::new(handle),
        sink,
        metrics: Arc::clone(&shared.metrics),
        timeouts: shared.config.timeouts.clone(),
        received_at: parking_lot::Mutex::new(Instant::now()),
    };
    client.run(connection, received).await;
}

/// The validated parameters of the address.
struct Parameters {
    encoding: Encoding,
    name: String,
    network_hz: u32,
    secret: Option<[u8; SECRET_BYTES]>,
    is_program: bool,
}

impl Parameters {
    fn parse(query: &str, config: &Config) -> Result<Self, Refusal> {
        let query: Query =
            serde_urlencoded::from_str(query).map_err(|error| Refusal::Parameter(error.to_string()))?;
        let encoding = match &query.encoding {
            None => Encoding::default(),
            Some(name) => name.parse().map_err(Refusal::Parameter)?,
        };
        let network_hz = match &query.hz {
            None => config.network_hz,
            Some(text) => match text.parse() {
                Ok(hz) if NETWORK_HZ.contains(&hz) => hz,
                _ => {
                    let (low, high) = NETWORK_HZ.into_inner();
                    let text = format!("hz is '{text}', not a number from {low} to {high}");
                    return Err(Refusal::Parameter(text));
                }
            },
        };
        if query.name.len() > NAME_BYTES_MAX {
            return Err(Refusal::Parameter(format!("name is longer than {NAME_BYTES_MAX} bytes")));
        }
        let is_program = match query.role.as_deref() {
            None | Some("player") => false,
            Some("program") => true,
            Some(other) => {
                return Err(Refusal::Parameter(format!("role is '{other}', not player or program")));
            }
        };
        let secret = query.key.as_deref().map(read_secret).transpose()?;
        Ok(Self { encoding, name: query.name, network_hz, secret, is_program })
    }

    /// Creates the client of an admitted entry.
    fn into_client(self, shared: &Shared, entry: &Entry) -> Result<(ClientHandle, Arc<PlainSink>), Refusal> {
        let Self { encoding, name, network_hz, secret, is_program } = self;
        let policy = &shared.config.entry;
        if is_program && !may_be_program(entry, policy) {
            return Err(Refusal::NoProgram);
        }
        // The name in a token replaces the requested name.
        let name = entry.name.clone().map_or(Name::Asked(name), Name::Verified);
        let key = secret.map(|secret| ClientKey::of(&secret, &name, is_program));
        let sink = Arc::new(PlainSink::new(encoding, Arc::clone(&shared.metrics.rooms)));
        let may_edit = may_edit(entry, policy);
        let handle =
            ClientHandle::new(name, Arc::<PlainSink>::clone(&sink), network_hz, may_edit, is_program);
        let address = entry.address.map(|address| address.ip());
        let handle = handle.with_roles(roles_of(entry, policy));
        let account = entry.name.as_deref().map(account::of_token);
        let (rates, _) = shared.rooms.rates_of(account::rates_key(account.as_deref(), key, is_program));
        Ok((handle.with_key(key).with_address(address).with_rates(rates), sink))
    }
}

/// Parses a client's secret of 32 hexadecimal digits.
fn read_secret(text: &str) -> Result<[u8; SECRET_BYTES], Refusal> {
    read_hex(text).ok_or_else(|| Refusal::Parameter("key is not 32 hexadecimal digits".into()))
}
