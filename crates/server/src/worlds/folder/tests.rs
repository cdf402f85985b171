use super::*;

#[test]
fn a_world_consists_of_its_modules_by_path_only() {
    let folder = std::env::temp_dir().join(format!("nowcast-folder-{}", std::process::id()));
    let write = |path: &str, text: &[u8]| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    assert_eq!(read_world(&folder), Err(FolderError::NoWorld(folder.clone())));
    write("world.ts", b"// rules");
    assert_eq!(read_world(&folder), Err(FolderError::NotBuilt(folder.clone())));
    write("world.luau", b"-- rules");
    write("parts/door.luau", b"return {}");
    write(".nowcast/world.luau", b"types");
    write("README.md", b"text");
    write("node_modules/package/index.luau", b"return {}");
    let sources = read_world(&folder).unwrap();
    let paths: Vec<_> = sources.iter().map(|(path, _)| path.to_owned()).collect();
    assert_eq!(paths, ["parts/door.luau", "world.luau"]);
    write("broken.luau", b"\xff\xfe");
    assert_eq!(read_world(&folder), Err(FolderError::NotText(folder.join("broken.luau"))));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn assets_are_the_files_below_assets_with_asset_names() {
    let folder = std::env::temp_dir().join(format!("nowcast-assets-{}", std::process::id()));
    let write = |path: &str, text: &[u8]| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("world.luau", b"-- rules");
    assert!(read_assets(&folder, &Assets::default()).unwrap().0.is_empty(), "assets are optional");
    write("assets/birds/owl.ogg", b"OggS");
    write("assets/door.blend", b"a source");
    write("assets/.hidden.ogg", b"OggS");
    write("sound.ogg", b"OggS");
    let (assets, faults) = read_assets(&folder, &Assets::default()).unwrap();
    let names: Vec<_> = assets.iter().map(|asset| asset.name.as_str()).collect();
    assert_eq!((names, faults), (vec!["assets/birds/owl.ogg"], vec![]));
    write("assets/wrong.png", b"no picture");
    let (assets, faults) = read_assets(&folder, &assets).unwrap();
    assert_eq!((assets.len(), faults[0].file.as_deref()), (1, Some("assets/wrong.png")));
    File::create(folder.join("assets/huge.wav")).unwrap().set_len(ASSET_BYTES_MAX as u64 + 1).unwrap();
    let refused = read_assets(&folder, &assets).unwrap_err();
    assert!(matches!(refused, FolderError::AssetTooLarge { .. }), "{refused}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_whose_files_change_is_reported() {
    let folder = std::env::temp_dir().join(format!("nowcast-watch-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (sender, changes) = channel();
    let watcher = watch(&folder, move || sender.send(()).unwrap()).unwrap();
    std::fs::write(folder.join("world.luau"), "-- rules").unwrap();
    changes.recv_timeout(Duration::from_secs(60)).expect("the change is noticed");
    drop(watcher);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_of_which_the_system_reports_nothing_is_compared_every_second() {
    let folder = std::env::temp_dir().join(format!("nowcast-poll-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (sender, changes) = channel();
    let none_left = |_, _| Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch));
    let watcher = watch_by(&folder, move || _ = sender.send(()), none_left).unwrap();
    std::fs::write(folder.join("world.luau"), "-- rules").unwrap();
    changes.recv_timeout(Duration::from_secs(60)).expect("the change is noticed");
    drop(watcher);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(watch_by(&folder, || {}, none_left).is_err(), "a folder that does not exist is an error");
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_pipes_and_loops_are_not_read() {
    use std::os::unix::fs::symlink;
    let folder = std::env::temp_dir().join(format!("nowcast-links-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("assets")).unwrap();
    std::fs::write(folder.join("world.luau"), "-- rules").unwrap();
    // Links to folders: to the world's folder itself, to the root, and to a folder of the system.
    symlink(&folder, folder.join("loop")).unwrap();
    symlink("/", folder.join("everything")).unwrap();
    symlink("/proc", folder.join("assets/proc")).unwrap();
    symlink(folder.join("world.luau"), folder.join("same.luau")).unwrap();
    let sources = read_world(&folder).unwrap();
    let paths: Vec<_> = sources.iter().map(|(path, _)| path.to_owned()).collect();
    assert_eq!(paths, ["same.luau", "world.luau"], "a link to a file of the folder is that file");
    assert!(read_assets(&folder, &Assets::default()).unwrap().0.is_empty());
    for outside in ["/dev/zero", "/proc/kmsg", "/etc/passwd"] {
        let (module, asset) = (folder.join("evil.luau"), folder.join("assets/evil.png"));
        symlink(outside, &module).unwrap();
        assert_eq!(read_world(&folder), Err(FolderError::Outside(module.clone())), "{outside}");
        std::fs::remove_file(&module).unwrap();
        symlink(outside, &asset).unwrap();
        let refused = read_assets(&folder, &Assets::default()).unwrap_err();
        assert_eq!(refused, FolderError::Outside(asset.clone()), "{outside}");
        std::fs::remove_file(&asset).unwrap();
    }
    let pipe = folder.join("pipe.luau");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(read_world(&folder), Err(FolderError::NotAFile(pipe)));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_behind_a_link_is_watched_also_after_the_link_leads_elsewhere() {
    use std::os::unix::fs::symlink;
    let base = std::env::temp_dir().join(format!("nowcast-linked-{}", std::process::id()));
    let link = base.join("current");
    for release in ["1", "2"] {
        std::fs::create_dir_all(base.join(release)).unwrap();
    }
    symlink(base.join("1"), &link).unwrap();
    let (sender, changes) = channel();
    // The test may have ended.
    let watcher = watch(&link, move || _ = sender.send(())).unwrap();
    let patience = Duration::from_secs(60);
    std::fs::write(base.join("1/world.luau"), "-- rules").unwrap();
    changes.recv_timeout(patience).expect("a change behind the link is noticed");
    // A link is replaced as a whole, so that the path exists at each moment.
    symlink(base.join("2"), base.join("next")).unwrap();
    std::fs::rename(base.join("next"), &link).unwrap();
    changes.recv_timeout(patience).expect("the new target is noticed");
    while changes.try_recv().is_ok() {}
    std::fs::write(base.join("2/world.luau"), "-- rules").unwrap();
    changes.recv_timeout(patience).expect("a change behind the new target is noticed");
    // The folder itself takes the place of the link, and then a link its place.
    std::fs::remove_file(&link).unwrap();
    std::fs::rename(base.join("2"), &link).unwrap();
    changes.recv_timeout(patience).expect("the folder in place of the link is noticed");
    std::fs::rename(&link, base.join("2")).unwrap();
    symlink(base.join("2"), &link).unwrap();
    changes.recv_timeout(patience).expect("the link in place of the folder is noticed");
    while changes.try_recv().is_ok() {}
    std::fs::write(base.join("2/world.luau"), "-- other rules").unwrap();
    changes.recv_timeout(patience).expect("a change behind the last link is noticed");
    drop(watcher);
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn a_folder_that_is_removed_and_created_again_is_watched_again() {
    let folder = std::env::temp_dir().join(format!("nowcast-rewatch-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (sender, changes) = channel();
    // The test may have ended.
    let watcher = watch(&folder, move || _ = sender.send(())).unwrap();
    let patience = Duration::from_secs(60);
    std::fs::remove_dir_all(&folder).unwrap();
    changes.recv_timeout(patience).expect("the end of the folder is noticed");
    std::fs::create_dir(&folder).unwrap();
    changes.recv_timeout(patience).expect("the new folder is noticed");
    // Checks that the files of the new folder are watched, and not only its creation. The loop changes a file until a
    // change is reported that was made after the last report.
    while changes.try_recv().is_ok() {}
    std::fs::write(folder.join("world.luau"), "-- rules").unwrap();
    changes.recv_timeout(patience).expect("a file of the new folder is noticed");
    drop(watcher);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn one_read_serves_all_who_wait_and_no_report_is_lost() {
    let folder = std::env::temp_dir().join(format!("nowcast-read-now-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (sender, news) = channel();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let (read, done) = oneshot::channel();
            sender.send(News::ReadNow(read)).unwrap();
            done
        })
        .collect();
    // More reports than the thread waits for, of which the last concerns the folder itself.
    for _ in 0..3 * SETTLES_MAX {
        sender.send(News::Change { is_of_root: false }).unwrap();
    }
    sender.send(News::Change { is_of_root: true }).unwrap();
    drop(sender);
    let watched = Watched {
        folder: folder.clone(),
        watcher: Box::new(notify::NullWatcher),
        place: Arc::new(Mutex::new(folder.clone())),
        identity: None,
    };
    let (alive, mut reads) = (Arc::new(()), 0);
    settle(&news, watched, &Arc::downgrade(&alive), || reads += 1);
    assert_eq!(reads, 1);
    for mut done in waiting {
        assert_eq!(done.try_recv(), Ok(()));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
