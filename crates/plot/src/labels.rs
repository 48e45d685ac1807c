//! How wide is a text, and how do names that want the same place stand beside each other?

/// About how wide a text is, in pixels, in the sans-serif fonts of common systems.
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

/// As much of a text as has room; what is cut away at the end is three dots.
pub(crate) fn shortened(text: &str, font_px: f64, room: f64) -> String {
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

/// Moves places apart so that neighbours are at least `gap` away from each other, all between `low` and `high` if there is
/// room, and together as near to where they wanted to be as can be. The order stays; of equals, the first comes first.
pub(crate) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]).then(a.cmp(b)));
    // Groups of neighbours that touch: the sum of the first places their members would like, and how many they are.
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
    let places = groups.iter().flat_map(|group| (0..group.1).map(|step| start(*group) + gap * step as f64));
    let mut spread = vec![0.0; wanted.len()];
    order.into_iter().zip(places).for_each(|(index, place)| spread[index] = place);
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_order_and_their_distance() {
        let wanted = [50.0, 52.0, 51.0, 10.0, 99.0, 98.0];
        let places = spread(&wanted, 12.0, 0.0, 100.0);
        assert_eq!(places[3], 10.0, "who disturbs nobody stays");
        assert_eq!([places[0], places[2], places[1]], [39.0, 51.0, 63.0], "around their mean");
        assert_eq!([places[5], places[4]], [88.0, 100.0], "inside");
    }

    #[test]
    fn a_name_without_room_is_cut() {
        assert_eq!(shortened("short", 12.0, 100.0), "short");
        let cut = shortened(&"long".repeat(100), 12.0, 100.0);
        assert!(cut.ends_with('\u{2026}') && width(&cut, 12.0) <= 100.0 && cut.len() > 10, "{cut}");
    }

    #[test]
    fn too_many_names_still_do_not_overlap() {
        let places = spread(&[5.0; 10], 12.0, 0.0, 50.0);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 12.0), "{places:?}");
        assert_eq!(spread(&[], 12.0, 0.0, 50.0), [0.0; 0]);
    }
}
