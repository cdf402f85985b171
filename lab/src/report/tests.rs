use super::*;

fn sample() -> Report {
    let mut report = Report::new("Lag <of> readers", "cargo xtask lab lag --seed 7").seed(7);
    report.note("Peers ran in the <b>same</b> process.");
    let mut table =
        Table::new(vec![Column::text("queue"), Column::number("lag", "ms"), Column::number("time", "µs")]);
    let spread: Samples = [3.0, 1.0, 2.0, 4.0].into_iter().collect();
    table.row(vec![
        Cell::text("a & b"),
        Cell::number(12_345.6, 1),
        Cell::spread(spread.clone().summary(), 2),
    ]);
    table.row(vec![Cell::text("none"), Cell::Missing, Cell::number(-0.5, 1)]);
    let mut section = Section::new("First");
    section.chart(Chart::Bars(BarChart::from_table("Lag", "ms", &table, 0, &[1, 2]).log()));
    section.chart(Chart::Lines(LineChart {
        title: "Lag against delay".into(),
        x: Axis::log("delay", "ms"),
        y: Axis::linear("lag", "ms"),
        series: vec![Series { name: "ours".into(), values: vec![(0.0, 1.0), (1.0, 2.0), (100.0, 3.0)] }],
    }));
    section.table(table);
    report.section(section);
    report
}

#[test]
fn the_terminal_shows_machine_seed_command_and_aligned_figures() {
    let text = sample().to_terminal();
    for expected in [
        "machine  ",
        "seed     7",
        "repeat   cargo xtask lab lag --seed 7",
        "12,345.6",
        "2.00 (1.00–3.00)",
        "–",
        "-0.5",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
}

#[test]
fn json_keeps_full_precision_and_sample_counts() {
    let value: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
    let row = &value["sections"][0]["tables"][0]["rows"][0];
    assert_eq!(row[1]["value"], 12_345.6);
    assert_eq!(row[2]["samples"], 4);
    assert_eq!(value["seed"], 7);
}

#[test]
fn the_page_holds_the_figures_and_needs_no_other_file() {
    let page = page(&sample().to_json());
    assert!(page.contains("\"title\": \"Lag <of> readers\"") && page.contains("\"kind\": \"bars\""));
    assert!(page.contains("<\\/b>") && !page.contains("</b>"), "no text ends the element of the figures");
    assert!(!page.contains("http") && !page.contains("src="), "nothing is loaded from elsewhere");
}

#[test]
fn quantiles_are_samples_that_were_measured() {
    let mut samples: Samples = (1..=100).map(f64::from).collect();
    assert_eq!((samples.quantile(0.5), samples.quantile(0.99), samples.quantile(1.0)), (50.0, 99.0, 100.0));
    assert_eq!(Samples::new().summary().median, 0.0);
}

#[test]
fn numbers_have_commas_between_thousands() {
    assert_eq!(thousands(1_234_567.891, 2), "1,234,567.89");
    assert_eq!(thousands(-999.0, 0), "-999");
    assert_eq!(thousands(-0.001, 1), "0.0");
    assert_eq!(thousands(f64::INFINITY, 1), "inf");
}
