//! The notation of transition tables, and of rows that several of them have.

mod rows;

pub use rows::{Included, RowSet};

use proc_macro2::{Span, TokenStream as Tokens};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, FnArg, Generics, Ident, LitStr, Path, Result, Token, Type, Visibility};
use syn::{braced, bracketed, parenthesized};

mod words {
    syn::custom_keyword!(name);
    syn::custom_keyword!(rows);
    syn::custom_keyword!(on);
    syn::custom_keyword!(next);
    syn::custom_keyword!(does);
    syn::custom_keyword!(never);
    syn::custom_keyword!(idle);
    syn::custom_keyword!(include);
}

/// What is written down.
pub enum Written {
    /// A table.
    Table(Box<Sheet>),
    /// Rows that tables include.
    Rows(RowSet),
}

impl Parse for Written {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let ahead = input.fork();
        ahead.call(Attribute::parse_outer)?;
        ahead.parse::<Visibility>()?;
        if ahead.peek(words::rows) {
            return Ok(Written::Rows(input.parse()?));
        }
        Ok(Written::Table(input.parse()?))
    }
}

impl Written {
    /// The function, or the macro that gives the rows.
    pub fn expand(&self) -> Tokens {
        match self {
            Written::Table(sheet) => sheet.expand(),
            Written::Rows(set) => set.expand(),
        }
    }
}

/// A whole table: the function that gives it.
pub struct Sheet {
    attrs: Vec<Attribute>,
    vis: Visibility,
    ident: Ident,
    generics: Generics,
    args: Punctuated<FnArg, Token![,]>,
    name: Expr,
    prefix: Expr,
    headings: Vec<String>,
    head: Head,
    body: Vec<Item>,
}

/// What gives the words of rows their meaning: the types of the table that they stand in.
struct Head {
    /// The table, in the function that makes it.
    table: Ident,
    columns: Vec<Type>,
    next: Option<Type>,
    does: Option<Type>,
}

/// What stands in a table.
enum Item {
    Row { id: Option<LitStr>, when: When, next: Vec<Path>, does: Vec<Path>, why: Expr },
    Never { when: When, why: Expr },
    Idle { when: When, why: Expr },
    If { cond: Expr, then: Vec<Item>, els: Option<Vec<Item>> },
    Include { set: Path, values: Vec<Expr> },
}

/// One pattern per column.
struct When {
    patterns: Vec<Pattern>,
    span: Span,
}

/// The values of a column that a row accepts.
enum Pattern {
    Any,
    Some(Vec<Path>),
}

impl Parse for Sheet {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        input.parse::<Token![fn]>()?;
        let ident = input.parse()?;
        let generics = input.parse()?;
        let list;
        parenthesized!(list in input);
        let args = list.parse_terminated(FnArg::parse, Token![,])?;
        let body;
        braced!(body in input);
        body.parse::<words::name>()?;
        let name = body.parse()?;
        body.parse::<Token![,]>()?;
        body.parse::<words::rows>()?;
        let prefix = body.parse()?;
        body.parse::<Token![;]>()?;
        let (headings, columns) = columns(&body)?.into_iter().unzip();
        let next = clause::<words::next>(&body, body.peek(words::next))?;
        let does = clause::<words::does>(&body, body.peek(words::does))?;
        let head = Head { table: Ident::new("table", Span::call_site()), columns, next, does };
        let body = items(&body)?;
        head.check(&body)?;
        Ok(Sheet { attrs, vis, ident, generics, args, name, prefix, headings, head, body })
    }
}

/// `on "access": Access, "state": LineState;`
fn columns(input: ParseStream<'_>) -> Result<Vec<(String, Type)>> {
    input.parse::<words::on>()?;
    let mut columns = Vec::new();
    loop {
        let name: LitStr = input.parse()?;
        input.parse::<Token![:]>()?;
        columns.push((name.value(), input.parse()?));
        if input.peek(Token![;]) {
            input.parse::<Token![;]>()?;
            return Ok(columns);
        }
        input.parse::<Token![,]>()?;
    }
}

/// `next LineState;` and `does Act;`.
fn clause<W: Parse>(input: ParseStream<'_>, there: bool) -> Result<Option<Type>> {
    if !there {
        return Ok(None);
    }
    input.parse::<W>()?;
    let ty = input.parse()?;
    input.parse::<Token![;]>()?;
    Ok(Some(ty))
}

fn items(input: ParseStream<'_>) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    while !input.is_empty() {
        items.push(input.parse()?);
    }
    Ok(items)
}

fn block(input: ParseStream<'_>) -> Result<Vec<Item>> {
    let inner;
    braced!(inner in input);
    items(&inner)
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Token![if]) {
            return choice(input);
        }
        if input.peek(words::include) {
            return include(input);
        }
        let (never, idle) = (input.peek(words::never), input.peek(words::idle));
        if never || idle {
            input.parse::<Ident>()?;
            let (when, why) = (input.parse()?, input.parse()?);
            input.parse::<Token![;]>()?;
            return Ok(if never { Item::Never { when, why } } else { Item::Idle { when, why } });
        }
        let id = if input.peek(LitStr) { Some(input.parse()?) } else { None };
        let when = input.parse()?;
        let mut next = Vec::new();
        if input.peek(Token![->]) {
            input.parse::<Token![->]>()?;
            next = Punctuated::<Path, Token![|]>::parse_separated_nonempty(input)?.into_iter().collect();
        }
        let mut does = Vec::new();
        if input.peek(syn::token::Bracket) {
            let list;
            bracketed!(list in input);
            does = list.parse_terminated(Path::parse, Token![,])?.into_iter().collect();
        }
        let why = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Item::Row { id, when, next, does, why })
    }
}

fn choice(input: ParseStream<'_>) -> Result<Item> {
    input.parse::<Token![if]>()?;
    let cond = input.call(Expr::parse_without_eager_brace)?;
    let then = block(input)?;
    let els = if input.peek(Token![else]) {
        input.parse::<Token![else]>()?;
        Some(if input.peek(Token![if]) { vec![choice(input)?] } else { block(input)? })
    } else {
        None
    };
    Ok(Item::If { cond, then, els })
}

/// `include ROWS;` and `include ROWS(VALUE, VALUE);`
fn include(input: ParseStream<'_>) -> Result<Item> {
    input.parse::<words::include>()?;
    let set = input.call(Path::parse_mod_style)?;
    let mut values = Vec::new();
    if input.peek(syn::token::Paren) {
        let list;
        parenthesized!(list in input);
        values = list.parse_terminated(Expr::parse, Token![,])?.into_iter().collect();
    }
    input.parse::<Token![;]>()?;
    Ok(Item::Include { set, values })
}

impl Parse for When {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let list;
        let paren = parenthesized!(list in input);
        let patterns = list.parse_terminated(Pattern::parse, Token![,])?.into_iter().collect();
        Ok(When { patterns, span: paren.span.join() })
    }
}

impl Parse for Pattern {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Token![_]) {
            input.parse::<Token![_]>()?;
            return Ok(Pattern::Any);
        }
        let values = Punctuated::<Path, Token![|]>::parse_separated_nonempty(input)?;
        Ok(Pattern::Some(values.into_iter().collect()))
    }
}

impl Sheet {
    /// The function.
    fn expand(&self) -> Tokens {
        let Sheet { attrs, vis, ident, generics, args, name, prefix, headings, head, body } = self;
        let Head { table, columns, .. } = head;
        let rtl = quote!(::weft_rtl::transitions);
        let (next, does) = (head.next(), head.does());
        let body = head.items(body);
        quote! {
            #(#attrs)*
            #vis fn #ident #generics (#args) -> #rtl::Transitions<(#(#columns,)*), #next, #does> {
                let mut #table = #rtl::Transitions::new(#name, #prefix, &[#(#headings),*]);
                #body
                #table
            }
        }
    }
}

impl Head {
    fn next(&self) -> Tokens {
        self.next.as_ref().map_or(quote!(::weft_rtl::transitions::NoState), ToTokens::to_token_stream)
    }

    fn does(&self) -> Tokens {
        self.does.as_ref().map_or(quote!(::weft_rtl::transitions::NoAction), ToTokens::to_token_stream)
    }

    /// What the notation itself can see: the number of patterns, and words without the clause that gives them a meaning.
    fn check(&self, body: &[Item]) -> Result<()> {
        let count = self.columns.len();
        for item in body {
            let when = match item {
                Item::Row { id, when, next, does, .. } => {
                    if let (None, Some(path)) = (&self.next, next.first()) {
                        return Err(Error::new(path.span(), "the table has no `next STATE;`"));
                    }
                    if let (None, Some(path)) = (&self.does, does.first()) {
                        return Err(Error::new(path.span(), "the table has no `does ACTIONS;`"));
                    }
                    let one = |p: &Pattern| matches!(p, Pattern::Some(values) if values.len() == 1);
                    if id.is_none() && !when.patterns.iter().all(one) {
                        let text = "a row for several pairs needs a name: \"NAME\" before the pattern";
                        return Err(Error::new(when.span, text));
                    }
                    when
                }
                Item::Never { when, .. } | Item::Idle { when, .. } => when,
                Item::If { then, els, .. } => {
                    self.check(then)?;
                    self.check(els.as_deref().unwrap_or_default())?;
                    continue;
                }
                Item::Include { .. } => continue,
            };
            if when.patterns.len() != count {
                let text = format!("{} patterns for {count} columns", when.patterns.len());
                return Err(Error::new(when.span, text));
            }
        }
        Ok(())
    }

    /// The statements that put rows into the table.
    fn items(&self, items: &[Item]) -> Tokens {
        items.iter().map(|item| self.item(item)).collect()
    }

    fn item(&self, item: &Item) -> Tokens {
        let table = &self.table;
        match item {
            Item::Row { id, when, next, does, why } => {
                let patterns = self.patterns(when);
                let id = match id {
                    Some(id) => quote!(::core::option::Option::Some(#id)),
                    None => quote!(::core::option::Option::None::<&str>),
                };
                let next = next.iter().map(|path| value(&self.next(), path));
                let does = does.iter().map(|path| value(&self.does(), path));
                quote_spanned!(when.span=> #table.row(#id, #patterns, &[#(#next),*], &[#(#does),*], #why);)
            }
            Item::Never { when, why } => {
                let patterns = self.patterns(when);
                quote_spanned!(when.span=> #table.never(#patterns, #why);)
            }
            Item::Idle { when, why } => {
                let patterns = self.patterns(when);
                quote_spanned!(when.span=> #table.idle(#patterns, #why);)
            }
            Item::If { cond, then, els } => {
                let (then, els) = (self.items(then), self.items(els.as_deref().unwrap_or_default()));
                quote!(if #cond { #then } else { #els })
            }
            Item::Include { set, values } => {
                let Head { columns, next, does, .. } = self;
                quote_spanned!(set.span()=> #set! { (#(#values),*) #table (#(#columns),*) (#next) (#does) })
            }
        }
    }

    fn patterns(&self, when: &When) -> Tokens {
        let each = when.patterns.iter().zip(&self.columns).map(|(pattern, ty)| match pattern {
            Pattern::Any => quote!(&[] as &[#ty]),
            Pattern::Some(values) => {
                let values = values.iter().map(|path| value(&ty.to_token_stream(), path));
                quote!(&[#(#values),*] as &[#ty])
            }
        });
        quote!((#(#each,)*))
    }
}

/// A name, of the variant of a type; a name in small letters, or a path, is one of the function's own.
fn value(ty: &Tokens, path: &Path) -> Tokens {
    let Some(ident) = path.get_ident() else { return path.to_token_stream() };
    if ident.to_string().starts_with(|c: char| c.is_lowercase()) {
        return ident.to_token_stream();
    }
    quote_spanned!(ident.span()=> <#ty>::#ident)
}
