use super::*;

fn key(number: u8) -> SummaryKey {
    SummaryKey::parse(&format!("{number:02x}").repeat(32)).unwrap()
}

fn ready(text: &str) -> Found {
    Found::Ready(text.into())
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("secateur-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[tokio::test]
async fn the_first_answer_stays() {
    let cache = Arc::new(SummaryCache::new(1 << 20, None));
    let name: Arc<str> = "w".into();
    assert_eq!(cache.settle(&name, key(1), ready("a")).await, ready("a"));
    assert_eq!(cache.settle(&name, key(1), ready("b")).await, ready("a"));
    assert_eq!(
        cache.settle(&name, key(1), Found::Declined).await,
        ready("a")
    );
    assert_eq!(Scoped::new(&cache, &name).find(&key(1)), ready("a"));
    assert_eq!(Scoped::new(&cache, &name).find(&key(2)), Found::Missing);
    let other: Arc<str> = "v".into();
    assert_eq!(
        Scoped::new(&cache, &other).find(&key(1)),
        Found::Missing,
        "each workload has its own"
    );
}

#[tokio::test]
async fn what_was_not_used_for_longest_goes_first() {
    let cache = Arc::new(SummaryCache::new(10 * (ENTRY_BYTES + 100), None));
    let name: Arc<str> = "w".into();
    let text = "x".repeat(100);
    for number in 0..50 {
        cache.settle(&name, key(number), ready(&text)).await;
        assert_eq!(Scoped::new(&cache, &name).find(&key(0)), ready(&text));
        assert!(cache.entries().bytes <= 10 * (ENTRY_BYTES + 100));
    }
    assert_eq!(Scoped::new(&cache, &name).find(&key(1)), Found::Missing);
    assert_eq!(Scoped::new(&cache, &name).find(&key(49)), ready(&text));
}

#[tokio::test]
async fn a_folder_gives_the_same_answers_after_a_restart_and_to_a_neighbour() {
    let folder = folder("summaries");
    let open = || Arc::new(SummaryCache::new(1 << 20, Some(folder.clone())));
    let (first, neighbour) = (open(), open());
    let name: Arc<str> = "w".into();
    first.settle(&name, key(1), ready("a\n\"b\" é")).await;
    first.settle(&name, key(2), Found::Declined).await;
    assert_eq!(
        neighbour.settle(&name, key(1), ready("other")).await,
        ready("a\n\"b\" é")
    );
    drop(first);
    let again = Scoped::new(&open(), &name);
    assert_eq!(again.find(&key(1)), ready("a\n\"b\" é"));
    assert_eq!(again.find(&key(2)), Found::Declined);
    assert_eq!(again.find(&key(3)), Found::Missing);
    #[cfg(unix)]
    for file in std::fs::read_dir(&folder).unwrap() {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "summaries are for their owner");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_folder_does_not_grow_without_end() {
    let folder = folder("trimmed");
    let cache = Arc::new(SummaryCache::new(2000, Some(folder.clone())));
    let name: Arc<str> = "w".into();
    for number in 0..50 {
        cache
            .settle(&name, key(number), ready(&"x".repeat(100)))
            .await;
    }
    let files = std::fs::read_dir(&folder).unwrap();
    let bytes: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!((1000..=2000).contains(&bytes), "{bytes}");
    std::fs::remove_dir_all(folder).unwrap();
}
