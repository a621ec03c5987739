//! The picture of a chart: axes, lines or bars, floor, breaches, legend.

use super::scale::{Scale, ticks};
use super::{Across, Chart, Series, Shape};
use crate::markup::Markup;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 408.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 162.0;

/// Room for words under the axis.
const CAPTION: f64 = 18.0;

/// Series beyond these share the last look.
const LOOKS: [&str; 6] = ["s0", "s1", "s2", "s3", "s4", "s5"];

fn look(at: usize) -> &'static str {
    LOOKS.get(at).copied().unwrap_or("s5")
}

struct Paper<'c> {
    chart: &'c Chart,
    across: Scale,
    up: Scale,
    x_range: (f64, f64),
    levels: Vec<f64>,
    /// Places of dollars in tips.
    places: usize,
}

fn finite(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |range, value| {
            let (low, high) = range.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })
}

impl<'c> Paper<'c> {
    fn of(chart: &'c Chart) -> Self {
        let points = || chart.series.iter().flat_map(|series| series.points.iter());
        let marks = chart.marks.iter().map(|mark| mark.x);
        let x_range = finite(points().map(|(x, _)| *x).chain(marks)).unwrap_or((0.0, 1.0));
        let floor = chart.floor.as_ref().map(|(level, _)| *level);
        let (low, high) = finite(points().map(|(_, y)| *y).chain(floor)).unwrap_or((0.0, 1.0));
        let range = match chart.unit {
            // A score of 0.94 under a floor of 0.95 must be visible.
            super::Unit::Score => ((low - 0.02).max(0.0), (high + 0.01).min(1.0)),
            // Nothing is saved at 1.
            super::Unit::Ratio => (low.min(1.0), high.max(1.0)),
            _ => (low.min(0.0), high.max(0.0)),
        };
        let (y_range, levels) = ticks(range, 4.0);
        // Bars need half a bar of room at both ends.
        let inset = if chart.shape == Shape::Bars {
            14.0
        } else {
            4.0
        };
        Self {
            chart,
            across: Scale::new(x_range, (LEFT + inset, RIGHT - inset)),
            up: Scale::new(y_range, (BOTTOM, TOP)),
            x_range,
            levels,
            places: chart.places(),
        }
    }

    fn axes(&self, out: &mut Markup) {
        let labels = self.chart.unit.brief(&self.levels);
        for (&level, label) in self.levels.iter().zip(&labels) {
            let y = self.up.at(level);
            out.tags("<line class=\"grid\" x1=\"")
                .number(LEFT)
                .tags("\" x2=\"")
                .number(RIGHT);
            out.tags("\" y1=\"")
                .number(y)
                .tags("\" y2=\"")
                .number(y)
                .tags("\"/>");
            out.tags("<text class=\"tick\" text-anchor=\"end\" x=\"")
                .number(LEFT - 5.0);
            out.tags("\" y=\"").number(y + 4.0).tags("\">");
            out.text(label).tags("</text>");
        }
        let (from, to) = self.x_range;
        let span = to - from;
        let places: Vec<f64> = if span <= 0.0 {
            vec![from]
        } else {
            (0..4).map(|at| from + span * f64::from(at) / 3.0).collect()
        };
        let mut last = String::new();
        for (at, x) in places.iter().enumerate() {
            let label = self.chart.across.brief(self.on_grid(*x), span);
            if label == last {
                continue;
            }
            let anchor = match at {
                0 if places.len() > 1 => "start",
                3 => "end",
                _ => "middle",
            };
            out.tags("<text class=\"tick\" text-anchor=\"").text(anchor);
            out.tags("\" x=\"").number(self.across.at(self.on_grid(*x)));
            out.tags("\" y=\"")
                .number(BOTTOM + 17.0)
                .tags("\">")
                .text(&label)
                .tags("</text>");
            last = label;
        }
        let caption = self.chart.across.caption();
        if !caption.is_empty() {
            out.tags("<text class=\"tick\" text-anchor=\"middle\" x=\"")
                .number(f64::midpoint(LEFT, RIGHT))
                .tags("\" y=\"")
                .number(HEIGHT + CAPTION - 5.0)
                .tags("\">")
                .text(caption)
                .tags("</text>");
        }
    }

    /// A place that the axis has a name for.
    fn on_grid(&self, x: f64) -> f64 {
        let day = secateur_ledger::moment::DAY_MS as f64;
        match self.chart.across {
            Across::Days => (x / day).round() * day,
            Across::Requests => x.round(),
            Across::Moments => x,
        }
    }

    fn line(&self, at: usize, series: &Series, out: &mut Markup) {
        let points = || series.points.iter().filter(|(_, y)| y.is_finite());
        if points().nth(1).is_some() {
            out.tags("<polyline class=\"line ")
                .text(look(at))
                .tags("\" points=\"");
            for (x, y) in points() {
                out.number(self.across.at(*x))
                    .tags(",")
                    .number(self.up.at(*y))
                    .tags(" ");
            }
            out.tags("\"/>");
        }
        // Every point has its tip while there are few; else only the newest is marked.
        let count = points().count();
        let from = if count <= 60 { 0 } else { count - 1 };
        for (x, y) in points().skip(from) {
            let (left, top) = (self.across.at(*x), self.up.at(*y));
            out.tags("<g class=\"dot ")
                .text(look(at))
                .tags("\"><title>");
            out.text(&series.name)
                .tags(", ")
                .text(self.chart.across.spelled(*x))
                .tags(": ");
            out.text(self.chart.unit.spelled(*y, self.places))
                .tags("</title>");
            marker(at, left, top, out);
            out.tags("</g>");
        }
    }

    fn bars(&self, out: &mut Markup) {
        let count = self.chart.series.len().max(1) as f64;
        let step = match self.chart.across {
            Across::Days => secateur_ledger::moment::DAY_MS as f64,
            Across::Requests | Across::Moments => 1.0,
        };
        let (from, to) = self.x_range;
        let room = (RIGHT - LEFT - 28.0) / ((to - from) / step).max(1.0);
        let width = (room * 0.8 / count).clamp(0.8, 22.0);
        let zero = self.up.at(0.0);
        for (at, series) in self.chart.series.iter().enumerate() {
            for (x, y) in series.points.iter().filter(|(_, y)| y.is_finite()) {
                let left = self.across.at(*x) + (at as f64 - count / 2.0) * width;
                let top = self.up.at(*y);
                let height = (top - zero).abs();
                out.tags("<rect class=\"bar ")
                    .text(look(at))
                    .tags("\" x=\"")
                    .number(left);
                out.tags("\" y=\"")
                    .number(top.min(zero))
                    .tags("\" width=\"")
                    .number(width);
                out.tags("\" height=\"")
                    .number(height)
                    .tags("\"><title>")
                    .text(&series.name);
                out.tags(", ")
                    .text(self.chart.across.spelled(*x))
                    .tags(": ");
                out.text(self.chart.unit.spelled(*y, self.places))
                    .tags("</title></rect>");
            }
        }
        out.tags("<line class=\"zero\" x1=\"")
            .number(LEFT)
            .tags("\" x2=\"")
            .number(RIGHT);
        out.tags("\" y1=\"")
            .number(zero)
            .tags("\" y2=\"")
            .number(zero)
            .tags("\"/>");
    }

    fn floor(&self, out: &mut Markup) {
        let Some((level, label)) = &self.chart.floor else {
            return;
        };
        let y = self.up.at(*level);
        out.tags("<line class=\"floor\" x1=\"")
            .number(LEFT)
            .tags("\" x2=\"")
            .number(RIGHT);
        out.tags("\" y1=\"")
            .number(y)
            .tags("\" y2=\"")
            .number(y)
            .tags("\"/>");
        out.tags("<text class=\"floor-name\" x=\"")
            .number(LEFT + 4.0)
            .tags("\" y=\"");
        out.number(y + 13.0).tags("\">").text(label).tags("</text>");
    }

    fn marks(&self, out: &mut Markup) {
        for mark in &self.chart.marks {
            let x = self.across.at(mark.x);
            out.tags("<g class=\"mark\"><title>")
                .text(self.chart.across.spelled(mark.x));
            out.tags(": ")
                .text(&mark.label)
                .tags("</title><line x1=\"")
                .number(x);
            out.tags("\" x2=\"")
                .number(x)
                .tags("\" y1=\"")
                .number(TOP)
                .tags("\" y2=\"");
            out.number(BOTTOM)
                .tags("\"/><path d=\"M")
                .number(x - 5.0)
                .tags(" ")
                .number(TOP - 9.0);
            out.tags("h10l-5 9z\"/></g>");
        }
    }
}

/// Shapes go round: circle, square, triangle.
fn marker(at: usize, x: f64, y: f64, out: &mut Markup) {
    match at % 3 {
        0 => {
            out.tags("<circle r=\"3\" cx=\"")
                .number(x)
                .tags("\" cy=\"")
                .number(y)
                .tags("\"/>");
        }
        1 => {
            out.tags("<path d=\"M")
                .number(x - 3.0)
                .tags(" ")
                .number(y - 3.0)
                .tags("h6v6h-6z\"/>");
        }
        _ => {
            out.tags("<path d=\"M")
                .number(x)
                .tags(" ")
                .number(y - 4.0)
                .tags("l4 7h-8z\"/>");
        }
    }
}

pub(super) fn picture(chart: &Chart) -> Markup {
    let paper = Paper::of(chart);
    let height = if chart.across.caption().is_empty() {
        HEIGHT
    } else {
        HEIGHT + CAPTION
    };
    let mut out = Markup::new();
    out.tags("<svg role=\"img\" viewBox=\"0 0 ")
        .number(WIDTH)
        .tags(" ")
        .number(height);
    out.tags("\" aria-labelledby=\"")
        .text(chart.id)
        .tags("-title ")
        .text(chart.id);
    out.tags("-desc\"><title id=\"")
        .text(chart.id)
        .tags("-title\">")
        .text(&chart.title);
    out.tags("</title><desc id=\"")
        .text(chart.id)
        .tags("-desc\">")
        .text(&chart.about);
    out.tags(" Newest: ").text(chart.newest()).tags(".");
    for mark in &chart.marks {
        out.tags(" ")
            .text(chart.across.spelled(mark.x))
            .tags(": ")
            .text(&mark.label)
            .tags(".");
    }
    out.tags("</desc>");
    paper.axes(&mut out);
    if chart.shape == Shape::Bars {
        paper.bars(&mut out);
    } else {
        for (at, series) in chart.series.iter().enumerate() {
            paper.line(at, series, &mut out);
        }
    }
    paper.floor(&mut out);
    paper.marks(&mut out);
    out.tags("</svg>");
    out
}

/// Names beside samples of each series' look. The table below says the same to screen readers.
pub(super) fn legend(chart: &Chart) -> Markup {
    let mut out = Markup::new();
    out.tags("<ul class=\"legend\">");
    for (at, series) in chart.series.iter().enumerate() {
        out.tags("<li><svg aria-hidden=\"true\" viewBox=\"0 0 26 12\">");
        if chart.shape == Shape::Bars {
            out.tags("<rect class=\"bar ")
                .text(look(at))
                .tags("\" x=\"7\" y=\"1\" width=\"12\" height=\"10\"/>");
        } else {
            out.tags("<polyline class=\"line ")
                .text(look(at))
                .tags("\" points=\"1,6 25,6\"/>");
            out.tags("<g class=\"dot ").text(look(at)).tags("\">");
            marker(at, 13.0, 6.0, &mut out);
            out.tags("</g>");
        }
        out.tags("</svg>").text(&series.name).tags("</li>");
    }
    if !chart.marks.is_empty() {
        out.tags("<li><svg aria-hidden=\"true\" viewBox=\"0 0 26 12\"><g class=\"mark\"><path d=\"M8 1h10l-5 9z\"/></g></svg>rolled back</li>");
    }
    out.tags("</ul>");
    out
}
