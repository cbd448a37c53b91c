//! The result directory: what is written is read back, and a target is a whole result or nothing.

use std::fs;
use std::path::{Path, PathBuf};

use clearpipe_results::{
    Batches, Draft, FlowRow, GroupRow, LinkRow, MacroRow, Meta, Series, SeriesOf, StoreError,
    Stored, Summary, Tables, Transfers, check_writable, read_result,
};

/// An empty directory of this test's own.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn result(seed: u64) -> Stored {
    let tables = Tables {
        flows: (0..3)
            .map(|flow| FlowRow { flow, fct_s: Some(0.1), ..FlowRow::default() })
            .collect(),
        links: vec![LinkRow { name: "core".to_owned(), rate_bps: 1e7, ..LinkRow::default() }],
        groups: ["web", "bulk", "rpc"]
            .map(|group| GroupRow { group: group.to_owned(), ..GroupRow::default() })
            .to_vec(),
        transfers: None,
        macroflows: Vec::new(),
        series: vec![
            Series {
                name: "queue_pkts".to_owned(),
                of: SeriesOf::Link,
                t_s: (0..5000).map(f64::from).collect(),
                id: vec![0; 5000],
                value: (0..5000).map(|i| f64::from(i) / 3.0).collect(),
            },
            Series {
                name: "cwnd_pkts".to_owned(),
                of: SeriesOf::Flow,
                t_s: vec![],
                id: vec![],
                value: vec![],
            },
        ],
    };
    Stored {
        run_toml: "schema = 1\n".to_owned(),
        meta: Meta { name: "test".to_owned(), seed, wall_s: 0.1, ..Meta::default() },
        summary: Summary::of(&tables, 0.0..30.0, None),
        batches: Batches::from(tables),
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn write_result(dir: &Path, result: &Stored, replace: bool) -> Result<(), StoreError> {
    let draft = Draft::open(dir, replace)?;
    draft.write(result)?;
    draft.publish()
}

#[test]
fn what_is_written_is_read_back() {
    let parent = directory("read_back");
    let dir = parent.join("a").join("run");
    write_result(&dir, &result(1), false).unwrap();
    assert_eq!(read_result(&dir).unwrap(), result(1));
    assert_eq!(names(&parent.join("a")), ["run"]);
    assert_eq!(
        names(&dir),
        [
            "flows.parquet",
            "groups.parquet",
            "links.parquet",
            "meta.json",
            "run.toml",
            "series",
            "summary.json"
        ]
    );
    assert_eq!(names(&dir.join("series")), ["cwnd_pkts.parquet", "queue_pkts.parquet"]);
}

#[test]
fn transfers_are_read_back_where_there_are_any() {
    let parent = directory("transfers");
    let mut transfers = Transfers::default();
    // The groups' order in the file is that of their first transfers, not that of the dictionary.
    for i in 0..5000 {
        transfers.push([2, 0][i % 2], i as f64, 1000 + i as u64);
        if i % 3 > 0 {
            transfers.fct_s[i] = 0.25;
        }
    }
    let mut stored = result(1);
    let groups = ["web", "bulk", "rpc"]
        .map(|group| GroupRow { group: group.to_owned(), ..GroupRow::default() });
    let tables =
        Tables { groups: groups.to_vec(), transfers: Some(transfers), ..Tables::default() };
    stored.batches = Batches::from(tables);
    write_result(&parent.join("run"), &stored, false).unwrap();
    let back = read_result(&parent.join("run")).unwrap();
    assert_eq!(back, stored);
    let batch = back.batches.transfers.unwrap();
    let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["group", "start_s", "size_bytes", "fct_s", "retransmitted_pkts"]);
    assert_eq!(batch.column(3).null_count(), 1667, "0, 3, ..., 4998");
    // Replaced by a result without transfers, there are none.
    write_result(&parent.join("run"), &result(1), true).unwrap();
    assert_eq!(read_result(&parent.join("run")).unwrap().batches.transfers, None);
}

#[test]
fn macro_flows_are_read_back_where_there_are_any() {
    let parent = directory("macroflows");
    let mut stored = result(1);
    let rows = vec![MacroRow { island: "core".into(), cwnd_pkts: 2.5, ..MacroRow::default() }];
    stored.batches = Batches::from(Tables { macroflows: rows, ..Tables::default() });
    write_result(&parent.join("run"), &stored, false).unwrap();
    let back = read_result(&parent.join("run")).unwrap();
    assert_eq!(back, stored);
    assert_eq!(back.batches.macroflows.unwrap().num_rows(), 1);
    write_result(&parent.join("run"), &result(1), true).unwrap();
    assert_eq!(read_result(&parent.join("run")).unwrap().batches.macroflows, None);
}

#[test]
fn equal_tables_give_equal_files() {
    let parent = directory("equal_files");
    for name in ["a", "b"] {
        write_result(&parent.join(name), &result(1), false).unwrap();
    }
    for file in ["flows.parquet", "links.parquet", "series/queue_pkts.parquet", "meta.json"] {
        let bytes = |name: &str| fs::read(parent.join(name).join(file)).unwrap();
        assert!(bytes("a") == bytes("b"), "{file}");
    }
}

#[test]
fn a_result_is_replaced_only_on_request() {
    let parent = directory("replaced");
    let dir = parent.join("run");
    write_result(&dir, &result(1), false).unwrap();
    assert!(matches!(check_writable(&dir, false), Err(StoreError::Exists(_))));
    assert!(matches!(write_result(&dir, &result(2), false), Err(StoreError::Exists(_))));
    assert_eq!(read_result(&dir).unwrap().meta.seed, 1);
    check_writable(&dir, true).unwrap();
    write_result(&dir, &result(2), true).unwrap();
    assert_eq!(read_result(&dir).unwrap().meta.seed, 2);
    assert_eq!(names(&parent), ["run"]);
}

#[test]
fn only_results_and_empty_directories_are_replaced() {
    let parent = directory("not_results");
    let (other, empty, file) = (parent.join("other"), parent.join("empty"), parent.join("file"));
    fs::create_dir(&other).unwrap();
    fs::create_dir(&empty).unwrap();
    fs::write(other.join("thesis.tex"), "precious").unwrap();
    fs::write(&file, "precious").unwrap();
    for target in [&other, &file] {
        let refused = write_result(target, &result(1), true);
        assert!(matches!(refused, Err(StoreError::NotAResult(_))));
    }
    write_result(&empty, &result(1), false).unwrap();
    assert!(read_result(&empty).is_ok());
    assert_eq!(names(&parent), ["empty", "file", "other"]);
    assert!(matches!(read_result(&other), Err(StoreError::NotAResult(_))));
}

#[test]
fn what_a_run_writes_becomes_part_of_its_result_or_vanishes() {
    let parent = directory("draft");
    let dir = parent.join("run");
    let draft = Draft::open(&dir, false).unwrap();
    fs::write(draft.path().join("a.pcapng"), "packets").unwrap();
    assert!(matches!(Draft::open(&dir, false), Err(StoreError::Busy(_))));
    draft.write(&result(1)).unwrap();
    draft.publish().unwrap();
    assert_eq!(fs::read(dir.join("a.pcapng")).unwrap(), b"packets");
    assert_eq!(read_result(&dir).unwrap(), result(1));
    // One that is given up leaves what was there.
    let draft = Draft::open(&dir, true).unwrap();
    fs::write(draft.path().join("b.pcapng"), "half").unwrap();
    drop(draft);
    assert_eq!(names(&parent), ["run"]);
    assert!(dir.join("a.pcapng").exists() && !dir.join("b.pcapng").exists());
    assert!(matches!(Draft::open(&dir, false), Err(StoreError::Exists(_))));
}

#[test]
fn an_unwritable_place_is_known_before_the_run() {
    let parent = directory("unwritable");
    fs::write(parent.join("file"), "").unwrap();
    let refused = check_writable(&parent.join("file").join("run"), false);
    assert!(matches!(refused, Err(StoreError::Io { .. })));
    check_writable(&parent.join("fine"), false).unwrap();
    assert_eq!(names(&parent), ["file"]);
}

#[test]
fn the_next_writer_clears_what_a_killed_one_left() {
    let parent = directory("killed");
    let dir = parent.join("run");
    fs::create_dir(parent.join(".partial-run")).unwrap();
    fs::write(parent.join(".partial-run").join("meta.json"), "{").unwrap();
    write_result(&dir, &result(1), false).unwrap();
    assert_eq!(names(&parent), ["run"]);

    // Killed between the two renames: the old result comes back.
    fs::rename(&dir, parent.join(".replaced-run")).unwrap();
    assert!(matches!(write_result(&dir, &result(2), false), Err(StoreError::Exists(_))));
    assert_eq!(read_result(&dir).unwrap().meta.seed, 1);
    assert_eq!(names(&parent), ["run"]);
}

#[test]
fn two_writers_do_not_mix() {
    let parent = directory("busy");
    let partial = parent.join(".partial-run");
    fs::create_dir(&partial).unwrap();
    let other = fs::File::open(&partial).unwrap();
    other.try_lock().unwrap();
    let refused = write_result(&parent.join("run"), &result(1), false);
    assert!(matches!(refused, Err(StoreError::Busy(_))));
    drop(other);
    write_result(&parent.join("run"), &result(1), false).unwrap();
}

#[test]
fn a_damaged_file_is_named() {
    let parent = directory("damaged");
    let dir = parent.join("run");
    write_result(&dir, &result(1), false).unwrap();
    fs::write(dir.join("links.parquet"), "PAR1").unwrap();
    let error = read_result(&dir).unwrap_err().to_string();
    assert!(error.contains("links.parquet"), "{error}");
}
