//! The relay. It reads packets from every host's device, passes them to the link model, and forwards them when they are due.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nowcast_sim::link::{Link, LinkConfig};
use tun_rs::SyncDevice;

use super::hosts::{Host, MTU};
use super::sys;

/// Interval at which the relay checks whether it should end, while no packet is due.
const IDLE: Duration = Duration::from_millis(20);

/// The relay's real-time priority. It is higher than that of the programs on the hosts ([`super::PRIORITY_OF_HOSTS`]).
const PRIORITY: i32 = 20;

/// The state of the relay. Observers and controllers share it. It has one model for each receiving host.
pub(super) struct Relay {
    devices: Vec<SyncDevice>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    start: Instant,
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    /// `links[i]` leads to host `i + 1`.
    pub(super) links: Vec<Link>,
    /// Delay of forwarding a packet after it was due, in microseconds.
    pub(super) lateness_us: Histogram<u64>,
    /// Packets that were not IPv4, or that no host of the link should receive. These are the kernel's own announcements.
    pub(super) strays: u64,
    /// Packets that a host's device did not accept.
    pub(super) refused: u64,
}

impl Shared {
    pub(super) fn new(config: &LinkConfig, hosts: usize, seed: u64) -> Self {
        let links = (0..hosts as u64).map(|host| Link::new(config.clone(), seed.wrapping_add(host)));
        Self {
            start: Instant::now(),
            stop: AtomicBool::new(false),
            state: Mutex::new(State {
                links: links.collect(),
                lateness_us: Histogram::new(3).expect("three digits are allowed"),
                strays: 0,
                refused: 0,
            }),
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Relay {
    pub(super) fn new(devices: Vec<SyncDevice>, shared: Arc<Shared>) -> io::Result<Self> {
        for device in &devices {
            device.set_nonblocking(true)?;
        }
        Ok(Self { devices, shared })
    }

    /// Relays packets until it is requested to stop.
    pub(super) fn run(self) -> io::Result<()> {
        // A packet that is forwarded late falsifies a figure, so the kernel must not round the timers of this thread.
        nix::sys::prctl::set_timerslack(1)?;
        sys::run_before_others(PRIORITY);
        let mut buffer = vec![0; usize::from(MTU) + 64];
        while !self.shared.stop.load(Ordering::Relaxed) {
            let due = self.shared.with(|state| {
                self.take_in(state, &mut buffer)?;
                self.hand_on(state)?;
                io::Result::Ok(state.links.iter().filter_map(Link::next_due).min())
            })?;
            let wait = due.map_or(IDLE, |due| due.saturating_sub(self.shared.start.elapsed()).min(IDLE));
            self.sleep(wait)?;
        }
        Ok(())
    }

    fn take_in(&self, state: &mut State, buffer: &mut [u8]) -> io::Result<()> {
        for device in &self.devices {
            loop {
                let packet = match device.recv(buffer) {
                    Ok(length) => &buffer[..length],
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                };
                // These packets are removed before the model sees them, so that they use no random numbers.
                match destination(packet, state.links.len()) {
                    Some(host) => state.links[host].send(self.shared.start.elapsed(), packet.to_vec()),
                    None => state.strays += 1,
                }
            }
        }
        Ok(())
    }

    fn hand_on(&self, state: &mut State) -> io::Result<()> {
        let State { links, lateness_us, refused, .. } = state;
        for (link, device) in links.iter_mut().zip(&self.devices) {
            let now = self.shared.start.elapsed();
            while let Some(delivery) = link.receive(now) {
                let late = self.shared.start.elapsed() - delivery.due;
                lateness_us.saturating_record(u64::try_from(late.as_micros()).unwrap_or(u64::MAX));
                match device.send(&delivery.packet) {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => *refused += 1,
                    // For the receiving kernel, data with a corrupted header is not a packet.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => *refused += 1,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn sleep(&self, wait: Duration) -> io::Result<()> {
        let mut watched: Vec<_> =
            self.devices.iter().map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN)).collect();
        match ppoll(&mut watched, Some(TimeSpec::from_duration(wait)), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Returns the index of the host to which an IPv4 packet is addressed.
fn destination(packet: &[u8], hosts: usize) -> Option<usize> {
    const IPV4_HEADER_BYTES: usize = 20;
    if packet.len() < IPV4_HEADER_BYTES || packet[0] >> 4 != 4 {
        return None;
    }
    let address = [packet[16], packet[17], packet[18], packet[19]];
    let number = usize::from(address[3]);
    let known = (1..=hosts).contains(&number) && address == Host::address_of(address[3]).octets();
    known.then(|| number - 1)
}
