//! Connecting to services by their addresses.

use std::pin::Pin;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use nowcast::record::PacketRecorder;
use nowcast::{CarrierKind, Channel, ConnectError, Connector, Trust};

use crate::serve::asked_to_stop;

/// The service, and how to connect to it
#[derive(clap::Args)]
pub(crate) struct Reach {
    /// The service: NAME on this machine, HOST/NAME, HOST:PORT/NAME, or an address that a server prints: nowcast://HOST:PORT/NAME,
    /// http://HOST:PORT/r/NAME, ws://HOST:PORT/ws/NAME. ?token=TOKEN may follow
    #[arg(value_name = "NAME", value_parser = service)]
    service: String,

    /// The token [default: the environment variable NOWCAST_TOKEN]
    #[arg(long)]
    token: Option<String>,

    /// Use only this carrier; may be repeated
    #[arg(long = "carrier", value_name = "CARRIER")]
    carriers: Vec<CarrierName>,

    /// Trust the certificate that the endpoint announces. Only for development in your own network
    #[arg(long)]
    trust_announced: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum CarrierName {
    #[value(name = "shared-memory")]
    SharedMemory,
    #[value(name = "local-socket")]
    LocalSocket,
    #[value(name = "webtransport")]
    WebTransport,
    #[value(name = "websocket")]
    WebSocket,
}

/// Converts a page's or the plain protocol's address into the service's address.
fn service(text: &str) -> Result<String, String> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(text.to_owned()) };
    let (folder, port) = match scheme {
        "http" => ("/r/", 80),
        "https" => ("/r/", 443),
        "ws" => ("/ws/", 80),
        "wss" => ("/ws/", 443),
        _ => return Ok(text.to_owned()),
    };
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, &rest[place.len()..]));
    match place.trim_end_matches('/').rsplit_once(folder) {
        Some((server, name)) => {
            let (host, base) = server.split_once('/').unwrap_or((server, ""));
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = if has_port { String::new() } else { format!(":{port}") };
            let base = if base.is_empty() { String::new() } else { format!("/{base}") };
            Ok(format!("nowcast://{host}{port}{base}/{name}{query}"))
        }
        None => Err(format!(
            "the address names no room: write {scheme}://{}{folder}NAME",
            place.trim_end_matches('/')
        )),
    }
}

impl Reach {
    /// Returns the name as given, without a token.
    pub(crate) fn name(&self) -> &str {
        self.service.split_once('?').map_or(&self.service, |(name, _)| name)
    }

    /// Returns the token from the address, the flag or the environment.
    fn token(&self) -> anyhow::Result<Option<String>> {
        let shown = self.service.split_once('?').map(|(_, query)| query).filter(|query| !query.is_empty());
        match (shown, &self.token) {
            (None, None) => Ok(std::env::var("NOWCAST_TOKEN").ok()),
            (None, Some(token)) => Ok(Some(token.clone())),
            (Some(_), Some(_)) => bail!("a token is given twice: in the address and by --token"),
            (Some(query), None) => match query.strip_prefix("token=") {
                Some(token) if !token.contains('&') => Ok(Some(token.to_owned())),
                _ => bail!("an address may end in ?token=TOKEN only"),
            },
        }
    }

    /// Connects over a network, and records all packets.
    pub(crate) async fn connect_recorded(&self, recorder: &PacketRecorder) -> anyhow::Result<Channel> {
        let connector = Connector::new().carriers([CarrierKind::WebTransport, CarrierKind::WebSocket]);
        self.connect_by(connector.layer(recorder)).await
    }

    /// Connects, or returns an error that states a solution.
    pub(crate) async fn connect(&self) -> anyhow::Result<Channel> {
        self.connect_by(Connector::new()).await
    }

    async fn connect_by(&self, mut connector: Connector) -> anyhow::Result<Channel> {
        if let Some(token) = self.token()? {
            connector = connector.token(token);
        }
        if !self.carriers.is_empty() {
            connector = connector.carriers(self.carriers.iter().map(|carrier| match carrier {
                CarrierName::SharedMemory => CarrierKind::SharedMemory,
                CarrierName::LocalSocket => CarrierKind::LocalSocket,
                CarrierName::WebTransport => CarrierKind::WebTransport,
                CarrierName::WebSocket => CarrierKind::WebSocket,
            }));
        }
        if self.trust_announced {
            connector = connector.trust(Trust::Announced);
        }
        match connector.connect(self.name()).await {
            Ok(channel) => Ok(channel),
            Err(error @ ConnectError::NoSuchName { .. }) => {
                bail!("{error}. `nowcast names` lists the known names")
            }
            Err(ConnectError::Broken { place, cause })
                if cause.contains("certificate") && !self.trust_announced =>
            {
                bail!(
                    "the certificate of {place} is not trusted ({cause}): for a development certificate, use --trust-announced"
                )
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The exit code that a shell reports for a program that ended by SIGINT.
const EXIT_BY_INTERRUPT: u8 = 128 + 2;

/// The exit code of an interrupted command.
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(EXIT_BY_INTERRUPT)
}

/// Listens for Ctrl-C from its creation on, so that a command can clean up before it ends.
pub(crate) struct Stop(Pin<Box<dyn Future<Output = ()>>>);

impl Stop {
    /// Begins to listen. Must be called within a runtime.
    pub(crate) fn new() -> Self {
        Self(Box::pin(asked_to_stop()))
    }

    /// Returns the result of `work`, or `None` if Ctrl-C is pressed first.
    pub(crate) async fn before<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = &mut self.0 => None,
        }
    }
}

/// Makes a runtime for one command.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

/// Formats a time in milliseconds. The number of digits depends on its size.
pub(crate) fn milliseconds(time: std::time::Duration) -> String {
    let ms = time.as_secs_f64() * 1_000.0;
    let digits = if ms < 1.0 {
        3
    } else if ms < 100.0 {
        1
    } else {
        0
    };
    format!("{ms:.digits$} ms")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_address_may_contain_a_token() {
        let reach = |service: &str, token: Option<&str>| Reach {
            service: service.into(),
            token: token.map(str::to_owned),
            carriers: Vec::new(),
            trust_announced: false,
        };
        let shown = reach("box:7777/tracker?token=a.b.c", None);
        assert_eq!((shown.name(), shown.token().unwrap().as_deref()), ("box:7777/tracker", Some("a.b.c")));
        assert_eq!(reach("tracker", Some("x")).token().unwrap().as_deref(), Some("x"));
        assert!(reach("tracker?token=a", Some("b")).token().is_err());
        for wrong in ["tracker?hz=5", "tracker?token=a&hz=5"] {
            assert!(reach(wrong, None).token().unwrap_err().to_string().contains("?token=TOKEN"), "{wrong}");
        }
    }

    #[test]
    fn addresses_that_a_server_prints_name_the_service() {
        for (printed, expected) in [
            ("http://localhost:7777/r/plaza", "nowcast://localhost:7777/plaza"),
            ("https://[::1]:7777/r/plaza/?token=a.b", "nowcast://[::1]:7777/plaza?token=a.b"),
            ("ws://box:7777/ws/plaza", "nowcast://box:7777/plaza"),
            ("https://box.example/game/r/plaza", "nowcast://box.example:443/game/plaza"),
            ("nowcast://box:7777/plaza", "nowcast://box:7777/plaza"),
            ("box/plaza", "box/plaza"),
        ] {
            assert_eq!(service(printed).as_deref(), Ok(expected));
        }
        let cure = service("http://box:7777/").unwrap_err();
        assert!(cure.contains("http://box:7777/r/NAME"), "{cure}");
    }

    #[test]
    fn times_have_a_sensible_number_of_digits() {
        assert_eq!(milliseconds(Duration::from_micros(87)), "0.087 ms");
        assert_eq!(milliseconds(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(milliseconds(Duration::from_millis(250)), "250 ms");
    }
}
