//! Test runners (pytest, cargo, go, jest, JUnit XML, TAP): failing tests by name first, what they
//! expected and got, the summary's numbers. Weighed like a log; passing tests are its routine.

use super::Layout;
use super::log;
use super::sample::Sample;
use crate::OutputKind;
use crate::units::Splitting;

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

pub(super) fn is_test_output(sample: &Sample<'_>) -> bool {
    sample.any(announces) && sample.percent(1, |line| line.starts_with("##[")) < 2
}

/// Whether the line holds one of the announcements. One pass: few bytes can begin one.
fn announces(line: &str) -> bool {
    let bytes = line.as_bytes();
    let begins = |at: usize| {
        let rest = &bytes[at..];
        ANNOUNCEMENTS
            .iter()
            .any(|announcement| rest.starts_with(announcement.as_bytes()))
    };
    (0..bytes.len()).any(|at| BEGINNINGS[usize::from(bytes[at])] && begins(at))
}

/// The bytes with which announcements begin.
const BEGINNINGS: [bool; 256] = {
    let mut beginnings = [false; 256];
    let mut at = 0;
    while at < ANNOUNCEMENTS.len() {
        beginnings[ANNOUNCEMENTS[at].as_bytes()[0] as usize] = true;
        at += 1;
    }
    beginnings
};

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    Layout {
        kind: OutputKind::TestOutput,
        about: " test output".to_owned(),
        ..log::read(text, splitting)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    /// Checks that a run of passing tests around `failure` keeps every line of `needed`.
    fn check(
        start: &str,
        passing: impl Fn(usize) -> String,
        failure: &str,
        end: &str,
        needed: &[&str],
    ) {
        let before: String = (0..400).map(&passing).collect();
        let after: String = (400..800).map(&passing).collect();
        let text = format!("{start}\n{before}{failure}\n{after}{end}\n");
        let condensed = condense(&text, &Budget::chars(1_600)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::TestOutput);
        let out = condensed.render(&text);
        for line in needed {
            assert!(out.contains(line), "{line} in\n{out}");
        }
    }

    #[test]
    fn pytest_keeps_the_failing_test_and_its_assertion() {
        check(
            "============ test session starts ============",
            |n| format!("tests/test_a.py::test_error_{n} PASSED [ 1%]\n"),
            "tests/test_b.py::test_total FAILED [ 50%]",
            "=== FAILURES ===\n____ test_total ____\n\n    def test_total():\n>       assert total([1]) == 2\nE       assert 1 == 2\n\ntests/test_b.py:7: AssertionError\n=== short test summary info ===\nFAILED tests/test_b.py::test_total - assert 1 == 2\n=== 1 failed, 800 passed in 3.21s ===",
            &[
                "tests/test_b.py::test_total FAILED",
                "E       assert 1 == 2",
                "tests/test_b.py:7: AssertionError",
                "1 failed, 800 passed in 3.21s",
            ],
        );
    }

    #[test]
    fn cargo_keeps_the_panic_and_the_counts() {
        check(
            "running 801 tests",
            |n| format!("test part::failed_case_{n} ... ok\n"),
            "test part::adds ... FAILED",
            "\nfailures:\n\n---- part::adds stdout ----\nthread 'part::adds' panicked at src/part.rs:9:5:\nassertion `left == right` failed\n  left: 3\n right: 4\n\ntest result: FAILED. 800 passed; 1 failed; 0 ignored; finished in 0.1s",
            &[
                "test part::adds ... FAILED",
                "panicked at src/part.rs:9:5",
                "  left: 3\n right: 4",
                "800 passed; 1 failed",
            ],
        );
    }

    #[test]
    fn go_keeps_the_failing_test_with_its_message() {
        check(
            "=== RUN   TestAll",
            |n| format!("=== RUN   TestError{n}\n--- PASS: TestError{n} (0.00s)\n"),
            "=== RUN   TestSum\n    sum_test.go:12: got 3, want 4\n--- FAIL: TestSum (0.00s)",
            "FAIL\nexit status 1\nFAIL\texample.org/sum\t0.012s",
            &[
                "sum_test.go:12: got 3, want 4",
                "--- FAIL: TestSum (0.00s)",
                "FAIL\texample.org/sum\t0.012s",
                "exit status 1",
            ],
        );
    }

    #[test]
    fn jest_keeps_the_failing_suite_and_the_difference() {
        check(
            "> jest",
            |n| format!("PASS src/error{n}.test.js\n"),
            "FAIL src/sum.test.js\n  ● sum › adds\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n    Received: 3\n\n      at Object.<anonymous> (src/sum.test.js:5:18)",
            "Test Suites: 1 failed, 800 passed, 801 total\nTests:       1 failed, 1600 passed, 1601 total",
            &[
                "FAIL src/sum.test.js",
                "● sum › adds",
                "Expected: 4",
                "Received: 3",
                "src/sum.test.js:5:18",
                "1 failed, 800 passed, 801 total",
            ],
        );
    }

    #[test]
    fn junit_keeps_the_failure_element() {
        check(
            "<testsuite name=\"all\" tests=\"801\" failures=\"1\">",
            |n| format!("  <testcase name=\"case_{n}\" time=\"0.01\"/>\n"),
            "  <testcase name=\"adds\">\n    <failure message=\"expected 4 but was 3\">at Sum.java:12</failure>\n  </testcase>",
            "</testsuite>",
            &[
                "<testcase name=\"adds\">",
                "<failure message=\"expected 4 but was 3\">at Sum.java:12</failure>",
            ],
        );
    }
}
