//! Queries of a name server.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::protocol::{Answer, LINE_BYTES_MAX, Lines, Refused, Request, Service};

/// Maximum time that a name server may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// Maximum number of names in a list.
const LIST_MAX: usize = 65_536;

/// The reason why a query of a name server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamesError {
    /// Nothing listens at the address.
    #[error("no name server answers at {address} ({error}): start one there with `nowcast names serve`")]
    NoServer {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: std::io::Error,
    },
    /// The name server refuses.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// The peer is not a name server.
    #[error("the program that answers at {0} is not a name server: check the address")]
    NotOne(SocketAddr),
    /// The connection broke, or the answer took too long.
    #[error("the name server at {0} did not answer in time")]
    Silent(SocketAddr),
}

/// Requests the address of a service from the name server at `server`.
///
/// # Errors
/// [`Refused::NoSuchName`] if the name is not advertised, and every other [`NamesError`].
pub async fn find(server: SocketAddr, name: &str) -> Result<Service, NamesError> {
    in_time(server, async {
        let mut line = Line::connect(server).await?;
        line.send(&Request::Find(name.to_owned()).line()).await?;
        match line.receive().await? {
            Answer::Service(service) if service.name == name => Ok(service),
            Answer::Error { error } => Err(error.into()),
            _ => Err(NamesError::NotOne(server)),
        }
    })
    .await
}

/// Requests all names, sorted, from the name server at `server`.
///
/// # Errors
/// Every [`NamesError`].
pub async fn list(server: SocketAddr) -> Result<Vec<Service>, NamesError> {
    in_time(server, async {
        let mut line = Line::connect(server).await?;
        line.send(&Request::List.line()).await?;
        let mut services = Vec::new();
        loop {
            match line.receive().await? {
                Answer::Service(service) if services.len() < LIST_MAX => services.push(service),
                Answer::Listed { listed } if listed == services.len() => return Ok(services),
                Answer::Error { error } => return Err(error.into()),
                _ => return Err(NamesError::NotOne(server)),
            }
        }
    })
    .await
}

async fn in_time<T>(
    server: SocketAddr,
    asked: impl Future<Output = Result<T, NamesError>>,
) -> Result<T, NamesError> {
    timeout(ANSWER_MAX, asked).await.unwrap_or(Err(NamesError::Silent(server)))
}

/// A connection to a name server that exchanges lines.
pub(crate) struct Line {
    server: SocketAddr,
    stream: TcpStream,
    lines: Lines,
}

impl Line {
    pub(crate) async fn connect(server: SocketAddr) -> Result<Line, NamesError> {
        let stream = TcpStream::connect(server)
            .await
            .map_err(|error| NamesError::NoServer { address: server, error })?;
        Ok(Line { server, stream, lines: Lines::default() })
    }

    /// Sends a line.
    pub(crate) async fn send(&mut self, line: &str) -> Result<(), NamesError> {
        self.stream.write_all(line.as_bytes()).await.map_err(|_| NamesError::Silent(self.server))
    }

    /// Waits for the next answer.
    pub(crate) async fn receive(&mut self) -> Result<Answer, NamesError> {
        loop {
            match self.receive_any().await? {
                None => {}
                Some(answer) => return Ok(answer),
            }
        }
    }

    /// Waits for the next line. `None` stands for an empty line. If the future is dropped, no data is lost.
    pub(crate) async fn receive_any(&mut self) -> Result<Option<Answer>, NamesError> {
        loop {
            match self.lines.next().map_err(|_| NamesError::NotOne(self.server))? {
                Some(line) if line.is_empty() => return Ok(None),
                Some(line) => {
                    let answer = Answer::parse(&line).ok_or(NamesError::NotOne(self.server))?;
                    return Ok(Some(answer));
                }
                None => {}
            }
            let mut bytes = [0; LINE_BYTES_MAX];
            let room = self.lines.room();
            match self.stream.read(&mut bytes[..room]).await {
                Ok(0) | Err(_) => return Err(NamesError::Silent(self.server)),
                Ok(count) => self.lines.push(&bytes[..count]),
            }
        }
    }
}
