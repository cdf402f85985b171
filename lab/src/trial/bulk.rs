//! A bulk transfer by TCP that shares the link with the measured peer. It runs between real kernels, with unlimited data.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use socket2::{Domain, Protocol, Socket, Type};

use crate::link::EmulatedLink;

const PORT: u16 = 4_100;
const CHUNK_BYTES: usize = 64 * 1_024;

/// A transfer from host 1 to host 2. It continues until this value is dropped.
#[derive(Debug)]
pub(super) struct Bulk {
    arrived_bytes: Arc<AtomicU64>,
    ends: [TcpStream; 2],
    threads: Vec<JoinHandle<()>>,
}

impl Bulk {
    /// Begins a transfer with the named congestion control.
    pub(super) fn start(link: &EmulatedLink, congestion_control: &str) -> io::Result<Self> {
        let address = SocketAddr::from((link.host(2).address(), PORT));
        let listener = link.host(2).run(|| TcpListener::bind(address))??;
        let sender = link.host(1).run(|| -> io::Result<TcpStream> {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
            socket.set_tcp_congestion(congestion_control.as_bytes())?;
            socket.connect(&address.into())?;
            Ok(socket.into())
        })??;
        let (receiver, _) = listener.accept()?;
        let arrived_bytes = Arc::new(AtomicU64::new(0));
        let ends = [sender.try_clone()?, receiver.try_clone()?];
        let counter = Arc::clone(&arrived_bytes);
        let threads = vec![
            thread::spawn(move || write_until_closed(sender)),
            thread::spawn(move || count_until_closed(receiver, &counter)),
        ];
        Ok(Self { arrived_bytes, ends, threads })
    }

    /// Returns the number of payload bytes that the receiver has read so far.
    pub(super) fn arrived_bytes(&self) -> u64 {
        self.arrived_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        for end in &self.ends {
            // If an end is already closed, no action is needed.
            let _ = end.shutdown(Shutdown::Both);
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn write_until_closed(mut sender: TcpStream) {
    let chunk = vec![0; CHUNK_BYTES];
    while sender.write_all(&chunk).is_ok() {}
}

fn count_until_closed(mut receiver: TcpStream, arrived_bytes: &AtomicU64) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(length @ 1..) = receiver.read(&mut chunk) {
        arrived_bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
}
