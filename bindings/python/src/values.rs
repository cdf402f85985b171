//! Values, save files, and the codec of dataclasses.

use nowcast_ffi::failure::{Failure, Status};
use nowcast_ffi::save::Save;
use nowcast_wire::{Effort, Shape, Value, decode_value, encode_value, schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::raise;

/// Maximum nesting of a value from Python.
const DEPTH_MAX: usize = 64;

/// Converts a value to objects of Python. Times become seconds, and maps become dictionaries.
pub(crate) fn to_python(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Nil => py.None(),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any().unbind(),
        Value::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        Value::Uint(value) => value.into_pyobject(py)?.into_any().unbind(),
        Value::F32(value) => PyFloat::new(py, f64::from(*value)).into_any().unbind(),
        Value::F64(value) => PyFloat::new(py, *value).into_any().unbind(),
        Value::Text(text) => PyString::new(py, text).into_any().unbind(),
        Value::Bytes(bytes) | Value::Ext(_, bytes) => PyBytes::new(py, bytes).into_any().unbind(),
        Value::Time(seconds, nanoseconds) => {
            PyFloat::new(py, *seconds as f64 + f64::from(*nanoseconds) / 1e9).into_any().unbind()
        }
        Value::List(items) => {
            let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any().unbind()
        }
        Value::Map(pairs) => {
            let entries = PyDict::new(py);
            for (key, value) in pairs {
                entries.set_item(to_python(py, key)?, to_python(py, value)?)?;
            }
            entries.into_any().unbind()
        }
    })
}

/// Converts an object of Python to a value.
pub(crate) fn from_python(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        return Err(PyValueError::new_err(format!("the value is nested more than {DEPTH_MAX} deep")));
    }
    let list = |items: Vec<Bound<'_, PyAny>>| {
        items.iter().map(|item| from_python(item, depth + 1)).collect::<PyResult<Vec<_>>>().map(Value::List)
    };
    if object.is_none() {
        Ok(Value::Nil)
    } else if let Ok(value) = object.cast::<PyBool>() {
        Ok(Value::Bool(value.is_true()))
    } else if object.is_instance_of::<PyInt>() {
        match object.extract::<i64>() {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => Ok(object.extract::<u64>()?.into()),
        }
    } else if object.is_instance_of::<PyFloat>() {
        Ok(Value::F64(object.extract()?))
    } else if object.is_instance_of::<PyString>() {
        Ok(Value::Text(object.extract()?))
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        Ok(Value::Bytes(bytes.as_bytes().to_vec()))
    } else if let Ok(items) = object.cast::<PyList>() {
        list(items.iter().collect())
    } else if let Ok(items) = object.cast::<PyTuple>() {
        list(items.iter().collect())
    } else if let Ok(entries) = object.cast::<PyDict>() {
        let pairs = entries.iter();
        pairs
            .map(|(key, value)| Ok((from_python(&key, depth + 1)?, from_python(&value, depth + 1)?)))
            .collect::<PyResult<Vec<_>>>()
            .map(Value::Map)
    } else {
        Err(PyTypeError::new_err(format!("a value of the type {} cannot be sent", object.get_type().name()?)))
    }
}

/// Reads all rows of a save file as dictionaries.
#[pyfunction]
pub(crate) fn read_save(py: Python<'_>, path: &str) -> PyResult<Vec<Py<PyAny>>> {
    let mut save = Save::open(path).map_err(|failure| match failure.status {
        Status::NotFound => pyo3::exceptions::PyFileNotFoundError::new_err(failure.to_string()),
        _ => raise(failure),
    })?;
    let mut rows = Vec::new();
    loop {
        match py.detach(|| save.next_chunk()) {
            Ok(_) => {}
            Err(Failure { status: Status::Closed, .. }) => return Ok(rows),
            Err(failure) => return Err(raise(failure)),
        }
        for row in save.rows() {
            rows.push(to_python(py, row)?);
        }
    }
}

/// Converts between dictionaries and bodies of a type (spec/WIRE.md). The schema is text such as `struct Pose { x: f32 }`; its
/// first type is that of the messages.
#[pyclass(frozen, module = "nowcast")]
pub(crate) struct Codec(Shape);

#[pymethods]
impl Codec {
    #[new]
    fn new(schema: &str) -> PyResult<Self> {
        let shapes = schema::parse(schema).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let first = shapes.into_iter().next();
        Ok(Self(first.ok_or_else(|| PyValueError::new_err("the schema has no type"))?))
    }

    /// Returns the body of a value.
    fn encode<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let value = from_python(value, 0)?;
        let mut body = Vec::new();
        encode_value(&self.0, &value, Effort::Fast, &mut body)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &body))
    }

    /// Reads a body that exactly this type wrote.
    fn decode(&self, py: Python<'_>, body: &[u8]) -> PyResult<Py<PyAny>> {
        let value = decode_value(&self.0, body).map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &value)
    }

    /// The shape in schema notation.
    #[getter]
    fn shape(&self) -> String {
        self.0.to_string()
    }
}
