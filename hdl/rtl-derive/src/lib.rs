//! Derive macros of `weft-rtl`.
//!
//! `#[derive(HwEnum)]` makes a field-less enum an encoded enumeration; `#[derive(Bundle)]` makes a struct of signals a bundle; `#[derive(Words)]` names the values of a
//! parameter; `transitions!` writes a protocol's transition table down.

mod bundle;
mod transitions;
mod words;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, Fields, parse_macro_input};

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
/// `#[flat]` leaves the field's name out of those of its leaves, which stand as if they were the bundle's own;
/// `#[field("name")]` or `#[field("a" = expr, "b" = expr)]` counts the bits under storage fields; `#[below(expr)]` says that values of the field
/// are below a number (what random stimulus keeps to).
///
/// The struct may have type parameters: `struct Tagged<T: Data<Shape = P> + Copy>`.
#[proc_macro_derive(Bundle, attributes(bundle, width, shape, flat, field, below))]
pub fn bundle(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    bundle::expand(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// The words for the values of a parameter, a field-less enum: its name in small letters, parts joined by `-` (`NoneAtAll`: `none-at-all`), or `#[word("none_at_all")]` on the variant.
/// Gives it `WORDS`, every value with its word; `LEGAL`, the words with commas between; and `word()`.
#[proc_macro_derive(Words, attributes(word))]
pub fn words(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    words::expand(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// A transition table, or rows that several tables include; `weft_rtl::transitions` shows how they are written.
#[proc_macro]
pub fn transitions(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as transitions::Written);
    input.expand().into()
}

/// What `include` in a transition table stands for.
#[doc(hidden)]
#[proc_macro]
pub fn included_rows(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as transitions::Included);
    input.expand().into()
}
