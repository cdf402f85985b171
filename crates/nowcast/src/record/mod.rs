//! Records session packets in files that Wireshark, tshark and `nowcast play` read.
//!
//! The files have the format pcapng. Each packet is recorded as an exported PDU of the dissector `nowcast`
//! (`spec/wireshark/nowcast.lua`): the bytes of the session, without the encryption of the carrier.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use nowcast::record::{PacketRecorder, Recording};
//! use nowcast::{CarrierKind, Connector, ListenConfig, Listener};
//!
//! let listener = Listener::bind(ListenConfig::loopback(0)).await?;
//! let mut service = listener.advertise("tracker").await?;
//!
//! # let path = std::env::temp_dir().join(format!("nowcast-doc-{}.pcapng", std::process::id()));
//! let recorder = PacketRecorder::create(&path, 64 << 20)?;
//! let connector = Connector::new().carriers([CarrierKind::WebSocket]).layer(&recorder);
//! let channel = connector.connect(&format!("nowcast://localhost:{}/tracker", listener.port())).await?;
//! # let server = service.accept().await?;
//! channel.leave(0, "done").await;
//! drop(connector);
//! assert!(recorder.finish()?.packets > 2);
//! for packet in Recording::open(&path)?.packets() {
//!     println!("{:?}", packet?.bytes);
//! }
//! # std::fs::remove_file(&path)?;
//! # Ok(())
//! # }
//! ```

mod carrier;
mod pcapng;
mod reader;
mod redact;

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

pub use reader::{Recording, RecordingError};
pub use redact::FindSecret;

use carrier::RecordedCarrier;
use nowcast_engine::carrier::{Carrier, CarrierKind, CarrierLayer};

/// Maximum packets that wait for the file. Further packets are left out, and counted.
const WAITING_MAX: usize = 16_384;

/// Time after which recorded packets are in the file.
const FLUSH: Duration = Duration::from_millis(500);

/// A recorded packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPacket {
    /// Time since 1970.
    pub time: Duration,
    /// The number of the carrier in the record, from 1. A session that continues on another carrier has several.
    pub carrier: u32,
    /// The kind of the carrier.
    pub kind: CarrierKind,
    /// Whether the recording program received the packet.
    pub is_received: bool,
    /// The bytes of the packet.
    pub bytes: Bytes,
}

/// Counts of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordFigures {
    /// Packets in the file.
    pub packets: u64,
    /// Packets that were left out, because the file was full or the disk too slow.
    pub left_out: u64,
}

/// Records the packets of all carriers of a [`Connector`](crate::Connector) or an [`AcceptConfig`](crate::AcceptConfig). A thread writes the file,
/// so no connection waits for the disk. Clones share one file.
#[derive(Clone)]
pub struct PacketRecorder {
    shared: Arc<Shared>,
}

struct Shared {
    sender: Mutex<Option<SyncSender<RecordedPacket>>>,
    writer: Mutex<Option<JoinHandle<io::Result<()>>>>,
    carriers: AtomicU32,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    packets: AtomicU64,
    left_out: AtomicU64,
}

impl PacketRecorder {
    /// Creates the file, which other users of the machine cannot read on Unix. Packets beyond `bytes_max` are left out. The tokens
    /// that resume sessions are replaced by zeros.
    ///
    /// # Errors
    /// Fails if the file cannot be created, or if it exists: records are not overwritten.
    pub fn create(path: &Path, bytes_max: u64) -> io::Result<Self> {
        Self::create_without(path, bytes_max, |_| None)
    }

    /// Like [`create`](Self::create), but also replaces the secrets in the events of the application by zeros.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    pub fn create_without(path: &Path, bytes_max: u64, find_secret: FindSecret) -> io::Result<Self> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = BufWriter::new(options.open(path)?);
        let head = pcapng::head();
        file.write_all(&head)?;
        file.flush()?;
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let left = bytes_max.saturating_sub(head.len() as u64);
        let writer = std::thread::Builder::new()
            .name("packet record".to_owned())
            .spawn(move || write(file, &receiver, left, find_secret, &counted))?;
        Ok(Self {
            shared: Arc::new(Shared {
                sender: Mutex::new(Some(sender)),
                writer: Mutex::new(Some(writer)),
                carriers: AtomicU32::new(0),
                counts,
            }),
        })
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn figures(&self) -> RecordFigures {
        let Counts { packets, left_out } = &*self.shared.counts;
        RecordFigures { packets: packets.load(Ordering::Relaxed), left_out: left_out.load(Ordering::Relaxed) }
    }

    /// Ends the record. Later packets are left out.
    ///
    /// # Errors
    /// Fails if the file could not be written.
    pub fn finish(&self) -> io::Result<RecordFigures> {
        drop(lock(&self.shared.sender).take());
        match lock(&self.shared.writer).take().map(JoinHandle::join) {
            None => {}
            Some(Ok(written)) => written?,
            Some(Err(_)) => return Err(io::Error::other("the thread of the record has panicked")),
        }
        Ok(self.figures())
    }

    fn record(&self, carrier: u32, kind: CarrierKind, is_received: bool, bytes: Bytes) {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let sender = lock(&self.shared.sender);
        let packet = RecordedPacket { time, carrier, kind, is_received, bytes };
        if sender.as_ref().is_none_or(|sender| sender.try_send(packet).is_err()) {
            self.shared.counts.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl CarrierLayer for PacketRecorder {
    fn wrap(&self, carrier: Box<dyn Carrier>) -> Box<dyn Carrier> {
        let number = self.shared.carriers.fetch_add(1, Ordering::Relaxed) + 1;
        Box::new(RecordedCarrier::new(carrier, self.clone(), number))
    }
}

impl std::fmt::Debug for PacketRecorder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PacketRecorder").field("figures", &self.figures()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Each statement leaves the value valid, so poisoning is ignored.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes packets until the record ends.
fn write(
    mut file: BufWriter<File>,
    receiver: &Receiver<RecordedPacket>,
    mut left: u64,
    find_secret: FindSecret,
    counts: &Counts,
) -> io::Result<()> {
    let mut block = Vec::new();
    loop {
        match receiver.recv_timeout(FLUSH) {
            Ok(mut packet) => {
                packet.bytes = redact::redact(&packet.bytes, find_secret);
                block.clear();
                pcapng::write_packet(&packet, &mut block);
                if block.len() as u64 > left {
                    // A shorter packet must not follow a packet that is left out.
                    left = 0;
                    counts.left_out.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                left -= block.len() as u64;
                file.write_all(&block)?;
                counts.packets.fetch_add(1, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => file.flush()?,
            Err(RecvTimeoutError::Disconnected) => return file.flush(),
        }
    }
}
