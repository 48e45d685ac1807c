//! Where does a body that is sent in chunks end, and what is in it? (RFC 9112, section 7.1.)
//!
//! Bytes are taken as they come, in pieces of any size. A line may end in a bare line feed, as old servers have it; all
//! else that breaks the rules is an error, for whatever follows cannot be told from the body. Extensions and trailers
//! are stepped over, and there is an end to both.

use memchr::memchr;

/// All extensions of a body together.
const EXTENSIONS_LIMIT_BYTES: usize = 16 << 10;
/// All trailers together.
const TRAILERS_LIMIT_BYTES: usize = 16 << 10;
/// Digits of a size, leading zeros too.
const SIZE_LIMIT_DIGITS: u8 = 16;

/// Takes the chunks off a body.
#[derive(Debug)]
pub(crate) struct ChunkDecoder {
    state: State,
    extension_bytes: usize,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size {
        size: u64,
        digits: u8,
    },
    /// Behind the size, up to the end of the line.
    Extension {
        size: u64,
    },
    Data {
        left: u64,
    },
    DataEnd,
    /// Behind the carriage return that follows data.
    DataLineFeed,
    Trailer {
        line_bytes: usize,
        carriage_return: bool,
    },
    End,
}

/// What became of a piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of it is used; there is more to come.
    More,
    /// The body is complete; so many bytes of the piece were used.
    End(usize),
    /// The body is longer than allowed.
    Full,
}

/// This is not how chunks are written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChunkError;

impl ChunkDecoder {
    pub(crate) fn new() -> ChunkDecoder {
        ChunkDecoder { state: State::Size { size: 0, digits: 0 }, extension_bytes: 0, trailer_bytes: 0 }
    }

    /// Puts the data in `piece` behind `body`, which grows up to `limit_bytes`.
    pub(crate) fn decode(
        &mut self,
        piece: &[u8],
        body: &mut Vec<u8>,
        limit_bytes: usize,
    ) -> Result<Progress, ChunkError> {
        let mut at = 0;
        while at < piece.len() && self.state != State::End {
            let rest = &piece[at..];
            if let State::Data { left } = &mut self.state {
                let length = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let room = limit_bytes.saturating_sub(body.len());
                body.extend_from_slice(&rest[..length.min(room)]);
                if length > room {
                    return Ok(Progress::Full);
                }
                *left -= length as u64;
                at += length;
                if *left == 0 {
                    self.state = State::DataEnd;
                }
            } else {
                at += self.step(rest)?;
            }
        }
        Ok(if self.state == State::End { Progress::End(at) } else { Progress::More })
    }

    /// Reads what is between data; at least one byte of `rest`, which is not empty.
    fn step(&mut self, rest: &[u8]) -> Result<usize, ChunkError> {
        match self.state {
            State::Size { size, digits } => self.state = next_of_size(rest[0], size, digits)?,
            State::Extension { size } => return self.skip_extension(rest, size),
            State::DataEnd if rest[0] == b'\r' => self.state = State::DataLineFeed,
            State::DataEnd | State::DataLineFeed if rest[0] == b'\n' => {
                self.state = State::Size { size: 0, digits: 0 };
            }
            State::Trailer { line_bytes, carriage_return } => {
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
        if self.extension_bytes > EXTENSIONS_LIMIT_BYTES {
            return Err(ChunkError);
        }
        if line_feed.is_none() {
            return Ok(length);
        }
        self.state = after_size(size);
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
        if self.trailer_bytes > TRAILERS_LIMIT_BYTES {
            return Err(ChunkError);
        }
        let length = line_bytes + part.len();
        let carriage_return = if line_bytes == 0 { part.starts_with(b"\r") } else { carriage_return };
        self.state = match line_feed {
            None => State::Trailer { line_bytes: length, carriage_return },
            Some(_) if length == 0 || (length == 1 && carriage_return) => State::End,
            Some(_) => State::Trailer { line_bytes: 0, carriage_return: false },
        };
        Ok(part.len() + usize::from(line_feed.is_some()))
    }
}

/// A digit makes the size longer; anything else ends it.
fn next_of_size(byte: u8, size: u64, digits: u8) -> Result<State, ChunkError> {
    if let Some(digit) = char::from(byte).to_digit(16) {
        if digits == SIZE_LIMIT_DIGITS {
            return Err(ChunkError);
        }
        return Ok(State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 });
    }
    match byte {
        _ if digits == 0 => Err(ChunkError),
        b'\n' => Ok(after_size(size)),
        b'\r' | b';' | b' ' | b'\t' => Ok(State::Extension { size }),
        _ => Err(ChunkError),
    }
}

fn after_size(size: u64) -> State {
    match size {
        0 => State::Trailer { line_bytes: 0, carriage_return: false },
        left => State::Data { left },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]], limit_bytes: usize) -> (Result<Progress, ChunkError>, Vec<u8>) {
        let mut decoder = ChunkDecoder::new();
        let mut body = Vec::new();
        for piece in pieces {
            match decoder.decode(piece, &mut body, limit_bytes) {
                Ok(Progress::More) => {}
                other => return (other, body),
            }
        }
        (Ok(Progress::More), body)
    }

    fn of(text: &str) -> (Result<Progress, ChunkError>, String) {
        let (progress, body) = decode(&[text.as_bytes()], 1000);
        (progress, String::from_utf8(body).unwrap())
    }

    #[test]
    fn chunks_become_a_body() {
        let whole = "5\r\nHello\r\n7;a=b\r\n, world\r\n0\r\nDigest: x\r\n\r\n";
        assert_eq!(of(whole), (Ok(Progress::End(whole.len())), "Hello, world".to_owned()));
        assert_eq!(of("1\na\n0\n\nnext"), (Ok(Progress::End(7)), "a".to_owned()));
        assert_eq!(of("00A \r\n0123456789\r\n0\r\n\r\n").1, "0123456789");
        assert_eq!(of("5\r\nHel"), (Ok(Progress::More), "Hel".to_owned()));
        assert_eq!(of("0\r\n\r\n"), (Ok(Progress::End(5)), String::new()));
        assert_eq!(of("0\r\n\r"), (Ok(Progress::More), String::new()));
    }

    #[test]
    fn what_came_before_an_error_is_kept() {
        for broken in
            ["3\r\nabcX", "3\r\nabc\r\nxyz", "3\r\nabc\r\n\r\n", "3\r\nabc\r\n-1\r\n", "3\r\nabc\rX"]
        {
            assert_eq!(of(broken), (Err(ChunkError), "abc".to_owned()), "{broken:?}");
        }
        for broken in ["", "\r\n", "g\r\n", "00000000000000001\r\na", "ffffffffffffffff0\r\n", "<html>"] {
            let (progress, body) = of(broken);
            assert!(progress == Err(ChunkError) || broken.is_empty(), "{broken:?}");
            assert_eq!(body, "");
        }
    }

    #[test]
    fn there_is_an_end_to_everything() {
        let full = |text: &str, limit| decode(&[text.as_bytes()], limit);
        assert_eq!(full("5\r\nHello\r\n0\r\n\r\n", 5).0, Ok(Progress::End(15)));
        assert_eq!(full("5\r\nHello\r\n1\r\n!", 5), (Ok(Progress::Full), b"Hello".to_vec()));
        assert_eq!(full("ffffffffffffffff\r\nHello", 3), (Ok(Progress::Full), b"Hel".to_vec()));
        let extension = format!("1;{}\r\na\r\n", "x".repeat(5000));
        assert_eq!(of(&extension.repeat(3)).0, Ok(Progress::More));
        assert_eq!(of(&extension.repeat(4)).0, Err(ChunkError));
        let trailer = format!("A: {}\r\n", "x".repeat(5000));
        assert_eq!(of(&format!("0\r\n{}\r\n", trailer.repeat(3))).0, Ok(Progress::End(15_020)));
        assert_eq!(of(&format!("0\r\n{}\r\n", trailer.repeat(4))).0, Err(ChunkError));
        assert_eq!(of(&format!("0\r\n{}", "\r".repeat(20_000))).0, Err(ChunkError));
    }

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
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
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn it_does_not_matter_where_pieces_are_split(bytes in hostile(), size in 1..8usize, limit in 0..12usize) {
            let (whole, body) = decode(&[&bytes], limit);
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            let (split, split_body) = decode(&pieces, limit);
            prop_assert_eq!(body, split_body);
            prop_assert_eq!(std::mem::discriminant(&whole), std::mem::discriminant(&split));
            if let (Ok(whole), Ok(split)) = (whole, split) {
                prop_assert_eq!(std::mem::discriminant(&whole), std::mem::discriminant(&split));
            }
        }
    }
}
