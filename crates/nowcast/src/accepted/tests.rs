use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use nowcast_session::packet::{Hello, VERSION};
use nowcast_session::{Config, Entropy, Limits, NoSource, Session};
use tokio::sync::mpsc;
use tokio::time::timeout;

use nowcast_engine::carrier::{Carrier, CarrierKind, Ended, Ending};
use nowcast_engine::{AcceptConfig, clock};

use super::{Accepted, BACKLOG_MAX};
use crate::channel::Entry;

/// A carrier in memory.
struct Pipe {
    arriving: mpsc::UnboundedReceiver<Bytes>,
    leaving: mpsc::UnboundedSender<Bytes>,
}

impl Pipe {
    fn pair() -> (Pipe, Pipe) {
        let (to_one, for_one) = mpsc::unbounded_channel();
        let (to_other, for_other) = mpsc::unbounded_channel();
        (Pipe { arriving: for_one, leaving: to_other }, Pipe { arriving: for_other, leaving: to_one })
    }
}

impl Carrier for Pipe {
    fn kind(&self) -> CarrierKind {
        CarrierKind::WebTransport
    }

    fn properties(&self) -> nowcast_session::Carrier {
        nowcast_session::Carrier::DATAGRAMS
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Ended> {
        self.leaving.send(Bytes::copy_from_slice(packet)).map_err(|_| Ended::Closed)
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>> {
        self.arriving.poll_recv(context).map(|packet| packet.ok_or(Ended::Closed))
    }

    fn poll_close(&mut self, _: &mut Context<'_>, _: Ending) -> Poll<()> {
        Poll::Ready(())
    }
}

#[tokio::test]
async fn clients_that_begin_slowly_do_not_keep_out_another() {
    let (acceptor, mut accepted) = Accepted::open(AcceptConfig::default());
    let hello = Hello {
        version_min: VERSION,
        version_max: VERSION,
        nonce: [5; 8],
        clock: 1,
        limits: Limits::default(),
        resume: None,
    };
    let mut first = Vec::new();
    hello.write(&mut first);
    let mut slow = Vec::new();
    for _ in 0..=BACKLOG_MAX {
        let (mut near, far) = Pipe::pair();
        near.send(&first).unwrap();
        acceptor.hand_over(Box::new(far), Entry::default());
        near.arriving.recv().await.expect("each HELLO is answered");
        slow.push(near);
    }
    assert_eq!(acceptor.counters().sessions, slow.len());

    let (mut near, far) = Pipe::pair();
    acceptor.hand_over(Box::new(far), Entry::default());
    let mut session = Session::connect(clock::now(), Config::default(), near.properties(), Entropy([7; 48]));
    let mut packet = Vec::new();
    let opened = async {
        loop {
            while session.poll_packet(clock::now(), &mut NoSource, &mut packet) {
                near.send(&packet).unwrap();
                packet.clear();
            }
            let arrived = near.arriving.recv().await.expect("the carrier stays open");
            session.handle_packet(clock::now(), &arrived);
            assert!(!session.is_closed(), "{:?}", session.poll_notice());
        }
    };
    tokio::select! {
        channel = timeout(Duration::from_secs(10), accepted.next()) => assert!(channel.expect("in time").is_some()),
        () = opened => {}
    }
    assert_eq!(acceptor.counters().refused_busy, 0);
}
