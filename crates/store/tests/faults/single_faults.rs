//! Single faults on a simulated disk, each at the call that matters.

use std::cell::Cell;

use store::{
    Collection, DerivedTable, DomainRow, DomainRows, Error, Fault, RankColumn, RankTarget, SimulatedDisk,
    TableReader, check, find_snapshot, list_snapshots, name_snapshot, read_statistics, write_ranks,
    write_statistics,
};

use crate::rounds::{settings, verify, write_round};

/// Number of power cuts for each test: each loses something else.
const SEEDS: u64 = 30;

/// Commits a round.
fn commit(collection: &mut Collection, round: u64) {
    write_round(collection, round).unwrap();
    assert_eq!(collection.commit(0).unwrap().generation, round);
}

/// Operation that is carried out with a fault.
type WithFault<'f> = &'f dyn Fn(&mut dyn FnMut());

/// Repeats a test with EIO at the first call of an operation, at the second, and so on, until it has no more calls. The
/// test gets a new disk, and a function that carries out the operation with the fault.
fn at_each_call(test: impl Fn(&SimulatedDisk, WithFault<'_>)) {
    for call in 1.. {
        let disk = SimulatedDisk::new(call);
        let has_occurred = Cell::new(false);
        test(&disk, &|operation| {
            disk.plan(Some((call, Fault::Eio)));
            operation();
            has_occurred.set(!disk.is_planned());
            disk.plan(None);
        });
        if !has_occurred.get() {
            assert!(call > 5, "the operation has only {call} calls");
            return;
        }
    }
}

#[test]
fn a_new_collection_survives_a_power_cut() {
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(seed);
        let dir = disk.path().join("new/collection");
        drop(Collection::create(&dir, settings()).unwrap());
        disk.restart();
        drop(Collection::open(&dir, settings()).unwrap());
    }
}

#[test]
fn a_failed_creation_can_be_repeated_and_never_replaces_a_collection() {
    at_each_call(|disk, with_fault| {
        let dir = disk.path().join("collection");
        let mut created = false;
        with_fault(&mut || created = Collection::create(&dir, settings()).is_ok());
        disk.restart();
        if !created && Collection::open(&dir, settings()).is_err() {
            Collection::create(&dir, settings()).unwrap();
        }
    });
    let disk = SimulatedDisk::new(1);
    let dir = disk.path().join("collection");
    commit(&mut Collection::create(&dir, settings()).unwrap(), 1);
    for call in 1..4 {
        disk.plan(Some((call, Fault::Eio)));
        assert!(Collection::create(&dir, settings()).is_err());
        disk.plan(None);
        assert_eq!(verify(&dir), 1);
    }
}

#[test]
fn a_collection_refuses_to_commit_after_a_failed_commit() {
    at_each_call(|disk, with_fault| {
        let dir = disk.path().join("collection");
        let mut collection = Collection::create(&dir, settings()).unwrap();
        commit(&mut collection, 1);
        write_round(&mut collection, 2).unwrap();
        let mut has_failed = false;
        with_fault(&mut || has_failed = collection.commit(0).is_err());
        if has_failed {
            let again = collection.commit(0).map(|manifest| manifest.generation);
            assert!(matches!(again, Err(Error::NeedsReopen { .. })), "{again:?}");
        }
        drop(collection);
        let generation = find_snapshot(&dir, None).unwrap().generation;
        let mut collection = Collection::open(&dir, settings()).unwrap();
        assert!(verify(&dir) == generation && generation >= 1);
        commit(&mut collection, generation + 1);
        assert_eq!(verify(&dir), generation + 1);
    });
}

#[test]
fn expiring_commits_leaves_the_files_of_the_next_one() {
    let disk = SimulatedDisk::new(1);
    let dir = disk.path().join("collection");
    let mut collection = Collection::create(&dir, settings()).unwrap();
    commit(&mut collection, 1);
    write_round(&mut collection, 2).unwrap();
    collection.expire_old_commits().unwrap();
    collection.commit(0).unwrap();
    assert_eq!(list_snapshots(&dir).unwrap().len(), 2);
    drop(collection);
    assert_eq!(verify(&dir), 2);
    Collection::open(&dir, settings()).unwrap();
}

#[test]
fn no_commit_comes_back_without_its_files() {
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(seed);
        let dir = disk.path().join("collection");
        let mut collection = Collection::create(&dir, settings()).unwrap();
        for round in 1..=6 {
            commit(&mut collection, round);
        }
        collection.expire_old_commits().unwrap();
        drop(collection);
        disk.restart();
        let report = check(&dir, None, |_| {}).unwrap();
        assert_eq!(report.corruptions, 0, "seed {seed}");
        assert_eq!(verify(&dir), 6);
    }
}

#[test]
fn a_pin_that_cannot_be_read_keeps_its_commit() {
    at_each_call(|disk, with_fault| {
        let dir = disk.path().join("collection");
        let mut collection = Collection::create(&dir, settings()).unwrap();
        commit(&mut collection, 1);
        name_snapshot(&dir, "first", None).unwrap();
        commit(&mut collection, 2);
        with_fault(&mut || drop(collection.expire_old_commits()));
        drop(collection);
        disk.restart();
        Collection::open(&dir, settings()).unwrap();
        assert_eq!(find_snapshot(&dir, Some("first")).unwrap().generation, 1);
    });
}

#[test]
fn the_results_of_an_analysis_survive_a_power_cut() {
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(seed);
        let dir = disk.path().join("collection");
        let mut collection = Collection::create(&dir, settings()).unwrap();
        commit(&mut collection, 1);
        for generation in [3, 1] {
            write_ranks(&dir, RankTarget::Pages, "rank", generation, [generation as u32; 9]).unwrap();
            write_statistics(&dir, generation, &[]).unwrap();
            let mut table = DerivedTable::<DomainRows>::create(&dir, generation).unwrap();
            table.push(&DomainRow::default()).unwrap();
            table.finish().unwrap();
            disk.restart();
            let column = RankColumn::<u32>::open(&dir, RankTarget::Pages, "rank").unwrap().unwrap();
            assert_eq!((column.generation(), column.len()), (generation, 9), "seed {seed}");
            assert_eq!(read_statistics(&dir).unwrap(), Some((generation, Vec::new())), "seed {seed}");
            assert!(TableReader::<DomainRows>::open_derived(&dir).unwrap().is_some(), "seed {seed}");
        }
    }
}
