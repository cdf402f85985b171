//! The assets of all worlds by hash, from which pages fetch them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use nowcast_script::{ASSETS_BYTES_MAX, ASSETS_MAX, Asset, Assets};
use parking_lot::Mutex;

/// Assets that pages can fetch. An asset is kept while a world's folder or a room uses it, and for some time after that. A
/// page that just received the asset's name may not have fetched the asset yet.
#[derive(Default)]
pub(crate) struct AssetCache(Mutex<Shelved>);

#[derive(Default)]
struct Shelved {
    /// The assets in use, by hash. Two worlds may have equal files in separate memory.
    named: BTreeMap<String, Vec<Weak<Asset>>>,
    /// Replaced assets, oldest first: at most [`ASSETS_MAX`] of [`ASSETS_BYTES_MAX`] together.
    past: VecDeque<Arc<Asset>>,
    past_bytes: usize,
}

impl AssetCache {
    /// Serves these assets from now on.
    pub(super) fn put(&self, assets: &Assets) {
        let Shelved { named, .. } = &mut *self.0.lock();
        named.retain(|_, same| {
            same.retain(|asset| asset.strong_count() > 0);
            !same.is_empty()
        });
        for asset in assets.iter() {
            let same = named.entry(asset.hash.clone()).or_default();
            if !same.iter().any(|known| known.as_ptr() == Arc::as_ptr(asset)) {
                same.push(Arc::downgrade(asset));
            }
        }
    }

    /// Keeps the assets of `before` that are not in `now` for some time.
    pub(super) fn retire(&self, before: &Assets, now: &Assets) {
        let Shelved { past, past_bytes, .. } = &mut *self.0.lock();
        let stays = |asset: &Arc<Asset>| now.get(&asset.name).is_some_and(|same| same.hash == asset.hash);
        for asset in before.iter().filter(|asset| !stays(asset)) {
            *past_bytes += asset.content.len();
            past.push_back(Arc::clone(asset));
        }
        while past.len() > ASSETS_MAX || *past_bytes > ASSETS_BYTES_MAX {
            let Some(oldest) = past.pop_front() else { break };
            *past_bytes -= oldest.content.len();
        }
    }

    /// Returns the asset with this hash, if it is still kept.
    pub(crate) fn get(&self, hash: &str) -> Option<Arc<Asset>> {
        self.0.lock().named.get(hash)?.iter().find_map(Weak::upgrade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assets(content: &[u8]) -> Assets {
        let file = ("assets/a.ogg".to_owned(), [b"OggS", content].concat());
        Assets::read([file], &Assets::default()).0
    }

    fn hash(assets: &Assets) -> String {
        assets.get("assets/a.ogg").expect("the asset exists").hash.clone()
    }

    #[test]
    fn assets_of_a_room_are_served_until_released() {
        let asset_cache = AssetCache::default();
        let (of_room, of_folder) = (assets(b"one"), assets(b"two"));
        asset_cache.put(&of_room);
        asset_cache.put(&of_folder);
        assert!(asset_cache.get(&hash(&of_room)).is_some() && asset_cache.get(&hash(&of_folder)).is_some());
        let hash = hash(&of_room);
        drop(of_room);
        assert!(asset_cache.get(&hash).is_none(), "nothing names it");
    }

    #[test]
    fn a_file_of_two_worlds_stays_while_one_has_it() {
        let asset_cache = AssetCache::default();
        let (first, second) = (assets(b"same"), assets(b"same"));
        asset_cache.put(&first);
        asset_cache.put(&second);
        drop(second);
        asset_cache.put(&assets(b"other"));
        assert!(asset_cache.get(&hash(&first)).is_some());
    }

    #[test]
    fn replaced_assets_are_served_within_the_limits() {
        let asset_cache = AssetCache::default();
        let mut now = assets(b"0");
        asset_cache.put(&now);
        let mut hashes = vec![hash(&now)];
        for version in 1..=ASSETS_MAX + 1 {
            let next = assets(version.to_string().as_bytes());
            asset_cache.put(&next);
            asset_cache.retire(&now, &next);
            now = next;
            hashes.push(hash(&now));
        }
        assert!(asset_cache.get(&hashes[0]).is_none(), "the oldest was removed");
        assert!(hashes[1..].iter().all(|hash| asset_cache.get(hash).is_some()));
    }
}
