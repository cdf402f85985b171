//! Writing MessagePack, in the shortest form of every value.

use super::Value;

/// The MessagePack bytes of a value.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

/// Appends the MessagePack bytes of a value.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil => out.push(0xc0),
        Value::Bool(value) => out.push(0xc2 + u8::from(*value)),
        Value::Int(value) => int(*value, out),
        Value::Uint(value) => uint(*value, out),
        Value::F32(value) => tagged(0xca, &value.to_be_bytes(), out),
        Value::F64(value) => tagged(0xcb, &value.to_be_bytes(), out),
        Value::Text(text) => {
            match text.len() {
                length @ 0..32 => out.push(0xa0 | length as u8),
                length => sized([0xd9, 0xda, 0xdb], length, out),
            }
            out.extend_from_slice(text.as_bytes());
        }
        Value::Bytes(bytes) => {
            sized([0xc4, 0xc5, 0xc6], bytes.len(), out);
            out.extend_from_slice(bytes);
        }
        Value::List(items) => {
            match items.len() {
                length @ 0..16 => out.push(0x90 | length as u8),
                length => counted([0xdc, 0xdd], length, out),
            }
            items.iter().for_each(|item| write(item, out));
        }
        Value::Map(pairs) => {
            match pairs.len() {
                length @ 0..16 => out.push(0x80 | length as u8),
                length => counted([0xde, 0xdf], length, out),
            }
            for (key, value) in pairs {
                write(key, out);
                write(value, out);
            }
        }
        Value::Time(seconds, nanoseconds) => time(*seconds, *nanoseconds, out),
        Value::Ext(kind, bytes) => ext(*kind, bytes, out),
    }
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn uint(value: u64, out: &mut Vec<u8>) {
    if value < 0x80 {
        out.push(value as u8);
    } else if let Ok(value) = u8::try_from(value) {
        out.extend([0xcc, value]);
    } else if let Ok(value) = u16::try_from(value) {
        tagged(0xcd, &value.to_be_bytes(), out);
    } else if let Ok(value) = u32::try_from(value) {
        tagged(0xce, &value.to_be_bytes(), out);
    } else {
        tagged(0xcf, &value.to_be_bytes(), out);
    }
}

fn int(value: i64, out: &mut Vec<u8>) {
    if value >= 0 {
        uint(value as u64, out);
    } else if value >= -32 {
        out.push(value as u8);
    } else if let Ok(value) = i8::try_from(value) {
        tagged(0xd0, &value.to_be_bytes(), out);
    } else if let Ok(value) = i16::try_from(value) {
        tagged(0xd1, &value.to_be_bytes(), out);
    } else if let Ok(value) = i32::try_from(value) {
        tagged(0xd2, &value.to_be_bytes(), out);
    } else {
        tagged(0xd3, &value.to_be_bytes(), out);
    }
}

/// A length of one, two or four bytes.
fn sized(tags: [u8; 3], length: usize, out: &mut Vec<u8>) {
    match u8::try_from(length) {
        Ok(length) => out.extend([tags[0], length]),
        Err(_) => counted([tags[1], tags[2]], length, out),
    }
}

/// A length of two or four bytes.
fn counted(tags: [u8; 2], length: usize, out: &mut Vec<u8>) {
    match u16::try_from(length) {
        Ok(length) => tagged(tags[0], &length.to_be_bytes(), out),
        Err(_) => tagged(tags[1], &(length as u32).to_be_bytes(), out),
    }
}

fn ext(kind: i8, bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        length => sized([0xc7, 0xc8, 0xc9], length, out),
    }
    out.push(kind as u8);
    out.extend_from_slice(bytes);
}

/// The timestamp extension in its shortest form.
fn time(seconds: i64, nanoseconds: u32, out: &mut Vec<u8>) {
    if let (Ok(seconds), 0) = (u32::try_from(seconds), nanoseconds) {
        ext(-1, &seconds.to_be_bytes(), out);
    } else if (0..1 << 34).contains(&seconds) {
        let packed = u64::from(nanoseconds) << 34 | seconds as u64;
        ext(-1, &packed.to_be_bytes(), out);
    } else {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&nanoseconds.to_be_bytes());
        bytes[4..].copy_from_slice(&seconds.to_be_bytes());
        ext(-1, &bytes, out);
    }
}
