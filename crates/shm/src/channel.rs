//! A channel has two directions. This module opens one: two processes exchange their segments.

use crate::OpenError;
use crate::ends::{ShmReceiver, ShmSender};
use crate::layout::{MAGIC, VERSION};
use crate::link::Link;
use crate::segment::Segment;
use nowcast_queue::Bounds;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use rustix::process::Pid;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A channel to another process. Each end can move to a separate thread.
#[derive(Debug)]
pub struct ShmChannel {
    /// The queue into which this program puts.
    pub sender: ShmSender,
    /// The queue from which this program gets.
    pub receiver: ShmReceiver,
}

/// Makes both sides of a channel within one process. Each side has lanes with these bounds.
///
/// For tests and measurements. Between threads, use `nowcast_queue::in_process`, which needs no system resources.
///
/// # Errors
/// [`OpenError::Bounds`], or [`OpenError::System`] if the system lacks resources.
pub fn pair(bounds: &[Bounds]) -> Result<(ShmChannel, ShmChannel), OpenError> {
    let (near, far) = UnixStream::pair()?;
    let (near_outgoing, near_file) = Segment::create(bounds)?;
    let (far_outgoing, far_file) = Segment::create(bounds)?;
    let near_incoming = Segment::open(&far_file)?;
    let far_incoming = Segment::open(&near_file)?;
    let barriers = crate::sync::register();
    let near = join(near, None, barriers, near_outgoing, near_incoming)?;
    Ok((near, join(far, None, barriers, far_outgoing, far_incoming)?))
}

/// Opens the half of the connecting side, which sends its greeting first.
pub(crate) fn greet(
    socket: UnixStream,
    bounds: &[Bounds],
    deadline: Instant,
) -> Result<ShmChannel, OpenError> {
    let peer = check_peer(&socket)?;
    let (outgoing, file) = Segment::create(bounds)?;
    let ours = send_hello(&socket, &file)?;
    let (theirs, file) = receive_hello(&socket, deadline)?;
    join(socket, Some(peer), ours && theirs, outgoing, Segment::open(file)?)
}

/// Opens the half of the accepting side, which answers a greeting.
pub(crate) fn answer(
    socket: UnixStream,
    bounds: &[Bounds],
    deadline: Instant,
) -> Result<ShmChannel, OpenError> {
    let peer = check_peer(&socket)?;
    let (theirs, file) = receive_hello(&socket, deadline)?;
    let incoming = Segment::open(file)?;
    let (outgoing, file) = Segment::create(bounds)?;
    let ours = send_hello(&socket, &file)?;
    join(socket, Some(peer), ours && theirs, outgoing, incoming)
}

fn join(
    socket: UnixStream,
    peer: Option<Pid>,
    barriers: bool,
    outgoing: Segment,
    incoming: Segment,
) -> Result<ShmChannel, OpenError> {
    let link = Link::new(socket, peer, barriers, outgoing.map.clone(), incoming.map.clone())?;
    let sender = ShmSender::new(outgoing, link.clone());
    Ok(ShmChannel { sender, receiver: ShmReceiver::new(incoming, link) })
}

fn check_peer(socket: &UnixStream) -> Result<Pid, OpenError> {
    let peer = rustix::net::sockopt::socket_peercred(socket)?;
    if peer.uid != rustix::process::geteuid() {
        return Err(OpenError::Owner { user: peer.uid.as_raw() });
    }
    Ok(peer.pid)
}

/// Size of a greeting: the magic number, the version, and 1 if the process takes part in barriers across processes. The segment
/// is sent with the greeting.
const HELLO_BYTES: usize = 24;

/// Sends the greeting to the peer, with the segment that this side writes. Returns whether this process takes part in barriers.
fn send_hello(socket: &UnixStream, file: &OwnedFd) -> Result<bool, OpenError> {
    let barriers = crate::sync::register();
    let mut hello = [0; HELLO_BYTES];
    hello[..8].copy_from_slice(&MAGIC.to_le_bytes());
    hello[8..16].copy_from_slice(&VERSION.to_le_bytes());
    hello[16] = u8::from(barriers);
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    match rustix::net::sendmsg(socket, &[IoSlice::new(&hello)], &mut control, SendFlags::NOSIGNAL) {
        Ok(HELLO_BYTES) => Ok(barriers),
        Ok(_) => Err(OpenError::Handshake("the greeting could not be sent whole")),
        Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => {
            Err(OpenError::Handshake("the peer closed the connection"))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Receives the peer's greeting. Returns whether the peer takes part in barriers, and the segment that it writes.
fn receive_hello(socket: &UnixStream, deadline: Instant) -> Result<(bool, OwnedFd), OpenError> {
    // A timeout of zero would wait for ever.
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    socket.set_read_timeout(Some(left))?;
    let mut hello = [0; HELLO_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut hello)];
    let received = match rustix::net::recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
        Ok(message) => message.bytes,
        Err(rustix::io::Errno::AGAIN) => return Err(OpenError::TimedOut),
        Err(rustix::io::Errno::CONNRESET) => 0,
        Err(errno) => return Err(io::Error::from(errno).into()),
    };
    let file = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    if received == 0 {
        return Err(OpenError::Handshake("the peer closed the connection"));
    }
    if received < HELLO_BYTES || hello[..8] != MAGIC.to_le_bytes() {
        return Err(OpenError::Handshake("the greeting is not one of Nowcast"));
    }
    if hello[8..16] != VERSION.to_le_bytes() {
        let theirs = u64::from_le_bytes(std::array::from_fn(|index| hello[8 + index]));
        return Err(OpenError::Version { theirs, ours: VERSION });
    }
    let file = file.ok_or(OpenError::Handshake("the greeting came without a segment"))?;
    Ok((hello[16] == 1, file))
}
