//! The portal over a real ledger in a file, asked as a server would ask it.

#[cfg(test)]
mod audit_pages;
#[cfg(test)]
mod guards;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod quality;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod switches;
