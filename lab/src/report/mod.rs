//! The result of an instrument: a table for the terminal, and JSON.
//!
//! A [`Report`] is plain data. [`page`] puts its JSON into `page.html`, whose script draws tables and charts. So no figure can
//! differ between the page that a person reads and the file that a script compares.
//!
//! ```
//! use nowcast_lab::report::{BarChart, Cell, Chart, Column, Report, Section, Table};
//!
//! let mut report = Report::new("Lag", "cargo xtask lab lag --seed 7").seed(7);
//! let mut section = Section::new("Delay of the reader against lag");
//! let mut table = Table::new(vec![Column::text("queue"), Column::number("lag", "ms")]);
//! table.row(vec![Cell::text("updatable"), Cell::number(101.3, 1)]);
//! table.row(vec![Cell::text("first in, first out"), Cell::number(10_011.0, 1)]);
//! section.chart(Chart::Bars(BarChart::from_table("Lag of the last message", "ms", &table, 0, &[1]).log()));
//! section.table(table);
//! report.section(section);
//! assert!(report.to_terminal().contains("10,011.0"));
//! ```

mod machine;
mod stats;
mod terminal;

pub use machine::Machine;
pub use stats::{Samples, Summary, thousands};

use serde::Serialize;

/// All findings of one run of an instrument.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The name of the instrument, as a title.
    pub title: String,
    /// The command that repeats this run.
    pub command: String,
    /// The seed from which all random choices of the run were drawn; `None` if there were none.
    pub seed: Option<u64>,
    /// The machine of the run.
    pub machine: Machine,
    /// Notes that help to compare figures: settings, warnings, omissions and their reasons.
    pub notes: Vec<String>,
    /// The measurements.
    pub sections: Vec<Section>,
}

impl Report {
    /// Makes an empty report on this machine.
    pub fn new(title: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            command: command.into(),
            seed: None,
            machine: Machine::here(),
            notes: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Sets the seed that repeats the run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Adds a sentence that is shown above the figures.
    pub fn note(&mut self, note: impl Into<String>) -> &mut Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a group of figures.
    pub fn section(&mut self, section: Section) -> &mut Self {
        self.sections.push(section);
        self
    }

    /// Returns the report as text, with aligned columns.
    pub fn to_terminal(&self) -> String {
        terminal::render(self)
    }

    /// Returns the report as indented JSON, with the full precision of every figure.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Reports of one run on one machine.
#[derive(Debug, Serialize)]
pub struct Book {
    /// The title.
    pub title: String,
    /// The command that repeats all measurements.
    pub command: String,
    /// The machine of the run.
    pub machine: Machine,
    /// The measured programs, by version.
    pub versions: Vec<(String, String)>,
    /// Notes that help to compare figures.
    pub notes: Vec<String>,
    /// The instruments' reports.
    pub chapters: Vec<Report>,
}

/// Returns figures as indented JSON.
///
/// # Panics
/// Never: the types of this module always have a JSON form.
pub fn to_json(figures: &impl Serialize) -> String {
    serde_json::to_string_pretty(figures).expect("figures are plain data")
}

/// Returns a page that shows the JSON of a [`Report`] or a [`Book`]. The page needs no other file and no network.
pub fn page(json: &str) -> String {
    // The end of an element is not recognised in this form, and JSON reads both forms alike.
    include_str!("page.html").replace("FIGURES", &json.replace("</", "<\\/"))
}

/// Figures that belong together: sentences, charts, and the table that the charts were drawn from.
#[derive(Debug, Clone, Serialize)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The method, and help in reading the figures.
    pub text: Vec<String>,
    /// The tables of this section.
    pub tables: Vec<Table>,
    /// The charts of this section.
    pub charts: Vec<Chart>,
}

impl Section {
    /// Makes an empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), text: Vec::new(), tables: Vec::new(), charts: Vec::new() }
    }

    /// Adds a sentence.
    pub fn text(&mut self, text: impl Into<String>) -> &mut Self {
        self.text.push(text.into());
        self
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.tables.push(table);
        self
    }

    /// Adds a chart.
    pub fn chart(&mut self, chart: Chart) -> &mut Self {
        self.charts.push(chart);
        self
    }
}

/// A table with typed cells.
#[derive(Debug, Clone, Serialize)]
pub struct Table {
    /// The heads of the columns, from left to right.
    pub columns: Vec<Column>,
    /// The rows. Each has one cell for every column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Makes a table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row does not have exactly one cell for every column.
    pub fn row(&mut self, cells: Vec<Cell>) -> &mut Self {
        assert_eq!(cells.len(), self.columns.len(), "a row has one cell for every column");
        self.rows.push(cells);
        self
    }
}

/// The head of a column.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// The content of the column.
    pub name: String,
    /// The unit of its figures; empty if there is none.
    pub unit: String,
    /// The alignment of the cells.
    pub align: Align,
}

impl Column {
    /// Makes a column of words.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: String::new(), align: Align::Left }
    }

    /// Makes a column of figures in `unit`.
    pub fn number(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), align: Align::Right }
    }

    /// Returns the name with its unit, as in a table head.
    pub fn head(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{}, {}", self.name, self.unit) }
    }
}

/// The alignment of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Align {
    /// To the left, for text.
    Left,
    /// To the right, for figures.
    Right,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Text.
    Text(String),
    /// One figure.
    Number {
        /// The figure, in the unit of its column.
        value: f64,
        /// Number of digits after the point.
        decimals: usize,
    },
    /// A figure that was measured many times.
    Spread {
        /// The middle sample.
        median: f64,
        /// A quarter of the samples is below this value.
        quartile_low: f64,
        /// A quarter of the samples is above this value.
        quartile_high: f64,
        /// Number of samples.
        samples: usize,
        /// Number of digits after the point.
        decimals: usize,
    },
    /// A figure from several runs.
    Range {
        /// The median run.
        median: f64,
        /// The lowest run.
        low: f64,
        /// The highest run.
        high: f64,
        /// Number of runs.
        runs: usize,
        /// Number of digits after the point.
        decimals: usize,
    },
    /// Nothing was measured for this cell.
    Missing,
}

impl Cell {
    /// Makes a cell of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes a figure with this many digits after the point.
    pub fn number(value: f64, decimals: usize) -> Self {
        Self::Number { value, decimals }
    }

    /// Makes a whole number.
    pub fn count(value: usize) -> Self {
        Self::Number { value: value as f64, decimals: 0 }
    }

    /// Makes the median of samples, with the quartiles around it.
    pub fn spread(summary: Summary, decimals: usize) -> Self {
        Self::Spread {
            median: summary.median,
            quartile_low: summary.quartile_low,
            quartile_high: summary.quartile_high,
            samples: summary.samples,
            decimals,
        }
    }

    /// Makes the median of a few runs, with the lowest and the highest run.
    pub fn range(summary: Summary, decimals: usize) -> Self {
        let Summary { median, min: low, max: high, samples: runs, .. } = summary;
        Self::Range { median, low, high, runs, decimals }
    }

    /// Returns the figure that a chart draws for this cell.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Number { value, .. } => Some(*value),
            Self::Spread { median, .. } | Self::Range { median, .. } => Some(*median),
            Self::Text(_) | Self::Missing => None,
        }
    }

    /// Returns the cell in the form that a person reads.
    pub fn show(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number { value, decimals } => thousands(*value, *decimals),
            Self::Spread { median, quartile_low, quartile_high, decimals, .. } => format!(
                "{} ({}–{})",
                thousands(*median, *decimals),
                thousands(*quartile_low, *decimals),
                thousands(*quartile_high, *decimals)
            ),
            Self::Range { median, low, high, decimals, .. } => {
                let [median, low, high] = [median, low, high].map(|&value| thousands(value, *decimals));
                // Both are equal as displayed, so brackets would add no information.
                if low == high { median } else { format!("{median} ({low}–{high})") }
            }
            Self::Missing => "–".into(),
        }
    }
}

/// A drawing in the page.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Chart {
    /// Lengths to compare: one group for each label, and one bar for each series.
    Bars(BarChart),
    /// One quantity against another.
    Lines(LineChart),
    /// One quantity against another, with a separate point for each pair.
    Points(LineChart),
    /// The frequency of each value of one quantity. Several peers are shown one above the other.
    Histograms(HistogramChart),
}

/// Horizontal bars.
#[derive(Debug, Clone, Serialize)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// The unit of the lengths.
    pub unit: String,
    /// The groups, from top to bottom.
    pub labels: Vec<String>,
    /// The bars of each group. Every series has a value, or `None`, for every label.
    pub series: Vec<Series<Option<f64>>>,
    /// Whether the lengths are logarithmic.
    pub log: bool,
}

impl BarChart {
    /// Draws the columns `values` of a table against the texts of its column `label`.
    pub fn from_table(
        title: impl Into<String>,
        unit: impl Into<String>,
        table: &Table,
        label: usize,
        values: &[usize],
    ) -> Self {
        let series = values
            .iter()
            .map(|&column| Series {
                name: table.columns[column].name.clone(),
                values: table.rows.iter().map(|row| row[column].value()).collect(),
            })
            .collect();
        let labels = table.rows.iter().map(|row| row[label].show()).collect();
        Self { title: title.into(), unit: unit.into(), labels, series, log: false }
    }

    /// Makes the lengths logarithmic.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.log = true;
        self
    }
}

/// Lines, or points, over two axes.
#[derive(Debug, Clone, Serialize)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, as points from left to right. Separate points may be in any order.
    pub series: Vec<Series<(f64, f64)>>,
}

/// One histogram for every row. All share the horizontal axis.
#[derive(Debug, Clone, Serialize)]
pub struct HistogramChart {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// A value at which a line is drawn, and the name of this value.
    pub mark: Option<(f64, String)>,
    /// The measurements.
    pub rows: Vec<Series<f64>>,
}

/// An axis of a [`LineChart`].
#[derive(Debug, Clone, Serialize)]
pub struct Axis {
    /// The name of the axis.
    pub name: String,
    /// The unit.
    pub unit: String,
    /// Whether the axis is logarithmic.
    pub log: bool,
}

impl Axis {
    /// Makes a linear axis.
    pub fn linear(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), log: false }
    }

    /// Makes a logarithmic axis. Points at or below zero are left out.
    pub fn log(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), log: true }
    }
}

/// Values with one name in the legend.
#[derive(Debug, Clone, Serialize)]
pub struct Series<T> {
    /// The name.
    pub name: String,
    /// The values.
    pub values: Vec<T>,
}

#[cfg(test)]
mod tests;
