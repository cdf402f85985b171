//! Tests the tools as programs use them. All scenarios are in one program, because each test program is linked separately.

mod json;
mod typescript;
