//! `cargo xtask lab cluster --faults`: real servers of a cluster, real nats-servers and clients on sessions under faults.

use crate::own::program;

/// A short form. `cargo xtask lab cluster --faults 2000` is the long one (`docs/reference/measurements/cluster.md`).
#[test]
fn clients_of_a_cluster_under_faults_keep_every_confirmed_action() {
    let nats_server = nowcast_dev_nats::for_tests();
    let run = program()
        .args(["cluster", "--faults", "12", "--faults-a-life", "12", "--seed", "1"])
        .env("NOWCAST_NATS_SERVER", nats_server)
        .output()
        .expect("the program starts");
    let output = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{output}");
    assert!(output.contains("No promise was broken"), "{output}");
}
