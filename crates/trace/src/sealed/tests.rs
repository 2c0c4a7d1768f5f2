use super::*;
use crate::captured::Expansion;

const CAPTURE: &str = "bottleneck.pcapng";

/// A run that is sealed, its captures with it, in a folder of its own.
fn sealed(captured: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fill(&folder.path().join("cafe"), captured);
    seal(&folder.path().join("cafe"), "{}", "9").expect("sealed");
    folder
}

fn fill(run: &Path, captured: bool) {
    fs::create_dir(run).expect("a run");
    fs::write(run.join("flows.parquet"), "trace").expect("written");
    fs::write(run.join("acks.parquet"), vec![7; DEFLATED_BELOW as usize]).expect("written");
    fs::write(run.join("run.json"), "{\"seed\":1}").expect("written");
    if captured {
        fs::write(run.join(CAPTURE), "packets").expect("written");
    }
}

fn states(folder: &Path) -> [State; 2] {
    [false, true].map(|contents| check(&folder.join("cafe.zip"), &folder.join("cafe"), contents))
}

#[test]
fn the_same_run_gives_the_same_bytes_and_leaves_nothing_else() {
    let (first, second) = (sealed(false), sealed(false));
    let bytes = |folder: &Path| fs::read(folder.join("cafe.zip")).expect("a file");
    assert_eq!(bytes(first.path()), bytes(second.path()));
    assert_eq!(fs::read_dir(first.path()).expect("a folder").count(), 1);
    assert_eq!(states(first.path()), [State::Sound; 2]);
}

#[test]
fn what_was_asked_and_measured_is_read_back() {
    for captured in [false, true] {
        let folder = sealed(captured);
        let place = folder.path().join("cafe.zip");
        for whole in [false, true] {
            let told = read(&place, whole).expect("sound");
            assert_eq!((&*told.asked, &*told.metrics), ("{\"seed\":1}", "{}"));
            assert_eq!(told.metrics_version, "9");
            let beside = if captured { 7 } else { 0 };
            assert_eq!(
                told.bytes,
                fs::metadata(&place).expect("a file").len() + beside
            );
        }
    }
}

#[test]
fn no_bit_can_flip_unseen() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("cafe.zip");
    for (large, captured) in [(false, false), (true, false), (false, true)] {
        let run = folder.path().join("cafe");
        fs::create_dir(&run).expect("a run");
        fs::write(run.join("run.json"), "{}").expect("written");
        if large {
            fs::write(run.join("acks.parquet"), vec![7; DEFLATED_BELOW as usize]).expect("written");
        }
        if captured {
            fs::write(run.join(CAPTURE), "packets").expect("written");
        }
        seal(&run, "{}", "9").expect("sealed");
        let whole = fs::read(&place).expect("a file");
        let told = read(&place, false);
        assert_eq!(told, read(&place, true));
        assert!(told.is_some());
        let apart = if large { 499 } else { 1 };
        for at in (0..whole.len()).step_by(apart) {
            for bit in 0..8 {
                let mut rotten = whole.clone();
                rotten[at] ^= 1 << bit;
                fs::write(&place, &rotten).expect("written");
                let [_, found] = states(folder.path());
                assert_eq!(found, State::Damaged, "bit {bit} of byte {at}");
                assert_eq!(read(&place, true), None, "bit {bit} of byte {at}");
                let glance = read(&place, false);
                assert!(
                    glance.is_none() || glance == told,
                    "bit {bit} of byte {at}: {glance:?}"
                );
            }
        }
    }
}

#[test]
fn no_bit_of_the_comment_can_flip_unseen_at_a_glance() {
    let folder = sealed(true);
    let place = folder.path().join("cafe.zip");
    let whole = fs::read(&place).expect("a file");
    let begins = whole.len() - Comment::unfinished("cafe", "9", 1).text().len();
    assert!(whole[begins..].starts_with(FORM.as_bytes()));
    for at in begins..whole.len() {
        for bit in 0..8 {
            let mut rotten = whole.clone();
            rotten[at] ^= 1 << bit;
            fs::write(&place, &rotten).expect("written");
            assert_eq!(
                states(folder.path()),
                [State::Damaged; 2],
                "bit {bit} of byte {at}"
            );
            assert_eq!(read(&place, false), None, "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_file_of_another_run_is_foreign() {
    let folder = sealed(true);
    let (mine, other) = (
        folder.path().join("cafe.zip"),
        folder.path().join("beef.zip"),
    );
    fill(&folder.path().join("beef"), true);
    seal(&folder.path().join("beef"), "{}", "9").expect("sealed");
    assert!(read(&other, true).is_some());
    fs::copy(&mine, &other).expect("copied");
    assert_eq!(states(folder.path()), [State::Sound; 2]);
    for whole in [false, true] {
        let found = check(&other, &folder.path().join("beef"), whole);
        assert_eq!(found, State::Foreign);
        assert_eq!(read(&other, whole), None);
    }
    // It is a run's file under its own name alone.
    fs::create_dir(folder.path().join("named")).expect("a folder");
    for name in ["cafe", "cafe.zip.zip", "cafe.ZIP", "acafe.zip"] {
        let place = folder.path().join("named").join(name);
        fs::copy(&mine, &place).expect("copied");
        let found = check(&place, &folder.path().join("cafe"), true);
        assert_eq!(found, State::Foreign, "{name}");
    }
    let why = columns(&other, "flows", &[]).expect_err("of another run");
    assert!(why.to_string().contains("of another run"), "{why}");
}

#[test]
fn captures_that_no_run_has_are_damage() {
    let folder = sealed(true);
    let run = folder.path().join("cafe");
    let (bytes, sha256) = digest_of(
        &mut File::open(run.join(CAPTURE)).expect("a capture"),
        u64::MAX,
    )
    .expect("a digest");
    let listing = |name: &str| {
        let (sha256, name) = (sha256.clone(), name.to_owned());
        let captures = Captures::from([(name, Listed { bytes, sha256 })]);
        fs::write(run.join("run.json"), "{}").expect("written");
        archive(&run, &["run.json".to_owned()], &captures, "{}", "9").expect("written");
    };
    listing(CAPTURE);
    assert_eq!(states(folder.path()), [State::Sound; 2]);
    // The same file, by ways out of the run and back, and what is none of its files.
    for name in [
        "../cafe/bottleneck.pcapng",
        "./bottleneck.pcapng",
        "bottleneck.pcapng/.",
        run.join(CAPTURE).to_str().expect("UTF-8"),
        "/etc/passwd",
        "..",
        ".",
        "",
    ] {
        listing(name);
        assert_eq!(states(folder.path()), [State::Damaged; 2], "{name}");
        assert_eq!(read(&folder.path().join("cafe.zip"), true), None, "{name}");
    }
}

#[test]
fn a_file_that_lost_or_gained_bytes_is_damaged_at_a_glance() {
    let folder = sealed(false);
    let place = folder.path().join("cafe.zip");
    let whole = fs::read(&place).expect("a file");
    let (begin, end) = whole.split_at(whole.len() / 3);
    let changed = [
        [begin, &end[1..]].concat(),
        [begin, &end[end.len() / 4..]].concat(),
        [begin, b"more", end].concat(),
        [b"more", &*whole].concat(),
        [&*whole, b"\n"].concat(),
        [&*whole, &*whole].concat(),
    ];
    for (case, changed) in changed.iter().enumerate() {
        fs::write(&place, changed).expect("written");
        assert_eq!(states(folder.path()), [State::Damaged; 2], "{case}");
        assert_eq!(read(&place, false), None, "{case}");
    }
}

#[test]
fn names_are_of_files_and_a_folder_that_cannot_be_read_is_an_error() {
    let folder = sealed(true);
    fill(&folder.path().join("beef"), false);
    seal(&folder.path().join("beef"), "{}", "9").expect("sealed");
    assert_eq!(names(folder.path()).expect("names"), b"beef\0cafe\0");
    let nowhere = names(&folder.path().join("nowhere")).expect("none");
    assert!(nowhere.is_empty());
    let file = names(&folder.path().join("cafe.zip")).expect_err("a file");
    assert_eq!(file.kind(), ErrorKind::NotADirectory);
}

#[test]
fn a_large_member_is_stored_as_it_is() {
    let folder = sealed(false);
    let place = folder.path().join("cafe.zip");
    let content = vec![7; DEFLATED_BELOW as usize];
    let file = File::open(&place).expect("a file");
    assert_eq!(
        member(&file, "acks.parquet").expect("read"),
        Some(content.clone())
    );
    let whole = fs::read(&place).expect("a file");
    assert!(whole.windows(content.len()).any(|part| part == content));
}

#[test]
fn a_file_that_is_cut_off_is_damaged_at_a_glance_and_nothing_is_absent() {
    let folder = sealed(false);
    let place = folder.path().join("cafe.zip");
    let whole = fs::read(&place).expect("a file");
    for length in [0, 1, 100, whole.len() - 1] {
        fs::write(&place, &whole[..length]).expect("written");
        assert_eq!(states(folder.path()), [State::Damaged; 2], "{length} bytes");
    }
    fs::remove_file(&place).expect("removed");
    assert_eq!(states(folder.path()), [State::Absent; 2]);
}

#[test]
fn captures_are_part_of_the_run() {
    let folder = sealed(true);
    let capture = folder.path().join("cafe").join(CAPTURE);
    assert_eq!(states(folder.path()), [State::Sound; 2]);
    fs::write(&capture, "pAckets").expect("written");
    assert_eq!(states(folder.path()), [State::Sound, State::Damaged]);
    fs::write(&capture, "packet").expect("written");
    assert_eq!(states(folder.path()), [State::Damaged; 2]);
    fs::remove_file(&capture).expect("removed");
    assert_eq!(states(folder.path()), [State::Damaged; 2]);
}

#[test]
fn many_are_looked_at_in_their_order() {
    let numbers: Vec<usize> = (0..1000).collect();
    assert_eq!(
        each(&numbers, |n| n * 2),
        numbers.iter().map(|n| n * 2).collect::<Vec<_>>()
    );
    assert!(each(&[] as &[usize], |n| *n).is_empty());
}

#[test]
fn one_and_many_are_flushed_and_a_missing_one_is_an_error() {
    let folder = sealed(true);
    let place = folder.path().join("cafe.zip");
    sync(&[&place, &folder.path().join("cafe")]).expect("file and folder");
    sync(&[&place; 2 * MANY]).expect("many");
    sync(&[] as &[&Path]).expect("none");
    assert!(sync(&[folder.path().join("nowhere")]).is_err());
}

#[test]
fn what_is_no_file_is_damage_and_nobody_waits_for_it() {
    use nix::sys::stat::Mode;
    use std::os::unix::fs::symlink;

    let folder = sealed(true);
    let place = folder.path().join("cafe.zip");
    let capture = folder.path().join("cafe").join(CAPTURE);
    let makes: [fn(&Path); 5] = [
        |path| nix::unistd::mkfifo(path, Mode::S_IRWXU).expect("a pipe"),
        |path| fs::create_dir(path).expect("a folder"),
        |path| symlink("nowhere", path).expect("a link"),
        |path| symlink(path, path).expect("a link"),
        |path| symlink("/dev/zero", path).expect("a link"),
    ];
    for (case, make) in makes.iter().enumerate() {
        for path in [&capture, &place] {
            let aside = folder.path().join("aside");
            fs::rename(path, &aside).expect("moved");
            make(path);
            assert_eq!(states(folder.path()), [State::Damaged; 2], "{case}");
            if path == &place {
                assert_eq!(read(&place, false), None, "{case}");
                assert!(columns(&place, "flows", &[]).is_err(), "{case}");
            }
            match path.is_dir() {
                true => fs::remove_dir(path).expect("removed"),
                false => fs::remove_file(path).expect("removed"),
            }
            fs::rename(&aside, path).expect("moved");
        }
        assert_eq!(states(folder.path()), [State::Sound; 2], "{case}");
    }
}

#[test]
fn members_of_one_name_or_with_names_that_lead_elsewhere_are_damage() {
    for names in [
        &["run.json", "flows.parquet"][..],
        &["run.json", "flows.parquet", "flows.parquet"],
        &["run.json", "metrics.json"],
        &["run.json", "../cafe/flows.parquet"],
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("cafe");
        fill(&run, false);
        fs::write(run.join("metrics.json"), "[]").expect("written");
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        archive(&run, &names, &Captures::new(), "{}", "9").expect("written");
        let whole = if names.len() == 2 && names[1] == "flows.parquet" {
            State::Sound
        } else {
            State::Damaged
        };
        assert_eq!(states(folder.path()), [State::Sound, whole], "{names:?}");
        let told = read(&folder.path().join("cafe.zip"), true);
        assert_eq!(told.is_some(), whole == State::Sound, "{names:?}");
    }
}

/// Seals the run `cafe` again after `change` of the bytes of its archive, at whose places its members'
/// sizes are.
fn forged(folder: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let place = folder.join("cafe.zip");
    let mut bytes = fs::read(&place).expect("a file");
    change(&mut bytes);
    let begins = bytes.len() - Comment::unfinished("cafe", "9", 0).text().len();
    let mut comment = Comment::unfinished("cafe", "9", 0);
    comment.bytes = bytes.len() as u64;
    bytes.truncate(begins);
    bytes.extend(comment.text().as_bytes());
    fs::write(&place, &bytes).expect("written");
    let mut file = File::open(&place).expect("a file");
    (_, comment.sha256) = digest_of(&mut file, comment.digested()).expect("read");
    bytes.truncate(begins);
    bytes.extend(comment.text().as_bytes());
    fs::write(&place, &bytes).expect("written");
}

/// Where the directory of the archive has the size of the member `name`.
fn place_of_size(bytes: &[u8], name: &str) -> usize {
    let entry = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, four)| *four == b"PK\x01\x02")
        .map(|(at, _)| at)
        .find(|at| bytes[at + 46..].starts_with(name.as_bytes()));
    entry.expect("a member") + 24
}

#[test]
fn a_member_that_becomes_more_than_the_directory_says_or_than_it_may_is_damage() {
    let most = usize::try_from(Expansion::FREE).expect("bytes");
    for (length, says) in [
        (3 << 20, 3 << 20),
        (3 << 20, 1),
        (3 << 20, (3 << 20) - 1),
        (3 << 20, (3 << 20) + 1),
        (most + 1, most + 1),
        (most + 1, most),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("cafe.zip");
        fill(&folder.path().join("cafe"), false);
        seal(&folder.path().join("cafe"), &" ".repeat(length), "9").expect("sealed");
        forged(folder.path(), |bytes| {
            let size = u32::try_from(says).expect("a size");
            let at = place_of_size(bytes, METRICS);
            bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
        });
        let sound = length == says && says <= most;
        for whole in [false, true] {
            assert_eq!(read(&place, whole).is_some(), sound, "{says} of {length}");
        }
        let file = opened(&place).expect("a file");
        assert_eq!(member(&file, METRICS).is_ok(), sound, "{says} of {length}");
        assert_eq!(
            is_plain(&file).expect("read"),
            says < most,
            "{says} of {length}"
        );
    }
}
