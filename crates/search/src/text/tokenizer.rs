//! Tokenizer for tantivy. The first character of a text is the number of its language; the rest is segmented and stemmed.

use std::ops::Range;
use std::sync::Arc;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::text::language::Language;
use crate::text::segmenter::{Segmenter, TokenKind};
use crate::text::stemmer::Stemmer;
use crate::text::word_counts::WordCounts;

/// Name of the tokenizer in the schema. It has to change with the tokenization, so that an index of an older version is rebuilt.
pub(crate) const TOKENIZER: &str = "weir-2";

/// Tokenizer of texts with a language prefix ([`with_language_prefix`]).
pub(crate) struct PageTokenizer {
    stemmer: Stemmer,
    token: Token,
    /// Shared word counts, if words are counted.
    counts: Option<Arc<WordCounts>>,
}

/// Puts the number of the language in front of a text.
pub(crate) fn with_language_prefix(language: Language, text: &str) -> String {
    let mut with_language_prefix = String::with_capacity(text.len() + 1);
    with_language_prefix.push(char::from(language.number()));
    with_language_prefix.push_str(text);
    with_language_prefix
}

/// Calls `f` with the terms of a text in a language, as the index has them, with their positions and byte ranges.
pub(crate) fn for_each_term(code: Option<&str>, text: &str, mut f: impl FnMut(&str, usize, Range<usize>)) {
    let language = code.map_or(Language::NONE, Language::from_code);
    Stemmer::with_thread_local(|stemmer| {
        let mut tokens =
            PageTokens { language, segmenter: Segmenter::new(text), stemmer, token: &mut Token::default() };
        while let Some(token) = tokens.next() {
            f(&token.text, token.position, token.offset_from..token.offset_to);
        }
    });
}

impl PageTokenizer {
    pub(crate) fn new() -> PageTokenizer {
        PageTokenizer { stemmer: Stemmer::new(), token: Token::default(), counts: None }
    }

    /// Tokenizer that also counts the words as written.
    pub(crate) fn with_counts(counts: &Arc<WordCounts>) -> PageTokenizer {
        let counts = Arc::clone(counts);
        let stemmer = Stemmer::with_counts(Arc::clone(&counts));
        PageTokenizer { stemmer, token: Token::default(), counts: Some(counts) }
    }
}

/// Creates an empty tokenizer: tantivy clones one per thread and field, and caches are not shared.
impl Clone for PageTokenizer {
    fn clone(&self) -> PageTokenizer {
        match &self.counts {
            Some(counts) => PageTokenizer::with_counts(counts),
            None => PageTokenizer::new(),
        }
    }
}

impl Tokenizer for PageTokenizer {
    type TokenStream<'a> = PageTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PageTokens<'a> {
        let mut chars = text.chars();
        let prefix = chars.next().and_then(|c| u8::try_from(c).ok());
        PageTokens {
            language: prefix.map_or(Language::NONE, Language::from_number),
            segmenter: Segmenter::new(chars.as_str()),
            stemmer: &mut self.stemmer,
            token: &mut self.token,
        }
    }
}

/// Token stream of one text.
pub(crate) struct PageTokens<'a> {
    language: Language,
    segmenter: Segmenter<'a>,
    stemmer: &'a mut Stemmer,
    token: &'a mut Token,
}

impl TokenStream for PageTokens<'_> {
    fn advance(&mut self) -> bool {
        while let Some(token) = self.segmenter.next() {
            let term = match token.kind {
                TokenKind::Word => self.stemmer.term(self.language, token.text),
                TokenKind::Bigram | TokenKind::Unigram => Some(token.text),
            };
            let Some(term) = term else { continue };
            self.token.text.clear();
            self.token.text.push_str(term);
            self.token.position = token.position as usize;
            (self.token.offset_from, self.token.offset_to) = (token.start, token.end);
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
