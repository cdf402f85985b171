//! Code for fields, shared by structs and by the payloads of variants.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Expr, Fields, Ident, Lit, Member, Result, Type, UnOp, Visibility};

use crate::attributes::{FieldAttributes, FieldDefault, Form};
use crate::generics::borrowed;

/// One field.
pub(crate) struct Field {
    pub(crate) member: Member,
    /// A name for the field that is valid as a variable or a column.
    pub(crate) local: Ident,
    name: String,
    /// Former names.
    was: Vec<String>,
    ty: Type,
    default: FieldDefault,
    pub(crate) skip: bool,
    /// Another wire form, as a type that implements `Adapt`.
    adapter: Option<TokenStream>,
    /// Items that the adapter needs.
    support: TokenStream,
}

/// Parses all fields. `scope` makes the names of support items unique.
pub(crate) fn parse(
    fields: &Fields,
    vis: &Visibility,
    scope: &str,
    from_container: bool,
) -> Result<Vec<Field>> {
    let mut parsed: Vec<Field> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let attributes = FieldAttributes::parse(&field.attrs)?;
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(index.into()),
        };
        let own_name = match &field.ident {
            Some(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
            None => index.to_string(),
        };
        let (adapter, support) =
            adapter(&attributes.form, &field.ty, vis, &format_ident!("__{scope}Range{index}"));
        let default = match attributes.default {
            FieldDefault::Empty if from_container => FieldDefault::Value(syn::parse_quote! {
                <Self::Item as ::core::default::Default>::default().#member
            }),
            FieldDefault::Empty if attributes.skip => FieldDefault::Trait,
            other => other,
        };
        let name = attributes.rename.unwrap_or(own_name);
        if parsed.iter().any(|known| known.name == name) {
            return Err(syn::Error::new_spanned(field, format!("two fields are named {name:?}")));
        }
        parsed.push(Field {
            member,
            local: format_ident!("f{index}", span = Span::mixed_site()),
            name,
            was: attributes.was,
            ty: field.ty.clone(),
            default,
            skip: attributes.skip,
            adapter,
            support,
        });
    }
    Ok(parsed)
}

fn adapter(form: &Form, ty: &Type, vis: &Visibility, range: &Ident) -> (Option<TokenStream>, TokenStream) {
    let (adapter, support) = match form {
        Form::Own => return (None, quote!()),
        Form::Quat(bits) => return (Some(quote!(__wire::Quat<#bits>)), quote!()),
        Form::Var => (quote!(__wire::Var), quote!()),
        Form::Angle(bits) => (quote!(__wire::Angle<#bits>), quote!()),
        Form::Range(bounds) => {
            let [low, high, step] = &**bounds;
            let support = quote! {
                #[doc(hidden)]
                #vis struct #range;
                impl __wire::RangeSpec for #range {
                    const RANGE: __wire::Range =
                        __wire::Range { low: (#low) as f64, high: (#high) as f64, step: (#step) as f64 };
                }
                const _: () = {
                    let range = <#range as __wire::RangeSpec>::RANGE;
                    assert!(range.low < range.high && range.step > 0.0, "a range needs low < high and step > 0");
                    assert!((range.high - range.low) / range.step < 4294967295.0, "a range has at most 2^32 steps");
                };
            };
            (quote!(__wire::RangeOf<#range>), support)
        }
    };
    match ty {
        Type::Array(_) => (Some(quote!(__wire::Each<#adapter>)), support),
        _ => (Some(adapter), support),
    }
}

impl Field {
    /// `<Type as Wire>` or `<Adapter as Adapt<Type>>`.
    fn writes(&self) -> TokenStream {
        let ty = &self.ty;
        match &self.adapter {
            None => quote!(<#ty as __wire::Wire>),
            Some(adapter) => quote!(<#adapter as __wire::Adapt<#ty>>),
        }
    }

    /// Returns the type of the field's opened columns.
    fn column(&self) -> TokenStream {
        let ty = borrowed(&self.ty);
        match &self.adapter {
            None => quote!(<#ty as __wire::Read<'__de>>::Column),
            Some(adapter) => quote!(<#adapter as __wire::ReadAdapt<'__de, #ty>>::Column),
        }
    }

    fn has_default(&self) -> bool {
        !matches!(self.default, FieldDefault::Empty)
    }

    fn default(&self) -> TokenStream {
        match &self.default {
            // A text literal is allowed as the default of a `String`.
            FieldDefault::Value(value @ Expr::Lit(literal)) if matches!(literal.lit, Lit::Str(_)) => {
                quote!(::core::convert::From::from(#value))
            }
            FieldDefault::Value(value) => quote!(#value),
            _ => quote!(::core::default::Default::default()),
        }
    }

    /// Returns the expression for the value of a row.
    fn get(&self) -> TokenStream {
        let local = &self.local;
        if !self.has_default() {
            return quote!(__wire::Column::get(&self.#local, row, text));
        }
        let default = self.default();
        quote!(match &self.#local {
            ::core::option::Option::Some(column) => __wire::Column::get(column, row, text),
            ::core::option::Option::None => #default,
        })
    }

    /// Returns the expression for an iterator over the values of successive rows.
    fn values(&self) -> TokenStream {
        let local = &self.local;
        if !self.has_default() {
            return quote!(__wire::Column::values(&self.#local, ::core::clone::Clone::clone(&rows), text));
        }
        let get = self.get();
        quote!(::core::iter::Iterator::map(::core::clone::Clone::clone(&rows), move |row| #get))
    }

    /// Returns `Field::new(…)`, with the default if it is a literal.
    fn describe(&self) -> TokenStream {
        let (name, writes) = (&self.name, self.writes());
        let or = match &self.default {
            FieldDefault::Value(value) => literal(value).map(|value| quote!(.or(#value))),
            _ => None,
        };
        let was = &self.was;
        quote!(__wire::Field::new(#name, #writes::describe(shape)) #or #(.was(#was))*)
    }
}

/// Returns a literal as the argument of `Value::from`.
fn literal(value: &Expr) -> Option<TokenStream> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(_) => Some(quote!((#value as i64))),
            Lit::Float(_) => Some(quote!((#value as f64))),
            Lit::Bool(_) | Lit::Str(_) => Some(quote!(#value)),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            let inner = literal(&unary.expr)?;
            Some(quote!(-#inner))
        }
        _ => None,
    }
}

fn written(fields: &[Field]) -> impl Iterator<Item = &Field> {
    fields.iter().filter(|field| !field.skip)
}

/// Returns the items that the fields' adapters need.
pub(crate) fn support(fields: &[Field]) -> TokenStream {
    fields.iter().map(|field| &field.support).cloned().collect()
}

/// Returns the sum of a constant over all fields.
pub(crate) fn sum(fields: &[Field], constant: &str) -> TokenStream {
    let constant = format_ident!("{constant}");
    let terms = written(fields).map(Field::writes);
    quote!(0usize #(+ #terms::#constant)*)
}

/// Whether all fields are flat.
pub(crate) fn flat(fields: &[Field]) -> TokenStream {
    let terms = written(fields).map(Field::writes);
    quote!(true #(&& #terms::FLAT)*)
}

/// Returns `vec![Field::new(…), …]`.
pub(crate) fn describe(fields: &[Field]) -> TokenStream {
    let fields = written(fields).map(Field::describe);
    quote!(vec![#(#fields),*])
}

/// Returns the statements that write every field of `rows`. `access` makes a reference to a field of `row`.
pub(crate) fn write(fields: &[Field], access: impl Fn(usize, &Field) -> TokenStream) -> TokenStream {
    let statements = written(fields).enumerate().map(|(index, field)| {
        let (writes, access) = (field.writes(), access(index, field));
        quote!(#writes::write(rows.clone().map(|row| #access), writer);)
    });
    quote!(#(#statements)*)
}

/// Returns the function `values` of a struct's columns, which iterates over all fields together. Returns nothing for a struct
/// without fields.
pub(crate) fn values(value: &TokenStream, fields: &[Field]) -> TokenStream {
    let all: Vec<&Field> = written(fields).collect();
    if all.is_empty() {
        return quote!();
    }
    let (iterator, pattern) = zipped(&all);
    let inits = fields.iter().map(|field| {
        let (member, local) = (&field.member, &field.local);
        let value = if field.skip { field.default() } else { quote!(#local) };
        quote!(#member: #value)
    });
    quote! {
        #[inline]
        fn values(
            &self,
            rows: ::core::ops::Range<usize>,
            text: &'__de str,
        ) -> impl ::core::iter::ExactSizeIterator<Item = Self::Item> {
            ::core::iter::Iterator::map(#iterator, move |#pattern| #value { #(#inits,)* })
        }
    }
}

/// Zips many iterators into one, and returns the pattern of its items. The iterators are zipped in halves, so that the types are
/// nested as little as possible.
fn zipped(fields: &[&Field]) -> (TokenStream, TokenStream) {
    if let [field] = fields {
        let local = &field.local;
        return (field.values(), quote!(#local));
    }
    let (left, right) = fields.split_at(fields.len() / 2);
    let ((left, left_pattern), (right, right_pattern)) = (zipped(left), zipped(right));
    (quote!(::core::iter::Iterator::zip(#left, #right)), quote!((#left_pattern, #right_pattern)))
}

/// Returns a struct of opened columns with its functions `absent`, `open` and `get`. `value` is the expression that makes a row.
pub(crate) fn columns(
    vis: &Visibility,
    name: &Ident,
    parameters: &syn::Generics,
    item: &TokenStream,
    value: &TokenStream,
    fields: &[Field],
) -> TokenStream {
    let (generics, arguments, clause) = parameters.split_for_impl();
    let all: Vec<&Field> = written(fields).collect();
    let locals: Vec<&Ident> = all.iter().map(|field| &field.local).collect();
    let types = all.iter().map(|field| {
        let column = field.column();
        if field.has_default() { quote!(::core::option::Option<#column>) } else { column }
    });
    let absent = all.iter().map(|field| {
        if field.has_default() {
            quote!(::core::option::Option::None)
        } else {
            quote!(__wire::Column::absent(rows))
        }
    });
    let open = |plan: TokenStream| {
        all.iter()
            .map(|field| {
                let name = &field.name;
                quote!(__wire::Column::open(#plan, rows, input).map_err(|error| error.inside(#name))?)
            })
            .collect::<Vec<_>>()
    };
    let planned = open(quote!(plan.field(step)));
    let same = all.iter().zip(open(quote!(::core::option::Option::None))).map(|(field, opened)| {
        if field.has_default() { quote!(::core::option::Option::Some(#opened)) } else { opened }
    });
    let found = all.iter().map(|field| {
        let local = &field.local;
        if field.has_default() {
            quote!(#local)
        } else {
            quote!(#local.unwrap_or_else(|| __wire::Column::absent(rows)))
        }
    });
    let indices = 0..all.len();
    let inits = fields.iter().map(|field| {
        let member = &field.member;
        let value = if field.skip { field.default() } else { field.get() };
        quote!(#member: #value)
    });
    quote! {
        #[doc(hidden)]
        #vis struct #name #generics #clause {
            #(#locals: #types,)*
            item: ::core::marker::PhantomData<(&'__de (), fn() -> #item)>,
        }

        impl #generics __wire::PayloadColumn<'__de> for #name #arguments #clause {
            type Item = #item;

            #[allow(unused_variables)]
            fn absent(rows: usize) -> Self {
                Self { #(#locals: #absent,)* item: ::core::marker::PhantomData }
            }

            #[allow(unused_variables)]
            fn open(
                plan: ::core::option::Option<__wire::PayloadPlan<'_>>,
                rows: usize,
                input: &mut __wire::Input<'__de>,
            ) -> __wire::Result<Self> {
                let ::core::option::Option::Some(__wire::PayloadPlan { plan, steps, .. }) = plan else {
                    return ::core::result::Result::Ok(Self {
                        #(#locals: #same,)*
                        item: ::core::marker::PhantomData,
                    });
                };
                #(let mut #locals = ::core::option::Option::None;)*
                for step in steps {
                    match step.target {
                        #(::core::option::Option::Some(#indices) => #locals = ::core::option::Option::Some(#planned),)*
                        _ => plan.skip(step, rows, input)?,
                    }
                }
                ::core::result::Result::Ok(Self {
                    #(#locals: #found,)*
                    item: ::core::marker::PhantomData,
                })
            }

            #[inline]
            #[allow(unused_variables)]
            fn get(&self, row: usize, text: &'__de str) -> Self::Item {
                #value { #(#inits,)* }
            }
        }
    }
}
