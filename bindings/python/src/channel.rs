//! Connecting, channels, messages.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use nowcast::blocking;
use nowcast::{CommandId, Key, LaneId, ListenConfig, MessageKind, Received};
use nowcast_ffi::abi::process::ParentsOnly;
use nowcast_ffi::channel::{ChannelObject, Wait};
use nowcast_ffi::failure::{Failure, Status};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView};
use tokio::runtime::Runtime;

use crate::{raise, wait};

/// Interval between two attempts to connect.
const RETRY: Duration = Duration::from_millis(10);

/// The one thread that completes futures of asyncio.
fn runtime() -> PyResult<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if RUNTIME.get().is_none() {
        let built = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        // Another thread may have set one before.
        let _ = RUNTIME.set(built?);
    }
    RUNTIME.get().ok_or_else(|| PyValueError::new_err("no runtime"))
}

/// Calls `use_bytes` with the bytes of an object that has them: bytes, a bytearray, a numpy array.
fn with_bytes<R>(data: &Bound<'_, PyAny>, use_bytes: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(use_bytes(bytes.as_bytes()));
    }
    Ok(use_bytes(&buffer(data)?.to_vec(data.py())?))
}

/// Returns the memory of an object as bytes.
fn buffer(data: &Bound<'_, PyAny>) -> PyResult<PyBuffer<u8>> {
    PyBuffer::get(&PyMemoryView::from(data)?.call_method1("cast", ("B",))?)
}

/// A received message.
#[pyclass(frozen, module = "nowcast")]
pub(crate) struct Message {
    received: Received,
    /// The bytes of the message, or the buffer into which they were received.
    #[pyo3(get)]
    data: Py<PyAny>,
}

#[pymethods]
impl Message {
    /// "state", "event", "command" or "replication".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.received.kind {
            MessageKind::State { .. } => "state",
            MessageKind::Event => "event",
            MessageKind::Command(_) => "command",
            MessageKind::Replication { .. } => "replication",
        }
    }

    /// The lane of the message, from 0.
    #[getter]
    fn lane(&self) -> u8 {
        self.received.lane.number()
    }

    /// The key of a state; None for all other messages.
    #[getter]
    fn key(&self) -> Option<u64> {
        match self.received.kind {
            MessageKind::State { key } => Some(key.raw()),
            _ => None,
        }
    }

    /// The present age of the value in seconds.
    #[getter]
    fn age(&self) -> f64 {
        self.received.produced_at.elapsed().as_secs_f64()
    }

    /// The bytes as a numpy array of this type, without a copy. The array cannot be written.
    #[pyo3(signature = (dtype="u1"))]
    fn array<'py>(&self, py: Python<'py>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("frombuffer", (&self.data, dtype))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.data.bind(py).len()
    }

    fn __bytes__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(PyBytes::new(py, &with_bytes(self.data.bind(py), <[u8]>::to_vec)?).into_any().unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (kind, lane, length) = (self.kind(), self.lane(), self.__len__(py)?);
        let key = self.key().map_or(String::new(), |key| format!(" {key}"));
        Ok(format!("<{kind}{key} on lane {lane}, {length} items>"))
    }
}

/// A two-way connection to another program.
#[pyclass(frozen, module = "nowcast")]
pub(crate) struct Channel(pub(crate) ParentsOnly<Arc<ChannelObject>>);

impl From<nowcast::Channel> for Channel {
    fn from(channel: nowcast::Channel) -> Self {
        Self(ParentsOnly::new(Arc::new(channel.into())))
    }
}

impl Channel {
    fn receive_with(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        mut take: impl FnMut(&[u8]) -> PyResult<Py<PyAny>>,
    ) -> PyResult<Message> {
        nowcast_ffi::abi::process::check().map_err(raise)?;
        loop {
            let mut wrong = None;
            let received = self.0.receive(Wait::Never, |received, bytes| match take(bytes) {
                Ok(data) => Ok(Message { received: *received, data }),
                Err(error) => {
                    wrong = Some(error);
                    Err(Failure::new(Status::BufferTooSmall, "the message does not fit"))
                }
            });
            match (received, wrong) {
                (_, Some(error)) => return Err(error),
                (Err(failure), None) if failure.status == Status::TimedOut && timeout != Some(0.0) => {}
                (received, None) => return received.map_err(raise),
            }
            // The message stays in the channel until the interpreter can make an object of it.
            wait(py, timeout, |wait| {
                let keep = |_: &Received, _: &[u8]| Err::<(), _>(Failure::new(Status::BufferTooSmall, ""));
                match self.0.receive(wait, keep) {
                    Err(failure) if failure.status == Status::BufferTooSmall => Ok(()),
                    other => other,
                }
            })?;
        }
    }

    /// Runs a future in the runtime, and passes its result to `done(value, error)` in the loop.
    fn complete<F>(event_loop: Py<PyAny>, done: Py<PyAny>, future: F) -> PyResult<()>
    where
        F: Future<Output = Result<Vec<u8>, nowcast::Error>> + Send + 'static,
    {
        runtime()?.spawn(async move {
            let result = future.await;
            // At the exit of the interpreter there is nobody to tell, and a closed loop refuses the call.
            let _ = Python::try_attach(|py| {
                let nothing = py.None();
                let (value, error) = match result {
                    Ok(bytes) => (PyBytes::new(py, &bytes).into_any().unbind(), nothing),
                    Err(error) => (nothing, raise(error.into()).into_value(py).into_any()),
                };
                event_loop.call_method1(py, "call_soon_threadsafe", (done, value, error))
            });
        });
        Ok(())
    }
}

#[pymethods]
impl Channel {
    /// Puts the newest value of `key`, at least 1. It replaces a value of the key that has not left. Waits only if the key is new
    /// and the lane full.
    #[pyo3(signature = (key, data, *, lane=0, timeout=None))]
    fn state(
        &self,
        py: Python<'_>,
        key: u64,
        data: &Bound<'_, PyAny>,
        lane: u8,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        nowcast_ffi::abi::process::check().map_err(raise)?;
        let key = Key::from_raw(key);
        let put = |bytes: &[u8]| self.0.lane(lane).and_then(|lane| Ok(lane.try_state(key, bytes)?));
        match with_bytes(data, put)? {
            Err(failure) if failure.status == Status::TimedOut && timeout != Some(0.0) => {
                let (bytes, lane) = (with_bytes(data, <[u8]>::to_vec)?, self.0.channel().lane(lane));
                wait(py, timeout, |wait| wait.run(lane.state(key, &bytes)))
            }
            done => done.map_err(raise),
        }
    }

    /// Puts an event: delivered exactly once, in order, and after the states that were put before it. Waits while the lane is full.
    #[pyo3(signature = (data, *, lane=0, timeout=None))]
    fn event(&self, py: Python<'_>, data: &Bound<'_, PyAny>, lane: u8, timeout: Option<f64>) -> PyResult<()> {
        nowcast_ffi::abi::process::check().map_err(raise)?;
        let put = |bytes: &[u8]| self.0.lane(lane).and_then(|lane| Ok(lane.try_event(bytes)?));
        match with_bytes(data, put)? {
            Err(failure) if failure.status == Status::TimedOut && timeout != Some(0.0) => {
                let (bytes, lane) = (with_bytes(data, <[u8]>::to_vec)?, self.0.channel().lane(lane));
                wait(py, timeout, |wait| wait.run(lane.event(&bytes)))
            }
            done => done.map_err(raise),
        }
    }

    /// Puts a command, and waits for its reply.
    #[pyo3(signature = (data, *, timeout=5.0, lane=0))]
    fn command<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        timeout: f64,
        lane: u8,
    ) -> PyResult<Bound<'py, PyBytes>> {
        nowcast_ffi::abi::process::check().map_err(raise)?;
        let bytes = with_bytes(data, <[u8]>::to_vec)?;
        let timeout = seconds(timeout)?;
        let command = || Ok(blocking::wait(self.0.lane(lane)?.command(&bytes, timeout))?);
        let reply = py.detach(command).map_err(raise)?;
        Ok(PyBytes::new(py, &reply))
    }

    /// Answers a command.
    fn reply(&self, py: Python<'_>, command: &Message, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let MessageKind::Command(id) = command.received.kind else {
            return Err(PyValueError::new_err("only commands have replies"));
        };
        let id = CommandId::from_parts(id.lane(), id.number());
        let bytes = with_bytes(data, <[u8]>::to_vec)?;
        wait(py, None, |wait| wait.run(self.0.channel().reply(id, &bytes)))
    }

    /// Receives the next message. Raises TimeoutError after `timeout` seconds; None waits without a limit.
    #[pyo3(signature = (timeout=None))]
    fn receive(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Message> {
        self.receive_with(py, timeout, |bytes| Ok(PyBytes::new(py, bytes).into_any().unbind()))
    }

    /// Receives the next message into a buffer of exactly its size, such as a numpy array. A message of another size raises
    /// ValueError, and the next call receives it again.
    #[pyo3(signature = (into, timeout=None))]
    fn receive_into(
        &self,
        py: Python<'_>,
        into: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Message> {
        let place = buffer(into)?;
        self.receive_with(py, timeout, |bytes| {
            if bytes.len() != place.item_count() {
                let (message, place) = (bytes.len(), place.item_count());
                return Err(PyValueError::new_err(format!(
                    "the message has {message} bytes, and the buffer {place}"
                )));
            }
            place.copy_from_slice(py, bytes)?;
            Ok(into.clone().unbind())
        })
    }

    /// Receives the next message if there is one. Otherwise, returns None.
    fn try_receive(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        match self.receive(py, Some(0.0)) {
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyTimeoutError>(py) => Ok(None),
            received => received.map(Some),
        }
    }

    /// A descriptor that is readable while messages wait. It belongs to the channel.
    fn fileno(&self) -> PyResult<i32> {
        self.0.descriptor().map_err(raise)
    }

    /// Waits until all messages put before have arrived at the peer.
    #[pyo3(signature = (timeout=None))]
    fn drained(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        wait(py, timeout, |wait| wait.run(self.0.channel().drained()))
    }

    /// Closes the channel at once; messages that have not arrived are lost.
    #[pyo3(signature = (code=0, reason=""))]
    fn close(&self, code: u32, reason: &str) -> PyResult<()> {
        if (1..64).contains(&code) {
            return Err(PyValueError::new_err(
                "codes 1 to 63 belong to the protocol: use 0, or 64 and above",
            ));
        }
        self.0.channel().close(code, reason);
        Ok(())
    }

    /// The status as a dictionary: carrier, is_open, rtt in seconds, loss, superseded, resent, resumed.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = self.0.channel().status();
        let entries = PyDict::new(py);
        entries.set_item("carrier", status.carrier.map(|carrier| format!("{carrier:?}")))?;
        entries.set_item("is_open", status.is_open)?;
        entries.set_item("rtt", status.rtt.map(|rtt| rtt.as_secs_f64()))?;
        entries.set_item("loss", status.loss)?;
        entries.set_item("superseded", status.superseded)?;
        entries.set_item("resent", status.resent)?;
        entries.set_item("resumed", status.resumed)?;
        Ok(entries)
    }

    /// Puts a command, and passes the reply to `done(value, error)` in the loop.
    fn _command(
        &self,
        event_loop: Py<PyAny>,
        done: Py<PyAny>,
        data: &Bound<'_, PyAny>,
        timeout: f64,
        lane: u8,
    ) -> PyResult<()> {
        let (bytes, timeout) = (with_bytes(data, <[u8]>::to_vec)?, seconds(timeout)?);
        let lane = self.0.channel().lane(LaneId::new(lane));
        Self::complete(event_loop, done, async move { lane.command(&bytes, timeout).await })
    }

    /// Puts a state (or, without a key, an event) as soon as there is space, and calls `done` in the loop.
    fn _put(
        &self,
        event_loop: Py<PyAny>,
        done: Py<PyAny>,
        key: Option<u64>,
        data: &Bound<'_, PyAny>,
        lane: u8,
    ) -> PyResult<()> {
        let bytes = with_bytes(data, <[u8]>::to_vec)?;
        let lane = self.0.channel().lane(LaneId::new(lane));
        Self::complete(event_loop, done, async move {
            match key {
                Some(key) => lane.state(Key::from_raw(key), &bytes).await?,
                None => lane.event(&bytes).await?,
            }
            Ok(Vec::new())
        })
    }

    /// Calls `done` in the loop when all messages put before have arrived.
    fn _drained(&self, event_loop: Py<PyAny>, done: Py<PyAny>) -> PyResult<()> {
        let channel = self.0.channel().clone();
        Self::complete(event_loop, done, async move {
            channel.drained().await?;
            Ok(Vec::new())
        })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Waits up to 5 s until all messages have arrived, and closes the channel.
    fn __exit__(
        &self,
        py: Python<'_>,
        _type: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        // A channel that ended before is closed already.
        let _ = self.drained(py, Some(5.0));
        self.close(0, "")
    }
}

fn seconds(timeout: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(timeout).map_err(|_| PyValueError::new_err("a timeout is at least 0 seconds"))
}

/// Connects to a name on this machine, or to `nowcast://HOST:PORT/NAME`. Tries again until the timeout.
#[pyfunction]
#[pyo3(signature = (address, timeout=0.0))]
pub(crate) fn connect(py: Python<'_>, address: &str, timeout: f64) -> PyResult<Channel> {
    nowcast_ffi::abi::process::check().map_err(raise)?;
    let deadline = Instant::now() + seconds(timeout)?;
    loop {
        match py.detach(|| blocking::wait(nowcast::connect(address))) {
            Ok(channel) => return Ok(channel.into()),
            Err(error) => {
                let failure = Failure::from(error);
                if failure.status != Status::ConnectFailed || Instant::now() >= deadline {
                    return Err(raise(failure));
                }
                py.check_signals()?;
                py.detach(|| std::thread::sleep(RETRY));
            }
        }
    }
}

/// An advertised name.
#[pyclass(frozen, module = "nowcast")]
pub(crate) struct Service(ParentsOnly<Mutex<nowcast::Service>>);

#[pymethods]
impl Service {
    /// Waits for the next program that connects.
    #[pyo3(signature = (timeout=None))]
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Channel> {
        let accepted = wait(py, timeout, |wait| {
            wait.run(self.0.lock().unwrap_or_else(PoisonError::into_inner).accept())
        })?;
        Ok(accepted.into())
    }
}

/// Advertises a name to the programs of this user on this machine.
#[pyfunction]
pub(crate) fn advertise(name: &str) -> PyResult<Service> {
    nowcast_ffi::abi::process::check().map_err(raise)?;
    let service = blocking::advertise(name).map_err(|error| PyConnectionError::new_err(error.to_string()))?;
    Ok(Service(ParentsOnly::new(Mutex::new(service))))
}

/// An endpoint for other machines and browsers.
#[pyclass(frozen, module = "nowcast")]
pub(crate) struct Listener(ParentsOnly<nowcast::Listener>);

#[pymethods]
impl Listener {
    /// The port.
    #[getter]
    fn port(&self) -> u16 {
        self.0.port()
    }

    /// Advertises a name.
    fn advertise(&self, py: Python<'_>, name: &str) -> PyResult<Service> {
        let service = py.detach(|| blocking::wait(self.0.advertise(name)));
        let service = service.map_err(|error| PyConnectionError::new_err(error.to_string()))?;
        Ok(Service(ParentsOnly::new(Mutex::new(service))))
    }

    /// Publishes under a name for any number of subscribers, which call `connect`.
    fn publish(&self, py: Python<'_>, name: &str) -> PyResult<Publisher> {
        let publisher = py.detach(|| blocking::wait(self.0.publish(name)));
        let publisher = publisher.map_err(|error| PyConnectionError::new_err(error.to_string()))?;
        Ok(Publisher(ParentsOnly::new(publisher)))
    }
}

/// Opens an endpoint. The default is this machine only; other machines need `anonymous=True`.
#[pyfunction]
#[pyo3(signature = (host="127.0.0.1", port=0, *, anonymous=false))]
pub(crate) fn listen(py: Python<'_>, host: &str, port: u16, anonymous: bool) -> PyResult<Listener> {
    nowcast_ffi::abi::process::check().map_err(raise)?;
    let host = host.parse::<std::net::IpAddr>().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut config = ListenConfig::on([host], port);
    config.entry.anonymous = anonymous;
    let bound = py.detach(|| blocking::wait(nowcast::Listener::bind(config)));
    let bound = bound.map_err(|error| PyConnectionError::new_err(error.to_string()))?;
    Ok(Listener(ParentsOnly::new(bound)))
}

/// Puts messages for all subscribers of a name.
#[pyclass(frozen, module = "nowcast")]
pub(crate) struct Publisher(ParentsOnly<nowcast::Publisher>);

#[pymethods]
impl Publisher {
    /// Puts the newest value of `key`, at least 1, for all subscribers. Never waits.
    fn state(&self, key: u64, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let put = with_bytes(data, |bytes| self.0.state(Key::from_raw(key), bytes))?;
        put.map_err(|error| raise(error.into()))
    }

    /// Puts an event for all present subscribers. Never waits.
    fn event(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        with_bytes(data, |bytes| self.0.event(bytes))?.map_err(|error| raise(error.into()))
    }

    /// The number of subscribers.
    #[getter]
    fn subscribers(&self) -> usize {
        self.0.subscribers()
    }
}
