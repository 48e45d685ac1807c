//! Labels: text width, truncation, and separation of overlapping labels.

/// Approximate width of a text in pixels, in the sans-serif fonts of common systems.
pub(crate) fn width(text: &str, font_px: f64) -> f64 {
    let of = |character: char| match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.29,
        'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 0.38,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.88,
        'A'..='Z' => 0.69,
        character if (character as u32) > 0x2e80 => 1.0,
        _ => 0.57,
    };
    text.chars().map(of).sum::<f64>() * font_px
}

/// Truncates a text to the available width, with an ellipsis.
pub(crate) fn ellipsize(text: &str, font_px: f64, room: f64) -> String {
    if width(text, font_px) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for character in text.chars() {
        short.push(character);
        if width(&short, font_px) > room - font_px {
            short.pop();
            break;
        }
    }
    short.push('\u{2026}');
    short
}

/// Moves positions apart so that neighbours are at least `gap` away from each other, within `low` and `high` if
/// possible, and as near as possible to the wanted positions. The order is preserved; of equal positions, the first
/// comes first.
pub(crate) fn separate_labels(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]).then(a.cmp(b)));
    // Groups of touching neighbours: the sum of the first positions that their members want, and their number.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let start = |(sum, count): (f64, usize)| {
        let length = gap * (count - 1) as f64;
        (sum / count as f64).min(high - length).max(low)
    };
    for index in &order {
        let mut group = (wanted[*index], 1);
        while let Some(&before) = groups.last()
            && start(before) + gap * before.1 as f64 > start(group)
        {
            groups.pop();
            group = (before.0 + group.0 - gap * (before.1 * group.1) as f64, before.1 + group.1);
        }
        groups.push(group);
    }
    let positions =
        groups.iter().flat_map(|group| (0..group.1).map(|step| start(*group) + gap * step as f64));
    let mut separated = vec![0.0; wanted.len()];
    order.into_iter().zip(positions).for_each(|(index, position)| separated[index] = position);
    separated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_order_and_a_minimum_distance() {
        let wanted = [50.0, 52.0, 51.0, 10.0, 99.0, 98.0];
        let positions = separate_labels(&wanted, 12.0, 0.0, 100.0);
        assert_eq!(positions[3], 10.0, "a label without neighbours stays");
        assert_eq!([positions[0], positions[2], positions[1]], [39.0, 51.0, 63.0], "around their mean");
        assert_eq!([positions[5], positions[4]], [88.0, 100.0], "inside");
    }

    #[test]
    fn a_label_without_space_is_truncated() {
        assert_eq!(ellipsize("short", 12.0, 100.0), "short");
        let cut = ellipsize(&"long".repeat(100), 12.0, 100.0);
        assert!(cut.ends_with('\u{2026}') && width(&cut, 12.0) <= 100.0 && cut.len() > 10, "{cut}");
    }

    #[test]
    fn too_many_labels_do_not_overlap() {
        let positions = separate_labels(&[5.0; 10], 12.0, 0.0, 50.0);
        assert!(positions.windows(2).all(|pair| pair[1] - pair[0] >= 12.0), "{positions:?}");
        assert_eq!(separate_labels(&[], 12.0, 0.0, 50.0), [0.0; 0]);
    }
}
