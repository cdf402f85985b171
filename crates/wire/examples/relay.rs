//! Reads messages of one scope from standard input. Writes every value to standard output again, as a message of a new scope. A
//! length of four bytes, little-endian, precedes each message.
//!
//! Another implementation sends random values through this program and compares the results.

use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};

use nowcast_wire::{Receiver, Sender};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
    let (mut receiver, mut sender) = (Receiver::default(), Sender::default());
    while let Some(message) = next_message(&mut input)? {
        let Some((shape, value)) = receiver.decode_with_shape(&message)? else { continue };
        let mut again = Vec::new();
        match shape {
            Some(shape) => sender.encode_value(shape, &value, &mut again)?,
            None => sender.encode_any(&value, &mut again),
        }
        put_message(&mut output, &again)?;
    }
    Ok(output.flush()?)
}

fn next_message(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut message = vec![0; u32::from_le_bytes(length) as usize];
    input.read_exact(&mut message)?;
    Ok(Some(message))
}

fn put_message(output: &mut impl Write, message: &[u8]) -> io::Result<()> {
    output.write_all(&(message.len() as u32).to_le_bytes())?;
    output.write_all(message)
}
