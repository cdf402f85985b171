//! Commands for worlds in folders: to create, check and test them.

mod accounts;
mod bans;
pub(crate) mod check;
pub(crate) mod data;
mod files;
mod migrate;
pub(crate) mod new;
mod past;
mod restore;
mod salvage;
pub(crate) mod samples;
pub(crate) mod stored;
pub(crate) mod studio_check;
pub(crate) mod test;
mod typescript;
