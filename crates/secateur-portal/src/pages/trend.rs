//! The charts that several pages share, made from sums by day and from single rows.

use std::collections::VecDeque;

use secateur_ledger::moment;
use secateur_ledger::{Row, Totals};

use crate::svg::{Across, Chart, Series, Shape, Unit};

/// What the sums of a day say about something.
type OfDay = fn(&Totals) -> Option<f64>;

fn by_day(days: &[Totals], name: &str, of_day: OfDay) -> Series {
    let point = |totals: &Totals| Some((moment::read(&totals.group)? as f64, of_day(totals)?));
    let mut points: Vec<(f64, f64)> = days.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    Series {
        name: name.to_owned(),
        points,
    }
}

/// Of how many requests the characters are known: those that a mechanic looked at.
fn looked_at(sized: usize, all: usize) -> String {
    let these = if sized == all {
        format!("Characters of the last {all} requests")
    } else {
        format!("Characters of the {sized} of the last {all} requests that were looked at")
    };
    format!(
        "{these}, as they came and as they were sent. Sessions stand in the order in which their requests came."
    )
}

/// The size of the newest requests, as they came and as they were sent. `rows` are newest first.
pub(crate) fn context(rows: &[Row]) -> Chart {
    let sized: Vec<(u64, u64)> = rows
        .iter()
        .rev()
        .filter_map(|row| row.chars_before.zip(row.chars_after))
        .collect();
    let series = |name: &str, pick: fn(&(u64, u64)) -> u64| Series {
        name: name.to_owned(),
        points: sized
            .iter()
            .enumerate()
            .map(|(at, sizes)| (at as f64, pick(sizes) as f64))
            .collect(),
    };
    Chart {
        id: "context",
        title: "Context size".into(),
        about: looked_at(sized.len(), rows.len()),
        unit: Unit::Count,
        across: Across::Requests,
        shape: Shape::Line,
        series: if sized.is_empty() {
            Vec::new()
        } else {
            vec![
                series("as it came", |sizes| sizes.0),
                series("as sent", |sizes| sizes.1),
            ]
        },
        floor: None,
        marks: Vec::new(),
        empty: "No request with a body that was looked at yet. Send one through the proxy.",
    }
}

/// Characters in and out, by day.
pub(crate) fn volume(days: &[Totals]) -> Chart {
    Chart {
        id: "volume",
        title: "Characters by day".into(),
        about: "Of the requests that were looked at, a day's together, as they came and as they were sent.".into(),
        unit: Unit::Count,
        across: Across::Days,
        shape: Shape::Bars,
        series: vec![
            by_day(days, "as it came", |totals| {
                Some(totals.chars_before as f64)
            }),
            by_day(days, "as sent", |totals| Some(totals.chars_after as f64)),
        ],
        floor: None,
        marks: Vec::new(),
        empty: "No request of these days was looked at.",
    }
}

/// How many requests there were and how many were changed, by day.
pub(crate) fn requests(days: &[Totals]) -> Chart {
    Chart {
        id: "requests",
        title: "Requests by day".into(),
        about: "All requests, looked at or not, and those that were changed.".into(),
        unit: Unit::Count,
        across: Across::Days,
        shape: Shape::Bars,
        series: vec![
            by_day(days, "all", |totals| Some(totals.requests as f64)),
            by_day(days, "changed", |totals| Some(totals.changed as f64)),
        ],
        floor: None,
        marks: Vec::new(),
        empty: "No requests in these days.",
    }
}

/// What was billed and what was saved, by day.
pub(crate) fn cost(days: &[Totals]) -> Chart {
    Chart {
        id: "cost",
        title: "Cost by day".into(),
        about: "Billed by the provider's own counts at list prices, and saved net of what broken caches cost; below zero: a loss.".into(),
        unit: Unit::Usd,
        across: Across::Days,
        shape: Shape::Bars,
        series: vec![
            by_day(days, "billed", |totals| Some(totals.billed_usd)),
            by_day(days, "saved, net", |totals| Some(totals.saved_usd)),
        ],
        floor: None,
        marks: Vec::new(),
        empty: "Nothing was billed in these days.",
    }
}

/// After over before, summed over seven days up to and with each day.
fn rolling(days: &[Totals], name: &str, pick: fn(&Totals) -> (u64, u64)) -> Series {
    let mut sorted: Vec<(i64, (u64, u64))> = days
        .iter()
        .filter_map(|totals| Some((moment::read(&totals.group)?, pick(totals))))
        .collect();
    sorted.sort_unstable();
    let mut window: VecDeque<(i64, (u64, u64))> = VecDeque::new();
    let mut points = Vec::new();
    for (day, sizes) in sorted {
        window.push_back((day, sizes));
        while window
            .front()
            .is_some_and(|(old, _)| day - old >= 7 * moment::DAY_MS)
        {
            window.pop_front();
        }
        let sum =
            |pick: fn(&(u64, u64)) -> u64| window.iter().map(|(_, sizes)| pick(sizes)).sum::<u64>();
        let (before, after) = (sum(|sizes| sizes.0), sum(|sizes| sizes.1));
        if before > 0 {
            points.push((day as f64, after as f64 / before as f64));
        }
    }
    Series {
        name: name.to_owned(),
        points,
    }
}

/// Compress ratio over the seven days up to each day: what is left of 100 %.
pub(crate) fn ratio(days: &[Totals]) -> Chart {
    let series = [
        rolling(days, "compress (m3)", |totals| {
            (totals.compress_chars_before, totals.compress_chars_after)
        }),
        rolling(days, "all cuts", |totals| {
            (totals.chars_before, totals.chars_after)
        }),
    ];
    Chart {
        id: "ratio",
        title: "Compress ratio, 7 days rolling".into(),
        about: "Characters sent for every hundred that came: of the requests where compress (m3) fired, and of all that were looked at.".into(),
        unit: Unit::Share,
        across: Across::Days,
        shape: Shape::Line,
        series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        floor: None,
        marks: Vec::new(),
        empty: "Nothing was compressed in these days.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(group: &str, before: u64, after: u64) -> Totals {
        Totals {
            group: group.into(),
            compress_chars_before: before,
            compress_chars_after: after,
            ..Totals::default()
        }
    }

    #[test]
    fn the_ratio_looks_seven_days_back_and_weighs_by_size() {
        let days = [
            day("2026-11-01", 100, 50),
            day("2026-11-07", 300, 270),
            day("2026-11-08", 0, 0),
        ];
        let chart = ratio(&days);
        let values: Vec<f64> = chart.series[0].points.iter().map(|(_, y)| *y).collect();
        assert_eq!(values.len(), 3);
        assert!((values[0] - 0.5).abs() < 1e-12);
        assert!((values[1] - 320.0 / 400.0).abs() < 1e-12);
        assert!(
            (values[2] - 0.9).abs() < 1e-12,
            "the first day is out of reach: {values:?}"
        );
        assert_eq!(
            chart.series.len(),
            1,
            "a series without points is not in the legend"
        );
    }

    #[test]
    fn the_context_runs_from_old_to_new() {
        let row = |before| Row {
            chars_before: Some(before),
            chars_after: Some(1),
            ..Row::default()
        };
        let chart = context(&[row(30), Row::default(), row(20), row(10)]);
        let came: Vec<f64> = chart.series[0].points.iter().map(|(_, y)| *y).collect();
        assert_eq!(came, [10.0, 20.0, 30.0]);
        assert!(
            chart.about.contains("the 3 of the last 4 requests"),
            "{}",
            chart.about
        );
    }

    #[test]
    fn a_day_whose_requests_nobody_looked_at_is_not_drawn_as_no_characters() {
        let days = [Totals {
            group: "2026-11-01".into(),
            requests: 12,
            ..Totals::default()
        }];
        let html = volume(&days).figure().to_string();
        assert!(html.contains("was looked at") && !html.contains("<svg"));
        assert!(requests(&days).figure().to_string().contains("<svg"));
    }
}
