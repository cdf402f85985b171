//! Real servers.

use nowcast_dev_nats::{Cluster, for_tests};

#[test]
fn servers_form_a_cluster_come_back_after_sigkill_and_end_with_the_value() {
    let program = for_tests();
    let folder = std::env::temp_dir().join(format!("nowcast-dev-nats-{}", std::process::id()));
    let mut cluster = Cluster::start(&program, &folder, 3).expect("the servers start");
    assert_eq!((cluster.len(), cluster.address().matches("nats://").count()), (3, 3));
    let before = cluster.pid(1).expect("a running server has a pid file");
    cluster.kill(1);
    assert!(!is_alive(before), "a killed server has ended");
    cluster.restart(1).expect("the server starts with its files");
    let pids: Vec<u32> = (0..3).filter_map(|index| cluster.pid(index)).collect();
    assert!(pids.len() == 3 && !pids.contains(&before) && pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
    drop(cluster);
    assert!(!pids.iter().any(|pid| is_alive(*pid)), "the servers end with the cluster");
    std::fs::remove_dir_all(&folder).expect("nothing uses the folder any more");
}

fn is_alive(pid: u32) -> bool {
    let mut kill = std::process::Command::new("kill");
    let probe = kill.args(["-0", &pid.to_string()]).stderr(std::process::Stdio::null());
    probe.status().expect("every system has kill").success()
}
