//! Words of parameters.

use weft_rtl::Words;

#[derive(Clone, Copy, PartialEq, Debug, Words)]
enum Policy {
    /// Nothing.
    None,
    WriteThroughAll,
    #[word("write_back")]
    Back,
    L2Only,
}

#[test]
fn words_are_names_in_small_letters_unless_another_is_given() {
    assert_eq!(Policy::LEGAL, "none, write-through-all, write_back, l2-only");
    assert_eq!(Policy::WORDS[2], (Policy::Back, "write_back"));
    assert_eq!(
        Policy::WORDS.iter().map(|(policy, _)| policy.word()).collect::<Vec<_>>().join(", "),
        Policy::LEGAL
    );
    assert_eq!((Policy::None.word(), Policy::WORDS.len()), ("none", 4));
    assert_eq!([Policy::WriteThroughAll, Policy::L2Only].map(Policy::word), ["write-through-all", "l2-only"]);
}
