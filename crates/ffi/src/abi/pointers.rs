//! Converts the pointers of a caller.

use std::ffi::{CStr, c_char};

use crate::failure::{Failure, Status};

/// Maximum length of a text argument, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

fn null(name: &str) -> Failure {
    Failure::argument(format!("the pointer `{name}` is null"))
}

/// Returns bytes of the caller. A null pointer with the length 0 means no bytes.
///
/// # Safety
/// `bytes` is null or points to `length` readable bytes that do not change during the call.
pub(super) unsafe fn input<'a>(name: &str, bytes: *const u8, length: usize) -> Result<&'a [u8], Failure> {
    match (bytes.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(name)),
        (false, length) if length > isize::MAX as usize => {
            Err(Failure::argument(format!("`{name}` cannot have {length} bytes")))
        }
        // SAFETY: the caller of this function promises the bytes, and the length was checked.
        (false, length) => Ok(unsafe { std::slice::from_raw_parts(bytes, length) }),
    }
}

/// Returns a text of the caller.
///
/// # Safety
/// `text` is null or points to text that ends with NUL and does not change during the call.
pub(super) unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller of this function promises a NUL byte.
    let text = unsafe { CStr::from_ptr(text) };
    if text.count_bytes() > TEXT_BYTES_MAX {
        return Err(Failure::argument(format!("`{name}` is longer than 1 MiB")));
    }
    text.to_str().map_err(|_| Failure::argument(format!("`{name}` is not UTF-8")))
}

/// Returns a value of the caller.
///
/// # Safety
/// `value` is null or points to an initialised value that does not change during the call.
pub(super) unsafe fn value<T: Copy>(name: &str, value: *const T) -> Result<T, Failure> {
    match value.is_null() {
        true => Err(null(name)),
        // SAFETY: the caller of this function promises the value. It may have any alignment.
        false => Ok(unsafe { value.read_unaligned() }),
    }
}

/// A place for a result, which is checked before the work begins.
pub(super) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// `place` is null or points to a writable value, until the call ends.
    pub(super) unsafe fn new(name: &str, place: *mut T) -> Result<Self, Failure> {
        if place.is_null() { Err(null(name)) } else { Ok(Self(place)) }
    }

    pub(super) fn set(&self, value: T) {
        // SAFETY: `new` got a writable place that is valid until the call ends. It may have any alignment, and its old content
        // is not dropped.
        unsafe { self.0.write_unaligned(value) };
    }
}

/// Memory of the caller for a result of variable length, and the place for the length.
pub(super) struct Buffer<T> {
    place: *mut T,
    capacity: usize,
    length: Out<usize>,
}

impl<T: Copy> Buffer<T> {
    /// # Safety
    /// `place` is null or points to `capacity` writable values, and `length` is null or points to a writable value, until the
    /// call ends.
    pub(super) unsafe fn new(place: *mut T, capacity: usize, length: *mut usize) -> Result<Self, Failure> {
        // SAFETY: the caller of this function promises it.
        let length = unsafe { Out::new("length", length) }?;
        if place.is_null() && capacity > 0 {
            return Err(null("buffer"));
        }
        Ok(Self { place, capacity, length })
    }

    /// Writes the number of values, and the values if they fit.
    pub(super) fn set(&self, values: &[T]) -> Result<(), Failure> {
        self.length.set(values.len());
        copy(values, self.place, self.capacity)
    }
}

impl Buffer<u8> {
    /// Writes text and a NUL byte. The length is that of the text.
    pub(super) fn set_text(&self, text: &str) -> Result<(), Failure> {
        self.length.set(text.len());
        if self.capacity <= text.len() {
            return Err(too_small(text.len() + 1, self.capacity));
        }
        copy(text.as_bytes(), self.place, self.capacity)?;
        // SAFETY: the capacity is greater than the length of the text.
        unsafe { self.place.add(text.len()).write(0) };
        Ok(())
    }
}

fn too_small(needed: usize, capacity: usize) -> Failure {
    Failure::new(Status::BufferTooSmall, format!("{needed} values or bytes do not fit into {capacity}"))
}

fn copy<T: Copy>(values: &[T], place: *mut T, capacity: usize) -> Result<(), Failure> {
    if values.len() > capacity {
        return Err(too_small(values.len(), capacity));
    }
    if !values.is_empty() {
        // SAFETY: `Buffer::new` got `capacity` writable values at `place`, and the values are not more. They are copied as bytes,
        // because `place` may have any alignment. The library's memory and the caller's memory do not overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(
                values.as_ptr().cast::<u8>(),
                place.cast::<u8>(),
                size_of_val(values),
            );
        }
    }
    Ok(())
}

/// Writes as much of a text as fits, and a NUL byte.
///
/// # Safety
/// `place` is null or points to `capacity` writable bytes.
pub(super) unsafe fn truncated(text: &str, place: *mut c_char, capacity: usize) {
    if place.is_null() || capacity == 0 {
        return;
    }
    let mut length = text.len().min(capacity - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: `length` is below `capacity`, so text and NUL fit.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast::<u8>(), length);
        place.cast::<u8>().add(length).write(0);
    }
}
