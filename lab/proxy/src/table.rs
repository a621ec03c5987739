//! A Markdown table that reads well as it is.

pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self {
            rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()],
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn print(&self, out: &mut String) {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (at, row) in self.rows.iter().enumerate() {
            for (cell, &width) in row.iter().zip(&widths) {
                out.push_str(&format!("| {cell:<width$} "));
            }
            out.push_str("|\n");
            if at == 0 {
                for &width in &widths {
                    out.push_str(&format!("| {} ", "-".repeat(width.max(3))));
                }
                out.push_str("|\n");
            }
        }
    }
}
