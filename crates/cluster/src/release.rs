//! Releases that may be in one cluster.

use std::fmt;

use nowcast_wire::Wire;

/// The release of a server's program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Release {
    /// The first number of the version.
    pub major: u16,
    /// The second number of the version. It grows by one with each release that changes a format.
    pub minor: u16,
    /// The third number of the version. Releases that differ only in it are compatible.
    pub patch: u16,
}

/// The releases of two servers are too far apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "server release {ours} and release {theirs} in this cluster are not neighbours; upgrade by one minor version at a time"
)]
pub struct ReleasesApart {
    /// The release of this server.
    pub ours: Release,
    /// The release of the other server.
    pub theirs: Release,
}

impl Release {
    /// The release of this program.
    pub const CURRENT: Release = Release {
        major: number(env!("CARGO_PKG_VERSION_MAJOR")),
        minor: number(env!("CARGO_PKG_VERSION_MINOR")),
        patch: number(env!("CARGO_PKG_VERSION_PATCH")),
    };

    /// Checks whether two releases may be in one cluster: their major numbers are equal, and their minor numbers differ by at
    /// most one.
    ///
    /// # Errors
    /// Fails with both releases if they are not neighbours.
    pub fn check_neighbour(self, theirs: Release) -> Result<(), ReleasesApart> {
        let is_neighbour = self.major == theirs.major && self.minor.abs_diff(theirs.minor) <= 1;
        if is_neighbour { Ok(()) } else { Err(ReleasesApart { ours: self, theirs }) }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

const fn number(digits: &str) -> u16 {
    match u16::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("cargo sets numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_cluster_and_others_are_refused_by_name() {
        let release = |major, minor, patch| Release { major, minor, patch };
        for theirs in [release(1, 3, 0), release(1, 4, 9), release(1, 5, 1)] {
            assert_eq!(release(1, 4, 0).check_neighbour(theirs), Ok(()));
        }
        for theirs in [release(1, 2, 0), release(1, 6, 0), release(2, 4, 0)] {
            let refused = release(1, 4, 0).check_neighbour(theirs).unwrap_err();
            assert!(refused.to_string().contains(&theirs.to_string()), "{refused}");
        }
    }
}
