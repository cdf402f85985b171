//! Save files.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError};

use super::guard;
use super::pointers::{Buffer, Out, text};
use crate::failure::{Failure, Status};
use crate::handles::{self, Object};
use crate::save::Save;

fn with_save<R>(save: u64, read: impl FnOnce(&mut Save) -> Result<R, Failure>) -> Result<R, Failure> {
    let save = handles::get::<Mutex<Save>>(save)?;
    let mut save = save.lock().unwrap_or_else(PoisonError::into_inner);
    read(&mut save)
}

/// Opens a save file, and stores its handle in `save`. The file is read chunk by chunk, by `nowcast_save_next`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_save_open(path: *const c_char, save: *mut u64) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let (path, save) = unsafe { (text("path", path)?, Out::new("save", save)?) };
        save.set(handles::add(Object::Save(Arc::new(Mutex::new(Save::open(path)?))))?);
        Ok(())
    })
}

/// Reads the next chunk, and stores the number of its rows in `rows`. Returns `NOWCAST_STATUS_CLOSED` after the last chunk, and
/// `NOWCAST_STATUS_INVALID_DATA` if the file is damaged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_save_next(save: u64, rows: *mut usize) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let rows = unsafe { Out::new("rows", rows) }?;
        rows.set(with_save(save, Save::next_chunk)?);
        Ok(())
    })
}

/// Copies the shape of the rows of this chunk in schema notation, for example `Pose { x: f32, y: f32 }`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_save_shape(
    save: u64,
    shape: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(shape.cast::<u8>(), capacity, length) }?;
        with_save(save, |save| buffer.set_text(save.shape()))
    })
}

/// Copies row `row` of this chunk as JSON, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_save_row(
    save: u64,
    row: usize,
    json: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(json.cast::<u8>(), capacity, length) }?;
        with_save(save, |save| buffer.set_text(&save.row(row)?))
    })
}

/// Copies the data about the file as JSON; `null` if the file has none, or before the first chunk was read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_save_about(
    save: u64,
    json: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: rule "Pointers" of the header.
        let buffer = unsafe { Buffer::new(json.cast::<u8>(), capacity, length) }?;
        with_save(save, |save| buffer.set_text(&save.about()))
    })
}
