//! Charts, drawn on the server: lines or bars over time, a floor, breaches, a legend, and the same
//! numbers as a table for those who do not look at pictures.
//!
//! Series differ by dash and marker as well as by colour. Nothing is styled inline, so the pages'
//! policy can forbid it.

mod draw;
mod scale;

use secateur_ledger::moment::{DAY_MS, Moment};

use crate::markup::Markup;
use crate::numbers;

/// What the numbers of the vertical axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Counts and characters.
    Count,
    /// US dollars.
    Usd,
    /// How many times larger, shown as `1.07×`.
    Ratio,
    /// Scores from 0 to 1.
    Score,
}

impl Unit {
    /// Levels of an axis, all with the same places.
    fn brief(self, levels: &[f64]) -> Vec<String> {
        let highest = levels
            .iter()
            .fold(0.0f64, |most, level| most.max(level.abs()));
        let places = numbers::axis_places(levels.iter().copied());
        let brief = |&level: &f64| match self {
            Self::Usd if highest >= 1000.0 => {
                let size = numbers::compact(level.abs());
                let minus = if level < 0.0 { "\u{2212}" } else { "" };
                format!("{minus}${size}")
            }
            Self::Usd => numbers::usd_in(level, places),
            _ => self.brief_one(level),
        };
        levels.iter().map(brief).collect()
    }

    fn brief_one(self, value: f64) -> String {
        match self {
            Self::Count => numbers::compact(value),
            Self::Usd => numbers::usd(value),
            Self::Ratio => format!("{value:.2}×"),
            Self::Score => format!("{value:.2}"),
        }
    }

    /// In the table and in tips; dollars with so many places.
    fn spelled(self, value: f64, places: usize) -> String {
        match self {
            Self::Count if value < 0.0 => numbers::signed(value.round() as i64),
            Self::Count => numbers::thousands(value.round() as u64),
            Self::Usd => numbers::usd_in(value, places),
            Self::Ratio => format!("{value:.2}×"),
            Self::Score => format!("{value:.3}"),
        }
    }
}

/// What the horizontal axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Across {
    /// UTC days; a point's `x` is the day's midnight in milliseconds.
    Days,
    /// Moments in milliseconds.
    Moments,
    /// Requests in their order; `x` counts from 0.
    Requests,
}

impl Across {
    fn spelled(self, x: f64) -> String {
        let moment = Moment(x as i64);
        match self {
            Self::Days => moment.day(),
            Self::Moments => moment.full(),
            Self::Requests => format!("request {}", x as u64 + 1),
        }
    }

    fn brief(self, x: f64, span: f64) -> String {
        let moment = Moment(x as i64);
        match self {
            Self::Days => moment.short_day(),
            Self::Moments if span > 2.0 * DAY_MS as f64 => moment.short_day(),
            Self::Moments if span > 600_000.0 => moment.hour(),
            Self::Moments => moment.second(),
            Self::Requests => numbers::thousands(x as u64 + 1),
        }
    }

    /// What stands under the axis, where its labels do not say it themselves.
    fn caption(self) -> &'static str {
        match self {
            Self::Days | Self::Moments => "",
            Self::Requests => "request, oldest to newest",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Days => "Day",
            Self::Moments => "Time (UTC)",
            Self::Requests => "Request",
        }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Line,
    Bars,
}

/// One named run of points, sorted by `x`.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A moment that is marked on the chart.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) label: String,
}

/// A chart over time.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// Unique on its page.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// What it shows, in a sentence.
    pub(crate) about: String,
    pub(crate) unit: Unit,
    pub(crate) across: Across,
    pub(crate) shape: Shape,
    pub(crate) series: Vec<Series>,
    /// A line that values should stay above, with its name.
    pub(crate) floor: Option<(f64, String)>,
    /// Breaches.
    pub(crate) marks: Vec<Mark>,
    /// What stands in its place when there are no points.
    pub(crate) empty: &'static str,
}

/// More rows than this are not listed; the newest are.
const TABLE_ROWS: usize = 200;

impl Chart {
    /// Bars of no height are nothing to see: an axis without bars reads as if nothing had come.
    fn has_points(&self) -> bool {
        let is_seen = |&(_, y): &(f64, f64)| self.shape == Shape::Line || y != 0.0;
        self.series
            .iter()
            .any(|series| series.points.iter().any(is_seen))
    }

    /// Places of the dollars in its table and tips.
    fn places(&self) -> usize {
        let points = self.series.iter().flat_map(|series| series.points.iter());
        numbers::usd_places(points.map(|(_, y)| *y))
    }

    /// The newest value of each series, in words.
    fn newest(&self) -> String {
        let places = self.places();
        let newest = |series: &Series| {
            let (_, y) = series.points.last()?;
            let value = self.unit.spelled(*y, places);
            Some(format!("{} {value}", series.name))
        };
        let all: Vec<String> = self.series.iter().filter_map(newest).collect();
        all.join(", ")
    }

    /// The chart with its heading, legend and table.
    pub(crate) fn figure(&self) -> Markup {
        let mut out = Markup::new();
        out.tags("<figure class=\"chart\" id=\"")
            .text(self.id)
            .tags("\"><figcaption><h3>");
        out.text(&self.title)
            .tags("</h3><p>")
            .text(&self.about)
            .tags("</p></figcaption>");
        if !self.has_points() {
            out.tags("<p class=\"empty\">")
                .text(self.empty)
                .tags("</p></figure>");
            return out;
        }
        out.join(&draw::picture(self));
        out.join(&draw::legend(self));
        out.join(&self.table()).tags("</figure>");
        out
    }

    fn table(&self) -> Markup {
        let mut places: Vec<f64> = self
            .series
            .iter()
            .flat_map(|series| series.points.iter().map(|(x, _)| *x))
            .collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let listed = places.len().min(TABLE_ROWS);
        let digits = self.places();
        let mut out = Markup::new();
        out.tags("<details class=\"figures\"><summary>Figures as a table</summary>");
        out.tags("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Figures: ");
        out.text(&self.title)
            .tags("\"><table><thead><tr><th scope=\"col\">")
            .text(self.across.name());
        for series in &self.series {
            out.tags("</th><th scope=\"col\" class=\"n\">")
                .text(&series.name);
        }
        out.tags("</th></tr></thead><tbody>");
        for x in places.iter().rev().take(listed) {
            out.tags("<tr><th scope=\"row\">")
                .text(self.across.spelled(*x))
                .tags("</th>");
            for series in &self.series {
                let found = series.points.binary_search_by(|(at, _)| at.total_cmp(x));
                let value = found.ok().and_then(|at| series.points.get(at));
                let spelled =
                    value.map_or("–".to_owned(), |(_, y)| self.unit.spelled(*y, digits));
                out.tags("<td class=\"n\">").text(spelled).tags("</td>");
            }
            out.tags("</tr>");
        }
        out.tags("</tbody></table>");
        if listed < places.len() {
            out.tags("<p>")
                .text(format!("The newest {listed} of {}.", places.len()))
                .tags("</p>");
        }
        if !self.marks.is_empty() {
            out.tags("<ul>");
            for mark in &self.marks {
                out.tags("<li>")
                    .text(self.across.spelled(mark.x))
                    .tags(": ");
                out.text(&mark.label).tags("</li>");
            }
            out.tags("</ul>");
        }
        out.tags("</div></details>");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn chart() -> Chart {
        Chart {
            id: "score",
            title: "Score <b>".into(),
            about: "Mean score & floor.".into(),
            unit: Unit::Score,
            across: Across::Days,
            shape: Shape::Line,
            series: vec![
                Series {
                    name: "m7\"><script>".into(),
                    points: (0..5)
                        .map(|day| (day as f64 * DAY_MS as f64, 0.9 + day as f64 / 50.0))
                        .collect(),
                },
                Series {
                    name: "m3".into(),
                    points: vec![(0.0, 0.99)],
                },
            ],
            floor: Some((0.95, "floor 0.95".into())),
            marks: vec![Mark {
                x: DAY_MS as f64,
                label: "m7 rolled back <i>".into(),
            }],
            empty: "No scores yet.",
        }
    }

    #[test]
    fn a_chart_tells_its_name_its_numbers_and_its_breaches_in_words() {
        let html = chart().figure().to_string();
        assert!(html.contains("role=\"img\""), "{html}");
        assert!(
            html.contains("<title id=\"score-title\">Score &lt;b&gt;</title>"),
            "{html}"
        );
        assert!(html.contains("<desc id=\"score-desc\">"), "{html}");
        assert!(html.contains("m7 rolled back &lt;i&gt;"), "{html}");
        assert!(html.contains("floor 0.95"), "{html}");
        assert!(html.contains("<td class=\"n\">0.920</td>"), "{html}");
        assert!(!html.contains("<script") && !html.contains("<i>") && !html.contains("style="));
        assert!(!html.contains("NaN") && !html.contains("inf"));
    }

    #[test]
    fn a_chart_without_points_says_what_to_do() {
        let mut chart = chart();
        chart.series.clear();
        let html = chart.figure().to_string();
        assert!(
            html.contains("No scores yet.") && !html.contains("<svg"),
            "{html}"
        );
    }

    #[test]
    fn bars_of_no_height_are_no_traffic_of_zero() {
        let mut chart = chart();
        chart.series[0].points = vec![(0.0, 0.0), (1.0, 0.0)];
        chart.series.truncate(1);
        assert!(
            chart.figure().to_string().contains("<svg"),
            "a score of 0 is one"
        );
        chart.shape = Shape::Bars;
        assert!(chart.figure().to_string().contains("No scores yet."));
    }

    #[test]
    fn an_axis_of_dollars_has_the_same_places_all_along() {
        assert_eq!(
            Unit::Usd.brief(&[0.0, 0.5, 1.0, 1.5]),
            ["$0.00", "$0.50", "$1.00", "$1.50"]
        );
        assert_eq!(Unit::Usd.brief(&[0.0, 0.005]), ["$0.000", "$0.005"]);
        assert_eq!(
            Unit::Usd.brief(&[0.0, 500.0, 1000.0]),
            ["$0", "$500", "$1k"]
        );
    }

    #[test]
    fn a_single_point_and_values_that_are_no_numbers_are_drawn_within_the_paper() {
        let mut chart = chart();
        chart.shape = Shape::Bars;
        chart.series = vec![Series {
            name: "a".into(),
            points: vec![(f64::from(3), f64::NAN), (4.0, -2.0)],
        }];
        let html = chart.figure().to_string();
        assert!(!html.contains("NaN\"") && html.contains("<svg"), "{html}");
    }
}
