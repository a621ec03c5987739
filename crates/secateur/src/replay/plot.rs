//! Plots as SVG text. Colours are CSS variables of the page, so that both themes work.

use std::fmt::Write as _;

/// Text for HTML and SVG, also inside attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters have no place in a page.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// How many colours the page has; more policies share them.
pub(super) const COLOURS: usize = 8;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 46.0;

/// A range of values along one axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    from: f64,
    to: f64,
    step: f64,
}

impl Axis {
    /// Covers all values with about six round steps.
    fn over(values: impl Iterator<Item = f64>, least_span: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let missing = (least_span - (high - low)).max(0.0);
        (low, high) = (low - missing / 2.0, high + missing / 2.0);
        let rough = (high - low) / 6.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= rough)
            .unwrap_or(10.0 * power);
        Self {
            from: (low / step).floor() * step,
            to: (high / step).ceil() * step,
            step,
        }
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        let count = ((self.to - self.from) / self.step).round() as usize;
        (0..=count).map(move |n| self.from + n as f64 * self.step)
    }

    fn share(self, value: f64) -> f64 {
        (value - self.from) / (self.to - self.from)
    }
}

/// A frame with two axes, and what is drawn into it.
struct Frame {
    x: Axis,
    y: Axis,
    svg: String,
}

impl Frame {
    fn new(x: Axis, y: Axis, title: &str, names: (&str, &str), label: fn(f64) -> String) -> Self {
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(title)
        );
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let frame = Self {
            x,
            y,
            svg: String::new(),
        };
        for tick in x.ticks() {
            let at = frame.left(tick);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>\
                 <text class=\"tick\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                label(tick)
            );
        }
        for tick in y.ticks() {
            let at = frame.top(tick);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                label(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"axis\" transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            HEIGHT - 8.0,
            escape(names.0),
            f64::midpoint(TOP, bottom),
            escape(names.1)
        );
        Self { svg, ..frame }
    }

    fn left(&self, value: f64) -> f64 {
        LEFT + self.x.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn top(&self, value: f64) -> f64 {
        TOP + (1.0 - self.y.share(value)) * (HEIGHT - TOP - BOTTOM)
    }

    fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

/// What one policy kept for its bill.
pub(super) struct Kept<'a> {
    pub(super) name: &'a str,
    pub(super) bill: f64,
    pub(super) ids: f64,
    pub(super) lines: f64,
}

/// Bill against what is kept: a circle for ids and a square for lines, one of each per policy.
pub(super) fn bill_against_kept(policies: &[Kept<'_>]) -> String {
    let x = Axis::over(policies.iter().map(|policy| policy.bill).chain([1.0]), 0.1);
    let kept = policies
        .iter()
        .flat_map(|policy| [policy.ids, policy.lines]);
    let y = Axis::over(kept.chain([1.0]), 0.02);
    let title = "Bill against what is kept";
    let names = ("bill, against no pruning", "share kept");
    let mut frame = Frame::new(x, y, title, names, |value| format!("{value:.3}"));
    let one = frame.left(1.0);
    let _ = writeln!(
        frame.svg,
        "<line class=\"one\" x1=\"{one:.1}\" y1=\"{TOP}\" x2=\"{one:.1}\" y2=\"{}\"/>",
        HEIGHT - BOTTOM
    );
    for (at, policy) in policies.iter().enumerate() {
        let (left, ids, lines) = (
            frame.left(policy.bill),
            frame.top(policy.ids),
            frame.top(policy.lines),
        );
        // A name at the right edge goes to the left of its point.
        let (beside, anchor) = if left > 0.75 * WIDTH {
            (left - 9.0, "end")
        } else {
            (left + 9.0, "start")
        };
        let (name, colour) = (escape(policy.name), at % COLOURS);
        let _ = writeln!(
            frame.svg,
            "<g class=\"c{colour}\"><title>{name}: bill {:.4}, ids {:.4}, lines {:.4}</title>\
             <line class=\"tie\" x1=\"{left:.1}\" y1=\"{ids:.1}\" x2=\"{left:.1}\" y2=\"{lines:.1}\"/>\
             <circle class=\"dot\" cx=\"{left:.1}\" cy=\"{ids:.1}\" r=\"5\"/>\
             <rect class=\"dot\" x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\"/>\
             <text class=\"name\" x=\"{beside:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{name}</text></g>",
            policy.bill,
            policy.ids,
            policy.lines,
            left - 4.5,
            lines - 4.5,
            lines + 4.0,
        );
    }
    frame.finish()
}

/// One policy over the requests of a session: tokens sent, and where rounds were taken.
pub(super) struct Course<'a> {
    pub(super) name: &'a str,
    pub(super) tokens: Vec<f64>,
    pub(super) rounds: Vec<usize>,
}

/// The size of the context at each request: without pruning, and under each policy.
pub(super) fn context_over_time(without: &[f64], courses: &[Course<'_>]) -> String {
    let x = Axis::over([1.0, without.len() as f64].into_iter(), 2.0);
    let all = courses.iter().flat_map(|course| course.tokens.iter());
    let y = Axis::over(all.chain(without).copied().chain([0.0]), 1.0);
    let title = "Size of the context at each request";
    let names = ("request", "tokens sent");
    let mut frame = Frame::new(x, y, title, names, tokens_label);
    let points = |frame: &Frame, tokens: &[f64]| {
        let point = |(n, &tokens): (usize, &f64)| {
            format!("{:.1},{:.1}", frame.left(n as f64 + 1.0), frame.top(tokens))
        };
        tokens
            .iter()
            .enumerate()
            .map(point)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let line = points(&frame, without);
    let _ = writeln!(
        frame.svg,
        "<polyline class=\"without\" points=\"{line}\"><title>no pruning</title></polyline>"
    );
    for (at, course) in courses.iter().enumerate() {
        let line = points(&frame, &course.tokens);
        let (name, colour) = (escape(course.name), at % COLOURS);
        let _ = writeln!(
            frame.svg,
            "<g class=\"c{colour}\"><title>{name}</title><polyline class=\"course\" points=\"{line}\"/>"
        );
        for &round in &course.rounds {
            let tokens = course.tokens.get(round).copied().unwrap_or(0.0);
            let (left, top) = (frame.left(round as f64 + 1.0), frame.top(tokens));
            let _ = writeln!(
                frame.svg,
                "<path class=\"round\" d=\"M{left:.1} {top:.1} l-5 9 h10 z\"><title>{name}: round at request {}</title></path>",
                round + 1
            );
        }
        frame.svg.push_str("</g>\n");
    }
    frame.finish()
}

fn tokens_label(value: f64) -> String {
    if value >= 1000.0 {
        let thousands = format!("{:.1}", value / 1000.0);
        format!("{} k", thousands.trim_end_matches(".0"))
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_wherever_they_are() {
        let name = "<script>alert('x')</script>&\"";
        let plot = bill_against_kept(&[Kept {
            name,
            bill: 0.8,
            ids: 0.99,
            lines: 0.98,
        }]);
        assert!(!plot.contains("<script"), "{plot}");
        assert!(plot.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
        assert_eq!(escape("a\u{0}b"), "a\u{fffd}b");
    }

    #[test]
    fn an_axis_covers_its_values_with_round_steps() {
        let axis = Axis::over([0.829, 1.0].into_iter(), 0.1);
        assert!(axis.from <= 0.829 && axis.to >= 1.0);
        assert!((axis.step - 0.05).abs() < 1e-12, "{axis:?}");
        assert!(axis.ticks().count() < 12);
        let flat = Axis::over(std::iter::once(1.0), 0.02);
        assert!(flat.from < 1.0 && flat.to > 1.0);
        assert!(
            Axis::over(std::iter::empty(), 0.0)
                .ticks()
                .all(f64::is_finite)
        );
    }

    #[test]
    fn every_point_is_inside_the_frame() {
        let without: Vec<f64> = (1..=60).map(|n| f64::from(n) * 1234.5).collect();
        let course = Course {
            name: "steady",
            tokens: without.iter().map(|tokens| tokens * 0.7).collect(),
            rounds: vec![20, 59],
        };
        let plot = context_over_time(&without, &[course]);
        for list in plot.split("points=\"").skip(1) {
            let list = list.split('"').next().unwrap();
            for point in list.split(' ') {
                let (x, y) = point.split_once(',').unwrap();
                let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{point}");
                assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{point}");
            }
        }
        assert_eq!(plot.matches("class=\"round\"").count(), 2);
    }
}
