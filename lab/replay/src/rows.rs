//! The lists of settings behind the tables.
//!
//! A line is `name | setting`, or a setting alone; lines that start with `#` are remarks.

/// A setting, and how a table calls it.
#[derive(Debug, Clone)]
pub struct Row {
    pub name: String,
    pub setting: String,
}

impl Row {
    pub fn unnamed(setting: String) -> Self {
        Self {
            name: setting.clone(),
            setting,
        }
    }
}

/// How `steady` came about, rule by rule.
pub fn steps() -> Vec<Row> {
    rows(include_str!("../settings/steps.txt"))
}

/// `steady` with each rule off in turn, and with other limits.
pub fn ablation() -> Vec<Row> {
    rows(include_str!("../settings/ablation.txt"))
}

/// The settings among which the frontier and the cross-validation choose.
pub fn grid() -> Vec<Row> {
    rows(include_str!("../settings/grid.txt"))
}

fn rows(list: &str) -> Vec<Row> {
    list.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| match line.split_once(" | ") {
            Some((name, setting)) => Row {
                name: name.trim().to_owned(),
                setting: setting.trim().to_owned(),
            },
            None => Row::unnamed(line.to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::resolve;

    #[test]
    fn every_setting_is_a_policy_and_no_list_has_one_twice() {
        for rows in [steps(), ablation(), grid()] {
            let mut policies = Vec::new();
            for row in rows {
                let policy = resolve(&row.setting).unwrap();
                assert!(!policies.contains(&policy), "twice: {}", row.setting);
                policies.push(policy);
            }
        }
    }
}
