//! What is in the files that are no HTML? Text with words of the page's language; binaries that look like what they
//! claim to be, and hold nothing.

use crate::draw::Draw;
use crate::page::{About, Page};
use crate::sheet::Sheet;
use crate::text;

/// A plain text of 20 to 219 sentences; a change rewrites the first ones.
pub(crate) fn plain_text(page: &Page, version: u64) -> Sheet {
    let draw = page.about(About::Text);
    let words = page.language.vocabulary();
    let sentences = 20 + draw.below(200);
    let mut out = Sheet::with_capacity(sentences as usize * 90);
    text::push_title(&mut out, page);
    out.push_str("\n\n");
    for n in 0..sentences {
        let key = if n < 5 { draw.of(n).of(version) } else { draw.of(n) };
        text::push_sentence(&mut out, words, key);
        if n % 5 == 4 {
            out.push_str("\n");
        }
    }
    out
}

pub(crate) fn pdf(page: &Page) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nstream\n".to_vec();
    push_noise(&mut out, page.about(About::Text), 20_000 + page.about(About::Size).below(40_000));
    out.extend_from_slice(b"\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n");
    out
}

/// A PNG signature and header, then noise: for clients that look at no more.
pub(crate) fn image(page: &Page) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x40\x08\x02\0\0\0".to_vec();
    push_noise(&mut out, page.about(About::Text), 4_000 + page.about(About::Size).below(60_000));
    out
}

fn push_noise(out: &mut Vec<u8>, draw: Draw, bytes: u64) {
    let mut stream = draw.stream();
    out.extend((0..bytes / 8).flat_map(|_| stream.bits().to_le_bytes()));
}
