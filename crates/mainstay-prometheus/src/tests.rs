use super::*;

const LIMITS: Limits = Limits { answer_within: Duration::from_secs(5), answer_bytes_max: 1024 };

#[test]
fn what_is_no_count_is_nothing() {
    assert_eq!(
        ["7", "7.9", "NaN", "-1", "99", "x"].map(|text| whole(text, 99.0)),
        [Some(7), Some(7), None, None, None, None]
    );
    assert_eq!(["2.9996", "0", "-0.1", "+Inf"].map(thousandths), [Some(3_000), Some(0), None, None]);
}

#[test]
fn an_answer_has_points_or_a_reason() {
    let body = br#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"slo":"a"},"values":[[1.5,"2"],[3,"x"]]}]}}"#;
    let series = series(body).unwrap();
    assert_eq!(series[0].points().collect::<Vec<_>>(), [(1_500, "2"), (3_000, "x")]);
    let error = super::series(br#"{"status":"error","error":"parse error"}"#).unwrap_err();
    assert_eq!(error, "parse error");
    assert!(super::series(b"<html>").is_err());
}

#[test]
fn only_plain_http_is_supported() {
    assert!(matches!(Server::new("https://prometheus", LIMITS), Err(Error::Address { .. })));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_reported() {
    let server = Server::new("http://127.0.0.1:1/", LIMITS).unwrap();
    let error = server.range("up", Range { from: 0, to: 60, step: 60 }).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot reach Prometheus at http://127.0.0.1:1: "), "{error}");
}
