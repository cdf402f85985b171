//! Reads the journal of a world. Everything that can be read must have the same content after it was written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_world::journal;
use nowcast_world::{Definition, World};

fuzz_target!(|data: &[u8]| {
    let Ok(entries) = journal::decode(data) else { return };
    let mut bytes = Vec::new();
    journal::encode(&entries, &mut bytes);
    let again = journal::decode(&bytes).expect("an encoded journal can be decoded");
    // Poses may contain NaN, which equals no number, so the debug texts are compared.
    assert_eq!(format!("{again:?}"), format!("{entries:?}"));
    let Ok(mut world) = World::new(Definition::default(), 1, Box::new(())) else { return };
    let _ = journal::replay(&mut world, entries.into_iter().take(100), 100);
});
