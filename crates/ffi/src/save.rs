//! Save files, chunk by chunk.

use std::fs::File;
use std::io::BufReader;

use nowcast_wire::save::{FileReader, SaveError};
use nowcast_wire::{Limits, Value};

use crate::describe::json;
use crate::failure::{Failure, Status};

/// A save file that is being read.
pub struct Save {
    reader: FileReader<BufReader<File>>,
    shape: String,
    rows: Vec<Value>,
}

fn failure(error: &SaveError) -> Failure {
    Failure::new(Status::InvalidData, error.to_string())
}

impl Save {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn open(path: &str) -> Result<Self, Failure> {
        let file = File::open(path)
            .map_err(|error| Failure::new(Status::NotFound, format!("cannot open {path}: {error}")))?;
        let reader = FileReader::new(BufReader::new(file), Limits::FILE).map_err(|error| failure(&error))?;
        Ok(Self { reader, shape: String::new(), rows: Vec::new() })
    }

    /// Reads the next chunk, and returns the number of its rows.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn next_chunk(&mut self) -> Result<usize, Failure> {
        (self.shape, self.rows) = Default::default();
        let chunk = self.reader.next_chunk().map_err(|error| failure(&error))?;
        let chunk = chunk.ok_or_else(|| Failure::new(Status::Closed, "the file has no further chunk"))?;
        self.rows = chunk.decode_values().map_err(|error| failure(&error))?;
        self.shape = chunk.shape().to_string();
        Ok(self.rows.len())
    }

    /// The shape of the rows of this chunk, in schema notation.
    pub fn shape(&self) -> &str {
        &self.shape
    }

    /// The rows of this chunk.
    pub fn rows(&self) -> &[Value] {
        &self.rows
    }

    /// A row of this chunk as JSON.
    ///
    /// # Errors
    /// [`Failure`], with the status that `nowcast.h` states.
    pub fn row(&self, index: usize) -> Result<String, Failure> {
        let missing =
            || Failure::argument(format!("row {index} of {}: call nowcast_save_next first", self.rows.len()));
        Ok(json(self.rows.get(index).ok_or_else(missing)?.clone()))
    }

    /// The data about the file as JSON; `null` if the file has none or it was not read yet.
    pub fn about(&self) -> String {
        json(self.reader.about().cloned().unwrap_or_default())
    }
}
