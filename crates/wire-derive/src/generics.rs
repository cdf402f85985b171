//! Type parameters and lifetimes of the derived type, as each implementation needs them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit_mut::{VisitMut, visit_type_mut};
use syn::{GenericParam, Generics, Lifetime, Type, parse_quote};

/// Parameters of the impls and of the column types.
pub(crate) struct Parameters {
    /// The parameters, with every type parameter bound by `Wire`.
    pub(crate) wire: Generics,
    /// The parameters, with lifetimes replaced by `'__de` and every type parameter bound by `Read<'__de>`.
    pub(crate) read: Generics,
    /// The type's arguments with lifetimes replaced.
    pub(crate) read_arguments: TokenStream,
}

impl Parameters {
    pub(crate) fn new(generics: &Generics) -> Self {
        let mut wire = generics.clone();
        for parameter in wire.type_params_mut() {
            parameter.default = None;
            parameter.bounds.push(parse_quote!(__wire::Wire));
        }
        let mut read = generics.clone();
        read.params =
            read.params.into_iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))).collect();
        read.params.insert(0, parse_quote!('__de));
        for parameter in read.type_params_mut() {
            parameter.default = None;
            parameter.bounds.push(parse_quote!(__wire::Read<'__de>));
        }
        if let Some(clause) = &mut read.where_clause {
            Borrow.visit_where_clause_mut(clause);
        }
        let arguments = generics.params.iter().map(|param| match param {
            GenericParam::Lifetime(_) => quote!('__de),
            GenericParam::Type(param) => param.ident.to_token_stream(),
            GenericParam::Const(param) => param.ident.to_token_stream(),
        });
        let read_arguments = if generics.params.is_empty() { quote!() } else { quote!(<#(#arguments),*>) };
        Self { wire, read, read_arguments }
    }
}

/// Returns a type in which every lifetime is replaced by that of the message.
pub(crate) fn borrowed(ty: &Type) -> Type {
    let mut ty = ty.clone();
    Borrow.visit_type_mut(&mut ty);
    ty
}

struct Borrow;

impl VisitMut for Borrow {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            *lifetime = Lifetime::new("'__de", lifetime.span());
        }
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        visit_type_mut(self, ty);
    }
}
