//! Derive macros of `weft-rtl`.
//!
//! `#[derive(HwEnum)]` makes a field-less enum an encoded enumeration; `#[derive(Bundle)]` makes a struct of signals a bundle;
//! `transitions!` writes a protocol's transition table down.

mod transitions;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, Fields, Type, parse_macro_input};

/// An encoded enumeration. Variants take their discriminants as encodings (0, 1, 2... unless given); `#[hw(width = 3)]` on the enum widens it;
/// `#[hw(label = "ReqO+data")]` on a variant is what tables print for it, in the place of its identifier.
#[proc_macro_derive(HwEnum, attributes(hw))]
pub fn hw_enum(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_enum(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

fn shouting(name: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (i, c) in chars.iter().enumerate() {
        let boundary =
            c.is_uppercase() && i > 0 && (chars[i - 1].is_lowercase() || chars[i - 1].is_ascii_digit());
        if boundary {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

/// What tables print for a variant.
fn label_of(variant: &syn::Variant) -> Result<String, Error> {
    let mut label = variant.ident.to_string();
    for attr in variant.attrs.iter().filter(|a| a.path().is_ident("hw")) {
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("label") {
                label = meta.value()?.parse::<syn::LitStr>()?.value();
                return Ok(());
            }
            Err(meta.error("the only option of a variant is label = \"TEXT\""))
        })?;
    }
    Ok(label)
}

fn expand_enum(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "HwEnum can be derived for enums only"));
    };
    let name = &input.ident;
    let mut next: Expr = syn::parse_quote!(0);
    let mut idents = Vec::new();
    let mut names = Vec::new();
    let mut codes: Vec<Expr> = Vec::new();
    let mut labels: Vec<String> = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new(variant.span(), "variants of a hardware enum carry no data"));
        }
        let code: Expr = variant.discriminant.as_ref().map_or(next.clone(), |(_, e)| e.clone());
        next = syn::parse_quote!((#code) + 1);
        idents.push(&variant.ident);
        names.push(shouting(&variant.ident.to_string()));
        labels.push(label_of(variant)?);
        codes.push(code);
    }
    let mut width: Option<Expr> = None;
    for attr in input.attrs.iter().filter(|a| a.path().is_ident("hw")) {
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("width") {
                width = Some(meta.value()?.parse()?);
                return Ok(());
            }
            Err(meta.error("the only option is width = BITS"))
        })?;
    }
    let width = width.map_or(quote!(None::<u32>), |w| quote!(Some(#w)));
    let text = name.to_string();
    Ok(quote! {
        impl ::weft_rtl::value::HwEnum for #name {
            fn enum_type() -> ::std::sync::Arc<::weft_rtl::ir::EnumType> {
                let variants: Vec<(String, u64)> = vec![#((#names.to_string(), (#codes) as u64)),*];
                let largest = variants.iter().map(|v| v.1).max().unwrap_or(0);
                let width = #width.unwrap_or(::weft_rtl::bv::bits_for(largest + 1));
                ::std::sync::Arc::new(::weft_rtl::ir::EnumType { name: #text.to_string(), width, variants })
            }
            const VARIANTS: &'static [#name] = &[#(#name::#idents),*];
            fn encoding(self) -> u64 {
                match self { #(#name::#idents => (#codes) as u64),* }
            }
            fn label(self) -> &'static str {
                match self { #(#name::#idents => #labels),* }
            }
        }
        impl ::weft_rtl::signal::ArmValue for #name {
            fn code(&self) -> u64 {
                ::weft_rtl::value::HwEnum::encoding(*self)
            }
        }
    })
}

/// A bundle of signals. On the struct: `#[bundle(params = P)]` names the type that fixes the widths (default `()`). On fields, with `p` the parameters:
/// `#[width(expr)]` for `Bits`, `#[shape(expr)]` for vectors and nested bundles, nothing for `Bool` and `Enum`;
/// `#[field("name")]` or `#[field("a" = expr, "b" = expr)]` counts the bits under storage fields; `#[below(expr)]` says that values of the field
/// are below a number (what random stimulus keeps to).
#[proc_macro_derive(Bundle, attributes(bundle, width, shape, field, below))]
pub fn bundle(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_bundle(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

struct StorageFields(Vec<(syn::LitStr, Option<Expr>)>);

impl syn::parse::Parse for StorageFields {
    fn parse(input: syn::parse::ParseStream) -> syn::Result<Self> {
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

fn expand_bundle(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "Bundle can be derived for structs only"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.span(), "a bundle needs named fields"));
    };
    let name = &input.ident;
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
    let mut idents = Vec::new();
    let mut types = Vec::new();
    let mut shapes = Vec::new();
    let mut tags = Vec::new();
    for field in &fields.named {
        let ident = field.ident.as_ref().expect("named");
        let mut shape: Expr = syn::parse_quote!(());
        let mut tag = quote!();
        let mut limit = quote!();
        for attr in &field.attrs {
            if attr.path().is_ident("width") || attr.path().is_ident("shape") {
                shape = attr.parse_args()?;
            } else if attr.path().is_ident("below") {
                let bound: Expr = attr.parse_args()?;
                limit = quote!(for leaf in &mut out[before..] {
                    leaf.below = Some((#bound) as u64);
                });
            } else if attr.path().is_ident("field") {
                let StorageFields(list) = attr.parse_args()?;
                let entries = list.iter().map(|(n, bits)| match bits {
                    Some(bits) => quote!((#n.to_string(), #bits)),
                    None => quote!((#n.to_string(), leaf.width)),
                });
                tag = quote!(for leaf in &mut out[before..] {
                    leaf.fields = vec![#(#entries),*];
                });
            }
        }
        idents.push(ident);
        types.push(&field.ty);
        shapes.push(shape);
        tags.push(quote!(#tag #limit));
    }
    let texts: Vec<String> = idents.iter().map(|i| i.to_string()).collect();
    Ok(quote! {
        impl ::weft_rtl::data::Data for #name {
            type Shape = #params;
            #[allow(unused_variables)]
            fn leaves(p: &Self::Shape, prefix: &str, out: &mut Vec<::weft_rtl::ir::Leaf>) {
                #(
                    let before = out.len();
                    <#types as ::weft_rtl::data::Data>::leaves(
                        &(#shapes), &::weft_rtl::data::join_name(prefix, #texts), out);
                    #tags
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

/// A transition table; `weft_rtl::transitions` shows how it is written.
#[proc_macro]
pub fn transitions(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as transitions::Sheet);
    input.expand().into()
}
