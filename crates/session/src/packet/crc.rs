//! CRC-32C (Castagnoli), for carriers that may deliver changed bytes.

/// Returns the checksum of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let crc = bytes
        .iter()
        .fold(u32::MAX, |crc, &byte| (crc >> 8) ^ TABLE[((crc ^ u32::from(byte)) & 0xFF) as usize]);
    !crc
}

/// Appends the checksum of the bytes of `packet` from `start` to its end.
pub fn seal(packet: &mut Vec<u8>, start: usize) {
    let crc = crc32c(&packet[start..]);
    packet.extend_from_slice(&crc.to_le_bytes());
}

/// Returns the packet without its checksum; `None` if the checksum is wrong.
pub fn open(packet: &[u8]) -> Option<&[u8]> {
    let (body, crc) = packet.split_last_chunk::<4>()?;
    (crc32c(body) == u32::from_le_bytes(*crc)).then_some(body)
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_equals_the_check_value_of_the_catalogue() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn a_changed_packet_is_refused() {
        let mut packet = b"state".to_vec();
        seal(&mut packet, 0);
        assert_eq!(open(&packet), Some(&b"state"[..]));
        packet[2] ^= 4;
        assert_eq!(open(&packet), None);
    }
}
