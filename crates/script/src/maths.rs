//! Mathematical functions that return the same bits on every machine, unlike the C library's.

use mlua::{Lua, Table};

/// The replaced functions of `math`; the compiler must not treat them as built-in.
pub(crate) const REPLACED: [&str; 15] = [
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "log10",
    "pow", "random",
];

type Unary = fn(f64) -> f64;

pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    let math: Table = lua.globals().get("math")?;
    let unary: [(&str, Unary); 11] = [
        ("sin", libm::sin),
        ("cos", libm::cos),
        ("tan", libm::tan),
        ("asin", libm::asin),
        ("acos", libm::acos),
        ("atan", libm::atan),
        ("sinh", libm::sinh),
        ("cosh", libm::cosh),
        ("tanh", libm::tanh),
        ("exp", libm::exp),
        ("log10", libm::log10),
    ];
    for (name, compute) in unary {
        math.set(name, lua.create_function(move |_, x: f64| Ok(compute(x)))?)?;
    }
    math.set("atan2", lua.create_function(|_, (y, x): (f64, f64)| Ok(libm::atan2(y, x)))?)?;
    math.set("pow", lua.create_function(|_, (x, y): (f64, f64)| Ok(libm::pow(x, y)))?)?;
    let log = |_: &Lua, (x, base): (f64, Option<f64>)| {
        Ok(base.map_or_else(|| libm::log(x), |base| libm::log(x) / libm::log(base)))
    };
    math.set("log", lua.create_function(log)?)
}
