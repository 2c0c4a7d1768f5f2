//! A run is named by its scenario, its seed and the versions of what the scenario uses.

use cclab_spec::{
    Overrides, Part, Scenario, Study, determinants, determinants_beside, parts, parts_of_network,
    run_id,
};

fn scenario(text: &str) -> Scenario {
    let plan = Study::load(text, "study.toml")
        .and_then(|study| study.plan(&Overrides::default(), &|_, _| String::new()));
    plan.expect("a good study")
        .scenarios
        .swap_remove(0)
        .scenario
}

/// CUBIC, which has no version of its own here, and Hybla over a dumbbell.
fn contest() -> Scenario {
    scenario(
        "duration = \"1s\"\n[network.bottleneck]\nrate = \"1Mbit\"\ndelay = \"1ms\"\n\
         queue = { kind = \"codel\", limit = \"10p\" }\n\
         [[flow]]\ncc = \"hybla\"\n[[flow]]\n",
    )
}

fn names(scenario: &Scenario) -> Vec<&str> {
    parts(scenario).into_iter().map(Part::name).collect()
}

#[test]
fn what_nobody_writes_is_used_all_the_same() {
    let everywhere = ["core", "linux-6.12", "cubic", "hybla", "codel", "droptail"];
    assert_eq!(names(&contest()), everywhere);
    // What replies come back through, and what cross traffic of TCP has by default.
    let there_and_back = scenario(
        "duration = \"1s\"\nstack = \"rfc\"\n[network.bottleneck]\nrate = \"1Mbit\"\n\
         delay = \"1ms\"\nqueue = { limit = \"10p\" }\n\
         reverse = { queue = { kind = \"pie\", limit = \"10p\" } }\n\
         [network.access]\nrate = \"9Mbit\"\nqueue = { kind = \"fq\", limit = \"10p\" }\n\
         [[flow]]\ncc = \"reno\"\n\
         [[traffic]]\nkind = \"poisson\"\nflows_per_second = 1\ntransfer = \"9kB\"\n\
         [[traffic]]\nkind = \"telnet\"\ncc = \"vegas\"\n",
    );
    let used = [
        "core", "rfc", "cubic", "reno", "vegas", "droptail", "fq", "pie",
    ];
    assert_eq!(names(&there_and_back), used);
    let graph = scenario(
        "duration = \"1s\"\n[network]\ntopology = \"graph\"\n\
         [[network.link]]\nname = \"one\"\nbottleneck = true\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"1Mbit\"\ndelay = \"1ms\"\nqueue = { limit = \"10p\" }\n\
         [[network.link]]\nname = \"two\"\nfrom = \"b\"\nto = \"c\"\nrate = \"1Mbit\"\n\
         delay = \"1ms\"\nqueue = { kind = \"sfq\", limit = \"10p\" }\n\
         [[flow]]\nfrom = \"a\"\nto = \"c\"\n",
    );
    assert!(names(&graph).contains(&"sfq"));
}

#[test]
fn a_version_renames_the_runs_that_use_its_part_and_no_others() {
    let id = |scenario: &Scenario, raised: Option<Part<'_>>| {
        let version = |part: Part<'_>| Some(if raised == Some(part) { 2 } else { 1 });
        run_id(scenario, 1, "sim", &determinants(parts(scenario), &version))
    };
    let contest = contest();
    let before = id(&contest, None);
    for part in parts(&contest) {
        assert_ne!(id(&contest, Some(part)), before, "{part:?}");
    }
    for other in [
        Part::Stack("rfc"),
        Part::Variant("reno"),
        Part::Discipline("fq"),
        Part::Variant("codel"),
    ] {
        assert_eq!(id(&contest, Some(other)), before, "{other:?}");
    }
}

#[test]
fn a_run_beside_another_is_of_the_same_versions() {
    let (contest, mut alone) = (contest(), contest());
    alone.flows.truncate(1);
    let known = |part: Part<'_>| (part != Part::Discipline("codel")).then_some(7);
    let told = determinants(parts(&contest), &known);
    assert_eq!(told, "core 7, linux-6.12 7, cubic 7, hybla 7, droptail 7");
    let beside = "core 7, linux-6.12 7, hybla 7, droptail 7";
    assert_eq!(determinants_beside(&alone, &contest, &told), beside);
    for kernel in ["testbed 1, kernel 6.12.8-0123abcd", "0.1.0+0123abcd", ""] {
        assert_eq!(determinants_beside(&alone, &contest, kernel), kernel);
    }
}

#[test]
fn a_run_beside_one_on_a_kernel_over_a_simulated_network_keeps_the_kernel() {
    let (contest, mut alone) = (contest(), contest());
    alone.flows.truncate(1);
    let network = determinants(parts_of_network(&contest), &|_| Some(7));
    let told = format!("testbed 1, kernel 0123abcd, {network}");
    assert_eq!(determinants_beside(&alone, &contest, &told), told);
    alone.network.bottleneck.queue.kind = "droptail".into();
    let other = told.replace(", codel 7", "");
    assert_eq!(determinants_beside(&alone, &contest, &told), other);
}

#[test]
fn a_network_without_its_flows_variants_has_the_queues_that_its_flows_bring() {
    let used = |text: &str| {
        let scenario = scenario(&format!(
            "duration = \"1s\"\n{text}\n[network.bottleneck]\nrate = \"1Mbit\"\ndelay = \"1ms\"\n\
             queue = {{ kind = \"codel\", limit = \"10p\" }}\n\
             [network.access]\nqueue = {{ kind = \"fq\", limit = \"10p\" }}\n"
        ));
        let parts: Vec<&str> = parts_of_network(&scenario)
            .into_iter()
            .map(Part::name)
            .collect();
        parts.join(" ")
    };
    let codel = "core codel fq";
    assert_eq!(used("flow = [{ rtt = \"9ms\" }]"), codel);
    for (flow, topology) in [
        ("rtt = \"9ms\"", "chain"),
        ("rtt = \"9ms\", delay_at = \"sender\"", "dumbbell"),
        ("packet_rate = 1000", "dumbbell"),
    ] {
        let text = format!("flow = [{{ {flow} }}]\nnetwork.topology = \"{topology}\"");
        assert_eq!(used(&text), "core codel droptail fq", "{flow}");
    }
    // A stack is there where it says something: how cross traffic talks, and how large its packets are.
    let traffic = |rest| used(&format!("flow = [{{}}]\n[[traffic]]\n{rest}"));
    let udp = traffic("kind = \"constant-rate\"\nrate = \"1Mbit\"");
    assert_eq!(udp, "core linux-6.12 codel fq");
    let tcp = traffic("kind = \"poisson\"\nflows_per_second = 1\ntransfer = \"9kB\"");
    assert_eq!(tcp, "core linux-6.12 cubic codel fq");
}

#[test]
fn a_run_beside_another_is_of_its_own_kernels() {
    let mut whole = contest();
    whole.flows[1].kernel = Some("6.1".into());
    let told = "testbed 1, kernel 0123abcd, kernel 6.1 4567cdef";
    let beside = |index: usize| {
        let mut alone = whole.clone();
        alone.flows = vec![whole.flows[index].clone()];
        determinants_beside(&alone, &whole, told)
    };
    assert_eq!(beside(0), "testbed 1, kernel 0123abcd");
    assert_eq!(beside(1), "testbed 1, kernel 6.1 4567cdef");
    assert_eq!(determinants_beside(&whole, &whole, told), told);
}
