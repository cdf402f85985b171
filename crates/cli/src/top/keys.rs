//! Keys pressed during a live view.

use tokio::sync::mpsc::{Receiver, channel};

/// Reads the keys of a terminal without waiting for the end of a line. When dropped, it restores the terminal.
pub(super) struct Keys {
    pressed: Receiver<u8>,
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Keys {
    /// Listens from now on. Without a terminal as the standard input there are no keys.
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

    /// Waits for q.
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
            // A terminal that is gone needs nothing.
            let _ =
                rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Flush, before);
        }
    }
}

/// Lets the terminal deliver each key at once, without echo; Ctrl-C keeps its meaning. Returns the earlier settings.
#[cfg(unix)]
fn single_keys() -> Option<rustix::termios::Termios> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let before = tcgetattr(std::io::stdin()).ok()?;
    let mut wanted = before.clone();
    wanted.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(std::io::stdin(), OptionalActions::Now, &wanted).ok()?;
    Some(before)
}
