//! Files that are replaced either completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{FileReader, FileWriter, Options, SaveError};
use crate::limits::Limits;
use crate::wire::{ReadOwned, Wire};

/// A file that replaces another one when it is complete. A crash at any moment leaves the old file or the new one.
pub struct AtomicFile {
    file: BufWriter<File>,
    temporary: PathBuf,
    target: PathBuf,
    committed: bool,
}

impl AtomicFile {
    /// Creates a new file next to `target`. `target` is not changed yet.
    ///
    /// # Errors
    /// Fails if no file can be made in the folder of `target`.
    pub fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or_else(|| io::Error::other("not the path of a file"))?;
        let mut temporary = name.to_owned();
        // Two processes that save at the same time must not write to the same file.
        temporary.push(format!(".{}.new", std::process::id()));
        let temporary = target.with_file_name(temporary);
        let file = BufWriter::new(File::create(&temporary)?);
        Ok(Self { file, temporary, target: target.to_owned(), committed: false })
    }

    /// Flushes the file to the disk, and renames it to the target.
    ///
    /// # Errors
    /// Fails if the file cannot be flushed or renamed. `target` is then unchanged.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        self.committed = true;
        // The new name is durable only after its directory is flushed.
        #[cfg(unix)]
        {
            let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // The unfinished file is useless. If it cannot be removed, no action would help.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Returns one value as the bytes of a save file.
///
/// # Errors
/// Fails if this build does not have the compression.
pub fn to_vec<T: Wire>(value: &T, options: Options) -> Result<Vec<u8>, SaveError> {
    let mut writer = FileWriter::new(Vec::new(), options)?;
    writer.write(std::slice::from_ref(value))?;
    writer.finish()
}

/// Saves one value, and replaces the previous file.
///
/// # Errors
/// Fails if the file cannot be written, or if this build does not have the compression. The previous file is then unchanged.
pub fn to_file<T: Wire>(path: &Path, value: &T, options: Options) -> Result<(), SaveError> {
    let mut writer = FileWriter::new(AtomicFile::create(path)?, options)?;
    writer.write(std::slice::from_ref(value))?;
    writer.finish()?.commit()?;
    Ok(())
}

/// Reads the only value of a save file in memory.
///
/// # Errors
/// Fails if the bytes are not a save file, if they are damaged, or if they do not hold exactly one value of this type.
pub fn from_slice<T: ReadOwned>(bytes: &[u8]) -> Result<T, SaveError> {
    read_one(FileReader::new(bytes, Limits::FILE)?)
}

/// Loads one value that was saved by any version of the type.
///
/// # Errors
/// Fails if the file cannot be read, is not a save file, is damaged, or does not hold exactly one value of this type.
pub fn from_file<T: ReadOwned>(path: &Path) -> Result<T, SaveError> {
    read_one(FileReader::new(BufReader::new(File::open(path)?), Limits::FILE)?)
}

fn read_one<T: ReadOwned, R: io::Read>(mut reader: FileReader<R>) -> Result<T, SaveError> {
    let mut value = None;
    while let Some(chunk) = reader.next_chunk()? {
        if value.is_none() && chunk.rows == 1 {
            value = chunk.decode::<T>()?.pop();
        }
    }
    match (value, reader.rows()) {
        (Some(value), 1) => Ok(value),
        (_, found) => Err(SaveError::NotOne { found }),
    }
}
