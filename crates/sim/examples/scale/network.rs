//! What joins hosts: a fat tree, or a random graph.

use std::collections::BTreeSet;

use cclab_units::Stream;

/// Nodes and what joins them.
pub struct Wiring {
    /// The nodes that flows go between.
    pub hosts: Vec<String>,
    /// The ends of each link.
    pub links: Vec<[String; 2]>,
    /// The pods of a fat tree, with all nodes of each, and its core switches.
    pub pods: Option<(Vec<Vec<String>>, Vec<String>)>,
}

/// The ports of a switch of the fat tree whose number of links is nearest to `links` in the ratio.
pub fn ports(links: usize) -> usize {
    let off = |&ports: &usize| (links_of(ports) / links as f64).ln().abs();
    let ports = (2..=64).map(|half| 2 * half);
    let nearest = ports.min_by(|one, other| off(one).total_cmp(&off(other)));
    nearest.expect("there are some to choose from")
}

fn links_of(ports: usize) -> f64 {
    0.75 * (ports as f64).powi(3)
}

/// A fat tree of switches of `ports` ports (Al-Fares, Loukissas and Vahdat 2008): as many pods, in
/// each of which half as many switches at the edge are joined to half as many above them, and each
/// of these to half as many of the core.
pub fn fat_tree(ports: usize) -> Wiring {
    let half = ports / 2;
    let mut wiring = Wiring {
        hosts: Vec::new(),
        links: Vec::new(),
        pods: None,
    };
    let core = |row: usize, column: usize| format!("core{row}-{column}");
    let mut pods = Vec::new();
    for pod in 0..ports {
        let mut nodes = Vec::new();
        for number in 0..half {
            let [edge, above] = ["edge", "up"].map(|layer| format!("p{pod}-{layer}{number}"));
            for port in 0..half {
                let host = format!("p{pod}-h{number}-{port}");
                wiring.links.push([host.clone(), edge.clone()]);
                wiring
                    .links
                    .push([edge.clone(), format!("p{pod}-up{port}")]);
                wiring.links.push([above.clone(), core(number, port)]);
                nodes.push(host.clone());
                wiring.hosts.push(host);
            }
            nodes.extend([edge, above]);
        }
        pods.push(nodes);
    }
    let cores = (0..half).flat_map(|row| (0..half).map(move |column| core(row, column)));
    wiring.pods = Some((pods, cores.collect()));
    wiring
}

/// A random graph of nodes with four links each: a ring in which each node is joined to the next two,
/// after ten times as many exchanges of ends between two links drawn at random as it has links.
pub fn random(nodes: usize, dice: &mut Stream) -> Wiring {
    let ring = (0..nodes).flat_map(|node| [1, 2].map(|ahead| [node, (node + ahead) % nodes]));
    let mut links: Vec<[usize; 2]> = ring.collect();
    let sorted = |[a, b]: [usize; 2]| [a.min(b), a.max(b)];
    loop {
        let mut known: BTreeSet<[usize; 2]> = links.iter().copied().map(sorted).collect();
        for _ in 0..10 * links.len() {
            let mut draw = || (dice.uniform() * links.len() as f64) as usize;
            let [one, other] = [draw(), draw()];
            let [[a, b], [c, d]] = [links[one], links[other]];
            let new = [[a, d], [c, b]];
            let is_new = |&pair: &[usize; 2]| pair[0] != pair[1] && !known.contains(&sorted(pair));
            if new.iter().all(is_new) && sorted(new[0]) != sorted(new[1]) {
                for gone in [links[one], links[other]] {
                    known.remove(&sorted(gone));
                }
                known.extend(new.map(sorted));
                [links[one], links[other]] = new;
            }
        }
        if is_connected(nodes, &links) {
            break;
        }
    }
    let name = |node: usize| format!("n{node}");
    Wiring {
        hosts: (0..nodes).map(name).collect(),
        links: links.into_iter().map(|ends| ends.map(name)).collect(),
        pods: None,
    }
}

fn is_connected(nodes: usize, links: &[[usize; 2]]) -> bool {
    let mut reached = BTreeSet::from([0]);
    loop {
        let before = reached.len();
        for &[a, b] in links {
            if reached.contains(&a) || reached.contains(&b) {
                reached.extend([a, b]);
            }
        }
        if reached.len() == before {
            return reached.len() == nodes;
        }
    }
}
