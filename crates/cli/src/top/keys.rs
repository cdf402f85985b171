//! Reads the keys that are pressed during a live view.

use tokio::sync::mpsc::{Receiver, channel};

/// Reads the keys of a terminal without waiting for the end of a line. Dropping this value restores the terminal.
pub(super) struct Keys {
    pressed: Receiver<u8>,
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Keys {
    /// Begins to listen. If the standard input is not a terminal, there are no keys.
    pub(super) fn listen() -> Keys {
        let (heard, pressed) = channel(16);
        #[cfg(unix)]
        {
            let before = single_keys();
            if before.is_some() {
                // The thread ends with the program, because no other code reads the keys.
                std::thread::spawn(move || {
                    let mut input = std::io::stdin().lock();
                    let mut key = [0];
                    while std::io::Read::read_exact(&mut input, &mut key).is_ok() {
                        if heard.blocking_send(key[0]).is_err() {
                            return;
                        }
                    }
                });
            }
            Keys { pressed, before }
        }
        #[cfg(not(unix))]
        {
            drop(heard);
            Keys { pressed }
        }
    }

    /// Waits until q is pressed.
    pub(super) async fn quit(&mut self) {
        while let Some(key) = self.pressed.recv().await {
            if key.eq_ignore_ascii_case(&b'q') {
                return;
            }
        }
        std::future::pending().await
    }
}

#[cfg(unix)]
impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // If the terminal is gone, nothing needs to be restored.
            let _ =
                rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Flush, before);
        }
    }
}

/// Sets the terminal to deliver each key at once, without echo. Ctrl-C keeps its meaning. Returns the earlier settings.
#[cfg(unix)]
fn single_keys() -> Option<rustix::termios::Termios> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let before = tcgetattr(std::io::stdin()).ok()?;
    let mut wanted = before.clone();
    wanted.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(std::io::stdin(), OptionalActions::Now, &wanted).ok()?;
    Some(before)
}
