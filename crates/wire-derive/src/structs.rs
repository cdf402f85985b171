//! Structs.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Fields, Result};

use crate::attributes::NameAttributes;
use crate::fields;
use crate::generics::Parameters;

pub(crate) fn expand(input: &DeriveInput, declared: &Fields) -> Result<TokenStream> {
    let attributes = NameAttributes::parse(&input.attrs)?;
    let ident = &input.ident;
    let name = attributes.rename.unwrap_or_else(|| ident.to_string().trim_start_matches("r#").to_owned());
    let all = fields::parse(declared, &input.vis, &ident.to_string(), attributes.default)?;
    let parameters = Parameters::new(&input.generics);
    let arguments = input.generics.split_for_impl().1;
    let (wire_generics, _, wire_clause) = parameters.wire.split_for_impl();
    let (read_generics, column_arguments, read_clause) = parameters.read.split_for_impl();
    let read_arguments = &parameters.read_arguments;

    let column = format_ident!("__{ident}Column");
    let item = quote!(#ident #read_arguments);
    let columns = fields::columns(&input.vis, &column, &parameters.read, &item, &quote!(#ident), &all);
    let (support, describe, flat) = (fields::support(&all), fields::describe(&all), fields::flat(&all));
    let (bits, texts) = (fields::sum(&all, "BITS"), fields::sum(&all, "TEXTS"));
    let values = fields::values(&quote!(#ident), &all);
    let write = fields::write(&all, |_, field| {
        let member = &field.member;
        quote!(&row.#member)
    });
    Ok(quote! {
        #support

        impl #wire_generics __wire::Wire for #ident #arguments #wire_clause {
            const BITS: usize = #bits;
            const TEXTS: usize = #texts;
            const FLAT: bool = #flat;

            fn describe(shape: &mut __wire::ShapeBuilder) -> __wire::Type {
                #[allow(unused_variables)]
                shape.define_struct::<Self>(#name, |shape| #describe)
            }

            #[allow(unused_variables)]
            fn write<'__rows, __I: __wire::Rows<'__rows, Self>>(rows: __I, writer: &mut __wire::Writer<'_>)
            where
                Self: '__rows,
            {
                writer.nested(|writer| { #write });
            }
        }

        impl #read_generics __wire::Read<'__de> for #item #read_clause {
            type Column = #column #column_arguments;
        }

        #columns

        impl #read_generics __wire::Column<'__de> for #column #column_arguments #read_clause {
            type Item = #item;

            fn absent(rows: usize) -> Self {
                __wire::PayloadColumn::absent(rows)
            }

            fn open(
                plan: ::core::option::Option<__wire::Plan<'_>>,
                rows: usize,
                input: &mut __wire::Input<'__de>,
            ) -> __wire::Result<Self> {
                input.nested(|input| {
                    __wire::PayloadColumn::open(plan.map(__wire::PayloadPlan::of_struct), rows, input)
                })
            }

            #[inline]
            fn get(&self, row: usize, text: &'__de str) -> Self::Item {
                __wire::PayloadColumn::get(self, row, text)
            }

            #values
        }
    })
}
