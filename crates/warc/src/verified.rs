//! Verification of records that another process has encoded.
//!
//! The records of a worker are appended to the archive as they are, so they must be exactly what [`RecordEncoder`]
//! writes: one gzip member per record, a header that can be rebuilt byte for byte from the values it states, digests that
//! match, and the URL that the worker was asked to fetch. Everything that an index says about the capture is derived from
//! the record, never taken from the worker.
//!
//! [`RecordEncoder`]: crate::RecordEncoder

use std::io::Read;
use std::net::IpAddr;

use flate2::bufread::GzDecoder;
use model::Truncation;

use crate::digest::Sha1Digest;
use crate::encoder::{CONTENT_TYPE_FIELDS, CONTENT_TYPE_REQUEST, EncodedRecord, cdxj_entry_for};
use crate::encoder::{concurrent_header, finish_header, response_header};
use crate::header::WarcType;
use crate::http_head::{head_bytes, stored_head};
use crate::record::{Capture, WarcRecord};

/// Maximum number of `WARC-Protocol` fields, one per layer, and their length.
const MAX_PROTOCOLS: usize = 4;
const MAX_PROTOCOL_BYTES: usize = 32;

/// Verified records of one capture, with the values of the response record.
#[derive(Debug)]
pub struct VerifiedCapture {
    /// Records, ready to be appended to a file.
    pub encoded: EncodedRecord,
    /// Time of the response in Unix milliseconds.
    pub fetched_at_ms: i64,
    /// IP address of the server.
    pub ip_address: Option<IpAddr>,
    /// Protocols, one name per layer.
    pub protocols: Vec<String>,
    /// Reason why the body is incomplete.
    pub truncated: Option<Truncation>,
    record: WarcRecord,
    head_bytes: usize,
}

impl VerifiedCapture {
    /// Verifies the gzip members of a response to a request for `url`: the response record, and optionally its request and
    /// metadata records. No record may be longer than `max_record_bytes`. What is decompressed, also of invalid members, is
    /// subtracted from `bytes_left`. The error states what is wrong.
    pub fn verify(
        members: Vec<u8>,
        url: &str,
        max_record_bytes: usize,
        bytes_left: &mut usize,
    ) -> Result<VerifiedCapture, &'static str> {
        let (record, mut rest) = next_record(&members, max_record_bytes, bytes_left)?;
        let response_bytes = members.len() - rest.len();
        let head_bytes = head_bytes(record.block());
        let (head, payload) = record.block().split_at(head_bytes);
        if stored_head(head, payload.len()) != head {
            return Err("the head of the response is not in the form in which heads are stored");
        }
        let (block_digest, payload_digest) = Sha1Digest::of_block_and_payload(head, payload);
        let values = ResponseValues::read(&record)?;
        let protocols: Vec<&str> = values.protocols.iter().map(String::as_str).collect();
        let capture = Capture {
            url,
            fetched_at_ms: values.fetched_at_ms,
            ip_address: values.ip_address,
            protocols: &protocols,
            head,
            body: payload,
            truncated: values.truncated,
            request: None,
            metadata: &[],
        };
        let mut header = response_header(&capture, &values.id, &payload_digest, &block_digest);
        finish_header(&mut header, record.block().len());
        if header.bytes() != record.header_bytes() {
            return Err("the header of the response record does not match its content, or names another URL");
        }
        let mut expected = [WarcType::Request, WarcType::Metadata].into_iter();
        while !rest.is_empty() {
            let (concurrent, after) = next_record(rest, max_record_bytes, bytes_left)?;
            let warc_type = concurrent.header.warc_type();
            if !expected.any(|expected| expected == warc_type) {
                return Err("there are further records after the response");
            }
            verify_concurrent(&concurrent, warc_type, url, &values)?;
            rest = after;
        }
        let payload_bytes = payload.len() as u64;
        let cdxj = cdxj_entry_for(url.to_owned(), values.fetched_at_ms, head, &payload_digest);
        let payload_key = payload_digest.key(payload_bytes);
        let encoded = EncodedRecord::new(
            members,
            response_bytes,
            payload_bytes,
            payload_key,
            values.fetched_at_ms,
            cdxj,
        );
        let ResponseValues { fetched_at_ms, ip_address, protocols, truncated, .. } = values;
        Ok(VerifiedCapture { encoded, fetched_at_ms, ip_address, protocols, truncated, record, head_bytes })
    }

    /// Status line and header fields, as stored.
    pub fn head(&self) -> &[u8] {
        &self.record.block()[..self.head_bytes]
    }

    /// Body without transfer coding, and with its content encoding.
    pub fn body(&self) -> &[u8] {
        &self.record.block()[self.head_bytes..]
    }
}

/// Values in the header of a response record.
struct ResponseValues {
    id: String,
    fetched_at_ms: i64,
    ip_address: Option<IpAddr>,
    protocols: Vec<String>,
    truncated: Option<Truncation>,
}

impl ResponseValues {
    fn read(record: &WarcRecord) -> Result<ResponseValues, &'static str> {
        let header = &record.header;
        let id = header.get("WARC-Record-ID").filter(|id| is_record_id(id));
        let ip_address = header.get("WARC-IP-Address").map(str::parse).transpose();
        let protocols = header.fields.iter().filter(|(name, _)| name == "WARC-Protocol");
        let protocols: Vec<String> =
            protocols.map(|(_, value)| value.clone()).take(MAX_PROTOCOLS + 1).collect();
        if protocols.len() > MAX_PROTOCOLS || protocols.iter().any(|name| name.len() > MAX_PROTOCOL_BYTES) {
            return Err("the response record has too many or too long protocol names");
        }
        Ok(ResponseValues {
            id: id.ok_or("the response record has no valid id")?.to_owned(),
            fetched_at_ms: header.date_ms().ok_or("the response record has no valid date")?,
            ip_address: ip_address.map_err(|_| "the IP address of the response record is invalid")?,
            protocols,
            truncated: record.truncated(),
        })
    }
}

/// Verifies a request or metadata record about the response.
fn verify_concurrent(
    record: &WarcRecord,
    warc_type: WarcType,
    url: &str,
    response: &ResponseValues,
) -> Result<(), &'static str> {
    let id = record.header.get("WARC-Record-ID").filter(|id| is_record_id(id));
    let id = id.ok_or("a request or metadata record has no valid id")?;
    let content_type = match warc_type {
        WarcType::Request => CONTENT_TYPE_REQUEST,
        _ => CONTENT_TYPE_FIELDS,
    };
    let mut header = concurrent_header(warc_type, id, url, &response.id, response.fetched_at_ms);
    header.push("Content-Type", content_type);
    header.push("WARC-Block-Digest", Sha1Digest::of(record.block()).to_string());
    finish_header(&mut header, record.block().len());
    if header.bytes() != record.header_bytes() {
        return Err("the header of a request or metadata record does not match its content or the response");
    }
    Ok(())
}

/// Reads the record in the first of `members`; returns it and the remaining members.
fn next_record<'m>(
    members: &'m [u8],
    max_record_bytes: usize,
    bytes_left: &mut usize,
) -> Result<(WarcRecord, &'m [u8]), &'static str> {
    let max_record_bytes = max_record_bytes.min(*bytes_left);
    // Flags of optional fields, which could carry anything: file name, comment.
    if members.get(3).is_none_or(|flags| *flags != 0) {
        return Err("a record is not a gzip member without optional fields");
    }
    let mut bytes = Vec::new();
    let mut decoder = GzDecoder::new(members).take(max_record_bytes as u64 + 1);
    let read = decoder.read_to_end(&mut bytes);
    *bytes_left = bytes_left.saturating_sub(bytes.len());
    let length = read.map_err(|_| "a record is not a valid gzip member")?;
    if length > max_record_bytes {
        return Err("a record is longer than the maximum");
    }
    let rest = decoder.into_inner().into_inner();
    let record = WarcRecord::parse(bytes).map_err(|_| "a gzip member is not one WARC record")?;
    Ok((record, rest))
}

/// Whether a text has the form `<urn:uuid:...>` of the ids that the encoder assigns.
fn is_record_id(id: &str) -> bool {
    let uuid = id.strip_prefix("<urn:uuid:").and_then(|rest| rest.strip_suffix('>'));
    uuid.is_some_and(|uuid| {
        uuid.len() == 36 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write;
    use std::path::Path;

    use super::*;
    use crate::encoder::RecordEncoder;
    use crate::gzip::gunzip;

    const URL: &str = "http://example.com/a";
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

    fn capture<'c>(head: &'c [u8], body: &'c [u8]) -> Capture<'c> {
        Capture {
            url: URL,
            fetched_at_ms: 1_794_731_400_125,
            ip_address: Some([192, 0, 2, 1].into()),
            protocols: &["h2", "tls/1.3"],
            head,
            body,
            truncated: Some(Truncation::Time),
            request: Some(b"GET /a HTTP/1.1\r\nHost: example.com\r\n\r\n"),
            metadata: &[("fetchTimeMs", "12")],
        }
    }

    fn members() -> Vec<u8> {
        RecordEncoder::new(1).encode(&capture(HEAD, b"<html>")).unwrap().members().to_vec()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn verify(members: Vec<u8>) -> Result<VerifiedCapture, &'static str> {
        VerifiedCapture::verify(members, URL, 1 << 20, &mut { usize::MAX })
    }

    #[test]
    fn an_encoded_capture_is_verified_and_described_as_by_the_encoder() {
        let encoded = RecordEncoder::new(1).encode(&capture(HEAD, b"<html>")).unwrap();
        let verified = verify(encoded.members().to_vec()).unwrap();
        assert_eq!(format!("{:?}", verified.encoded), format!("{encoded:?}"));
        assert_eq!((verified.head(), verified.body()), (HEAD, &b"<html>"[..]));
        assert_eq!((verified.fetched_at_ms, verified.truncated), (1_794_731_400_125, Some(Truncation::Time)));
        assert_eq!(verified.protocols, ["h2", "tls/1.3"]);
        assert_eq!(verified.ip_address, Some([192, 0, 2, 1].into()));
    }

    #[test]
    fn a_changed_header_or_body_is_rejected() {
        let encoded = RecordEncoder::new(1).encode(&capture(HEAD, b"<html>")).unwrap();
        let response = gunzip(encoded.response(), Path::new("test"), 0).unwrap();
        let text = String::from_utf8(response).unwrap();
        assert!(verify(gzip(text.as_bytes())).is_ok());
        for (from, to) in [
            ("http://example.com/a", "http://example.com/b"),
            ("WARC-Type: response", "WARC-Type: resource"),
            ("WARC-Type: response", "warc-type: response"),
            ("WARC/1.1", "WARC/1.0"),
            ("2026-11-15", "2026-11-99"),
            ("192.0.2.1", "192.0.2.x"),
            ("192.0.2.1", "192.000.2.1"),
            ("WARC-Protocol: h2", "WARC-Refers-To: h2"),
            ("WARC-Protocol: h2\r\n", "WARC-Protocol: h2\r\nWARC-Filename: x\r\n"),
            ("<urn:uuid:", "<urn:x:"),
            ("<html>", "<HTML>"),
            ("HTTP/1.1 200 OK", "HTTP/1.1 404 OK"),
            ("Content-Type: application/http;msgtype=response", "Content-Type: text/plain"),
            ("\r\n\r\nHTTP", "\r\nX: y\r\n\r\nHTTP"),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(verify(gzip(text.replacen(from, to, 1).as_bytes())).is_err(), "{from} -> {to}");
        }
    }

    #[test]
    fn other_bytes_than_one_member_per_record_are_rejected() {
        let whole = members();
        assert!(verify(whole.clone()).is_ok());
        let text = gunzip(
            RecordEncoder::new(1).encode(&capture(HEAD, b"x")).unwrap().response(),
            Path::new("test"),
            0,
        );
        let text = text.unwrap();
        let cases: [(&str, Vec<u8>); 8] = [
            ("nothing", Vec::new()),
            ("no gzip", b"WARC/1.1\r\n\r\n".to_vec()),
            ("cut", whole[..whole.len() - 3].to_vec()),
            ("bytes after the last member", [whole.clone(), b"x".to_vec()].concat()),
            ("a further response", [whole.clone(), members()].concat()),
            ("two records in one member", gzip(&[text.clone(), text.clone()].concat())),
            ("an uncompressed record", text.clone()),
            ("a file name in the member", {
                let mut encoder =
                    flate2::GzBuilder::new().filename("x").write(Vec::new(), Compression::fast());
                encoder.write_all(&text).unwrap();
                encoder.finish().unwrap()
            }),
        ];
        for (case, members) in cases {
            assert!(verify(members).is_err(), "{case}");
        }
        assert!(
            VerifiedCapture::verify(gzip(&[b' '; 5_000]), URL, 1_000, &mut { usize::MAX }).is_err(),
            "longer than the maximum"
        );
        let other = VerifiedCapture::verify(members(), "http://example.com/", 1 << 20, &mut { usize::MAX });
        assert!(other.is_err(), "another URL");
    }

    #[test]
    fn what_was_decompressed_is_counted_for_valid_and_invalid_records() {
        let mut bytes_left = 1 << 20;
        VerifiedCapture::verify(members(), URL, 1 << 20, &mut bytes_left).unwrap();
        let uncompressed = gunzip_all(&members());
        assert_eq!(bytes_left, (1 << 20) - uncompressed, "each record is decompressed once");
        let mut bytes_left = 10_000;
        let mut is_rejected = |members: Vec<u8>| {
            let verified = VerifiedCapture::verify(members, URL, 1 << 20, &mut bytes_left);
            (verified.is_err(), bytes_left)
        };
        assert_eq!(is_rejected(gzip(&[b' '; 6_000])), (true, 4_000));
        assert_eq!(is_rejected(gzip(&[b' '; 6_000])), (true, 0));
        assert_eq!(is_rejected(members()), (true, 0), "nothing is left for a valid record");
    }

    /// Size of all members without compression.
    fn gunzip_all(members: &[u8]) -> usize {
        let mut bytes = Vec::new();
        flate2::read::MultiGzDecoder::new(members).read_to_end(&mut bytes).unwrap()
    }

    #[test]
    fn a_stored_transfer_coding_is_rejected() {
        let encoded = RecordEncoder::new(1).encode(&capture(HEAD, b"4\r\nWiki\r\n0\r\n\r\n")).unwrap();
        let text = String::from_utf8(gunzip(encoded.response(), Path::new("test"), 0).unwrap()).unwrap();
        // Readers would remove the chunks: body, digest and length would differ.
        let lie = text.replacen("Content-Type: text/html", "Transfer-Encoding:chunked", 1);
        assert_eq!(lie.len(), text.len() + 2);
        assert!(verify(gzip(lie.as_bytes())).is_err());
    }

    proptest! {
        #[test]
        fn whatever_a_server_sends_is_verified_once_encoded(
            line in "HTTP/(1\\.[01]|2) {1,2}[1-5][0-9][0-9][ -~]{0,10}",
            fields in proptest::collection::vec(
                "(Content-Length: [0-9]{1,3}|Transfer-Encoding: chunked|[ -~\\t]{0,30}| |\\t|x)(\r\n|\n)", 0..6),
            end in "(\r\n|\n)",
            body in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let head = format!("{line}\r\n{}{end}", fields.concat());
            let encoded = RecordEncoder::new(1).encode(&capture(head.as_bytes(), &body)).unwrap();
            let verified = verify(encoded.members().to_vec());
            prop_assert!(verified.is_ok(), "{:?}", verified.err());
            let verified = verified.unwrap();
            prop_assert_eq!(verified.body(), body);
            prop_assert_eq!(verified.encoded.cdxj, encoded.cdxj);
        }

        #[test]
        fn arbitrary_bytes_are_rejected_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(verify(gzip(&bytes)).is_err());
            prop_assert!(verify(bytes).is_err());
        }
    }
}
