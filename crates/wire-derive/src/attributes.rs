//! The contents of `#[wire(…)]`.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, LitInt, LitStr, Result, Token};

/// The default of a field, used if the writer does not have the field.
pub(crate) enum FieldDefault {
    /// The empty value of the type.
    Empty,
    /// `Default::default()`.
    Trait,
    /// An expression.
    Value(Expr),
}

/// The wire form of a field.
pub(crate) enum Form {
    Own,
    Range(Box<[Expr; 3]>),
    Angle(u8),
    Quat(u8),
    Var,
}

/// All attributes of a field.
pub(crate) struct FieldAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) was: Vec<String>,
    pub(crate) default: FieldDefault,
    pub(crate) skip: bool,
    pub(crate) form: Form,
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut this = Self {
            rename: None,
            was: Vec::new(),
            default: FieldDefault::Empty,
            skip: false,
            form: Form::Own,
        };
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("wire")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    this.rename = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("was") {
                    this.was.push(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("default") {
                    this.default = if meta.input.peek(Token![=]) {
                        FieldDefault::Value(meta.value()?.parse()?)
                    } else {
                        FieldDefault::Trait
                    };
                } else if meta.path.is_ident("skip") {
                    this.skip = true;
                } else if meta.path.is_ident("var") {
                    this.form = Form::Var;
                } else if meta.path.is_ident("range") {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    let bounds = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
                    let bounds: [Expr; 3] = bounds
                        .into_iter()
                        .collect::<Vec<_>>()
                        .try_into()
                        .map_err(|_| meta.error("range takes three numbers: low, high, step"))?;
                    this.form = Form::Range(Box::new(bounds));
                } else if meta.path.is_ident("angle") {
                    this.form = Form::Angle(number(&meta)?);
                } else if meta.path.is_ident("quat") {
                    this.form = Form::Quat(number(&meta)?);
                } else {
                    return Err(meta.error("known here: rename, was, default, skip, range, angle, quat, var"));
                }
                Ok(())
            })?;
        }
        Ok(this)
    }
}

fn number(meta: &syn::meta::ParseNestedMeta<'_>) -> Result<u8> {
    let content;
    syn::parenthesized!(content in meta.input);
    content.parse::<LitInt>()?.base10_parse()
}

/// Attributes of a struct, an enum or a variant.
#[derive(Default)]
pub(crate) struct NameAttributes {
    pub(crate) rename: Option<String>,
    pub(crate) default: bool,
    pub(crate) other: bool,
}

impl NameAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut this = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("wire")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    this.rename = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("default") {
                    this.default = true;
                } else if meta.path.is_ident("other") {
                    this.other = true;
                } else {
                    return Err(meta.error("known here: rename, default, other"));
                }
                Ok(())
            })?;
        }
        Ok(this)
    }
}
