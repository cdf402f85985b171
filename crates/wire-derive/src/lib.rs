//! `#[derive(Wire)]` for `nowcast-wire`.
//!
//! For a struct, the macro generates its shape, its writer, its opened columns, and the value of a row. Each of these has one
//! line for each field. No attribute is needed. These attributes exist:
//!
//! | on | attribute | meaning |
//! | --- | --- | --- |
//! | struct, enum, variant, field | `rename = "name"` | the name in shapes |
//! | struct | `default` | fields that a writer lacks come from the struct's `Default` |
//! | field | `default`, `default = value` | the value if a writer lacks the field |
//! | field | `was = "name"` | a former name, by which values of earlier versions are read; may be repeated |
//! | field | `skip` | not written; reads as its default |
//! | field | `range(low, high, step)` | f32 or f64 (or an array of them) as a number of steps |
//! | field | `angle(8)`, `angle(16)` | radians (or an array of them) as a fraction of a turn |
//! | field | `quat(bits)` | `[f32; 4]` or `[f64; 4]` by its smallest three components |
//! | field | `var` | an integer (or an array of them) that takes fewer bytes when it is near zero |
//! | variant | `other` | unknown variants are read as this variant |
//! | variant | `default` | the variant if a writer lacks the field; by default the first variant without fields, or else the first |

mod attributes;
mod enums;
mod fields;
mod generics;
mod structs;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Implements writing and reading of a type. Other versions of the type can read the written bytes. See the crate's documentation
/// for the attributes.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = match &input.data {
        Data::Struct(data) => structs::expand(&input, &data.fields),
        Data::Enum(data) => enums::expand(&input, data),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a union has no wire format")),
    };
    let body = expanded.unwrap_or_else(Error::into_compile_error);
    quote! {
        const _: () = {
            #[allow(unused_imports)]
            use ::nowcast_wire::derive as __wire;
            #body
        };
    }
    .into()
}
