//! Files that are not HTML: plain text, and binary files with a valid signature and random content.

use crate::content::text;
use crate::world::page::{Page, PageKey};
use crate::world::random::KeyedRandom;
use crate::world::text_buffer::TextBuffer;

/// Returns a plain text of 20 to 219 sentences; a change rewrites the first ones.
pub(crate) fn plain_text(page: &Page, version: u64) -> TextBuffer {
    let random = page.random(PageKey::Text);
    let words = page.language.vocabulary();
    let sentences = 20 + random.below(200);
    let mut out = TextBuffer::with_capacity(sentences as usize * 90);
    text::push_title(&mut out, page);
    out.push_str("\n\n");
    for n in 0..sentences {
        let key = if n < 5 { random.child(n).child(version) } else { random.child(n) };
        text::push_sentence(&mut out, words, key);
        if n % 5 == 4 {
            out.push_str("\n");
        }
    }
    out
}

pub(crate) fn pdf(page: &Page) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nstream\n".to_vec();
    push_noise(&mut out, page.random(PageKey::Text), 20_000 + page.random(PageKey::Size).below(40_000));
    out.extend_from_slice(b"\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n");
    out
}

/// Returns a PNG signature and header, followed by random bytes.
pub(crate) fn image(page: &Page) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x40\x08\x02\0\0\0".to_vec();
    push_noise(&mut out, page.random(PageKey::Text), 4_000 + page.random(PageKey::Size).below(60_000));
    out
}

fn push_noise(out: &mut Vec<u8>, random: KeyedRandom, bytes: u64) {
    let mut stream = random.stream();
    out.extend((0..bytes / 8).flat_map(|_| stream.bits().to_le_bytes()));
}
