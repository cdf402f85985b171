//! TCP on loopback, for systems without Unix sockets in their runtime (Windows). Every program on the machine can connect to a
//! port. Both sides therefore prove that they can read the service's file, which is in the user's own profile: each sends a
//! secret from the file. The two secrets differ, so a program that takes over the port of a dead service learns only one secret.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::OpenError;

const SECRET_BYTES: usize = 32;

type Secret = [u8; SECRET_BYTES];

/// The first message of each side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secrets {
    of_service: Secret,
    of_client: Secret,
}

fn secret() -> io::Result<Secret> {
    let mut secret = Secret::default();
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    Ok(secret)
}

/// A listening port.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: TcpListener,
    secrets: Secrets,
}

impl Socket {
    /// Opens a port and writes the file for clients to `path`. Must be called within a runtime.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let socket = TcpListener::from_std(socket)?;
        let secrets = Secrets { of_service: secret()?, of_client: secret()? };
        let mut file = socket.local_addr()?.port().to_le_bytes().to_vec();
        file.extend_from_slice(&secrets.of_service);
        file.extend_from_slice(&secrets.of_client);
        std::fs::write(path, file)?;
        Ok(Self { socket, secrets })
    }

    /// Waits for the next connection, which must be [admitted](admit).
    pub(crate) async fn accept(&self) -> io::Result<TcpStream> {
        Ok(self.socket.accept().await?.0)
    }

    /// Returns the secrets that a peer must prove to be admitted.
    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets
    }
}

/// Checks that the peer can read the service's file, and proves to the peer that this side can.
pub(crate) async fn admit(mut stream: TcpStream, secrets: Secrets) -> Result<TcpStream, OpenError> {
    stream.set_nodelay(true)?;
    check_secret(&mut stream, &secrets.of_client).await?;
    stream.write_all(&secrets.of_service).await?;
    Ok(stream)
}

/// Connects to the service whose file is at the path. Returns `NotFound` or `ConnectionRefused` if nothing listens.
pub(crate) async fn connect(path: &Path) -> Result<TcpStream, OpenError> {
    let file = std::fs::read(path)?;
    let (port, rest) = file.split_first_chunk::<2>().ok_or_else(nothing_there)?;
    let (of_service, rest) = rest.split_first_chunk::<SECRET_BYTES>().ok_or_else(nothing_there)?;
    let of_client = rest.first_chunk::<SECRET_BYTES>().ok_or_else(nothing_there)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, u16::from_le_bytes(*port)));
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(of_client).await?;
    check_secret(&mut stream, of_service).await?;
    Ok(stream)
}

fn nothing_there() -> io::Error {
    io::ErrorKind::NotFound.into()
}

async fn check_secret(stream: &mut TcpStream, secret: &Secret) -> Result<(), OpenError> {
    let mut received = [0; SECRET_BYTES];
    stream
        .read_exact(&mut received)
        .await
        .map_err(|_| OpenError::Handshake("the peer closed the connection"))?;
    // All bytes are compared, so that the duration does not depend on the number of matching bytes.
    let difference = received.iter().zip(secret).fold(0, |sum, (one, other)| sum | (one ^ other));
    if difference == 0 { Ok(()) } else { Err(OpenError::Stranger) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_peer_that_cannot_read_the_services_file_is_refused_by_both_sides() {
        let directory = std::env::temp_dir().join(format!("nowcast-loopback-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("there is room");
        let path = directory.join("service");
        let socket = Socket::bind(&path).expect("loopback has free ports");
        let admitted = async { admit(socket.accept().await?, socket.secrets()).await };
        let (near, far) = tokio::join!(connect(&path), admitted);
        assert!(near.is_ok() && far.is_ok(), "a task of this user comes in: {near:?} {far:?}");

        let port = socket.socket.local_addr().expect("the socket is bound").port();
        let stranger = async {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            stream.write_all(&[0; SECRET_BYTES]).await?;
            Ok::<_, OpenError>(stream)
        };
        let admitted = async { admit(socket.accept().await?, socket.secrets()).await };
        let (_, refused) = tokio::join!(stranger, admitted);
        assert!(matches!(refused, Err(OpenError::Stranger)), "{refused:?}");

        let impostor = async {
            let mut stream = socket.accept().await?;
            stream.write_all(&[0; SECRET_BYTES]).await?;
            Ok::<_, OpenError>(stream)
        };
        let (refused, _) = tokio::join!(connect(&path), impostor);
        assert!(matches!(refused, Err(OpenError::Stranger)), "{refused:?}");

        drop(socket);
        assert!(matches!(connect(&path).await, Err(OpenError::System(_))), "no service listens any more");
        std::fs::remove_dir_all(directory).expect("the directory belongs to this test");
    }
}
