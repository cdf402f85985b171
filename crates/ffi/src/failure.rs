//! Status codes, and the text of the newest error of a thread.

use std::borrow::Cow;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nowcast::session::Refused;
use nowcast::{ConnectError, Error};

/// The result of a call. Every function that can fail returns one, and `nowcast_last_error` has the text.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call did its work.
    Ok = 0,
    /// The timeout passed. With a timeout of 0: there is no message yet, or no space.
    TimedOut = 1,
    /// The channel is closed, or the save file has no further chunk.
    Closed = 2,
    /// A limit of the channel refused the message: no such lane, key 0, or too large. Sending it again fails again.
    Refused = 3,
    /// The caller's buffer is too small. The required size was written, and nothing is lost: call again.
    BufferTooSmall = 4,
    /// An argument is invalid: a null pointer, text that is not UTF-8, a number out of range, malformed JSON.
    InvalidArgument = 5,
    /// The handle is 0, was freed, never existed, or names an object of another kind.
    InvalidHandle = 6,
    /// No channel was opened, or no name advertised.
    ConnectFailed = 7,
    /// The peer broke the protocol, or a file is damaged.
    InvalidData = 8,
    /// The world has no such entity, player, kind or screen, or it is out of sight.
    NotFound = 9,
    /// The process was forked. Only the parent may use its handles and this library.
    Forked = 10,
    /// This system has no such feature.
    Unsupported = 11,
    /// A limit of the library: 16,384 handles, or memory.
    LimitReached = 12,
    /// An error in the library itself. Please report the text.
    Internal = 13,
}

/// A status with its text.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// The status.
    pub status: Status,
    text: Cow<'static, str>,
}

impl Failure {
    /// Makes a failure with a text.
    pub fn new(status: Status, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, text: text.into() }
    }

    /// An invalid argument.
    pub fn argument(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Status::InvalidArgument, text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Closed(_) | Error::Refused(Refused::Closed) => Status::Closed,
            Error::Refused(Refused::Full) | Error::TimedOut => Status::TimedOut,
            Error::Refused(_) => Status::Refused,
            Error::Behind => Status::LimitReached,
            _ => Status::InvalidData,
        };
        match status {
            // A loop may poll, so this text is not allocated.
            Status::TimedOut => Self::new(status, "no space, no message or no reply within the timeout"),
            _ => Self::new(status, error.to_string()),
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let status = match &error {
            ConnectError::Address(_) => Status::InvalidArgument,
            _ => Status::ConnectFailed,
        };
        Self::new(status, error.to_string())
    }
}

thread_local! {
    static NEWEST: RefCell<Cow<'static, str>> = const { RefCell::new(Cow::Borrowed("")) };
}

/// Calls `use_text` with the text of the newest error of this thread.
pub(crate) fn with_newest<R>(use_text: impl FnOnce(&str) -> R) -> R {
    NEWEST.with_borrow(|text| use_text(text))
}

/// Runs the body of a function of the header. An error or a panic becomes a status, and its text is kept for this thread.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Failure::new(Status::Internal, text.unwrap_or_else(|| "a panic without a text".to_owned()))
        }
    };
    // A destructor of a thread may call after the thread's text is gone.
    let _ = NEWEST.try_with(|newest| *newest.borrow_mut() = failure.text);
    failure.status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_with_its_text() {
        assert_eq!(guard(|| panic!("column {}", 7)), Status::Internal);
        with_newest(|text| assert_eq!(text, "column 7"));
    }

    #[test]
    fn a_success_keeps_the_text_of_the_error_before() {
        assert_eq!(guard(|| Err(Failure::argument("no name"))), Status::InvalidArgument);
        assert_eq!(guard(|| Ok(())), Status::Ok);
        with_newest(|text| assert_eq!(text, "no name"));
    }
}
