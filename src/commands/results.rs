//! The exit code of what is wrong with a run's directory.

use crate::exit::{Exit, Failure};
use crate::output::OutDirError;
use crate::results::ResultsError;

/// A directory that holds the wrong thing is the user's mistake; one that cannot be written is the machine's.
pub fn failure(error: ResultsError) -> Failure {
    use OutDirError::{NotADirectory, NotEmpty};
    let exit = match &error {
        ResultsError::Directory(NotEmpty { .. } | NotADirectory { .. })
        | ResultsError::File { .. }
        | ResultsError::Read(_)
        | ResultsError::Accounting(_)
        | ResultsError::Endpoints(_)
        | ResultsError::OtherData { .. }
        | ResultsError::OtherSamples { .. }
        | ResultsError::Verdict { .. }
        | ResultsError::OtherSettings { .. }
        | ResultsError::DataMissing { .. }
        | ResultsError::OtherPlan { .. }
        | ResultsError::NotARun { .. }
        | ResultsError::Order { .. }
        | ResultsError::Complete { .. } => Exit::BadInput,
        ResultsError::Directory(_) | ResultsError::Write(_) | ResultsError::Log(_) => Exit::Setup,
        ResultsError::Render(_) => Exit::RunFailed,
    };
    Failure::new(exit, error)
}
