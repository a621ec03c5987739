//! Bars for each day: what was paid, and what would have been paid.

use std::fmt::Write as _;

use super::plot::escape;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 28.0;

/// One day.
pub(super) struct Day {
    pub(super) name: String,
    pub(super) paid_usd: f64,
    pub(super) with_usd: f64,
}

/// The plot; the wide bar is what was paid, the narrow one in front what would have been paid.
pub(super) fn days(days: &[Day]) -> String {
    let highest = days
        .iter()
        .map(|day| day.paid_usd.max(day.with_usd))
        .fold(0.01, f64::max);
    let (floor, room) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM - 12.0);
    let step = (WIDTH - LEFT) / days.len().max(1) as f64;
    let width = (step * 0.7).min(60.0);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Dollars for each day\">\n\
         <line class=\"grid\" x1=\"{LEFT}\" y1=\"{floor}\" x2=\"{WIDTH}\" y2=\"{floor}\"/>\
         <text class=\"tick\" x=\"{}\" y=\"16\" text-anchor=\"end\">${highest:.2}</text>\
         <text class=\"tick\" x=\"{}\" y=\"{floor}\" text-anchor=\"end\">$0</text>\n",
        LEFT - 6.0,
        LEFT - 6.0,
    );
    let every = days.len().div_ceil(8).max(1);
    for (at, day) in days.iter().enumerate() {
        let middle = LEFT + step * (at as f64 + 0.5);
        let title = format!(
            "{}: paid ${:.2}, with pruning ${:.2}",
            day.name, day.paid_usd, day.with_usd
        );
        let _ = writeln!(svg, "<g><title>{}</title>", escape(&title));
        for (class, usd, width) in [
            ("paid", day.paid_usd, width),
            ("with", day.with_usd, width * 0.6),
        ] {
            let high = usd.max(0.0) / highest * room;
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{high:.1}\"/>",
                middle - width / 2.0,
                floor - high,
            );
        }
        if at % every == 0 {
            let _ = writeln!(
                svg,
                "<text class=\"tick\" x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - 10.0,
                escape(&day.name)
            );
        }
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}
