//! How does a text reach the index as terms? Its first character says by which language, the rest is cut and stemmed.

use std::ops::Range;
use std::sync::Arc;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::cutter::{Cutter, PieceKind};
use crate::language::Language;
use crate::stems::Stems;
use crate::word_counts::WordCounts;

/// The name under which an index knows this way. It changes with what becomes of words, so that an index of another way is built anew.
pub(crate) const TOKENIZER: &str = "weir-1";

/// Makes terms of texts that [`marked`] has prepared.
pub(crate) struct PageTokenizer {
    stems: Stems,
    token: Token,
    /// Where words as they are written are counted, if somebody wants to know.
    counts: Option<Arc<WordCounts>>,
}

/// Puts a text where the tokenizer expects it: behind the mark of its language.
pub(crate) fn marked(language: Language, text: &str) -> String {
    let mut marked = String::with_capacity(text.len() + 1);
    marked.push(char::from(language.number()));
    marked.push_str(text);
    marked
}

/// Shows `each` the terms of a page's text with their positions and places, as the index has them if the page is in the language of
/// this code.
pub(crate) fn for_each_term(code: Option<&str>, text: &str, mut each: impl FnMut(&str, usize, Range<usize>)) {
    let language = code.map_or(Language::NONE, Language::of_code);
    Stems::remembered(|stems| {
        let mut tokens =
            PageTokens { language, cutter: Cutter::new(text), stems, token: &mut Token::default() };
        while let Some(token) = tokens.next() {
            each(&token.text, token.position, token.offset_from..token.offset_to);
        }
    });
}

impl PageTokenizer {
    /// Knows no words yet.
    pub(crate) fn new() -> PageTokenizer {
        PageTokenizer { stems: Stems::new(), token: Token::default(), counts: None }
    }

    /// Counts words as they are written, too.
    pub(crate) fn counting(counts: &Arc<WordCounts>) -> PageTokenizer {
        let counts = Arc::clone(counts);
        let stems = Stems::counting(Arc::clone(&counts));
        PageTokenizer { stems, token: Token::default(), counts: Some(counts) }
    }
}

/// Each field of each thread has one of its own.
impl Clone for PageTokenizer {
    fn clone(&self) -> PageTokenizer {
        match &self.counts {
            Some(counts) => PageTokenizer::counting(counts),
            None => PageTokenizer::new(),
        }
    }
}

impl Tokenizer for PageTokenizer {
    type TokenStream<'a> = PageTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PageTokens<'a> {
        let mut chars = text.chars();
        let mark = chars.next().and_then(|c| u8::try_from(c).ok());
        PageTokens {
            language: mark.map_or(Language::NONE, Language::from_number),
            cutter: Cutter::new(chars.as_str()),
            stems: &mut self.stems,
            token: &mut self.token,
        }
    }
}

/// The terms of one text.
pub(crate) struct PageTokens<'a> {
    language: Language,
    cutter: Cutter<'a>,
    stems: &'a mut Stems,
    token: &'a mut Token,
}

impl TokenStream for PageTokens<'_> {
    fn advance(&mut self) -> bool {
        while let Some(piece) = self.cutter.next() {
            let term = match piece.kind {
                PieceKind::Word => self.stems.term(self.language, piece.text),
                PieceKind::Pair | PieceKind::Single => Some(piece.text),
            };
            let Some(term) = term else { continue };
            self.token.text.clear();
            self.token.text.push_str(term);
            self.token.position = piece.position as usize;
            (self.token.offset_from, self.token.offset_to) = (piece.start, piece.end);
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
