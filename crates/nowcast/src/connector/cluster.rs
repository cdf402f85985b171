//! The endpoints of clusters that a connector has asked (`spec/CARRIERS.md`, section 2).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of services whose other endpoints are remembered.
const SERVICES_MAX: usize = 64;

/// Maximum number of endpoints of one service.
const ENDPOINTS_MAX: usize = 16;

/// The endpoints that may be asked if that of a service does not answer. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Endpoints(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Endpoints {
    /// The origins of the other endpoints of a service.
    pub(super) fn of(&self, service: &str) -> Vec<String> {
        self.lock().get(service).cloned().unwrap_or_default()
    }

    /// Records the origins of the other endpoints of a service. An endpoint outside of a cluster names none.
    pub(super) fn remember(&self, service: &str, mut others: Vec<String>) {
        if others.is_empty() {
            return;
        }
        others.truncate(ENDPOINTS_MAX);
        let mut known = self.lock();
        if known.len() >= SERVICES_MAX && !known.contains_key(service) {
            known.pop_first();
        }
        known.insert(service.to_owned(), others);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        // The values are only replaced as a whole, so poisoning is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
