//! Forwards TCP and UDP of one port to an endpoint. Tests can make it fail.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// A gate in front of an endpoint. Dropping it cuts all connections.
pub(crate) struct Gate {
    port: u16,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

struct State {
    inner_port: AtomicU16,
    udp_is_closed: AtomicBool,
    /// Share of lost datagrams, in percent.
    udp_loss_percent: AtomicU64,
    random: AtomicU64,
    /// Each change cuts the TCP connections and forgets the UDP flows that began before it.
    age: watch::Sender<u64>,
    stalled: watch::Sender<bool>,
    tcp_connections: AtomicU64,
    began: Notify,
}

impl Gate {
    pub(crate) async fn bind() -> Gate {
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
            let port = tcp.local_addr().expect("the socket is bound").port();
            if let Ok(udp) = UdpSocket::bind(("127.0.0.1", port)).await {
                break (tcp, udp);
            }
        };
        let port = tcp.local_addr().expect("the socket is bound").port();
        let state = Arc::new(State {
            inner_port: AtomicU16::new(0),
            udp_is_closed: AtomicBool::new(false),
            udp_loss_percent: AtomicU64::new(0),
            random: AtomicU64::new(1),
            age: watch::Sender::new(0),
            stalled: watch::Sender::new(false),
            tcp_connections: AtomicU64::new(0),
            began: Notify::new(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(forward_tcp(tcp, Arc::clone(&state)));
        tasks.spawn(forward_udp(Arc::new(udp), Arc::clone(&state)));
        Gate { port, state, _tasks: tasks }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn lead_to(&self, port: u16) {
        self.state.inner_port.store(port, Ordering::Relaxed);
    }

    /// Drops all UDP packets silently.
    pub(crate) fn close_udp(&self, is_closed: bool) {
        self.state.udp_is_closed.store(is_closed, Ordering::Relaxed);
    }

    pub(crate) fn lose_udp(&self, percent: u64) {
        self.state.udp_loss_percent.store(percent, Ordering::Relaxed);
    }

    /// Kills every open carrier. TCP connections are cut, and later datagrams of known clients are dropped.
    pub(crate) fn kill(&self) {
        self.state.age.send_modify(|age| *age += 1);
    }

    /// Stalls the gate or ends the stall. Nothing moves while it is stalled, as with a suspended process.
    pub(crate) fn stall(&self, is_stalled: bool) {
        self.state.stalled.send_replace(is_stalled);
    }

    /// Number of TCP connections that clients have opened so far.
    pub(crate) fn tcp_connections(&self) -> u64 {
        self.state.tcp_connections.load(Ordering::Relaxed)
    }
}

async fn forward_tcp(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((outer, _)) = listener.accept().await else { return };
        state.tcp_connections.fetch_add(1, Ordering::Relaxed);
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let mut age = state.age.subscribe();
            age.mark_unchanged();
            let port = state.inner_port.load(Ordering::Relaxed);
            let Ok(inner) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            let _ = (outer.set_nodelay(true), inner.set_nodelay(true));
            let (outer_read, outer_write) = outer.into_split();
            let (inner_read, inner_write) = inner.into_split();
            tokio::select! {
                _ = age.changed() => {}
                () = pump(outer_read, inner_write, &state) => {}
                () = pump(inner_read, outer_write, &state) => {}
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    state: &State,
) {
    let mut bytes = [0; 4_096];
    let mut stalled = state.stalled.subscribe();
    loop {
        if stalled.wait_for(|stalled| !stalled).await.is_err() {
            return;
        }
        match from.read(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(length) => {
                let _ = stalled.wait_for(|stalled| !stalled).await;
                if to.write_all(&bytes[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

type Flows = Mutex<HashMap<SocketAddr, (u64, Arc<UdpSocket>)>>;

async fn forward_udp(outer: Arc<UdpSocket>, state: Arc<State>) {
    let flows: Arc<Flows> = Arc::default();
    let mut back = JoinSet::new();
    let mut bytes = [0; 2_048];
    loop {
        let Ok((length, client)) = outer.recv_from(&mut bytes).await else { continue };
        if state.swallows() {
            continue;
        }
        let known = flows.lock().expect("nobody panics").get(&client).cloned();
        let (age, inner) = match known {
            Some(flow) => flow,
            None => {
                let Ok(inner) = UdpSocket::bind("127.0.0.1:0").await else { continue };
                let port = state.inner_port.load(Ordering::Relaxed);
                if inner.connect(("127.0.0.1", port)).await.is_err() {
                    continue;
                }
                let flow = (*state.age.borrow(), Arc::new(inner));
                flows.lock().expect("nobody panics").insert(client, flow.clone());
                state.began.notify_waiters();
                back.spawn(return_udp(Arc::clone(&outer), flow.clone(), client, Arc::clone(&state)));
                flow
            }
        };
        if age == *state.age.borrow() {
            let _ = inner.send(&bytes[..length]).await;
        }
    }
}

async fn return_udp(
    outer: Arc<UdpSocket>,
    flow: (u64, Arc<UdpSocket>),
    client: SocketAddr,
    state: Arc<State>,
) {
    let mut bytes = [0; 2_048];
    loop {
        // If the endpoint is gone, the socket returns an error. This error does not end the gate.
        let Ok(length) = flow.1.recv(&mut bytes).await else { continue };
        if flow.0 != *state.age.borrow() {
            return;
        }
        if !state.swallows() {
            let _ = outer.send_to(&bytes[..length], client).await;
        }
    }
}

impl State {
    fn swallows(&self) -> bool {
        let percent = self.udp_loss_percent.load(Ordering::Relaxed);
        let step = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = (step ^ (step >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let is_lost = (mixed >> 33) % 100 < percent;
        is_lost || self.udp_is_closed.load(Ordering::Relaxed) || *self.stalled.borrow()
    }
}
