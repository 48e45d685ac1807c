//! Elements of a page with their running text: which of them are boilerplate, and which contains the content.

use super::line::Line;
use crate::outline::{BlockKind, Marks, OutlineNode};

/// Words of running text that are enough for a page, whatever was excluded: two or three paragraphs.
pub(super) const MIN_ARTICLE_WORDS: u32 = 150;

/// Words of running text below which a page has no article. Its only paragraph is often a copyright notice.
pub(super) const MIN_RUNNING_WORDS: u32 = 50;

/// Share of the running text that an element contains if its name cannot be true: not boilerplate, but the content.
const MAX_BOILERPLATE_SHARE: f32 = 0.4;

/// Share of the running text of the container from which on a child is the container.
const MIN_CHILD_SHARE: f32 = 0.9;

/// Marks of a container, the most specific ones first, and the share of the running text that it must contain.
const CONTAINERS: [(Marks, f32); 3] = [(Marks::BODY, 0.4), (Marks::ARTICLE, 0.4), (Marks::MAIN, 0.5)];

/// Factor by which the running text around a container may exceed that of the container, if it is its lead.
const MAX_LEAD_FACTOR: f32 = 1.5;

/// Marks that make an element boilerplate. A header may contain the lead of an article; its lines are decided one by one.
const EXCLUDED: Marks = Marks::BOILERPLATE.without(Marks::HEADER);

/// Marks that make an element boilerplate even if it contains most of the running text.
const NEVER_CONTENT: Marks = Marks::COMMENTS.union(Marks::HIDDEN);

/// Lines and elements of a page.
pub(super) struct PageBlocks<'d> {
    pub(super) lines: &'d [Line],
    nodes: &'d [OutlineNode],
    /// Words of running text in each element, without those of excluded elements.
    scores: Vec<u32>,
    /// Words of running text of the page, without those of excluded elements.
    total: u32,
    /// Whether each element is excluded.
    excluded: Vec<bool>,
}

/// Rules by which elements are excluded; each is tried if too little is left by the one before.
#[derive(Clone, Copy)]
enum ExclusionRule {
    /// Elements that are named as boilerplate.
    Named,
    /// Those of them that do not contain most of the running text.
    NamedAndSmall,
    /// Those of them whose name is that of an HTML element, not a class.
    ElementsOnly,
}

impl<'d> PageBlocks<'d> {
    pub(super) fn new(nodes: &'d [OutlineNode], lines: &'d [Line]) -> PageBlocks<'d> {
        let mut page =
            PageBlocks { lines, nodes, scores: Vec::new(), total: 0, excluded: vec![false; nodes.len()] };
        page.sum_running_words();
        page.exclude_boilerplate();
        page
    }

    /// Kind of the element of a line.
    pub(super) fn kind(&self, line: &Line) -> BlockKind {
        self.nodes.get(line.node as usize).map_or(BlockKind::Container, |node| node.kind)
    }

    pub(super) fn is_excluded(&self, line: &Line) -> bool {
        self.excluded.get(line.node as usize).copied().unwrap_or(false)
    }

    /// Number of words of some lines, given by their indexes.
    pub(super) fn words(&self, keeps: impl Fn(usize) -> bool) -> u32 {
        self.lines.iter().enumerate().filter(|(index, _)| keeps(*index)).map(|(_, line)| line.words).sum()
    }

    /// Returns the element that contains the content; `None` if the whole page does.
    pub(super) fn find_container(&self) -> Option<usize> {
        for (marks, min_share) in CONTAINERS {
            let best = (0..self.nodes.len())
                .filter(|&index| self.nodes[index].marks.intersects(marks) && !self.excluded[index])
                .max_by_key(|&index| (self.scores[index], index));
            if let Some(best) = best.filter(|&best| self.scores[best] > 0)
                && self.scores[best] as f32 >= min_share * self.total as f32
            {
                return Some(self.descend(best));
            }
        }
        (self.total >= MIN_ARTICLE_WORDS && !self.nodes.is_empty()).then(|| self.descend(0))
    }

    /// Range of the text of an element.
    pub(super) fn range(&self, node: usize) -> std::ops::Range<u32> {
        self.nodes[node].start..self.nodes[node].end
    }

    /// Start of the lead of a container: the outermost element around it with little more running text.
    pub(super) fn lead_start(&self, container: usize) -> u32 {
        let max_score = MAX_LEAD_FACTOR * self.scores[container] as f32;
        self.ancestors(container)
            .take_while(|&index| self.scores[index] as f32 <= max_score)
            .map(|index| self.nodes[index].start)
            .last()
            .unwrap_or(0)
    }

    /// Reports whether a header in the container encloses a line.
    pub(super) fn is_in_header(&self, line: &Line, container: Option<usize>) -> bool {
        self.ancestors(line.node as usize)
            .take_while(|&index| Some(index) != container)
            .any(|index| self.nodes[index].marks.intersects(Marks::HEADER))
    }

    /// Follows the children that contain nearly all running text.
    fn descend(&self, from: usize) -> usize {
        let min_score = MIN_CHILD_SHARE * self.scores[from] as f32;
        let mut best = from;
        for index in from + 1..self.nodes.len() {
            let node = &self.nodes[index];
            if node.start >= self.nodes[from].end {
                break;
            }
            let is_container = matches!(node.kind, BlockKind::Container | BlockKind::Root | BlockKind::Cell);
            if is_container && node.parent as usize == best && self.scores[index] as f32 >= min_score {
                best = index;
            }
        }
        best
    }

    /// Returns an element and those around it, from the inside to the outside.
    fn ancestors(&self, node: usize) -> impl Iterator<Item = usize> {
        let first = (node < self.nodes.len()).then_some(node);
        std::iter::successors(first, |&index| {
            let parent = self.nodes[index].parent as usize;
            (parent != index).then_some(parent)
        })
    }

    fn sum_running_words(&mut self) {
        let mut scores = vec![0; self.nodes.len()];
        let mut total = 0;
        for line in self.lines.iter().filter(|line| !self.is_excluded(line)) {
            let words = line.running_words(self.kind(line));
            total += words;
            if let Some(score) = scores.get_mut(line.node as usize) {
                *score += words;
            }
        }
        add_to_parents(self.nodes, &mut scores);
        self.scores = scores;
        self.total = total;
    }

    fn exclude_boilerplate(&mut self) {
        let mut linked_words = vec![0; self.nodes.len()];
        for line in self.lines {
            if let Some(words) = linked_words.get_mut(line.node as usize) {
                *words += line.linked_words;
            }
        }
        add_to_parents(self.nodes, &mut linked_words);
        let (all_scores, total) = (self.scores.clone(), self.total);
        for (rule, min_share) in [
            (ExclusionRule::Named, 0.3),
            (ExclusionRule::NamedAndSmall, 0.1),
            (ExclusionRule::ElementsOnly, 0.1),
        ] {
            for (index, node) in self.nodes.iter().enumerate() {
                let parent = node.parent as usize;
                let is_small = total < MIN_RUNNING_WORDS
                    || all_scores[index] as f32 <= MAX_BOILERPLATE_SHARE * total as f32;
                self.excluded[index] = (parent != index && self.excluded[parent])
                    || is_boilerplate(node, rule, is_small, linked_words[index] > 0);
            }
            self.sum_running_words();
            let is_enough = self.total >= MIN_ARTICLE_WORDS || self.total as f32 >= min_share * total as f32;
            if is_enough || total < MIN_RUNNING_WORDS {
                return;
            }
        }
        self.excluded.fill(false);
        self.sum_running_words();
    }
}

/// Adds the value of each element to its ancestors.
fn add_to_parents(nodes: &[OutlineNode], values: &mut [u32]) {
    for (index, node) in nodes.iter().enumerate().rev() {
        let parent = node.parent as usize;
        if parent != index {
            values[parent] += values[index];
        }
    }
}

fn is_boilerplate(node: &OutlineNode, rule: ExclusionRule, is_small: bool, has_links: bool) -> bool {
    if node.kind == BlockKind::Control {
        return true;
    }
    // A teaser of another page has a link; without one it is the lead of this page.
    let marks = if has_links { node.marks } else { node.marks.without(Marks::RELATED) };
    marks.intersects(EXCLUDED)
        && match rule {
            ExclusionRule::Named => is_small || marks.intersects(NEVER_CONTENT),
            ExclusionRule::NamedAndSmall => is_small,
            ExclusionRule::ElementsOnly => is_small && marks.intersects(Marks::BY_ELEMENT),
        }
}
