//! What is a link worth? More if it stands out: in a heading, in bold, with many words, early in the page.
//!
//! After Baeza-Yates and Davis ("Web page ranking using link attributes", 2004): weight = 1 + T + L + P, where T is for
//! the elements around it, L the length of its text in averages of *its page* (at most 4), and P is 1 for a link at the
//! beginning and 0 at the end. They divide by the average of all pages; since the weights of a page are shares of its
//! rank, that of the page does as well, and needs no second look at all pages. Several links to one page add up.

use parse::Context;
use store::Link;

/// A weight is kept in sixteenths, so that it takes one byte.
const STEPS: f32 = 16.0;
const MOST_ANCHOR_AVERAGES: f32 = 4.0;
/// What each element around a link adds.
const ELEMENTS: [(Context, f32); 3] =
    [(Context::HEADING, 1.0), (Context::STRONG, 0.5), (Context::EMPHASIS, 0.25)];

/// Weighs the links of one page.
pub(crate) struct Scales {
    average_chars: f32,
}

impl Scales {
    pub(crate) fn of(links: &[Link]) -> Scales {
        let chars: u64 = links.iter().map(|link| u64::from(link.anchor_chars)).sum();
        Scales { average_chars: (chars as f32 / links.len().max(1) as f32).max(1.0) }
    }

    /// The weight of a link in sixteenths, never 0.
    pub(crate) fn weigh(&self, link: &Link) -> u8 {
        let elements = ELEMENTS.iter().filter(|(element, _)| link.context & element.bits() != 0);
        let element: f32 = elements.map(|(_, weight)| weight).sum();
        let anchor = (f32::from(link.anchor_chars) / self.average_chars).min(MOST_ANCHOR_AVERAGES);
        let position = 1.0 - f32::from(link.position) / 65_535.0;
        (STEPS * (1.0 + element + anchor + position)).round() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PageId;

    #[test]
    fn what_stands_out_weighs_more() {
        let plain = Link { target: PageId(1), kind: 0, context: 0, anchor_chars: 10, position: 65_535 };
        let links = [
            plain,
            Link { position: 0, ..plain },
            Link { anchor_chars: 30, ..plain },
            Link { context: Context::HEADING.bits(), ..plain },
            Link { anchor_chars: 0, ..plain },
        ];
        let scales = Scales::of(&links);
        assert_eq!(links.map(|link| scales.weigh(&link)), [29, 45, 56, 45, 16]);
        let longest = Link { anchor_chars: 65_535, context: 0xffff, position: 0, ..plain };
        assert_eq!(Scales { average_chars: 1.0 }.weigh(&longest), 124);
        assert_eq!(
            Scales::of(&[Link { anchor_chars: 0, ..plain }]).weigh(&Link { anchor_chars: 0, ..plain }),
            16
        );
    }
}
