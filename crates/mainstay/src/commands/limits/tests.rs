use mainstay_model::{RateLimit, Span};
use serde_json::json;

use super::*;

fn lines() -> [PoolLimitsLine; 3] {
    let of = |pool: &str, floor, parked, rate: Option<u32>| PoolLimitsLine {
        pool: pool.parse().unwrap(),
        nodes: 12,
        in_service: 11,
        floor,
        parked,
        rate: rate.map(|removals| (removals, RateLimit { grants: 5, per: Span::hours(1) })),
    };
    [of("plain", None, 0, None), of("serve", Some(11), 1, Some(2)), of("train", Some(10), 0, Some(5))]
}

#[test]
fn floor_rate_limit_and_parked_nodes_are_listed_for_pools_that_have_them() {
    let expected = "
  POOL   NODES  IN SERVICE  FLOOR  PARKED  REMOVALS
  serve     12          11     11       1  2 of 5 within 1 h  ▲ floor reached
  train     12          11     10       0  5 of 5 within 1 h  ▲ rate limit reached
";
    assert_eq!(pool_limits(&lines()), expected);
    assert_eq!(pool_limits(&lines()[..1]), "");
}

#[test]
fn json_lists_every_pool() {
    let pools: Vec<PoolLimits> = lines().iter().map(PoolLimits::of).collect();
    let expected = json!([
        { "pool": "plain", "nodes": 12, "inService": 11, "floor": null, "parked": 0, "rateLimit": null },
        { "pool": "serve", "nodes": 12, "inService": 11, "floor": 11, "parked": 1,
          "rateLimit": { "removals": 2, "removalsMax": 5, "perSeconds": 3_600 } },
        { "pool": "train", "nodes": 12, "inService": 11, "floor": 10, "parked": 0,
          "rateLimit": { "removals": 5, "removalsMax": 5, "perSeconds": 3_600 } },
    ]);
    assert_eq!(serde_json::to_value(pools).unwrap(), expected);
}
