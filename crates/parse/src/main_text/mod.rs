//! Main text of a page, without boilerplate such as menus, teasers, comments and footers.
//!
//! The page is a list of lines, each in a block element of the outline. *Running text* are lines of ten words or more, of which
//! few are links, and preformatted text. Three decisions follow each other:
//!
//! 1. **Boilerplate elements** (`page_blocks`). Elements whose name, role, class or id says that they are a menu, a footer,
//!    comments, teasers, buttons of social networks or a notice are excluded, unless too little running text is left: names lie.
//! 2. **Container** (`page_blocks`). The smallest element with most of the running text; elements that are named as the body of
//!    an article are preferred.
//! 3. **Lines** (`line_selection`). In the container, a line is content unless links are most of its words (Kohlschütter,
//!    Fankhauser and Nejdl, *Boilerplate Detection using Shallow Text Features*, WSDM 2010), or it is short and not part of a
//!    paragraph, list or table.
//!
//! A page of which little is left (an index, a list of links) has its whole text without the boilerplate elements as main
//! text; if that is little too, its whole text.
//!
//! Quality and time: `cargo run --release -p parse --example main_text`.

mod line;
mod line_selection;
mod page_blocks;

use crate::document::Document;
use crate::word_count::count_spaced_words;
use page_blocks::PageBlocks;

impl Document {
    /// Returns the lines of [`Document::text`] that are content.
    pub fn main_text(&self) -> String {
        let lines = line::lines(self);
        let page = PageBlocks::new(&self.outline.nodes, &lines);
        let kept = line_selection::select(self, &page);
        let mut out = String::with_capacity(self.text.len());
        for (line, _) in lines.iter().zip(&kept).filter(|(_, kept)| **kept) {
            out.push_str(line.text(self));
            out.push('\n');
        }
        out.truncate(out.trim_end().len());
        out
    }

    /// Returns the number of words of the text, separated by white space.
    pub fn word_count(&self) -> u32 {
        count_spaced_words(self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::Options;
    use crate::html::parse_html;

    fn main_text(html: &str) -> String {
        let mut document = Document::default();
        parse_html(html, &Options::default(), &mut document);
        document.main_text()
    }

    const PARAGRAPH: &str = "A weir is a barrier across the width of a river that alters the flow of its water \
                             and usually changes the height of its level; many <a href=x>different designs</a> exist.";

    #[test]
    fn menus_and_footers_are_not_main_text() {
        let html = format!(
            "<div><a href=1>Home</a> <a href=2>About us</a> <a href=3>Contact</a></div><h1>Weirs</h1><p>{PARAGRAPH}</p>\
             <p>{PARAGRAPH}</p><div><a href=4>Privacy</a> | <a href=5>Terms of use</a></div><div>2024</div>"
        );
        let text = main_text(&html);
        assert!(text.starts_with("Weirs\nA weir is"), "{text}");
        assert!(text.ends_with("designs exist."), "{text}");
    }

    #[test]
    fn a_link_on_its_own_line_is_not_main_text() {
        let html = format!("<p>{PARAGRAPH}</p><a href=1>More</a><p>{PARAGRAPH}</p>");
        assert!(!main_text(&html).contains("More"));
    }

    #[test]
    fn section_elements_decide_if_they_are_present() {
        let html = format!(
            "<header><p>{PARAGRAPH} not this</p></header><main><header><h1>Title</h1></header><p>{PARAGRAPH}<p>{PARAGRAPH}<p>{PARAGRAPH}\
             <pre>x = 1</pre><aside>{PARAGRAPH} nor this</aside></main><p>{PARAGRAPH} nor that</p>"
        );
        let text = main_text(&html);
        assert!(text.contains("Title\nA weir") && text.contains("x = 1"), "{text}");
        assert!(
            !text.contains("not this") && !text.contains("nor this") && !text.contains("nor that"),
            "{text}"
        );
    }

    /// A page with an article of several paragraphs, and other HTML after them.
    fn article(rest: &str) -> String {
        main_text(&format!(
            "<title>Weirs - Site</title><h1>Weirs</h1>{}{rest}",
            format!("<p>{PARAGRAPH}</p>").repeat(6)
        ))
    }

    #[test]
    fn elements_are_boilerplate_by_their_names() {
        for rest in [
            "<div id=comments><p>I have seen one of these, and it was quite different from this one, by the way.</p></div>",
            "<div class='relatedPosts'><p>The <a href=x>Mills of the river</a> turn since centuries, and it is not known how many.</p></div>",
            "<div class='author-bio'><p>The author has written about rivers and mills since the age of nineteen years.</p></div>",
            "<div role=dialog><p>We use cookies so that this site can remember what you have chosen, and for nothing else.</p></div>",
            "<div style='display:none'><p>This text is for programs alone, and no reader of the page has ever seen it.</p></div>",
            "<form><label>Your opinion about this article, in not more than one hundred words of English</label></form>",
        ] {
            let text = article(rest);
            assert!(text.ends_with("designs exist.") && !text.contains("than one hundred"), "{rest}: {text}");
        }
    }

    #[test]
    fn a_wrong_name_does_not_hide_the_content() {
        let text =
            main_text(&format!("<div class=sidebar><p>{PARAGRAPH}<p>{PARAGRAPH}</div><div>Imprint</div>"));
        assert!(text.starts_with("A weir is"), "{text}");
    }

    #[test]
    fn the_lead_of_an_article_is_main_text() {
        let lead = "All about the barriers in our rivers, their history, and what they are for.";
        let html = format!(
            "<article><header><h1>Weirs</h1><p>12 May</p><p class=teaser>{lead}</p></header><div class=article-body>{}</div></article>",
            format!("<p>{PARAGRAPH}</p>").repeat(6)
        );
        let text = main_text(&html);
        assert!(text.contains(lead) && !text.contains("12 May"), "{text}");
    }

    #[test]
    fn what_announces_links_is_not_main_text() {
        let text = article(
            "<p>See also:</p><p><a href=x>Mills of the river</a></p><h2>Links</h2><ul><li><a href=y>Dams</a></ul><p>The end.</p>",
        );
        assert!(text.ends_with("exist.\nThe end."), "{text}");
    }

    #[test]
    fn an_index_page_has_its_whole_text() {
        let links: String = (0..20).map(|n| format!("<li><a href={n}>Chapter {n}</a>")).collect();
        let text = main_text(&format!(
            "<h1>Contents</h1><ul>{links}</ul><footer>Copyright 2024 by the authors</footer>"
        ));
        assert!(text.contains("Chapter 19") && !text.contains("Copyright"), "{text}");
    }

    #[test]
    fn short_reference_pages_keep_their_title() {
        let page = |name: &str| {
            main_text(&format!(
                "<title>{name}</title><h2>{name}</h2><pre>type Id = u64;</pre><p>{PARAGRAPH}<footer>{PARAGRAPH}</footer>"
            ))
        };
        assert_ne!(page("mt19937"), page("ranlux48"));
    }

    #[test]
    fn a_page_without_text_has_no_main_text() {
        assert_eq!(main_text(""), "");
        assert_eq!(main_text("<nav>only a menu</nav>"), "only a menu");
    }
}
