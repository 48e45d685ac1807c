//! Names of the NATS streams and subjects of a collection.
//!
//! They are also listed in `contrib/nats-server.conf`, which defines the permissions for them.

use harvest::BrokerError;

/// Maximum length of a collection name; it is part of every subject.
const MAX_COLLECTION_NAME_BYTES: usize = 64;
const MAX_WORKER_NAME_BYTES: usize = 128;

/// Consumer of published batches, shared by all workers.
pub(crate) const WORKER_CONSUMER: &str = "workers";

/// Streams and subjects of one collection.
#[derive(Debug, Clone)]
pub(crate) struct Subjects {
    pub(crate) collection: String,
}

impl Subjects {
    pub(crate) fn new(collection: &str) -> Result<Subjects, BrokerError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if collection.is_empty()
            || collection.len() > MAX_COLLECTION_NAME_BYTES
            || !collection.bytes().all(is_allowed)
        {
            let cause = format!(
                "invalid collection name `{collection}`: 1 to {MAX_COLLECTION_NAME_BYTES} letters, digits, _ and - are allowed; \
                 set one with --collection"
            );
            return Err(BrokerError::Refused(cause));
        }
        Ok(Subjects { collection: collection.to_owned() })
    }

    /// Stream of published batches.
    pub(crate) fn batches_stream(&self) -> String {
        format!("weir-{}-batches", self.collection)
    }

    /// Stream of all batch logs.
    pub(crate) fn logs_stream(&self) -> String {
        format!("weir-{}-logs", self.collection)
    }

    /// Stream of the current state: leases, control message, owner.
    pub(crate) fn state_stream(&self) -> String {
        format!("weir-{}-state", self.collection)
    }

    /// Subject of a published batch; a wildcard for all batches without a number.
    pub(crate) fn batch(&self, batch: Option<u64>) -> String {
        self.for_batch("batch", batch)
    }

    /// Subject of the log of a batch.
    pub(crate) fn log(&self, batch: Option<u64>) -> String {
        self.for_batch("log", batch)
    }

    /// Subject of the lease of a batch.
    pub(crate) fn lease(&self, batch: Option<u64>) -> String {
        self.for_batch("lease", batch)
    }

    /// Subject of the control message.
    pub(crate) fn control(&self) -> String {
        format!("weir.{}.control", self.collection)
    }

    /// Subject with the id of the collection that owns these streams.
    pub(crate) fn owner(&self) -> String {
        format!("weir.{}.owner", self.collection)
    }

    /// Subject written to read the server's clock from the timestamp of the message.
    pub(crate) fn server_time(&self) -> String {
        format!("weir.{}.server_time", self.collection)
    }

    /// Subject of the reports of a worker; a wildcard for all workers without a name.
    pub(crate) fn report(&self, worker: Option<&str>) -> Result<String, BrokerError> {
        let worker = worker.map_or(Ok("*".to_owned()), worker_token)?;
        Ok(format!("weir.{}.report.{worker}", self.collection))
    }

    /// Prefix of the inbox for responses. It differs by role, so that permissions keep workers from reading the coordinator's
    /// responses.
    pub(crate) fn inbox(&self, role: &str) -> String {
        format!("_INBOX_weir_{}_{role}", self.collection)
    }

    fn for_batch(&self, kind: &str, batch: Option<u64>) -> String {
        let batch = batch.map_or_else(|| "*".to_owned(), |batch| batch.to_string());
        format!("weir.{}.{kind}.{batch}", self.collection)
    }
}

/// Batch id at the end of a subject.
pub(crate) fn parse_batch(subject: &str) -> Option<u64> {
    subject.rsplit('.').next()?.parse().ok()
}

/// Encodes a worker name as one token of a subject, in which `.`, `*`, `>` and spaces have a meaning.
fn worker_token(worker: &str) -> Result<String, BrokerError> {
    if worker.is_empty() || worker.len() > MAX_WORKER_NAME_BYTES {
        let cause = format!(
            "invalid worker name `{worker}`: 1 to {MAX_WORKER_NAME_BYTES} bytes are allowed; set one with --name"
        );
        return Err(BrokerError::Refused(cause));
    }
    let mut token = String::with_capacity(worker.len());
    for byte in worker.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => token.push(char::from(byte)),
            other => token.push_str(&format!("={other:02X}")),
        }
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collection_names_with_subject_syntax_are_rejected() {
        for name in ["", "a.b", "a b", "*", ">", "ü", "a/b", &"x".repeat(65)] {
            assert!(matches!(Subjects::new(name), Err(BrokerError::Refused(_))), "{name}");
        }
        assert_eq!(Subjects::new("chile-2026").unwrap().batch(Some(7)), "weir.chile-2026.batch.7");
    }

    #[test]
    fn the_batch_id_is_parsed_from_each_kind_of_subject() {
        let subjects = Subjects::new("c").unwrap();
        for subject in
            [subjects.batch(Some(u64::MAX)), subjects.log(Some(u64::MAX)), subjects.lease(Some(u64::MAX))]
        {
            assert_eq!(parse_batch(&subject), Some(u64::MAX));
        }
        assert_eq!(parse_batch(&subjects.control()), None);
    }

    #[test]
    fn worker_names_map_to_distinct_tokens() {
        let subjects = Subjects::new("c").unwrap();
        assert_eq!(subjects.report(Some("a.example:7 *")).unwrap(), "weir.c.report.a=2Eexample=3A7=20=2A");
        assert!(subjects.report(Some("")).is_err());
    }
}
