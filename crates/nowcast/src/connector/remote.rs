//! One endpoint from the view of a client: discovery, and opening carriers.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use nowcast_engine::CertificateHash;
use nowcast_engine::carrier::{Carrier, CarrierKind, CarrierLayer, prepare_stream};
use nowcast_engine::endpoint::{Discovery, OpenError, RefusalAnswer, open_websocket, open_webtransport};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

use super::address::Address;
use super::cluster::Endpoints;
use super::error::{ConnectError, Opening};
use super::trust::{Trust, client_config};

/// Maximum size of an answer. Usual answers have a few hundred bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;
/// Maximum number of times that endpoints of a cluster send a client on. Then the client stays at the last one.
const MOVES_MAX: usize = 4;
/// Timeout of one request, or of opening one carrier.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of a request to one endpoint of a cluster, while others can be asked.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(2);

/// A service at an endpoint.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    pub(super) address: Address,
    pub(super) port: u16,
    pub(super) token: Option<String>,
    pub(super) trust: Trust,
    /// Layers around each carrier, the innermost first.
    pub(super) layers: Vec<Arc<dyn CarrierLayer>>,
    pub(super) endpoints: Endpoints,
}

/// The endpoint's answer, and the address that it came from.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// The endpoint that made the offer, if the service has moved there.
    at: Option<Box<Remote>>,
    ip: IpAddr,
    pub(super) websocket: bool,
    webtransport: Option<(u16, Vec<CertificateHash>)>,
    /// The certificate hashes for TLS on TCP. Empty if authorities signed the certificates.
    hashes: Vec<CertificateHash>,
}

impl Offer {
    pub(super) fn has(&self, kind: CarrierKind) -> bool {
        match kind {
            CarrierKind::WebTransport => self.webtransport.is_some(),
            CarrierKind::WebSocket => self.websocket,
            CarrierKind::SharedMemory | CarrierKind::LocalSocket => false,
        }
    }
}

impl Remote {
    /// Requests the endpoint's offer. In a cluster, the endpoint may name another endpoint, and the client then asks that
    /// endpoint. If the endpoint of a cluster does not answer, the others are asked.
    pub(super) async fn ask(&self, opening: Opening) -> Result<Offer, ConnectError> {
        let others = self.endpoints.of(&self.service());
        let patience = if others.is_empty() { None } else { Some(CLUSTER_TIMEOUT) };
        let error = match within(patience, self.follow(opening)).await.unwrap_or_else(|| Err(self.silent())) {
            Err(error @ ConnectError::Unreachable { .. }) => error,
            answer => return answer,
        };
        for origin in others {
            let Ok(at) = self.moved_to(&origin) else { continue };
            if let Some(Ok(mut offer)) = within(Some(CLUSTER_TIMEOUT), at.follow(opening)).await {
                offer.at.get_or_insert_with(|| Box::new(at));
                return Ok(offer);
            }
        }
        Err(error)
    }

    /// Requests the offer of this endpoint, or of the one to which it sends the client.
    async fn follow(&self, opening: Opening) -> Result<Offer, ConnectError> {
        let mut at = self.clone();
        let mut moves = 0;
        loop {
            let asked = timeout(OPEN_TIMEOUT, at.ask_patiently(opening)).await;
            let (mut offer, answer) = asked.map_err(|_| at.silent())??;
            match answer.moved {
                Some(origin) if moves < MOVES_MAX => at = at.moved_to(&origin)?,
                Some(_) | None => {
                    self.endpoints.remember(&self.service(), answer.others);
                    offer.at = (at.place() != self.place()).then(|| Box::new(at));
                    return Ok(offer);
                }
            }
            moves += 1;
        }
    }

    /// Returns the same service at another endpoint.
    fn moved_to(&self, origin: &str) -> Result<Remote, ConnectError> {
        let url = Url::parse(origin).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let place = url.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
        let (host, port) = place.ok_or_else(|| self.nonsense("an invalid origin of a moved service"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let address =
            Address { host, port: Some(port), base: "/".to_owned(), name: self.address.name.clone() };
        Ok(Remote { address, port, ..self.clone() })
    }

    async fn ask_patiently(&self, opening: Opening) -> Result<(Offer, Discovery), ConnectError> {
        let stream = self.open_tcp().await?;
        let ip = stream.peer_addr().map_err(|error| self.unreachable(&error))?.ip();
        let is_plain = self.address.is_here() || self.trust == Trust::Announced;
        let known = match &self.trust {
            Trust::Hashes(hashes) => hashes.clone(),
            _ => Vec::new(),
        };
        let answer = if is_plain {
            self.get(stream, opening).await?
        } else {
            let stream = self.encrypt(stream, &known).await?;
            self.get(stream, opening).await?
        };
        let webtransport = match &answer.webtransport {
            None => None,
            Some(offer) => {
                let hashes = offer.hashes().ok_or_else(|| self.nonsense("an invalid certificate hash"))?;
                Some((offer.port, hashes))
            }
        };
        let announced = webtransport.as_ref().map_or_else(Vec::new, |(_, hashes)| hashes.clone());
        let hashes = if self.trust == Trust::Announced { announced } else { known };
        // Other machines are reached over TLS, even if the request was not encrypted.
        let websocket = answer.websocket || (answer.secure_websocket && !self.address.is_here());
        Ok((Offer { at: None, ip, websocket, webtransport, hashes }, answer))
    }

    /// Opens a carrier of this kind.
    pub(super) async fn open(
        &self,
        offer: &Offer,
        kind: CarrierKind,
        opening: Opening,
    ) -> Result<Box<dyn Carrier>, ConnectError> {
        let at = offer.at.as_deref().unwrap_or(self);
        let open = async {
            match kind {
                CarrierKind::WebTransport => at.open_webtransport(offer, opening).await,
                CarrierKind::WebSocket => at.open_websocket(offer, opening).await,
                CarrierKind::SharedMemory | CarrierKind::LocalSocket => {
                    Err(self.nonsense("a carrier for one machine to another machine"))
                }
            }
        };
        let carrier = timeout(OPEN_TIMEOUT, open).await.map_err(|_| at.silent())??;
        Ok(self.layers.iter().fold(carrier, |carrier, layer| layer.wrap(carrier)))
    }

    async fn open_webtransport(
        &self,
        offer: &Offer,
        opening: Opening,
    ) -> Result<Box<dyn Carrier>, ConnectError> {
        let Some((port, hashes)) = &offer.webtransport else {
            return Err(self.nonsense("no WebTransport is offered"));
        };
        // A proxy with a base path forwards TCP only, so the path at the UDP port has none.
        let url = self.url("https", *port, "/", opening);
        let (tls, server) = (client_config(hashes), SocketAddr::new(offer.ip, *port));
        let opened = open_webtransport(tls, server, &self.address.host, &url).await;
        opened.map_err(|error| self.not_opened(error))
    }

    async fn open_websocket(
        &self,
        offer: &Offer,
        opening: Opening,
    ) -> Result<Box<dyn Carrier>, ConnectError> {
        let address = SocketAddr::new(offer.ip, self.port);
        let stream = TcpStream::connect(address).await.map_err(|error| self.unreachable(&error))?;
        prepare_stream(&stream).map_err(|error| self.unreachable(&error))?;
        let url = |scheme| self.url(scheme, self.port, &self.address.base, opening);
        let opened = if self.address.is_here() {
            open_websocket(stream, &url("ws")).await
        } else {
            open_websocket(self.encrypt(stream, &offer.hashes).await?, &url("wss")).await
        };
        opened.map_err(|error| self.not_opened(error))
    }

    async fn open_tcp(&self) -> Result<TcpStream, ConnectError> {
        let stream = TcpStream::connect((self.address.host.as_str(), self.port)).await;
        stream.map_err(|error| self.unreachable(&error))
    }

    async fn encrypt(
        &self,
        stream: TcpStream,
        hashes: &[CertificateHash],
    ) -> Result<tokio_rustls::client::TlsStream<TcpStream>, ConnectError> {
        let connector = TlsConnector::from(Arc::new(client_config(hashes)));
        let name = ServerName::try_from(self.address.host.clone()).map_err(|error| self.broken(&error))?;
        connector.connect(name, stream).await.map_err(|error| self.broken(&error))
    }

    async fn get<S>(&self, stream: S, opening: Opening) -> Result<Discovery, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.broken(&error))?;
        let connection = tokio::spawn(connection);
        let request = Request::get(self.path(&self.address.base, opening))
            .header(HOST, format!("{}:{}", self.address.host_in_url(), self.port))
            .body(Empty::<Bytes>::new())
            .map_err(|error| self.broken(&error))?;
        let answer = sender.send_request(request).await.map_err(|error| self.broken(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        connection.abort();
        let body = body.map_err(|error| self.broken(&error))?.to_bytes();
        if status != StatusCode::OK {
            return Err(ConnectError::Refused(RefusalAnswer::from_peer(status.as_u16(), &body)));
        }
        serde_json::from_slice(&body).map_err(|error| self.broken(&error))
    }

    fn path(&self, base: &str, opening: Opening) -> String {
        let name = &self.address.name;
        match (&self.token, opening) {
            (_, Opening::Resuming) => format!("{base}nowcast/{name}?resume=1"),
            (Some(token), Opening::Beginning) => {
                let query = serde_urlencoded::to_string([("token", token)]).unwrap_or_default();
                format!("{base}nowcast/{name}?{query}")
            }
            (None, Opening::Beginning) => format!("{base}nowcast/{name}"),
        }
    }

    fn url(&self, scheme: &str, port: u16, base: &str, opening: Opening) -> String {
        format!("{scheme}://{}:{port}{}", self.address.host_in_url(), self.path(base, opening))
    }

    /// The service at this endpoint, for the memory of endpoints.
    fn service(&self) -> String {
        format!("{}{}{}", self.place(), self.address.base, self.address.name)
    }

    fn place(&self) -> String {
        format!("{}:{}", self.address.host_in_url(), self.port)
    }

    fn unreachable(&self, error: &std::io::Error) -> ConnectError {
        ConnectError::Unreachable { place: self.place(), cause: error.to_string() }
    }

    fn silent(&self) -> ConnectError {
        ConnectError::Unreachable { place: self.place(), cause: "no answer".into() }
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> ConnectError {
        ConnectError::Broken { place: self.place(), cause: error.to_string() }
    }

    fn not_opened(&self, error: OpenError) -> ConnectError {
        match error {
            OpenError::Refused(refusal) => ConnectError::Refused(refusal),
            OpenError::Broken(cause) => ConnectError::Broken { place: self.place(), cause },
        }
    }

    fn nonsense(&self, cause: &str) -> ConnectError {
        ConnectError::Broken { place: self.place(), cause: cause.into() }
    }
}

/// Waits for a future, at most for a limited time.
async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;

    /// An endpoint that answers each request with a record.
    async fn endpoint(record: impl Fn(u16) -> String + Send + 'static) -> (u16, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("the socket is bound").port();
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1_024];
                let _ = stream.read(&mut request).await;
                let body = record(port);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = stream.write_all((head + &body).as_bytes()).await;
            }
        });
        (port, serving)
    }

    #[tokio::test]
    async fn a_client_follows_a_moved_service_and_asks_others_when_its_endpoint_is_gone() {
        let record = |rest: &str| format!(r#"{{"nowcast":1,"name":"yard","websocket":true{rest}}}"#);
        let (south, _serving) = endpoint(move |_| record("")).await;
        let others = format!(r#","others":["http://127.0.0.1:1","http://127.0.0.1:{south}"]"#);
        let (west, _serving_west) = endpoint(move |_| record(&others)).await;
        let moved = format!(r#","moved":"http://127.0.0.1:{west}""#);
        let (north, serving_north) = endpoint(move |_| record(&moved)).await;
        let remote = Remote {
            address: Address::parse(&format!("nowcast://127.0.0.1:{north}/yard")).expect("an address"),
            port: north,
            token: None,
            trust: Trust::default(),
            layers: Vec::new(),
            endpoints: Endpoints::default(),
        };
        let port_of = |offer: &Offer| offer.at.as_ref().map(|at| at.port);
        let offer = remote.ask(Opening::Beginning).await.expect("the endpoint answers");
        assert_eq!(port_of(&offer), Some(west), "the client follows the move");
        serving_north.abort();
        let _ = serving_north.await;
        let offer = remote.ask(Opening::Beginning).await.expect("another endpoint answers");
        assert_eq!(port_of(&offer), Some(south), "the first other endpoint does not answer either");
    }
}
