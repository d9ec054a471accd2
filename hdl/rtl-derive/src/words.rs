//! Words of the command line.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

/// A name in small letters, its parts joined by `-`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn word_of(variant: &Variant) -> Result<String> {
    if !matches!(variant.fields, Fields::Unit) {
        return Err(Error::new(variant.span(), "a value that is chosen by a word carries no data"));
    }
    match variant.attrs.iter().find(|attr| attr.path().is_ident("word")) {
        Some(attr) => Ok(attr.parse_args::<LitStr>()?.value()),
        None => Ok(kebab(&variant.ident.to_string())),
    }
}

/// The words and what they stand for.
pub fn expand(input: &DeriveInput) -> Result<Tokens> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "Words can be derived for enums only"));
    };
    let name = &input.ident;
    let idents: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let words: Vec<String> = data.variants.iter().map(word_of).collect::<Result<_>>()?;
    let legal = words.join(", ");
    Ok(quote! {
        impl #name {
            /// Every value with its word on the command line.
            pub const WORDS: &'static [(#name, &'static str)] = &[#((#name::#idents, #words)),*];

            /// The words, for the list of parameters.
            pub const LEGAL: &'static str = #legal;

            /// Its word.
            pub fn word(self) -> &'static str {
                match self { #(#name::#idents => #words),* }
            }
        }
    })
}
