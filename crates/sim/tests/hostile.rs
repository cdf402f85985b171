//! Runs the fuzz targets in a short, repeatable form: random bytes, changed vectors, and scripts made of bytes.

use nowcast_queue::conformance::Random;
use nowcast_sim::hostile;

fn bytes(random: &mut Random, length: u64) -> Vec<u8> {
    (0..random.below(length)).map(|_| random.number() as u8).collect()
}

/// The packets of the specification's vectors.
fn vectors() -> Vec<Vec<u8>> {
    let text = include_str!("../../../spec/vectors/session/packets.json");
    let hex = text.lines().filter_map(|line| line.trim().strip_prefix("\"hex\": \""));
    hex.map(|rest| {
        let digits = rest.trim_end_matches(['"', ',']);
        (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hexadecimal"))
            .collect()
    })
    .collect()
}

#[test]
fn noise_causes_no_panic_and_no_amplification() {
    let random = &mut Random::new(1);
    let vectors = vectors();
    assert!(vectors.len() > 50);
    for round in 0..3_000 {
        let mut packet = bytes(random, 200);
        if round % 2 == 0 {
            packet = vectors[random.below(vectors.len() as u64) as usize].clone();
            for _ in 0..random.below(4) {
                let at = random.below(packet.len().max(1) as u64) as usize;
                if let Some(byte) = packet.get_mut(at) {
                    *byte = random.number() as u8;
                }
            }
        } else if let Some(first) = packet.first_mut() {
            *first &= 0x83;
        }
        hostile::noise(&packet);
    }
}

#[test]
fn a_session_survives_a_peer_that_breaks_rules() {
    for seed in 0..1_500 {
        let random = &mut Random::new(seed);
        hostile::mutations(&bytes(random, 400));
    }
}

#[test]
fn the_laws_hold_in_scripts_made_of_bytes() {
    for seed in 0..100 {
        let random = &mut Random::new(seed ^ 0xF0);
        hostile::script(&bytes(random, 900));
    }
}
