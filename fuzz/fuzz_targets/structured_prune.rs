//! Bytes as a conversation: every promise of the engine, with every strategy and preset.
#![no_main]

use secateur_testkit::targets::structured_prune;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = structured_prune(bytes) {
        panic!("{broken}");
    }
});
