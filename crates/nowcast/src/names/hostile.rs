//! Hostile input for a name server, which the fuzz target `name_server` makes.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::protocol::{Answer, LINE_BYTES_MAX};
use super::registry::{ConnectionId, Registry};

/// Output of one connection that is written ahead of its peer: a list's part, and one answer more.
const OUTPUT_BYTES_MAX: usize = 4 * 1_024 + LINE_BYTES_MAX;

/// Sends bytes to a name server like two clients, one on this machine and one elsewhere, and checks each answer. The
/// first byte of each piece selects the client, the second gives the number of bytes, and the third the time that
/// passes.
///
/// # Panics
/// If a line of an answer is none that a client reads, or if more output waits than the limits allow.
#[doc(hidden)]
pub fn hostile(bytes: &[u8]) {
    let mut now = Instant::now();
    let mut registry = Registry::default();
    let addresses: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(192, 0, 2, 1).into()];
    let mut id = 0;
    let mut connect = |address, now| {
        id += 1;
        (ConnectionId(id), Connection::new(ConnectionId(id), address, false, now))
    };
    let mut clients = addresses.map(|address| connect(address, now));
    let mut rest = bytes;
    while let Some(([client, length, seconds], tail)) = rest.split_first_chunk::<3>() {
        let (piece, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        now += Duration::from_secs(u64::from(*seconds) / 8);
        let index = usize::from(*client) % clients.len();
        let (id, connection) = &mut clients[index];
        if now >= connection.poll_timeout() {
            connection.handle_timeout(now);
        }
        send(connection, piece, now, &mut registry);
        if connection.is_ending() {
            registry.release(*id);
            clients[index] = connect(addresses[index], now);
        }
    }
}

/// Sends bytes on a connection until they are read or the connection ends, and reads all output.
fn send(connection: &mut Connection, piece: &[u8], now: Instant, registry: &mut Registry) {
    let mut rest = piece;
    let mut answers = Vec::new();
    loop {
        let room = connection.room().min(rest.len());
        connection.handle_bytes(now, &rest[..room], registry);
        rest = &rest[room..];
        let output = connection.poll_output(registry);
        let length = output.len();
        assert!(length <= OUTPUT_BYTES_MAX, "{length} bytes wait to be written");
        answers.extend_from_slice(output);
        if length == 0 && (rest.is_empty() || connection.is_ending()) {
            break;
        }
        connection.sent(now, length, registry);
    }
    // An empty line keeps a connection alive.
    for line in answers.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(Answer::parse(line).is_some(), "{}", String::from_utf8_lossy(line));
    }
}

#[cfg(test)]
mod tests {
    use super::hostile;

    /// A piece of input, as [`hostile`] cuts it.
    fn piece(client: u8, seconds: u8, text: &str) -> Vec<u8> {
        let mut piece = vec![client, u8::try_from(text.len()).expect("it is short"), seconds];
        piece.extend(text.bytes());
        piece
    }

    #[test]
    fn name_server_answers_any_pieces_of_two_clients_in_lines_that_they_read() {
        let input = [
            piece(0, 0, "{\"advertise\":\"a\",\"port\":7777}\n"),
            piece(1, 0, "{\"find\":\"a\"}\n{\"list\":true}\n\n"),
            piece(1, 8, "{\"advertise\":\"b\",\"port\":1}\n\u{0}\n"),
            piece(0, 255, "\n"),
            piece(1, 0, &"[".repeat(200)),
        ];
        hostile(&input.concat());
        hostile(&input.concat().repeat(50));
    }
}
