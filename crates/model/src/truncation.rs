//! Reason why a stored body is incomplete, with the names of the WARC field `WARC-Truncated`.

/// Reason why a body is incomplete (WARC 1.1, section 5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// The body exceeds the maximum size.
    Length,
    /// The transfer exceeded a timeout or was too slow.
    Time,
    /// The connection was lost, or the transfer coding is invalid.
    Disconnect,
    /// Any other reason; occurs only in imported archives.
    Unspecified,
}

impl Truncation {
    /// Value of the WARC field.
    pub fn as_str(self) -> &'static str {
        match self {
            Truncation::Length => "length",
            Truncation::Time => "time",
            Truncation::Disconnect => "disconnect",
            Truncation::Unspecified => "unspecified",
        }
    }

    /// Parses the value of the WARC field, in any case; unknown values are [`Truncation::Unspecified`].
    pub fn parse(text: &str) -> Truncation {
        [Truncation::Length, Truncation::Time, Truncation::Disconnect]
            .into_iter()
            .find(|truncation| truncation.as_str().eq_ignore_ascii_case(text))
            .unwrap_or(Truncation::Unspecified)
    }
}

#[cfg(test)]
mod tests {
    use super::Truncation;

    #[test]
    fn values_are_parsed_in_any_case_and_unknown_ones_are_unspecified() {
        for truncation in
            [Truncation::Length, Truncation::Time, Truncation::Disconnect, Truncation::Unspecified]
        {
            assert_eq!(Truncation::parse(truncation.as_str()), truncation);
            assert_eq!(Truncation::parse(&truncation.as_str().to_uppercase()), truncation);
        }
        assert_eq!(Truncation::parse("cosmic rays"), Truncation::Unspecified);
    }
}
