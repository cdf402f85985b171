//! Reads bytes as a model, a picture or a sound. The file is accepted, or refused with a named error. An accepted file reports its type.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nowcast_script::{Asset, asset_kind};

const NAMES: [&str; 7] = ["a.glb", "a.png", "a.jpg", "a.webp", "a.ogg", "a.mp3", "a.wav"];

fuzz_target!(|data: &[u8]| {
    let Some((kind, content)) = data.split_first() else { return };
    let name = NAMES[usize::from(*kind) % NAMES.len()];
    match Asset::new(name, content.to_vec()) {
        Ok(asset) => {
            assert!(asset_kind(name).is_some() && asset.hash.len() == 64 && *asset.content == *content);
        }
        Err(fault) => assert!(!fault.to_string().is_empty()),
    }
});
