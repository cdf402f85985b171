//! Enums.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DataEnum, DeriveInput, Error, Ident, Result};

use crate::attributes::NameAttributes;
use crate::fields::{self, Field};
use crate::generics::Parameters;

/// One variant.
struct Variant<'a> {
    ident: &'a Ident,
    name: String,
    fields: Vec<Field>,
    /// The name of the payload's column and of its type.
    local: Ident,
    column: Ident,
    index: u16,
}

impl Variant<'_> {
    /// Whether a payload is written in addition to the index.
    fn has_payload(&self) -> bool {
        self.fields.iter().any(|field| !field.skip)
    }
}

pub(crate) fn expand(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let ident = &input.ident;
    if data.variants.is_empty() || data.variants.len() > usize::from(u16::MAX) {
        return Err(Error::new_spanned(ident, "an enum on the wire has 1 to 65,535 variants"));
    }
    let attributes = NameAttributes::parse(&input.attrs)?;
    let name = attributes.rename.unwrap_or_else(|| ident.to_string());
    let (mut other, mut default, mut first_plain) = (None, None, None);
    let mut variants = Vec::with_capacity(data.variants.len());
    for (index, variant) in data.variants.iter().enumerate() {
        let attributes = NameAttributes::parse(&variant.attrs)?;
        let index = index as u16;
        if attributes.other {
            if !variant.fields.is_empty() {
                return Err(Error::new_spanned(variant, "the variant for unknown ones cannot have fields"));
            }
            other = Some(index);
        }
        if attributes.default {
            if !variant.fields.is_empty() {
                return Err(Error::new_spanned(variant, "the default variant cannot have fields"));
            }
            default = Some(index);
        }
        if variant.fields.is_empty() {
            first_plain = first_plain.or(Some(index));
        }
        variants.push(Variant {
            ident: &variant.ident,
            name: attributes.rename.unwrap_or_else(|| variant.ident.to_string()),
            fields: fields::parse(&variant.fields, &input.vis, &format!("{ident}{}", variant.ident), false)?,
            local: format_ident!("v{index}"),
            column: format_ident!("__{ident}{}Column", variant.ident),
            index,
        });
    }
    let parameters = Parameters::new(&input.generics);
    let wire = implement_wire(input, &name, &parameters, &variants);
    let read = implement_read(input, &parameters, &variants, other, default.or(first_plain).unwrap_or(0));
    Ok(quote!(#wire #read))
}

fn implement_wire(
    input: &DeriveInput,
    name: &str,
    parameters: &Parameters,
    variants: &[Variant<'_>],
) -> TokenStream {
    let ident = &input.ident;
    let arguments = input.generics.split_for_impl().1;
    let (generics, _, clause) = parameters.wire.split_for_impl();
    let count = variants.len();
    let flat = variants.iter().all(|variant| !variant.has_payload());
    let support = variants.iter().map(|variant| fields::support(&variant.fields));
    let describe = variants.iter().map(|variant| {
        let (name, fields) = (&variant.name, fields::describe(&variant.fields));
        quote!(__wire::Variant::new(#name, #fields))
    });
    let indices = variants.iter().map(|variant| {
        let (variant, index) = (variant.ident, variant.index);
        quote!(#ident::#variant { .. } => #index)
    });
    let payloads = variants.iter().filter(|variant| variant.has_payload()).map(|variant| {
        let name = variant.ident;
        let written: Vec<&Field> = variant.fields.iter().filter(|field| !field.skip).collect();
        let (members, locals): (Vec<_>, Vec<_>) = written.iter().map(|field| (&field.member, &field.local)).unzip();
        let bits = fields::sum(&variant.fields, "BITS");
        let write = fields::write(&variant.fields, |index, _| {
            let index = syn::Index::from(index);
            quote!(row.#index)
        });
        quote! {
            let picked: ::std::vec::Vec<_> = rows
                .clone()
                .filter_map(|row| match row {
                    #ident::#name { #(#members: #locals,)* .. } => ::core::option::Option::Some((#(#locals,)*)),
                    #[allow(unreachable_patterns)]
                    _ => ::core::option::Option::None,
                })
                .collect();
            writer.block(picked.len(), #bits, |writer| {
                let rows = picked.iter();
                #write
            });
        }
    });
    quote! {
        #(#support)*

        impl #generics __wire::Wire for #ident #arguments #clause {
            const BITS: usize = 0;
            const TEXTS: usize = 0;
            const FLAT: bool = #flat;

            fn describe(shape: &mut __wire::ShapeBuilder) -> __wire::Type {
                #[allow(unused_variables)]
                shape.define_enum::<Self>(#name, |shape| vec![#(#describe),*])
            }

            fn write<'__rows, __I: __wire::Rows<'__rows, Self>>(rows: __I, writer: &mut __wire::Writer<'_>)
            where
                Self: '__rows,
            {
                let indices = rows.clone().map(|row| match row { #(#indices,)* });
                __wire::Variants::write(#count, indices, writer);
                #(#payloads)*
            }
        }
    }
}

fn implement_read(
    input: &DeriveInput,
    parameters: &Parameters,
    variants: &[Variant<'_>],
    other: Option<u16>,
    default: u16,
) -> TokenStream {
    let (ident, vis) = (&input.ident, &input.vis);
    let (generics, arguments, clause) = parameters.read.split_for_impl();
    let read_arguments = &parameters.read_arguments;
    let item = quote!(#ident #read_arguments);
    let column = format_ident!("__{ident}Column");
    let count = variants.len();
    let other = match other {
        Some(index) => quote!(::core::option::Option::Some(#index)),
        None => quote!(::core::option::Option::None),
    };
    let locals: Vec<_> = variants.iter().map(|variant| &variant.local).collect();
    let types: Vec<_> = variants.iter().map(|variant| &variant.column).collect();
    let payloads = variants.iter().map(|variant| {
        let name = variant.ident;
        fields::columns(
            vis,
            &variant.column,
            &parameters.read,
            &item,
            &quote!(#ident::#name),
            &variant.fields,
        )
    });
    let same = variants.iter().filter(|variant| variant.has_payload()).map(|variant| {
        let (local, index, name) = (&variant.local, variant.index as usize, &variant.name);
        let bits = fields::sum(&variant.fields, "BITS");
        quote! {
            this.#local = __wire::open_payload(::core::option::Option::None, #bits, this.variants.rows_of(#index), input)
                .map_err(|error| error.inside(#name))?;
        }
    });
    let planned = variants.iter().map(|variant| {
        let (local, index) = (&variant.local, variant.index as usize);
        quote!(::core::option::Option::Some(#index) => {
            this.#local = __wire::open_payload(::core::option::Option::Some(plan.payload(step)), 0, rows, input)
                .map_err(|error| error.inside(&step.name))?;
        })
    });
    let picks = variants.iter().map(|variant| {
        let (local, index, column) = (&variant.local, variant.index, &variant.column);
        quote!(#index => match &self.#local {
            ::core::option::Option::Some(payload) => __wire::PayloadColumn::get(&**payload, row, text),
            ::core::option::Option::None => {
                __wire::PayloadColumn::get(&<#column #arguments as __wire::PayloadColumn<'__de>>::absent(1), row, text)
            }
        },)
    });
    quote! {
        impl #generics __wire::Read<'__de> for #item #clause {
            type Column = #column #arguments;
        }

        #(#payloads)*

        #[doc(hidden)]
        #vis struct #column #generics #clause {
            variants: __wire::Variants,
            #(#locals: ::core::option::Option<::std::boxed::Box<#types #arguments>>,)*
        }

        impl #generics __wire::Column<'__de> for #column #arguments #clause {
            type Item = #item;

            fn absent(_: usize) -> Self {
                Self { variants: __wire::Variants::absent(), #(#locals: ::core::option::Option::None,)* }
            }

            fn open(
                plan: ::core::option::Option<__wire::Plan<'_>>,
                rows: usize,
                input: &mut __wire::Input<'__de>,
            ) -> __wire::Result<Self> {
                let variants = __wire::Variants::open(plan, #count, #other, rows, input)?;
                let mut this = Self { variants, ..Self::absent(0) };
                let ::core::option::Option::Some(plan) = plan else {
                    #(#same)*
                    return ::core::result::Result::Ok(this);
                };
                for (index, step) in plan.variants().iter().enumerate() {
                    let rows = this.variants.rows_of(index);
                    match step.target {
                        #(#planned)*
                        _ => plan.skip_payload(step, rows, input)?,
                    }
                }
                ::core::result::Result::Ok(this)
            }

            #[inline]
            fn get(&self, row: usize, text: &'__de str) -> Self::Item {
                let (index, row) = self.variants.get(row).unwrap_or((#default, 0));
                match index {
                    #(#picks)*
                    // Indices were checked when the columns were opened.
                    _ => unreachable!("variant {index} of {}", #count),
                }
            }
        }
    }
}
