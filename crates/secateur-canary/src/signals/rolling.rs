//! The newest values of a series.

use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Rolling<T> {
    values: VecDeque<T>,
    most: usize,
}

impl<T> Rolling<T> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            values: VecDeque::new(),
            most,
        }
    }

    pub(super) fn push(&mut self, value: T) {
        if self.values.len() == self.most {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn count(&self, test: impl Fn(&T) -> bool) -> usize {
        self.values.iter().filter(|value| test(value)).count()
    }

    pub(super) fn sum(&self, of: impl Fn(&T) -> f64) -> f64 {
        self.values.iter().map(of).sum()
    }
}
