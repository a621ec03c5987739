//! Test runners (pytest, cargo, go, jest, JUnit XML, TAP): failing tests by name first, what they
//! expected and got, the summary's numbers. Weighed like a log; passing tests are its routine.

use super::Layout;
use super::log;
use super::sample::Sample;
use crate::condense::OutputKind;
use crate::condense::units::Splitting;

/// Lines by which a runner announces itself or sums up.
const ANNOUNCEMENTS: &[&str] = &[
    "test session starts",
    "short test summary info",
    "test result: ",
    "=== RUN",
    "--- PASS",
    "--- FAIL",
    "Test Suites:",
    "<testsuite",
    "TAP version",
    "Nextest run",
    "BUILD FAILURE",
    "[INFO] Tests run:",
    "Tests run:",
    "FAILED (failures=",
    "FAILED (errors=",
    "Ran all test suites",
];

pub(super) fn is_test_output(sample: &Sample) -> bool {
    sample.any(|line| {
        ANNOUNCEMENTS
            .iter()
            .any(|announcement| line.contains(announcement))
    }) && sample.percent(1, |line| line.starts_with("##[")) < 2
}

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    Layout {
        kind: OutputKind::TestOutput,
        about: " test output".to_owned(),
        ..log::read(text, splitting)
    }
}
