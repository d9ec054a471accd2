//! Rows that tables include.

use super::{Head, Item, items, words};
use proc_macro2::{Delimiter, Group, TokenStream as Tokens, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Ident, Result, Token, Type, Visibility, braced, parenthesized};

/// Rows that tables include: a macro, since its words mean what they mean in the table.
pub struct RowSet {
    attrs: Vec<Attribute>,
    vis: Visibility,
    ident: Ident,
    params: Vec<Ident>,
    body: Tokens,
}

impl Parse for RowSet {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        if let Visibility::Public(public) = &vis {
            return Err(Error::new(public.span(), "rows are included within a crate: `pub(crate) rows`"));
        }
        input.parse::<words::rows>()?;
        let ident = input.parse()?;
        let mut params = Vec::new();
        if input.peek(syn::token::Paren) {
            let list;
            parenthesized!(list in input);
            params = list.parse_terminated(Ident::parse, Token![,])?.into_iter().collect();
        }
        let body;
        braced!(body in input);
        items(&body.fork())?;
        Ok(RowSet { attrs, vis, ident, params, body: body.parse()? })
    }
}

impl RowSet {
    /// The macro that gives the rows.
    pub fn expand(&self) -> Tokens {
        let RowSet { attrs, vis, ident, params, body } = self;
        quote! {
            #(#attrs)*
            macro_rules! #ident {
                ($($given:tt)*) => { ::weft_rtl::included_rows! { #ident (#(#params),*) { #body } $($given)* } };
            }
            #[allow(unused_imports, reason = "those who include the rows in the same file find the macro itself")]
            #vis use #ident;
        }
    }
}

/// Rows at a place where they are included.
pub struct Included {
    head: Head,
    body: Vec<Item>,
}

impl Parse for Included {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let set: Ident = input.parse()?;
        let (names, body, given, columns, next, does);
        parenthesized!(names in input);
        let params: Vec<Ident> = names.parse_terminated(Ident::parse, Token![,])?.into_iter().collect();
        braced!(body in input);
        let paren = parenthesized!(given in input);
        let values: Vec<Expr> = given.parse_terminated(Expr::parse, Token![,])?.into_iter().collect();
        let table = input.parse()?;
        parenthesized!(columns in input);
        let columns = columns.parse_terminated(Type::parse, Token![,])?.into_iter().collect();
        parenthesized!(next in input);
        parenthesized!(does in input);
        let maybe = |input: ParseStream<'_>| (!input.is_empty()).then(|| input.parse()).transpose();
        let head = Head { table, columns, next: maybe(&next)?, does: maybe(&does)? };
        if params.len() != values.len() {
            let text =
                format!("values of the rows `{set}`: {} expected, {} given", params.len(), values.len());
            return Err(Error::new(paren.span.join(), text));
        }
        let values: Vec<(Ident, Expr)> = params.into_iter().zip(values).collect();
        let body = Parser::parse2(items, filled(body.parse()?, &values))?;
        head.check(&body)?;
        Ok(Included { head, body })
    }
}

impl Included {
    /// The statements that put the rows into the table.
    pub fn expand(&self) -> Tokens {
        self.head.items(&self.body)
    }
}

/// Rows with values in the places of their parameters.
fn filled(rows: Tokens, values: &[(Ident, Expr)]) -> Tokens {
    let one = |token| match token {
        TokenTree::Ident(name) => match values.iter().find(|(param, _)| *param == name) {
            Some((_, value)) => TokenTree::Group(Group::new(Delimiter::None, value.to_token_stream())),
            None => TokenTree::Ident(name),
        },
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), filled(group.stream(), values));
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        other => other,
    };
    rows.into_iter().map(one).collect()
}
