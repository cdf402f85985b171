//! A client of a world.

use std::sync::Arc;

use nowcast_ffi::abi::process::ParentsOnly;
use nowcast_ffi::channel::Wait;
use nowcast_ffi::failure::Status;
use nowcast_ffi::world::{self, UpdateKind};
use nowcast_wire::Value;
use nowcast_world::{EntityId, Input, PlayerId};
use nowcast_world_client::Join;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::channel::Channel;
use crate::values::{from_python, to_python};
use crate::{raise, wait};

/// A client of a world.
#[pyclass(frozen, module = "nowcast")]
pub(crate) struct World(ParentsOnly<Arc<world::World>>);

fn name(kind: UpdateKind) -> &'static str {
    match kind {
        UpdateKind::Welcome => "welcome",
        UpdateKind::Defined => "defined",
        UpdateKind::Entity => "entity",
        UpdateKind::Hidden => "hidden",
        UpdateKind::Gone => "gone",
        UpdateKind::Player => "player",
        UpdateKind::Left => "left",
        UpdateKind::Screen => "screen",
        UpdateKind::Moved => "moved",
        UpdateKind::Event => "event",
        UpdateKind::ActionRefused => "action_refused",
        UpdateKind::Done => "done",
        UpdateKind::Notice => "notice",
        UpdateKind::Granted => "granted",
        UpdateKind::Denied => "denied",
        UpdateKind::Chat => "chat",
        UpdateKind::Other => "other",
    }
}

type Update = (&'static str, u32, Py<PyAny>);

#[pymethods]
impl World {
    /// Joins the world at the other end of a channel, which the world uses from then on. `key` is 16 random bytes by which the
    /// client continues as the same player later.
    #[new]
    #[pyo3(signature = (channel, name, *, program=false, predict=false, key=None))]
    fn new(
        channel: &Channel,
        name: &str,
        program: bool,
        predict: bool,
        key: Option<&[u8]>,
    ) -> PyResult<Self> {
        let mut join = Join::new(name);
        if let Some(key) = key {
            let key = key.try_into().map_err(|_| PyValueError::new_err("a key has 16 bytes"))?;
            join = join.key(key);
        }
        if program {
            join = join.program();
        }
        let joined = world::World::join(Arc::clone(&channel.0), join, predict).map_err(raise)?;
        Ok(Self(ParentsOnly::new(Arc::new(joined))))
    }

    /// Handles the next message of the server. Returns the kind of the change, its number, and its content; None if there is no
    /// message within the timeout.
    #[pyo3(signature = (timeout=0.0))]
    fn update(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Update>> {
        let updated = match self.0.update(Wait::Never) {
            Err(failure) if failure.status == Status::TimedOut => {
                if timeout == Some(0.0) {
                    return Ok(None);
                }
                match wait(py, timeout, |wait| self.0.update(wait)) {
                    Err(error) if error.is_instance_of::<pyo3::exceptions::PyTimeoutError>(py) => {
                        return Ok(None);
                    }
                    updated => updated?,
                }
            }
            updated => updated.map_err(raise)?,
        };
        let (kind, id) = updated;
        let content = self.0.lock().newest_content();
        Ok(Some((name(kind), id, to_python(py, &content)?)))
    }

    /// The number of the local player; None before the welcome.
    #[getter]
    fn player(&self) -> Option<u32> {
        self.0.lock().view().welcome().map(|welcome| welcome.player.0)
    }

    /// The entity that the player moves.
    #[getter]
    fn avatar(&self) -> Option<u32> {
        self.0.lock().view().avatar().map(|avatar| avatar.0)
    }

    /// The ids of the entities in sight.
    fn entities(&self) -> Vec<u32> {
        self.0.lock().view().entities().map(|(id, _)| id.0).collect()
    }

    /// The names of the players in the room, by number.
    fn players<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let entries = PyDict::new(py);
        for (id, player) in self.0.lock().view().players() {
            entries.set_item(id.0, &player.name)?;
        }
        Ok(entries)
    }

    /// The entity that a player moves.
    fn avatar_of(&self, player: u32) -> Option<u32> {
        self.0.lock().view().player(PlayerId(player)).and_then(|player| player.avatar)
    }

    /// An entity as a dictionary: kind, parent, owner, scale, position, rotation, attributes.
    fn entity<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyDict>> {
        let state = self.0.lock();
        let view = state.view();
        let entity = view.entity(EntityId(id));
        let entity = entity.ok_or_else(|| PyKeyError::new_err(format!("entity {id} is not in sight")))?;
        let pose = view.transform(EntityId(id)).map(|pose| (pose.position, pose.rotation));
        let pose = pose.or_else(|| entity.entity.place.map(|place| (place.position, place.rotation)));
        let entries = PyDict::new(py);
        entries.set_item("kind", view.kind(entity.entity.kind).map(|kind| &kind.name))?;
        entries.set_item("parent", entity.entity.parent)?;
        entries.set_item("owner", entity.entity.owner)?;
        entries.set_item("scale", entity.entity.scale)?;
        entries.set_item("position", pose.map(|(position, _)| position))?;
        entries.set_item("rotation", pose.map(|(_, rotation)| rotation))?;
        entries.set_item("attributes", to_python(py, &entity.attributes)?)?;
        Ok(entries)
    }

    /// The newest poses of all entities that move: ids as u32, and positions and rotations as 7 f32 for each, for numpy.frombuffer.
    fn poses<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        let (mut ids, mut poses) = (Vec::new(), Vec::new());
        for (id, pose) in self.0.lock().view().transforms() {
            ids.extend_from_slice(&id.0.to_ne_bytes());
            poses.extend(pose.position.iter().chain(&pose.rotation).flat_map(|number| number.to_ne_bytes()));
        }
        (PyBytes::new(py, &ids), PyBytes::new(py, &poses))
    }

    /// Sets the input of the avatar. It applies until the next call.
    #[pyo3(signature = (forward=0.0, right=0.0, yaw=0.0, run=false, jump=false))]
    fn input(&self, forward: f32, right: f32, yaw: f32, run: bool, jump: bool) -> PyResult<()> {
        self.0.lock().input(Input { forward, right, yaw, run, jump }).map_err(raise)
    }

    /// Takes the predicted steps that are due, and returns the position of the avatar; None without an avatar. Only for clients
    /// that joined with `predict=True`.
    fn advance(&self) -> PyResult<Option<[f32; 3]>> {
        Ok(self.0.lock().advance().map_err(raise)?.position())
    }

    /// Carries out an action that the world declares. With a `number`, the server answers, and carries out a durable action once.
    #[pyo3(signature = (action, arguments=None, *, number=None))]
    fn act(&self, action: &str, arguments: Option<&Bound<'_, PyAny>>, number: Option<u32>) -> PyResult<()> {
        let arguments = arguments.map_or(Ok(Value::Nil), |arguments| from_python(arguments, 0))?;
        let state = self.0.lock();
        let sent = match number {
            Some(number) => state.client.act_once(number, action, arguments),
            None => state.client.act(action, arguments),
        };
        sent.map_err(|error| raise(error.into()))
    }

    /// Sends a line of chat to all players in the room.
    fn say(&self, line: &str) -> PyResult<()> {
        self.0.lock().client.say(line).map_err(|error| raise(error.into()))
    }
}
