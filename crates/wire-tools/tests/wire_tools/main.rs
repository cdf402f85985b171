//! The tools as programs use them. One program holds all scenarios, because each program is linked by itself.

mod game_save;
mod typescript;
