//! Prints the declaration of a block of Weft for a rust-hdl design: `declare BLOCK [KEY=VALUE]...`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use weft_rust_hdl::declaration;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match declare(&words) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("declare: {message}");
            ExitCode::from(2)
        }
    }
}

fn declare(words: &[String]) -> Result<String, String> {
    let (block, params) = words
        .split_first()
        .ok_or("no block given; usage: declare BLOCK [KEY=VALUE]..., see `weft list blocks`")?;
    let pair = |word: &String| {
        let (key, value) =
            word.split_once('=').ok_or(format!("parameter {word} is not of the form KEY=VALUE"))?;
        Ok((key.to_string(), value.to_string()))
    };
    let given = params.iter().map(pair).collect::<Result<BTreeMap<_, _>, String>>()?;
    let module = weft_catalog::build(block, &given).map_err(|error| error.to_string())?;
    Ok(declaration(&module, &type_name(block)))
}

/// `rec-directory` becomes `RecDirectory`.
fn type_name(block: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    block.split('-').map(capital).collect()
}
