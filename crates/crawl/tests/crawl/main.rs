//! Crawls of the synthetic Web, compared with its truth and with its request log.

mod ground_truth;
mod web;
