//! No page is found by reading the whole table, on either database, whatever the filter.

use super::*;
use crate::columns::AUDIT;
use crate::ingest;
use crate::record::Record;
use crate::store::{Address, migrate};
use crate::testing::Postgres;

fn row(number: i64) -> Record {
    let of = |many: i64| number % many;
    let at = 1_794_787_200_000 + number * 1_000;
    Record::Row(Box::new(Row {
        id: format!(
            "{at:011x}{:016x}",
            number.wrapping_mul(0x1e37_79b9_7f4a_7c15)
        ),
        at,
        workload: format!("w{}", of(3)),
        model: Some(format!("m{}", of(4))),
        stack: if of(5) == 0 {
            "m7".into()
        } else {
            String::new()
        },
        session: Some(format!("s{}", number / 10)),
        status: if of(50) == 0 { 500 } else { 200 },
        plan: (of(5) == 0).then(|| "{}".into()),
        ..Row::default()
    }))
}

fn filters() -> Vec<Filter> {
    (0..64_u32)
        .map(|mix| {
            let has = |bit: u32| mix & (1 << bit) != 0;
            Filter {
                workload: has(0).then(|| "w1".into()),
                stack: has(1).then(|| "m7".into()),
                model: has(2).then(|| "m2".into()),
                session: has(3).then(|| "s7".into()),
                only_trouble: has(4),
                only_changed: has(5),
                since: has(0).then_some(1_794_787_300_000),
                until: has(2).then_some(1_794_806_000_000),
            }
        })
        .collect()
}

/// The pages with this filter: with a place and without, both ways, with plans and without.
fn pages<'a>(filter: &'a Filter, place: &'a After) -> Vec<Page<'a>> {
    let mix = |mix: u32| {
        let has = |bit: u32| mix & (1 << bit) != 0;
        Page {
            towards: if has(1) {
                Towards::Newer
            } else {
                Towards::Older
            },
            has_plans: has(2),
            ..Page::new(filter, has(0).then_some(place), 50)
        }
    };
    (0..8).map(mix).collect()
}

fn explained(store: &mut dyn Store, prefix: &str, page: &Page<'_>) -> Option<String> {
    let lie = Lie::of(store.database());
    let place = page.place(store, &lie).unwrap();
    let sql = page.sql(store, &lie, place.as_ref()).unwrap()?;
    let plan = store
        .query(&format!("{prefix} {}", sql.text), &sql.values)
        .unwrap();
    let text = |value: Value<'_>| match value {
        Value::Text(text) => Some(text.into_owned()),
        _ => None,
    };
    let lines: Vec<String> = plan.into_iter().flatten().filter_map(text).collect();
    Some(lines.join("\n"))
}

fn filled(url: &str) -> Box<dyn Store> {
    let mut store = Address::parse(url).unwrap().connect(false).unwrap();
    migrate(store.as_mut()).unwrap();
    let records: Vec<Record> = (0..20_000).map(row).collect();
    for batch in records.chunks(2_000) {
        assert_eq!(
            ingest::write(store.as_mut(), batch, ingest::Sight::First, &|| ())
                .unwrap()
                .new,
            batch.len()
        );
    }
    store
}

fn after() -> After {
    After {
        at: 1_794_797_200_000,
        id: "8".into(),
    }
}

#[test]
fn sqlite_walks_an_index_for_every_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = filled(&format!(
        "sqlite:{}",
        folder.path().join("plans.db").display()
    ));
    for filter in filters() {
        for page in pages(&filter, &after()) {
            let Some(plan) = explained(store.as_mut(), "EXPLAIN QUERY PLAN", &page) else {
                continue;
            };
            let is_walk = |line: &&str| {
                let of_rows = ["SCAN audit_row", "SCAN r", "SCAN audit_plan"].contains(line);
                of_rows || line.starts_with("SCAN audit_row ") && !line.contains("USING")
            };
            assert_eq!(plan.lines().find(is_walk), None, "{page:?}\n{plan}");
            // The order comes from the index; only the keys of the merged pages are sorted.
            let lines: Vec<&str> = plan.lines().collect();
            let is_sorted_walk = |pair: &&[&str]| {
                pair.iter().any(|line| line.contains(" audit_row USING "))
                    && pair.last().is_some_and(|line| line.contains("TEMP B-TREE"))
            };
            assert_eq!(
                lines.windows(2).find(is_sorted_walk),
                None,
                "{page:?}\n{plan}"
            );
        }
    }
}

#[test]
fn sqlite_walks_an_index_for_bundles_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = filled(&format!(
        "sqlite:{}",
        folder.path().join("plans.db").display()
    ));
    let mut questions = 0;
    for filter in filters() {
        for towards in [Towards::Older, Towards::Newer] {
            let question = bundles::first_question(store.as_mut(), &filter, towards);
            let Some(sql) = question else {
                continue;
            };
            questions += 1;
            let plan = store
                .query(&format!("EXPLAIN QUERY PLAN {}", sql.text), &sql.values)
                .unwrap();
            let plan = format!("{plan:?}");
            assert!(plan.contains("SEARCH audit_bundle"), "{filter:?}\n{plan}");
            assert!(!plan.contains("SCAN audit_bundle"), "{filter:?}\n{plan}");
        }
    }
    assert!(questions > 6);
}

#[test]
fn postgres_walks_an_index_for_every_page() {
    let mut store = filled(&Postgres::shared().new_database());
    store.script("ANALYZE").unwrap();
    for filter in filters() {
        for page in pages(&filter, &after()) {
            let Some(plan) = explained(store.as_mut(), "EXPLAIN", &page) else {
                continue;
            };
            assert!(
                !plan.contains(&format!("Seq Scan on {}", AUDIT.name)),
                "{page:?}\n{plan}"
            );
        }
    }
}
