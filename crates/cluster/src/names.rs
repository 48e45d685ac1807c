//! What are the streams and subjects of a collection called? All of them are named here, and in `contrib/nats-server.conf`,
//! which says who may use which.

use crawl::BrokerError;

/// Longer ones make subjects that nobody can read.
const NAME_LIMIT_BYTES: usize = 64;
const WORKER_LIMIT_BYTES: usize = 128;

/// The one consumer of offered batches: all workers draw from it.
pub(crate) const WORKERS: &str = "workers";

/// Names of what belongs to a collection.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) collection: String,
}

impl Names {
    pub(crate) fn of(collection: &str) -> Result<Names, BrokerError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if collection.is_empty() || collection.len() > NAME_LIMIT_BYTES || !collection.bytes().all(fits) {
            let what = format!(
                "`{collection}` is no name for a broker: 1 to {NAME_LIMIT_BYTES} letters, digits, _ and - are"
            );
            return Err(BrokerError::Refused(what));
        }
        Ok(Names { collection: collection.to_owned() })
    }

    /// The stream of what was offered.
    pub(crate) fn batches_stream(&self) -> String {
        format!("weir-{}-batches", self.collection)
    }

    /// The stream of all logs.
    pub(crate) fn logs_stream(&self) -> String {
        format!("weir-{}-logs", self.collection)
    }

    /// The stream of what is true now: leases and orders.
    pub(crate) fn state_stream(&self) -> String {
        format!("weir-{}-state", self.collection)
    }

    /// What a batch is offered under; all of them without a number.
    pub(crate) fn batch(&self, batch: Option<u64>) -> String {
        self.numbered("batch", batch)
    }

    /// What the log of a batch is told under.
    pub(crate) fn log(&self, batch: Option<u64>) -> String {
        self.numbered("log", batch)
    }

    /// Who has a batch.
    pub(crate) fn lease(&self, batch: Option<u64>) -> String {
        self.numbered("lease", batch)
    }

    pub(crate) fn orders(&self) -> String {
        format!("weir.{}.orders", self.collection)
    }

    /// Whose all this is: the collection writes there who it is.
    pub(crate) fn owner(&self) -> String {
        format!("weir.{}.owner", self.collection)
    }

    /// What is written there gets the broker's time.
    pub(crate) fn clock(&self) -> String {
        format!("weir.{}.clock", self.collection)
    }

    /// What a worker reports under; all of them without a name.
    pub(crate) fn report(&self, worker: Option<&str>) -> Result<String, BrokerError> {
        let worker = worker.map_or(Ok("*".to_owned()), worker_token)?;
        Ok(format!("weir.{}.report.{worker}", self.collection))
    }

    /// Where answers come in. The roles have different ones, so that a worker cannot hear what the collection is told.
    pub(crate) fn inbox(&self, role: &str) -> String {
        format!("_INBOX_weir_{}_{role}", self.collection)
    }

    fn numbered(&self, kind: &str, batch: Option<u64>) -> String {
        let batch = batch.map_or_else(|| "*".to_owned(), |batch| batch.to_string());
        format!("weir.{}.{kind}.{batch}", self.collection)
    }
}

/// The batch that a subject ends with.
pub(crate) fn batch_of(subject: &str) -> Option<u64> {
    subject.rsplit('.').next()?.parse().ok()
}

/// Names of workers are names of hosts often, but points, spaces and stars mean something in a subject.
fn worker_token(worker: &str) -> Result<String, BrokerError> {
    if worker.is_empty() || worker.len() > WORKER_LIMIT_BYTES {
        let what = format!("`{worker}` is no name of a worker: it has 1 to {WORKER_LIMIT_BYTES} bytes");
        return Err(BrokerError::Refused(what));
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
    fn names_that_mean_something_to_the_broker_are_refused() {
        for name in ["", "a.b", "a b", "*", ">", "ü", "a/b", &"x".repeat(65)] {
            assert!(matches!(Names::of(name), Err(BrokerError::Refused(_))), "{name}");
        }
        assert_eq!(Names::of("chile-2026").unwrap().batch(Some(7)), "weir.chile-2026.batch.7");
    }

    #[test]
    fn the_batch_is_read_back_from_every_kind_of_subject() {
        let names = Names::of("c").unwrap();
        for subject in [names.batch(Some(u64::MAX)), names.log(Some(u64::MAX)), names.lease(Some(u64::MAX))] {
            assert_eq!(batch_of(&subject), Some(u64::MAX));
        }
        assert_eq!(batch_of(&names.orders()), None);
    }

    #[test]
    fn names_of_workers_stay_apart() {
        let names = Names::of("c").unwrap();
        assert_eq!(names.report(Some("a.example:7 *")).unwrap(), "weir.c.report.a=2Eexample=3A7=20=2A");
        assert!(names.report(Some("")).is_err());
    }
}
