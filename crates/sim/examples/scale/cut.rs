//! A network cut into parts, and what crosses between them.

use std::collections::BTreeMap;

use cclab_trace::schema::RunSummary;
use serde_json::{Value, json};

use crate::network::Wiring;

/// The part that each node is in.
type Parts<'a> = BTreeMap<&'a str, usize>;

/// What a run's links carried within and between `count` parts. A packet that a link delivers is work
/// for the part that it comes to: there it is sent on, or answered.
pub fn measured(wiring: &Wiring, count: usize, summary: &RunSummary) -> Value {
    let parts = match &wiring.pods {
        Some((pods, cores)) => by_pods(pods, cores, count),
        None => by_growth(wiring, count),
    };
    let ends: BTreeMap<String, [&str; 2]> = wiring
        .links
        .iter()
        .flat_map(|[from, to]| {
            let name = format!("{from}-{to}");
            let back = cclab_spec::way_back_name(&name);
            [(name, [from.as_str(), to]), (back, [to.as_str(), from])]
        })
        .collect();
    let mut work = vec![0; count];
    let mut between = vec![vec![0; count]; count];
    for link in &summary.links {
        if let Some(nodes) = ends.get(&link.name) {
            let [from, to] = nodes.map(|node| parts[node]);
            work[to] += link.delivered;
            between[from][to] += link.delivered;
        }
    }
    let is_cut = |[from, to]: &&[String; 2]| parts[from.as_str()] != parts[to.as_str()];
    let pairs = || (0..count).flat_map(|from| (0..count).map(move |to| [from, to]));
    let across = pairs().filter(|[from, to]| from != to);
    let across: Vec<u64> = across.map(|[from, to]| between[from][to]).collect();
    let all: u64 = work.iter().sum();
    let most = work.iter().copied().max().unwrap_or(0);
    json!({
        "parts": count,
        "cut_links": wiring.links.iter().filter(is_cut).count(),
        "crossing": across.iter().sum::<u64>(),
        "crossing_of_a_pair": across.iter().max(),
        "all": all,
        "imbalance": most as f64 * count as f64 / all as f64,
    })
}

/// Whole pods, as evenly as they go, and the core switches in turn.
fn by_pods<'a>(pods: &'a [Vec<String>], cores: &'a [String], count: usize) -> Parts<'a> {
    let mut parts = Parts::new();
    for (index, pod) in pods.iter().enumerate() {
        let part = index * count / pods.len();
        parts.extend(pod.iter().map(|node| (node.as_str(), part)));
    }
    let cores = cores.iter().enumerate();
    parts.extend(cores.map(|(index, core)| (core.as_str(), index % count)));
    parts
}

/// Parts of like size that grow from nodes far from each other, each in turn by the free node with most
/// links into it; then two nodes of different parts change places as long as that cuts fewer links.
fn by_growth(wiring: &Wiring, count: usize) -> Parts<'_> {
    let number: Parts<'_> = wiring.hosts.iter().map(String::as_str).zip(0..).collect();
    let mut beside = vec![Vec::new(); wiring.hosts.len()];
    for [from, to] in wiring
        .links
        .iter()
        .map(|ends| ends.each_ref().map(|node| number[node.as_str()]))
    {
        beside[from].push(to);
        beside[to].push(from);
    }
    let nodes = beside.len();
    let mut part: Vec<Option<usize>> = vec![None; nodes];
    let into = |part: &[Option<usize>], node: usize, which: usize| {
        beside[node]
            .iter()
            .filter(|&&other| part[other] == Some(which))
            .count()
    };
    let mut seeds = vec![0];
    while seeds.len() < count {
        let away = distances(&beside, &seeds);
        let farthest = (0..nodes).max_by_key(|&node| away[node]);
        seeds.extend(farthest);
    }
    for (which, &seed) in seeds.iter().enumerate() {
        part[seed] = Some(which);
    }
    for turn in 0..nodes - count {
        let which = turn % count;
        let free = (0..nodes).filter(|&node| part[node].is_none());
        let nearest = free.max_by_key(|&node| into(&part, node, which));
        part[nearest.expect("a node for each turn")] = Some(which);
    }
    while let Some([a, b]) = best_exchange(&beside, &part, &into) {
        part.swap(a, b);
    }
    let found = number
        .iter()
        .map(|(&name, &node)| (name, part[node].unwrap_or(0)));
    found.collect()
}

/// The two nodes whose exchange cuts most links fewer; `None` if none does.
fn best_exchange(
    beside: &[Vec<usize>],
    part: &[Option<usize>],
    into: &impl Fn(&[Option<usize>], usize, usize) -> usize,
) -> Option<[usize; 2]> {
    let at = |node: usize| part[node].unwrap_or(0);
    let gain =
        |node: usize, to: usize| into(part, node, to) as i64 - into(part, node, at(node)) as i64;
    let pairs = (0..beside.len()).flat_map(|a| (0..a).map(move |b| [a, b]));
    let gains = pairs.filter(|&[a, b]| at(a) != at(b)).map(|[a, b]| {
        // A link between the two stays cut, but counts as gained at either end.
        let shared = beside[a].iter().filter(|&&other| other == b).count() as i64;
        (gain(a, at(b)) + gain(b, at(a)) - 2 * shared, [a, b])
    });
    let best = gains.max_by_key(|(gain, _)| *gain)?;
    (best.0 > 0).then_some(best.1)
}

/// How many links each node is away from the nearest of `seeds`.
fn distances(beside: &[Vec<usize>], seeds: &[usize]) -> Vec<usize> {
    let mut away = vec![usize::MAX; beside.len()];
    let mut wave = seeds.to_vec();
    for distance in 0.. {
        wave.retain(|&node| away[node] == usize::MAX);
        if wave.is_empty() {
            break;
        }
        for &node in &wave {
            away[node] = distance;
        }
        wave = wave
            .iter()
            .flat_map(|&node| beside[node].iter().copied())
            .collect();
    }
    away
}
