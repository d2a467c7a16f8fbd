//! A server that asks for tokens, with a demo's fleet behind it, on a real socket.

use super::*;
use crate::http::access::tests::LiteralValidator;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tokens_answers_whoever_brings_the_right_one() {
    let live = LiveFleet::new(LiveOptions { gpus: 256, seed: 1, story: DemoScript::Calm }).unwrap();
    let (news, _heard) = mpsc::channel(1);
    let (owner, asked) = Runner::new(live, 1, news);
    let served = ServerState::new(owner.board(), Access::Tokens(std::sync::Arc::new(LiteralValidator)));
    let listener = listen(0).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ends) = watch::channel(());
    let serving = tokio::spawn(http::serve(listener, served, ends.clone()));
    let owning = tokio::spawn(owner.run(asked, ends));
    let client = reqwest::Client::new();
    let status = async |token: Option<&str>, path: &str| {
        let call = client.get(format!("http://{address}{path}"));
        let call = token.map_or_else(|| client.get(format!("http://{address}{path}")), |token| call.bearer_auth(token));
        call.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(None, "/api/v1/fleet").await, 401);
    assert_eq!(status(Some("wrong"), "/api/v1/fleet").await, 401);
    assert_eq!(status(Some("poor"), "/api/v1/fleet").await, 403);
    assert_eq!(status(Some("right"), "/api/v1/fleet").await, 200);
    assert_eq!(status(Some("poor"), "/metrics").await, 403);
    assert_eq!(status(None, "/").await, 200, "the page asks for the token itself");
    let stop = client.post(format!("http://{address}/api/v1/stop")).json(&serde_json::json!({}));
    assert_eq!(stop.send().await.unwrap().status().as_u16(), 401);
    end.send(()).unwrap();
    owning.await.unwrap();
    serving.await.unwrap().unwrap();
}
