//! The proxy as clients see it: over real sockets, in front of the strict provider.

#[cfg(test)]
mod access;
#[cfg(test)]
mod cache_reads;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod canary_controls;
#[cfg(test)]
mod client_names;
#[cfg(test)]
mod connections;
#[cfg(test)]
#[cfg(test)]
mod documentation;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod passing;
#[cfg(test)]
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod pruning;
#[cfg(test)]
mod recall;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod summaries;
#[cfg(test)]
mod surfaces;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod wire;
