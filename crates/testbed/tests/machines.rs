//! The orders of a run on several kernels, and what is refused of them.

use cclab_spec::{Overrides, Scenario, Study};
use cclab_testbed::orders::News;
use cclab_testbed::{Machine, Orders, Target, orders, unsupported};
use cclab_units::Time;

const STUDY: &str = "duration = \"2s\"\n[network.bottleneck]\nrate = \"10Mbit\"\n\
    delay = \"20ms\"\nqueue = { limit = \"100p\" }\n\
    [[probe]]\nname = \"p\"\nkind = \"ping\"\n";

fn scenario(flows: &str) -> Scenario {
    let study = Study::load(&format!("{STUDY}{flows}"), "study.toml").expect("a good study");
    let plan = study.plan(&Overrides::default(), &|_, _| String::new());
    plan.expect("a plan").scenarios.swap_remove(0).scenario
}

const THREE: &str = "[[flow]]\nname = \"a\"\nkernel = \"6.1\"\n\
    sysctl = { \"net.core.netdev_max_backlog\" = 7 }\n\
    [[flow]]\nname = \"b\"\n[[flow]]\nname = \"c\"\ntransport = \"udp\"\nkernel = \"6.1\"\n\
    application = { kind = \"constant-rate\", rate = \"1Mbit\" }\n";

fn names(orders: &Orders) -> Vec<&str> {
    let hosts = orders.namespaces.iter();
    hosts.map(|host| host.name.as_str()).collect()
}

#[test]
fn a_machine_has_the_hosts_of_its_flows_and_knows_of_no_others() {
    let scenario = scenario(THREE);
    assert_eq!(unsupported(&scenario, Target::Wire), []);
    let whole = orders(&scenario, 1, Target::Wire);
    let old = Machine::part(&scenario, &whole, vec![0, 2], Vec::new());
    let new = Machine::part(&scenario, &whole, vec![1], vec![0]);
    assert_eq!(names(&old.orders).len() + names(&new.orders).len(), 8);
    for machine in [&old, &new] {
        let own = &machine.orders;
        // What the network sees of a flow does not depend on where its hosts are.
        for (flow, &index) in own.flows.iter().zip(&machine.flows) {
            let meant = &whole.flows[index];
            assert_eq!((flow.source, flow.start), (meant.source, meant.start));
            assert_eq!(flow.work, meant.work);
            for (host, of_whole) in [(flow.sender, meant.sender), (flow.receiver, meant.receiver)] {
                assert_eq!(own.namespaces[host], whole.namespaces[of_whole]);
                assert_eq!(machine.namespaces[host], of_whole);
            }
        }
        let wire = own.wire.expect("a wire");
        assert_eq!(wire.news, Some(own.namespaces.len() as u32));
        assert_eq!(Some(wire.zero), whole.wire.map(|wire| wire.zero));
        assert_eq!((own.end, &own.marks), (whole.end, &whole.marks));
        assert_eq!(own.links.len(), own.namespaces.len());
        for (number, line) in own.links.iter().enumerate() {
            assert!(
                line.starts_with(&format!("link set eth{number} netns ")),
                "{line}"
            );
        }
    }
    assert_eq!(new.orders.probes.len(), 1);
    assert!(old.orders.probes.is_empty());
    let backlog = |machine: &Machine| {
        let mut all = machine.orders.sysctl.iter();
        let found = all.find(|one| one.name == "net.core.netdev_max_backlog");
        found.expect("a setting of the machine").value.clone()
    };
    assert_eq!([backlog(&old), backlog(&new)], ["7", "100000"]);
}

#[test]
fn a_machine_that_is_alone_has_the_orders_of_the_run() {
    let whole = orders(&scenario(THREE), 1, Target::Wire);
    let machine = Machine::whole(whole.clone());
    assert_eq!(machine.orders, whole);
    assert_eq!(whole.wire.expect("a wire").news, None);
}

#[test]
fn a_machine_looks_back_only_where_a_flow_of_another_may_end() {
    let looks_back = |ends: &str| {
        let flows = THREE.replacen("name = \"b\"", &format!("name = \"b\"\n{ends}"), 1);
        let scenario = scenario(&flows);
        let whole = orders(&scenario, 1, Target::Wire);
        [vec![0, 2], vec![1]].map(|own| {
            let machine = Machine::part(&scenario, &whole, own, Vec::new());
            machine.orders.wire.expect("a wire").looks_back
        })
    };
    assert_eq!(looks_back(""), [false, false]);
    assert_eq!(looks_back("transfer = \"1MB\""), [true, false]);
    assert_eq!(looks_back("duration = \"1s\""), [true, false]);
    assert_eq!(looks_back("command = [\"ping\", \"{dst}\"]"), [true, false]);
}

#[test]
fn news_are_read_as_they_were_told() {
    const HEADER: usize = 14;
    for news in [
        News::OneHasEnded(Time::from_millis(1233)),
        News::End(Time::ZERO),
        News::End(Time::from_millis(1234)),
    ] {
        let frame = news.to_frame();
        assert_eq!(frame[12..HEADER], News::ETHERTYPE.to_be_bytes());
        assert_eq!(News::read(&frame[HEADER..]), Some(news));
    }
    assert_eq!(News::read(&[1, 2, 3]), None);
}

#[test]
fn kernels_are_refused_where_there_is_one_alone() {
    let refused = |scenario: &Scenario, target| -> Vec<String> {
        let found = unsupported(scenario, target).into_iter();
        found
            .map(|one| format!("{}: {}", one.path, one.what))
            .collect()
    };
    let mut scenario =
        scenario("[[flow]]\nname = \"a\"\nkernel = \"6.1\"\n[[flow]]\nname = \"b\"\n");
    let beside =
        "flow.a.kernel: the kernel 6.1, beside another, where one has the network and all hosts";
    assert_eq!(refused(&scenario, Target::Guest), [beside]);
    assert_eq!(refused(&scenario, Target::Wire), [""; 0]);
    scenario.kernel = Some("6.12".into());
    let of_host = ["kernel: the kernel 6.12", "flow.a.kernel: the kernel 6.1"];
    let of_host =
        of_host.map(|asked| format!("{asked}, whose hosts have the kernel of this machine"));
    assert_eq!(refused(&scenario, Target::Host), of_host);
    // A kernel for all is fine.
    scenario.flows[0].kernel = None;
    assert_eq!(refused(&scenario, Target::Guest), [""; 0]);
}

#[test]
fn a_setting_of_the_whole_machine_is_one_for_each_kernel() {
    let both = |kernels: [&str; 2]| {
        let flow = |(name, kernel, value)| {
            format!(
                "[[flow]]\nname = \"{name}\"\nkernel = \"{kernel}\"\n\
                 sysctl = {{ \"net.core.netdev_max_backlog\" = {value} }}\n"
            )
        };
        let flows = [("a", kernels[0], 1), ("b", kernels[1], 2)].map(flow);
        unsupported(&scenario(&flows.concat()), Target::Wire)
    };
    assert_eq!(both(["6.1", "6.12"]), []);
    let refused = both(["6.1", "6.1"]).swap_remove(0);
    assert_eq!(refused.path, "flow.b.sysctl");
    assert!(
        refused.what.contains("different from that of flow a"),
        "{}",
        refused.what
    );
}
