//! Collections with known pages are indexed and searched, as a command or a server would.

mod cacm;
mod conditions;
mod ranking;
mod results;
mod sample;
mod words;
