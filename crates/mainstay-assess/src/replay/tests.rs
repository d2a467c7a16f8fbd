use super::*;

const HOUR: i64 = 3_600_000;

fn played(lines: &[(i64, &str, &str)], out_ppm: u32) -> (Input, ReplayResult) {
    let mut gathered = Input::default();
    for (at, node, text) in lines {
        let node = gathered.node(&NodeName::parse(node).unwrap()).unwrap();
        gathered.line(node, Timestamp(*at), text);
    }
    gathered.settle();
    let played = replayed(&gathered, out_ppm, 100 * HOUR);
    (gathered, played)
}

fn replayed(gathered: &Input, out_ppm: u32, to: i64) -> ReplayResult {
    let allowed = Budgets { out_ppm, rack_out: 2 };
    replay(gathered, &BTreeMap::new(), allowed, (Timestamp(0), Timestamp(to)), &|_| {})
}

fn xid(code: u32) -> String {
    format!("NVRM: Xid (PCI:0000:1b:00): {code}, pid='<unknown>', name=<unknown>, x")
}

#[test]
fn a_gpu_off_the_bus_would_have_been_taken_out_at_once_for_as_long_as_it_says_so() {
    let (_, played) = played(&[(10 * HOUR, "r1n1", &xid(79)), (11 * HOUR, "r1n2", &xid(31))], 1_000_000);
    let [episode] = &played.episodes[..] else { panic!("{:?}", played.episodes) };
    assert_eq!(episode.rule.as_ref().map(RuleName::as_str), Some("gpu-off-the-bus"));
    assert_eq!(episode.device.as_ref().map(ToString::to_string).as_deref(), Some("0000:1b:00.0"));
    let after = episode.decided_at.unwrap().since(Timestamp(10 * HOUR));
    assert!(after <= Span::seconds(2), "{after:?}");
    let lasted = episode.ended_at.unwrap().since(episode.began_at);
    assert!((Span::hours(23)..Span::hours(26)).contains(&lasted), "{lasted:?}");
}

#[test]
fn who_has_no_room_waits_on_the_budget() {
    let lines = [(10 * HOUR, "r1n1", xid(79)), (10 * HOUR + 60_000, "r1n2", xid(79)), (HOUR, "r1n3", xid(31))];
    let lines: Vec<(i64, &str, &str)> = lines.iter().map(|(at, node, text)| (*at, *node, text.as_str())).collect();
    let (gathered, played) = played(&lines, 1);
    let waits: Vec<_> =
        played.episodes.iter().map(|one| (gathered.nodes[one.node as usize].as_str(), one.decided_at)).collect();
    assert!(waits[0].1.is_some() && waits[1].1.is_none_or(|at| at.0 > 30 * HOUR), "{waits:?}");
}

#[test]
fn a_storm_of_one_line_is_one_episode() {
    let text = xid(79);
    let lines: Vec<(i64, &str, &str)> = (0..5_000).map(|at| (HOUR + at * 100, "r1n1", text.as_str())).collect();
    let (_, played) = played(&lines, 1_000_000);
    assert_eq!(played.episodes.len(), 1);
    assert!(played.decisions < 500, "{}", played.decisions);
}

#[test]
fn a_node_that_falls_off_again_and_again_is_called_a_lemon() {
    let text = xid(79);
    let lines: Vec<(i64, &str, &str)> = (0..8).map(|day| (day * 96 * HOUR / 8, "r1n1", text.as_str())).collect();
    assert!(played(&lines, 1_000_000).1.lemons.is_empty(), "days of one episode are one incident");
    let apart = [0, 30, 60, 90].map(|hour| (hour * HOUR, "r1n1", text.as_str()));
    let (_, four) = played(&apart, 1_000_000);
    assert_eq!(four.episodes.len(), 4);
}

#[test]
fn a_port_that_stays_down_is_found_and_one_that_comes_back_is_not() {
    let line = |word: &str| format!("mlx5_core 0000:18:00.0 ens1np0: Link {word}");
    let (down, up) = (line("down"), line("up"));
    let (_, back) = played(&[(HOUR, "r1n1", &down), (HOUR + 30_000, "r1n1", &up)], 1_000_000);
    assert!(back.episodes.is_empty(), "{:?}", back.episodes);
    let (_, stays) = played(&[(HOUR, "r1n1", &down)], 1_000_000);
    let rules: Vec<_> = stays.episodes.iter().map(|one| one.rule.as_ref().map(RuleName::as_str)).collect();
    assert_eq!(rules, [Some("port-down")]);
    let (_, booted) = played(&[(HOUR, "r1n1", &down), (HOUR + 60_000, "r1n1", "Linux version 6.8.0")], 1_000_000);
    assert!(booted.episodes.is_empty(), "a boot begins anew: {:?}", booted.episodes);
}

#[test]
fn a_fault_in_the_last_line_is_found_and_a_port_that_just_went_down_is_not() {
    let (gathered, _) = played(&[(10 * HOUR, "r1n1", &xid(79))], 1_000_000);
    let at_the_end = replayed(&gathered, 1_000_000, 10 * HOUR);
    let [episode] = &at_the_end.episodes[..] else { panic!("{:?}", at_the_end.episodes) };
    assert!(episode.decided_at.unwrap().since(Timestamp(10 * HOUR)) <= GRACE, "{episode:?}");
    assert_eq!(episode.ended_at, None, "nothing says that it ended");
    let (gathered, _) = played(&[(10 * HOUR, "r1n1", "mlx5_core 0000:18:00.0 ens1np0: Link down")], 1_000_000);
    assert!(replayed(&gathered, 1_000_000, 10 * HOUR).episodes.is_empty(), "it may have come up a second later");
}
