//! All tests of a server, in one program.

mod acting;
mod assets;
mod bad_input;
mod browsers;
mod chat;
mod common;
mod crowd;
mod docs;
mod editing;
mod ending;
mod http;
mod interest;
mod joining;
mod owners;
mod past;
mod portals;
mod predicting;
mod rates;
mod seats;
mod sessions;
mod studio;
mod studio_figures;
mod untrusted_clients;
mod webhook;
mod worlds;
