//! Bundles of signals.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, Result, Type};

/// Bits of a field under the names that storage is counted by.
struct StorageFields(Vec<(syn::LitStr, Option<Expr>)>);

impl syn::parse::Parse for StorageFields {
    fn parse(input: syn::parse::ParseStream<'_>) -> Result<Self> {
        let mut out = Vec::new();
        while !input.is_empty() {
            let name: syn::LitStr = input.parse()?;
            let bits = if input.peek(syn::Token![=]) {
                input.parse::<syn::Token![=]>()?;
                Some(input.parse()?)
            } else {
                None
            };
            out.push((name, bits));
            if !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
            }
        }
        Ok(StorageFields(out))
    }
}

/// A field, with what its attributes say.
struct Part<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    /// Expression of its shape.
    shape: Expr,
    /// What its leaves' names begin with, behind the bundle's.
    name: String,
    /// Statements about its leaves, from number `before` on.
    about: Tokens,
}

impl<'a> Part<'a> {
    fn new(field: &'a Field) -> Result<Part<'a>> {
        let ident =
            field.ident.as_ref().ok_or_else(|| Error::new(field.span(), "a bundle needs named fields"))?;
        let mut part = Part {
            ident,
            ty: &field.ty,
            shape: syn::parse_quote!(()),
            name: ident.to_string(),
            about: quote!(),
        };
        let mut shaped = false;
        for attr in &field.attrs {
            if attr.path().is_ident("width") || attr.path().is_ident("shape") {
                if shaped {
                    return Err(Error::new(attr.meta.span(), "a field has one `width` or `shape`"));
                }
                shaped = true;
                part.shape = attr.parse_args()?;
            } else if attr.path().is_ident("flat") {
                if attr.meta.require_path_only().is_err() {
                    return Err(Error::new(attr.meta.span(), "`flat` has no value"));
                }
                part.name.clear();
            } else {
                part.tell(attr)?;
            }
        }
        Ok(part)
    }

    /// What an attribute says of the leaves.
    fn tell(&mut self, attr: &Attribute) -> Result<()> {
        let so_far = &self.about;
        if attr.path().is_ident("below") {
            let bound: Expr = attr.parse_args()?;
            self.about = quote!(#so_far for leaf in &mut out[before..] {
                leaf.below = Some((#bound) as u64);
            });
        } else if attr.path().is_ident("field") {
            let StorageFields(list) = attr.parse_args()?;
            let entries = list.iter().map(|(n, bits)| match bits {
                Some(bits) => quote!((#n.to_string(), #bits)),
                None => quote!((#n.to_string(), leaf.width)),
            });
            self.about = quote!(#so_far for leaf in &mut out[before..] {
                leaf.fields = vec![#(#entries),*];
            });
        }
        Ok(())
    }
}

/// The type that fixes the widths.
fn params(input: &DeriveInput) -> Result<Type> {
    let mut params: Type = syn::parse_quote!(());
    for attr in input.attrs.iter().filter(|a| a.path().is_ident("bundle")) {
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("params") {
                params = meta.value()?.parse()?;
                return Ok(());
            }
            Err(meta.error("the only option is params = TYPE"))
        })?;
    }
    Ok(params)
}

/// The implementation of `Data`.
pub fn expand(input: &DeriveInput) -> Result<Tokens> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "Bundle can be derived for structs only"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.span(), "a bundle needs named fields"));
    };
    let (name, params) = (&input.ident, params(input)?);
    let (generics, args, bounds) = input.generics.split_for_impl();
    let parts: Vec<Part<'_>> = fields.named.iter().map(Part::new).collect::<Result<_>>()?;
    let idents: Vec<_> = parts.iter().map(|part| part.ident).collect();
    let types: Vec<_> = parts.iter().map(|part| part.ty).collect();
    let shapes: Vec<_> = parts.iter().map(|part| &part.shape).collect();
    let names: Vec<_> = parts.iter().map(|part| &part.name).collect();
    let about: Vec<_> = parts.iter().map(|part| &part.about).collect();
    Ok(quote! {
        impl #generics ::weft_rtl::data::Data for #name #args #bounds {
            type Shape = #params;
            #[allow(unused_variables)]
            fn leaves(p: &Self::Shape, prefix: &str, out: &mut Vec<::weft_rtl::ir::Leaf>) {
                #(
                    let before = out.len();
                    <#types as ::weft_rtl::data::Data>::leaves(
                        &(#shapes), &::weft_rtl::data::join_name(prefix, #names), out);
                    #about
                )*
            }
            #[allow(unused_variables)]
            fn from_leaves(
                p: &Self::Shape,
                leaves: &mut dyn Iterator<Item = ::weft_rtl::value::Bits>,
            ) -> Self {
                #(let #idents = <#types as ::weft_rtl::data::Data>::from_leaves(&(#shapes), leaves);)*
                #name { #(#idents),* }
            }
            fn to_leaves(&self, out: &mut Vec<::weft_rtl::value::Bits>) {
                #(::weft_rtl::data::Data::to_leaves(&self.#idents, out);)*
            }
            fn with_leaves(&self, leaves: &mut dyn Iterator<Item = ::weft_rtl::value::Bits>) -> Self {
                #name { #(#idents: ::weft_rtl::data::Data::with_leaves(&self.#idents, leaves)),* }
            }
        }
    })
}
