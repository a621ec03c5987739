//! No page is found by reading the whole table, on either database, whatever the filter.

use super::*;
use crate::ingest;
use crate::record::Record;
use crate::schema::create_or_check;
use crate::store::Address;
use crate::testing::Postgres;

fn row(number: i64) -> Record {
    let of = |many: i64| number % many;
    let at = 1_794_787_200_000 + number * 1_000;
    Record::Row(Box::new(Row {
        id: format!("{}{number:08x}", id_time(at)),
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

fn filled(url: &str) -> Box<dyn Store> {
    let mut store = Address::parse(url).unwrap().connect(false).unwrap();
    create_or_check(store.as_mut()).unwrap();
    let records: Vec<Record> = (0..20_000).map(row).collect();
    for batch in records.chunks(2_000) {
        let written = ingest::write(store.as_mut(), batch, &|| ()).unwrap();
        assert_eq!(written.new, batch.len());
    }
    store
}

/// How the database finds each of the pages, in its own words.
fn plans(store: &mut dyn Store, explain: &str, check: impl Fn(&str, &str)) {
    let place = After(id_time(1_794_797_200_000));
    for filter in filters() {
        for page in pages(&filter, &place) {
            let Some(sql) = page.sql(store).unwrap() else {
                continue;
            };
            let plan = store
                .query(&format!("{explain} {}", sql.text), &sql.values)
                .unwrap();
            let text = |value: Value<'_>| match value {
                Value::Text(text) => Some(text.into_owned()),
                _ => None,
            };
            let lines: Vec<String> = plan.into_iter().flatten().filter_map(text).collect();
            check(&lines.join("\n"), &format!("{page:?}"));
        }
    }
}

#[test]
fn sqlite_walks_an_index_for_every_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = filled(&format!(
        "sqlite:{}",
        folder.path().join("plans.db").display()
    ));
    plans(store.as_mut(), "EXPLAIN QUERY PLAN", |plan, page| {
        // The first page of all is a walk over the table itself, which is in the order of ids.
        let is_first = page.contains("Filter { workload: None, stack: None, model: None, session: None, only_trouble: false, only_changed: false")
            && page.contains("place: None");
        let is_scan = |line: &&str| line.starts_with("SCAN audit") && !is_first;
        assert_eq!(plan.lines().find(is_scan), None, "{page}\n{plan}");
        // The order comes from the index. Only the ids of merged pages are sorted, and the rows of the one page.
        let lines: Vec<&str> = plan.lines().collect();
        let is_sorted_walk = |pair: &&[&str]| {
            let [walk, sort] = pair else { return false };
            walk.contains(" audit USING ")
                && !walk.ends_with("(id=?)")
                && sort.contains("TEMP B-TREE")
        };
        assert_eq!(
            lines.windows(2).find(is_sorted_walk),
            None,
            "{page}\n{plan}"
        );
    });
}

#[test]
fn postgres_walks_an_index_for_every_page() {
    let mut store = filled(&Postgres::shared().new_database());
    store.script("ANALYZE").unwrap();
    plans(store.as_mut(), "EXPLAIN", |plan, page| {
        assert!(!plan.contains("Seq Scan on audit"), "{page}\n{plan}");
    });
}
