use std::process::ExitCode;

use crate::printer::Printer;

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args, _printer: &mut Printer) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
