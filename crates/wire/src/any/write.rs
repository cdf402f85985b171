//! Writes MessagePack, with each value in its shortest form.

use rmp::encode;

use super::Value;

/// The extension type of a timestamp.
const TIMESTAMP: i8 = -1;

/// The MessagePack bytes of a value.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

/// Appends the MessagePack bytes of a value.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    try_write(value, out).expect("a vector takes all bytes");
}

fn try_write(value: &Value, out: &mut Vec<u8>) -> Result<(), encode::ValueWriteError> {
    match value {
        Value::Nil => encode::write_nil(out).map_err(encode::ValueWriteError::InvalidMarkerWrite)?,
        Value::Bool(value) => {
            encode::write_bool(out, *value).map_err(encode::ValueWriteError::InvalidMarkerWrite)?;
        }
        Value::Int(value) => _ = encode::write_sint(out, *value)?,
        Value::Uint(value) => _ = encode::write_uint(out, *value)?,
        Value::F32(value) => encode::write_f32(out, *value)?,
        Value::F64(value) => encode::write_f64(out, *value)?,
        Value::Text(text) => encode::write_str(out, text)?,
        Value::Bytes(bytes) => encode::write_bin(out, bytes)?,
        Value::List(items) => {
            encode::write_array_len(out, items.len() as u32)?;
            items.iter().try_for_each(|item| try_write(item, out))?;
        }
        Value::Map(pairs) => {
            encode::write_map_len(out, pairs.len() as u32)?;
            for (key, value) in pairs {
                try_write(key, out)?;
                try_write(value, out)?;
            }
        }
        Value::Time(seconds, nanoseconds) => time(*seconds, *nanoseconds, out)?,
        Value::Ext(kind, bytes) => ext(*kind, bytes, out)?,
    }
    Ok(())
}

fn ext(kind: i8, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), encode::ValueWriteError> {
    encode::write_ext_meta(out, bytes.len() as u32, kind)?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// The timestamp extension in its shortest form.
fn time(seconds: i64, nanoseconds: u32, out: &mut Vec<u8>) -> Result<(), encode::ValueWriteError> {
    if let (Ok(seconds), 0) = (u32::try_from(seconds), nanoseconds) {
        ext(TIMESTAMP, &seconds.to_be_bytes(), out)
    } else if (0..1 << 34).contains(&seconds) {
        let packed = u64::from(nanoseconds) << 34 | seconds as u64;
        ext(TIMESTAMP, &packed.to_be_bytes(), out)
    } else {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&nanoseconds.to_be_bytes());
        bytes[4..].copy_from_slice(&seconds.to_be_bytes());
        ext(TIMESTAMP, &bytes, out)
    }
}
