//! Sockets of both address families on one port.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{SystemTime, UNIX_EPOCH};

use quinn_udp::UdpSocketState;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 1_024;
/// Buffer size of UDP sockets. The default size drops bursts.
const UDP_BUFFER_BYTES: usize = 4 * 1_024 * 1_024;
/// Number of tries to find a port that is free for both TCP and UDP.
const CHOICES_MAX: u32 = 16;

/// The sockets of an endpoint, on one port of all its hosts.
#[derive(Debug)]
pub struct Sockets {
    /// The port. If port 0 was requested, this is the port that the system chose.
    pub port: u16,
    /// One listener for each host.
    pub tcp: Vec<TcpListener>,
    /// One socket for each host, or none if UDP was not requested or cannot be opened.
    pub udp: Vec<UdpSocket>,
}

impl Sockets {
    /// Listens on `port` of every host, by TCP and optionally UDP. If the system opens no UDP sockets, logs the cause and
    /// continues without them. A host that this machine does not have is skipped if another
    /// host works, because not every machine has both address families. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(hosts: &[IpAddr], port: u16, with_udp: bool) -> Result<Self, BindError> {
        check_clock(SystemTime::now())?;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let may_retry = port == 0 && attempt < CHOICES_MAX;
            match Self::bind_once(hosts, port, with_udp) {
                Err(BindError::Taken { .. }) if may_retry => {}
                // With port 0 the system chooses a port that is free for TCP, but another program may use it for UDP.
                Ok((_, Some(error))) if may_retry && error.kind() == io::ErrorKind::AddrInUse => {}
                Ok((sockets, Some(error))) => {
                    let port = sockets.port;
                    tracing::warn!(
                        "WebTransport is off, and clients use WebSocket: cannot open UDP port {port} ({error}). Free the \
                         port or choose another to have WebTransport"
                    );
                    return Ok(Self { udp: Vec::new(), ..sockets });
                }
                Ok((sockets, None)) => return Ok(sockets),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the sockets, and the error of the first host without UDP.
    fn bind_once(
        hosts: &[IpAddr],
        mut port: u16,
        with_udp: bool,
    ) -> Result<(Self, Option<io::Error>), BindError> {
        let (mut tcp, mut udp) = (Vec::new(), Vec::new());
        let (mut missing, mut without_udp) = (None, None);
        for &host in hosts {
            let address = SocketAddr::new(host, port);
            let listener = match listen(address) {
                Ok(listener) => listener,
                Err(error) => match BindError::of(address, error) {
                    absent @ BindError::NoSuchAddress { .. } => {
                        missing = Some(absent);
                        continue;
                    }
                    error => return Err(error),
                },
            };
            port = listener.local_addr().map_err(|error| BindError::of(address, error))?.port();
            tcp.push(listener);
            if with_udp {
                match served_datagrams(SocketAddr::new(host, port)) {
                    Ok(socket) => udp.push(socket),
                    Err(error) => _ = without_udp.get_or_insert(error),
                }
            }
        }
        match missing {
            Some(error) if tcp.is_empty() => Err(error),
            _ => Ok((Self { port, tcp, udp }, without_udp)),
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = open(address, Type::STREAM)?;
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Opens a UDP socket with buffers for bursts, up to the size that the system allows.
pub(crate) fn datagrams(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = sized(address)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Opens a UDP socket, and checks that the system has the options that QUIC needs.
fn served_datagrams(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = datagrams(address)?;
    UdpSocketState::new((&socket).into())?;
    Ok(socket)
}

/// Returns this socket, and others on the same address, on which the system distributes clients. On systems without such
/// distribution there are no others.
#[cfg(target_os = "linux")]
pub(super) fn sharing(socket: UdpSocket, count: usize) -> io::Result<Vec<UdpSocket>> {
    if count <= 1 {
        return Ok(vec![socket]);
    }
    let address = socket.local_addr()?;
    // The first socket was bound alone, so no other program has the port.
    socket2::SockRef::from(&socket).set_reuse_port(true)?;
    let others = (1..count).map(|_| {
        let socket = sized(address)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        Ok(socket.into())
    });
    std::iter::once(Ok(socket)).chain(others).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn sharing(socket: UdpSocket, _count: usize) -> io::Result<Vec<UdpSocket>> {
    Ok(vec![socket])
}

fn sized(address: SocketAddr) -> io::Result<Socket> {
    let socket = open(address, Type::DGRAM)?;
    // The system may allow less (`net.core.rmem_max`). Then more packets are lost under load.
    let _ = socket.set_recv_buffer_size(UDP_BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(UDP_BUFFER_BYTES);
    Ok(socket)
}

fn open(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if address.is_ipv6() {
        // A socket for the unspecified address accepts both families. Any other socket accepts its own family.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Rejects a clock that was never set: HTTP has no dates before 1970, and neither certificates nor tokens would be valid.
fn check_clock(now: SystemTime) -> Result<(), BindError> {
    if now < UNIX_EPOCH { Err(BindError::Clock) } else { Ok(()) }
}

/// The reason why an endpoint cannot listen. Each message states the cause and a solution.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another program listens on the port.
    #[error("port {port} on {host} is taken by another program: stop that one, or listen on another port")]
    Taken {
        /// The port.
        port: u16,
        /// The address.
        host: IpAddr,
        /// An unused port.
        free: u16,
    },
    /// The port requires rights that this process does not have.
    #[error("port {port} may not be used by this user: listen on one of 1024 or above")]
    Forbidden {
        /// The port.
        port: u16,
    },
    /// The address does not belong to this machine.
    #[error("{host} is not an address of this machine: listen on one that is")]
    NoSuchAddress {
        /// The address.
        host: IpAddr,
    },
    /// This machine's clock was never set.
    #[error(
        "this machine's clock is before 1970, so certificates, tokens and HTTP dates do not work: set the clock"
    )]
    Clock,
    /// There is no certificate.
    #[error(transparent)]
    Certificate(#[from] crate::certificate::CertificateError),
    /// Every client on the network could join.
    #[error(transparent)]
    Entry(#[from] nowcast_admission::PolicyError),
    /// The system refuses for another reason.
    #[error("cannot listen on {address}: {error}")]
    Io {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
}

impl BindError {
    fn of(address: SocketAddr, error: io::Error) -> Self {
        const NO_SUCH_FAMILY: i32 = 97;
        let (host, port) = (address.ip(), address.port());
        match error.kind() {
            io::ErrorKind::AddrInUse => BindError::Taken { port, host, free: free_port(host) },
            io::ErrorKind::PermissionDenied => BindError::Forbidden { port },
            io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported => BindError::NoSuchAddress { host },
            _ if error.raw_os_error() == Some(NO_SUCH_FAMILY) => BindError::NoSuchAddress { host },
            _ => BindError::Io { address, error },
        }
    }
}

/// Returns an unused port, as a suggestion.
fn free_port(host: IpAddr) -> u16 {
    let free = std::net::TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr());
    free.map_or(0, |address| address.port())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_is_refused_by_name() {
        let error = check_clock(UNIX_EPOCH - Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("set the clock"), "{error}");
        assert!(check_clock(UNIX_EPOCH).is_ok() && check_clock(SystemTime::now()).is_ok());
    }
}
