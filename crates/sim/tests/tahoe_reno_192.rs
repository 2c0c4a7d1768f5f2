//! The profile `ns3-3.1x` against the printed cells of a published ns-3 study: chain of
//! 5 Mbit/s 10 ms, 1 Mbit/s 20 ms, 5 Mbit/s 10 ms, 10 s, one flow starting at 66.556 ms or ten
//! within 100 ms. Goodput as the study printed it: bytes received / (10 s - start).

use cclab_sim::Progress;
use cclab_spec::{Overrides, Study};

const PUBLISHED: &str = include_str!("../../../studies/tahoe-reno-192/published.csv");

#[derive(Clone)]
struct Cell {
    cc: String,
    flows: usize,
    flow: usize,
    window: u64,
    queue: u64,
    segment: u64,
    printed: f64,
}

impl Cell {
    fn with(&self, cc: &str) -> Cell {
        Cell {
            cc: cc.to_string(),
            ..self.clone()
        }
    }

    fn is_window_limited(&self) -> bool {
        self.flows == 1 && self.window <= self.queue
    }
}

fn cells() -> Vec<Cell> {
    let rows = PUBLISHED.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| -> f64 { fields[i].parse().expect("a number") };
        let base = Cell {
            cc: fields[0].to_string(),
            flows: number(1) as usize,
            flow: number(2) as usize,
            window: number(3) as u64,
            queue: number(4) as u64,
            segment: number(5) as u64,
            printed: number(6),
        };
        match base.cc.as_str() {
            "both" => ["tahoe", "reno"].map(|cc| base.with(cc)).to_vec(),
            _ => vec![base],
        }
    });
    rows.flatten().collect()
}

/// Goodput in bytes per second of each flow of the cell's experiment.
fn simulate(cell: &Cell) -> Vec<f64> {
    let start = match cell.flows {
        1 => r#""66.556ms""#,
        _ => r#"{ at = "0s", spread = "100ms" }"#,
    };
    let text = format!(
        r#"
        duration = "10s"
        stack = "ns3-3.1x"
        [network]
        topology = "chain"
        [network.bottleneck]
        rate = "1Mbit"
        delay = "20ms"
        queue = {{ kind = "droptail", limit = "{}B" }}
        [network.access]
        rate = "5Mbit"
        delay = "10ms"
        [[flow]]
        name = "bulk"
        cc = "{}"
        count = {}
        start = {start}
        transfer = "100MB"
        mss = "{}B"
        rwnd = "{}B"
        "#,
        cell.queue, cell.cc, cell.flows, cell.segment, cell.window
    );
    let study = Study::load(&text, "cell.toml").expect("a valid study");
    let plan = study
        .plan(&Overrides::default(), &|scenario, _| {
            cclab_sim::determinants(scenario)
        })
        .expect("a valid plan");
    let run = &plan.runs[0].run;
    let summary = cclab_sim::run(&run.scenario, run.seed, &mut (), &Progress::default())
        .expect("the run succeeds");
    let goodput = |flow: &cclab_trace::schema::FlowSummary| {
        let start = flow.started.expect("every flow starts").as_secs_f64();
        flow.bytes_received as f64 / (10.0 - start)
    };
    summary.flows.iter().map(goodput).collect()
}

/// Two cells that the study prints once for both variants and that hold for tahoe alone: they
/// are tahoe's to the digit, while reno, whose own printed cells with losses match to the digit
/// too, loses segments there and recovers from them differently. (window, queue, segment)
const TAHOE_ONLY: [(u64, u64, u64); 2] = [(32_000, 2_000, 256), (32_000, 8_000, 256)];

impl Cell {
    fn is_tahoe_only(&self) -> bool {
        self.cc == "reno" && TAHOE_ONLY.contains(&(self.window, self.queue, self.segment))
    }
}

#[test]
fn printed_cells_are_matched() {
    let mut errors = Vec::new();
    for cell in cells() {
        let goodput = simulate(&cell);
        // Which of ten flows drew which start is not known: each is compared with their mean.
        let ours = goodput.iter().sum::<f64>() / goodput.len() as f64;
        let error = ours / cell.printed - 1.0;
        let note = match (cell.is_tahoe_only(), cell.is_window_limited()) {
            (true, _) => " printed for both, tahoe's alone",
            (false, true) => " window-limited",
            (false, false) => "",
        };
        println!(
            "{:5} {:2} flows #{} window {:5} queue {:5} segment {:3}: \
             printed {:8.1} ours {:8.1} {:+7.3} %{note}",
            cell.cc,
            cell.flows,
            cell.flow,
            cell.window,
            cell.queue,
            cell.segment,
            cell.printed,
            ours,
            100.0 * error,
        );
        // One flow is deterministic and matches to the printed digit; ten drew unknown starts.
        let bound = if cell.flows == 1 {
            0.05 / cell.printed + 1e-6
        } else {
            0.005
        };
        assert_eq!(error.abs() > bound, cell.is_tahoe_only(), "error {error}");
        errors.push((error.abs(), cell));
    }
    errors.sort_by(|a, b| f64::total_cmp(&a.0, &b.0));
    let (median, (worst, cell)) = (errors[errors.len() / 2].0, &errors[errors.len() - 1]);
    println!(
        "median {:.4} %, worst {:.3} % ({} window {} queue {} segment {})",
        100.0 * median,
        100.0 * worst,
        cell.cc,
        cell.window,
        cell.queue,
        cell.segment
    );
    assert!(median < 1e-4);
}
