//! The machine that benchmarks run on.

/// The processor's name and number of cores.
pub(super) fn name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{}, {cores} cores",
        name.map_or("an unknown processor", |(_, name)| name)
    )
}
