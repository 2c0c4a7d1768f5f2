use super::*;

/// Name, ends, delay in milliseconds, and whether there is no way back.
type Line<'a> = (&'a str, &'a str, &'a str, u64, bool);

fn routes<'a>(routing: Routing, lines: &[Line<'a>], reroutes: &[Reroute]) -> Routes<'a> {
    let arc = |&(name, from, to, ms, one_way): &Line<'a>| Arc {
        name,
        from,
        to,
        one_way,
        delay: Time::from_millis(ms),
    };
    Routes::new(lines.iter().map(arc).collect(), routing, reroutes)
}

fn shortest<'a>(lines: &[Line<'a>]) -> Routes<'a> {
    routes(Routing::Shortest, lines, &[])
}

fn without(links: &[u32]) -> Reroute {
    Reroute {
        at: Time::from_secs(1),
        without: links.to_vec(),
    }
}

fn named<'a>(lines: &[Line<'a>], way: &[Step]) -> Vec<&'a str> {
    way.iter().map(|step| lines[step.link].0).collect()
}

fn names<'a>(lines: &[Line<'a>], from: &str, to: &str) -> Option<Vec<&'a str>> {
    let way = shortest(lines).way("x", from, to)?;
    Some(named(lines, &way))
}

#[test]
fn delay_decides_then_hops_then_names() {
    let lines = [
        ("slow", "a", "d", 9, false),
        ("x", "a", "b", 2, false),
        ("y", "b", "d", 2, false),
        ("p", "a", "c", 2, false),
        ("q", "c", "d", 2, false),
    ];
    assert_eq!(names(&lines, "a", "d"), Some(vec!["p", "q"]));
    assert_eq!(names(&lines, "d", "a"), Some(vec!["q", "p"]));
    let mut direct = lines.to_vec();
    direct.push(("straight", "d", "a", 4, false));
    assert_eq!(names(&direct, "a", "d"), Some(vec!["straight"]));
    let routes = shortest(&direct);
    assert!(routes.way("x", "a", "d").expect("a way")[0].back);
    assert_eq!(routes.delay("a", "d"), Some(Time::from_millis(4)));
}

#[test]
fn the_order_of_the_file_decides_nothing() {
    let lines = [
        ("a1", "a", "b", 1, false),
        ("a2", "a", "b", 1, false),
        ("b1", "b", "c", 1, true),
        ("b0", "b", "c", 1, true),
    ];
    let mut reversed = lines.to_vec();
    reversed.reverse();
    assert_eq!(names(&lines, "a", "c"), Some(vec!["a1", "b0"]));
    assert_eq!(names(&reversed, "a", "c"), Some(vec!["a1", "b0"]));
    let [there, back] = [&lines[..], &reversed].map(|lines| routes(Routing::Ecmp, lines, &[]));
    for traveller in (0..100).map(|number| format!("f{number}")) {
        let [there, back] = [(&there, &lines[..]), (&back, &reversed)].map(|(routes, lines)| {
            let way = routes.way(&traveller, "a", "c").expect("a way");
            named(lines, &way)
        });
        assert_eq!(there, back);
    }
}

#[test]
fn one_way_links_have_no_way_back() {
    let lines = [("there", "a", "b", 1, true), ("on", "b", "c", 1, false)];
    assert_eq!(names(&lines, "a", "c"), Some(vec!["there", "on"]));
    assert_eq!(names(&lines, "c", "a"), None);
    assert_eq!(names(&lines, "a", "nowhere"), None);
    assert_eq!(names(&lines, "a", "a"), Some(vec![]));
}

#[test]
fn a_way_without_a_link_is_the_next_shortest() {
    let lines = [
        ("short", "a", "b", 1, false),
        ("long", "a", "c", 5, false),
        ("on", "c", "b", 5, false),
    ];
    let routes = routes(
        Routing::Shortest,
        &lines,
        &[without(&[0]), without(&[0, 2])],
    );
    let way = routes.way_after(0, "x", "a", "b").expect("a way");
    assert_eq!(named(&lines, &way), ["long", "on"]);
    assert!(!routes.leads_after(1, "a", "b"));
    assert_eq!(routes.delay("a", "b"), Some(Time::from_millis(1)));
}

/// The links of a grid of `side` times `side` nodes, of one delay, and their names.
fn grid(side: usize) -> Vec<[String; 3]> {
    let mut links = Vec::new();
    for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
        for (down, right) in [(1, 0), (0, 1)] {
            if row + down < side && column + right < side {
                let node = |row: usize, column: usize| format!("n{row}-{column}");
                let [from, to] = [node(row, column), node(row + down, column + right)];
                links.push([format!("{from}.{to}"), from, to]);
            }
        }
    }
    links
}

fn lines(links: &[[String; 3]]) -> Vec<Line<'_>> {
    let lines = links.iter();
    lines
        .map(|[name, from, to]| (name.as_str(), from.as_str(), to.as_str(), 1, false))
        .collect()
}

#[test]
fn equal_ways_are_all_taken_and_none_is_longer() {
    // From corner to corner of a grid of 4 by 4 there are C(6, 3) = 20 shortest ways.
    let links = grid(4);
    let lines = lines(&links);
    let routes = routes(Routing::Ecmp, &lines, &[]);
    let mut taken: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for traveller in (0..2_000).map(|number| format!("flow{number}")) {
        let way = routes.way(&traveller, "n0-0", "n3-3").expect("a way");
        assert_eq!(way.len(), 6);
        *taken.entry(named(&lines, &way)).or_default() += 1;
    }
    assert_eq!(taken.len(), 20);
    // Each node halves what comes: a way has a share of 2^-n by the n nodes at which it has a choice.
    for (way, &count) in &taken {
        let edge = |name: &&&str| name.contains(".n3-") && name.starts_with("n3-");
        let bottom = way.iter().filter(edge).count();
        let right = way
            .iter()
            .filter(|name| name.matches("-3").count() == 2)
            .count();
        let share = 0.5_f64.powi((6 - bottom - right) as i32);
        let [expected, deviation] = [2_000.0 * share, (2_000.0 * share * (1.0 - share)).sqrt()];
        let off = (count as f64 - expected).abs();
        assert!(off < 5.0 * deviation, "{way:?}: {count} of {expected}");
    }
}

#[test]
fn ways_there_and_back_and_of_others_to_the_same_node_are_chosen_apart() {
    let lines: Vec<Line<'_>> = ["a", "b", "c", "d"]
        .map(|name| (name, "left", "right", 1, false))
        .to_vec();
    let routes = routes(Routing::Ecmp, &lines, &[]);
    let link = |traveller: &str, from, to| routes.way(traveller, from, to).expect("a way")[0].link;
    let travellers: Vec<String> = (0..4_000).map(|number| format!("flow.{number}")).collect();
    let alike = |one: &dyn Fn(&str) -> usize, other: &dyn Fn(&str) -> usize| {
        let alike = travellers.iter().filter(|name| one(name) == other(name));
        alike.count() as f64 / travellers.len() as f64
    };
    let there = |name: &str| link(name, "left", "right");
    let back = |name: &str| link(name, "right", "left");
    // A quarter coincides: 0.25, with a standard deviation of 0.007.
    let share = alike(&there, &back);
    assert!((share - 0.25).abs() < 0.035, "{share}");
    for one in 0..4 {
        let share = alike(&there, &|_| one);
        assert!((share - 0.25).abs() < 0.035, "{share}");
    }
}

#[test]
fn a_change_moves_those_alone_that_crossed_what_goes() {
    let links = grid(4);
    let lines = lines(&links);
    let gone = lines
        .iter()
        .position(|line| line.0 == "n1-1.n1-2")
        .expect("a link");
    let routes = routes(
        Routing::Ecmp,
        &lines,
        &[without(&[gone as u32]), without(&[])],
    );
    let mut moved = 0;
    for traveller in (0..500).map(|number| format!("flow{number}")) {
        let before = routes.way(&traveller, "n0-0", "n3-3").expect("a way");
        let after = routes
            .way_after(0, &traveller, "n0-0", "n3-3")
            .expect("a way");
        let crossed = before.iter().any(|step| step.link == gone);
        assert_eq!(before != after, crossed);
        assert!(after.iter().all(|step| step.link != gone));
        assert_eq!(
            routes.way_after(1, &traveller, "n0-0", "n3-3"),
            Some(before)
        );
        moved += usize::from(crossed);
    }
    assert!(moved > 50, "{moved}");
}
