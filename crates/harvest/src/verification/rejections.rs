//! Items that were dropped because they contradict the batch that was leased.

use std::fmt::Display;

use model::printable_line;

/// Maximum number of causes that are kept for the log; all are counted.
const MAX_CAUSES: usize = 8;
/// Maximum length of a cause.
const MAX_CAUSE_BYTES: usize = 300;

/// Number of dropped items, with the first causes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejections {
    /// Number of items.
    pub count: u64,
    /// Items and causes of the first ones, printable.
    pub causes: Vec<String>,
}

impl Rejections {
    /// Counts an item.
    pub fn add(&mut self, item: impl Display, cause: impl Display) {
        self.count += 1;
        if self.causes.len() < MAX_CAUSES {
            let text = format!("{item}: {cause}");
            let text = &text[..text.floor_char_boundary(MAX_CAUSE_BYTES)];
            // An item is named by values of the worker, and the text is shown on terminals.
            self.causes.push(printable_line(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_one_printable_line() {
        let mut rejections = Rejections::default();
        rejections.add("page\n\x1b[31m", "from \u{202e}right to left");
        assert_eq!(rejections.causes, ["page??[31m: from ?right to left"]);
    }
}
