//! Incremental decoder of the chunked transfer coding (RFC 9112, section 7.1).
//!
//! The decoder accepts input of any size. A line may end in a bare line feed, which old servers send; every other
//! violation is an error, because data and framing could no longer be distinguished. Extensions and trailers are
//! skipped, up to a limit on their total size.

use memchr::memchr;

/// Maximum total size of the extensions of a body.
const MAX_EXTENSION_BYTES: usize = 16 << 10;
/// Maximum total size of the trailers.
const MAX_TRAILER_BYTES: usize = 16 << 10;
/// Maximum number of digits of a chunk size, including leading zeros.
const MAX_SIZE_DIGITS: u8 = 16;

/// Decoder of one body.
#[derive(Debug)]
pub(crate) struct ChunkDecoder {
    state: ChunkState,
    extension_bytes: usize,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    Size {
        size: u64,
        digits: u8,
    },
    /// After the size, up to the end of the line.
    Extension {
        size: u64,
    },
    Data {
        remaining: u64,
    },
    DataEnd,
    /// After the carriage return that follows data.
    DataLineFeed,
    Trailer {
        line_bytes: usize,
        carriage_return: bool,
    },
    Done,
}

/// Result of decoding one input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeStatus {
    /// All input was used; the body is not complete.
    NeedMore,
    /// The body is complete; holds the number of input bytes used.
    Done(usize),
    /// The body exceeds the maximum size.
    LimitReached,
}

/// The input violates the chunked coding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChunkError;

impl ChunkDecoder {
    pub(crate) fn new() -> ChunkDecoder {
        ChunkDecoder { state: ChunkState::Size { size: 0, digits: 0 }, extension_bytes: 0, trailer_bytes: 0 }
    }

    /// Appends the data in `input` to `body`, which grows up to `max_body_bytes`.
    pub(crate) fn decode(
        &mut self,
        input: &[u8],
        body: &mut Vec<u8>,
        max_body_bytes: usize,
    ) -> Result<DecodeStatus, ChunkError> {
        let mut at = 0;
        while at < input.len() && self.state != ChunkState::Done {
            let rest = &input[at..];
            if let ChunkState::Data { remaining } = &mut self.state {
                let length = rest.len().min(usize::try_from(*remaining).unwrap_or(usize::MAX));
                let room = max_body_bytes.saturating_sub(body.len());
                body.extend_from_slice(&rest[..length.min(room)]);
                if length > room {
                    return Ok(DecodeStatus::LimitReached);
                }
                *remaining -= length as u64;
                at += length;
                if *remaining == 0 {
                    self.state = ChunkState::DataEnd;
                }
            } else {
                at += self.advance(rest)?;
            }
        }
        Ok(if self.state == ChunkState::Done { DecodeStatus::Done(at) } else { DecodeStatus::NeedMore })
    }

    /// Processes framing, not data; uses at least one byte of `rest`, which is not empty.
    fn advance(&mut self, rest: &[u8]) -> Result<usize, ChunkError> {
        match self.state {
            ChunkState::Size { size, digits } => self.state = push_size_digit(rest[0], size, digits)?,
            ChunkState::Extension { size } => return self.skip_extension(rest, size),
            ChunkState::DataEnd if rest[0] == b'\r' => self.state = ChunkState::DataLineFeed,
            ChunkState::DataEnd | ChunkState::DataLineFeed if rest[0] == b'\n' => {
                self.state = ChunkState::Size { size: 0, digits: 0 };
            }
            ChunkState::Trailer { line_bytes, carriage_return } => {
                return self.skip_trailer(rest, line_bytes, carriage_return);
            }
            _ => return Err(ChunkError),
        }
        Ok(1)
    }

    fn skip_extension(&mut self, rest: &[u8], size: u64) -> Result<usize, ChunkError> {
        let line_feed = memchr(b'\n', rest);
        let length = line_feed.unwrap_or(rest.len());
        self.extension_bytes += length;
        if self.extension_bytes > MAX_EXTENSION_BYTES {
            return Err(ChunkError);
        }
        if line_feed.is_none() {
            return Ok(length);
        }
        self.state = state_after_size(size);
        Ok(length + 1)
    }

    fn skip_trailer(
        &mut self,
        rest: &[u8],
        line_bytes: usize,
        carriage_return: bool,
    ) -> Result<usize, ChunkError> {
        let line_feed = memchr(b'\n', rest);
        let part = &rest[..line_feed.unwrap_or(rest.len())];
        self.trailer_bytes += part.len() + 1;
        if self.trailer_bytes > MAX_TRAILER_BYTES {
            return Err(ChunkError);
        }
        let length = line_bytes + part.len();
        let carriage_return = if line_bytes == 0 { part.starts_with(b"\r") } else { carriage_return };
        self.state = match line_feed {
            None => ChunkState::Trailer { line_bytes: length, carriage_return },
            Some(_) if length == 0 || (length == 1 && carriage_return) => ChunkState::Done,
            Some(_) => ChunkState::Trailer { line_bytes: 0, carriage_return: false },
        };
        Ok(part.len() + usize::from(line_feed.is_some()))
    }
}

/// Adds a digit to the size, or ends the size at any other byte.
fn push_size_digit(byte: u8, size: u64, digits: u8) -> Result<ChunkState, ChunkError> {
    if let Some(digit) = char::from(byte).to_digit(16) {
        if digits == MAX_SIZE_DIGITS {
            return Err(ChunkError);
        }
        return Ok(ChunkState::Size { size: size << 4 | u64::from(digit), digits: digits + 1 });
    }
    match byte {
        _ if digits == 0 => Err(ChunkError),
        b'\n' => Ok(state_after_size(size)),
        b'\r' | b';' | b' ' | b'\t' => Ok(ChunkState::Extension { size }),
        _ => Err(ChunkError),
    }
}

fn state_after_size(size: u64) -> ChunkState {
    match size {
        0 => ChunkState::Trailer { line_bytes: 0, carriage_return: false },
        remaining => ChunkState::Data { remaining },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(inputs: &[&[u8]], max_body_bytes: usize) -> (Result<DecodeStatus, ChunkError>, Vec<u8>) {
        let mut decoder = ChunkDecoder::new();
        let mut body = Vec::new();
        for input in inputs {
            match decoder.decode(input, &mut body, max_body_bytes) {
                Ok(DecodeStatus::NeedMore) => {}
                other => return (other, body),
            }
        }
        (Ok(DecodeStatus::NeedMore), body)
    }

    fn decode_str(text: &str) -> (Result<DecodeStatus, ChunkError>, String) {
        let (progress, body) = decode(&[text.as_bytes()], 1000);
        (progress, String::from_utf8(body).unwrap())
    }

    #[test]
    fn chunks_are_joined_into_a_body() {
        let whole = "5\r\nHello\r\n7;a=b\r\n, world\r\n0\r\nDigest: x\r\n\r\n";
        assert_eq!(decode_str(whole), (Ok(DecodeStatus::Done(whole.len())), "Hello, world".to_owned()));
        assert_eq!(decode_str("1\na\n0\n\nnext"), (Ok(DecodeStatus::Done(7)), "a".to_owned()));
        assert_eq!(decode_str("00A \r\n0123456789\r\n0\r\n\r\n").1, "0123456789");
        assert_eq!(decode_str("5\r\nHel"), (Ok(DecodeStatus::NeedMore), "Hel".to_owned()));
        assert_eq!(decode_str("0\r\n\r\n"), (Ok(DecodeStatus::Done(5)), String::new()));
        assert_eq!(decode_str("0\r\n\r"), (Ok(DecodeStatus::NeedMore), String::new()));
    }

    #[test]
    fn data_before_an_error_is_kept() {
        for broken in
            ["3\r\nabcX", "3\r\nabc\r\nxyz", "3\r\nabc\r\n\r\n", "3\r\nabc\r\n-1\r\n", "3\r\nabc\rX"]
        {
            assert_eq!(decode_str(broken), (Err(ChunkError), "abc".to_owned()), "{broken:?}");
        }
        for broken in ["", "\r\n", "g\r\n", "00000000000000001\r\na", "ffffffffffffffff0\r\n", "<html>"] {
            let (progress, body) = decode_str(broken);
            assert!(progress == Err(ChunkError) || broken.is_empty(), "{broken:?}");
            assert_eq!(body, "");
        }
    }

    #[test]
    fn body_extensions_and_trailers_have_a_limit() {
        let full = |text: &str, limit| decode(&[text.as_bytes()], limit);
        assert_eq!(full("5\r\nHello\r\n0\r\n\r\n", 5).0, Ok(DecodeStatus::Done(15)));
        assert_eq!(full("5\r\nHello\r\n1\r\n!", 5), (Ok(DecodeStatus::LimitReached), b"Hello".to_vec()));
        assert_eq!(full("ffffffffffffffff\r\nHello", 3), (Ok(DecodeStatus::LimitReached), b"Hel".to_vec()));
        let extension = format!("1;{}\r\na\r\n", "x".repeat(5000));
        assert_eq!(decode_str(&extension.repeat(3)).0, Ok(DecodeStatus::NeedMore));
        assert_eq!(decode_str(&extension.repeat(4)).0, Err(ChunkError));
        let trailer = format!("A: {}\r\n", "x".repeat(5000));
        assert_eq!(decode_str(&format!("0\r\n{}\r\n", trailer.repeat(3))).0, Ok(DecodeStatus::Done(15_020)));
        assert_eq!(decode_str(&format!("0\r\n{}\r\n", trailer.repeat(4))).0, Err(ChunkError));
        assert_eq!(decode_str(&format!("0\r\n{}", "\r".repeat(20_000))).0, Err(ChunkError));
    }

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let input = prop_oneof![
            prop::sample::select(vec![
                "\r\n",
                "\n",
                "\r",
                "0",
                "3",
                "a",
                "abc",
                "0\r\n",
                "3\r\nabc\r\n",
                "1;x=y\r\nz\r\n",
                "0\r\n\r\n",
                "A: b\r\n",
                " ",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(input, 0..12).prop_map(|inputs| inputs.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_result_does_not_depend_on_how_the_bytes_are_split(bytes in hostile(), size in 1..8usize, limit in 0..12usize) {
            let (whole, body) = decode(&[&bytes], limit);
            let inputs: Vec<&[u8]> = bytes.chunks(size).collect();
            let (split, split_body) = decode(&inputs, limit);
            prop_assert_eq!(body, split_body);
            prop_assert_eq!(std::mem::discriminant(&whole), std::mem::discriminant(&split));
            if let (Ok(whole), Ok(split)) = (whole, split) {
                prop_assert_eq!(std::mem::discriminant(&whole), std::mem::discriminant(&split));
            }
        }
    }
}
