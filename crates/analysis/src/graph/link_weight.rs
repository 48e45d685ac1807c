//! Weights of links: a link that stands out counts more (in a heading, in bold, with a long anchor text, early in the
//! page).
//!
//! After Baeza-Yates and Davis ("Web page ranking using link attributes", 2004): weight = 1 + T + L + P. T depends on
//! the surrounding elements. L is the length of the anchor text relative to the average of *its page*, at most 4. P
//! falls from 1 for a link at the beginning of the page to 0 at the end. The paper divides by the average over all
//! pages; because the weights of a page are normalised to shares of its rank, the average of the page has the same
//! effect and needs no second pass. Several links to the same page add up.

use parse::Context;
use store::Link;

/// Weights are stored in sixteenths, in one byte.
const UNITS_PER_WEIGHT: f32 = 16.0;
const MAX_ANCHOR_AVERAGES: f32 = 4.0;
/// Weight of each surrounding element.
const ELEMENTS: [(Context, f32); 3] =
    [(Context::HEADING, 1.0), (Context::STRONG, 0.5), (Context::EMPHASIS, 0.25)];

/// Computes the weights of the links of one page.
pub(crate) struct LinkWeigher {
    average_chars: f32,
}

impl LinkWeigher {
    pub(crate) fn from_links(links: &[Link]) -> LinkWeigher {
        let chars: u64 = links.iter().map(|link| u64::from(link.anchor_chars)).sum();
        LinkWeigher { average_chars: (chars as f32 / links.len().max(1) as f32).max(1.0) }
    }

    /// Weight of a link in sixteenths, never 0.
    pub(crate) fn weigh(&self, link: &Link) -> u8 {
        let elements = ELEMENTS.iter().filter(|(element, _)| link.context & element.bits() != 0);
        let element: f32 = elements.map(|(_, weight)| weight).sum();
        let anchor = (f32::from(link.anchor_chars) / self.average_chars).min(MAX_ANCHOR_AVERAGES);
        let position = 1.0 - f32::from(link.position) / 65_535.0;
        (UNITS_PER_WEIGHT * (1.0 + element + anchor + position)).round() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PageId;

    #[test]
    fn links_that_stand_out_weigh_more() {
        let plain = Link { target: PageId(1), kind: 0, context: 0, anchor_chars: 10, position: 65_535 };
        let links = [
            plain,
            Link { position: 0, ..plain },
            Link { anchor_chars: 30, ..plain },
            Link { context: Context::HEADING.bits(), ..plain },
            Link { anchor_chars: 0, ..plain },
        ];
        let weigher = LinkWeigher::from_links(&links);
        assert_eq!(links.map(|link| weigher.weigh(&link)), [29, 45, 56, 45, 16]);
        let longest = Link { anchor_chars: 65_535, context: 0xffff, position: 0, ..plain };
        assert_eq!(LinkWeigher { average_chars: 1.0 }.weigh(&longest), 124);
        assert_eq!(
            LinkWeigher::from_links(&[Link { anchor_chars: 0, ..plain }])
                .weigh(&Link { anchor_chars: 0, ..plain }),
            16
        );
    }
}
