//! temporary
use std::time::{Duration, Instant};
use testbed::{Fleet, Options, Part, named};
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let word = args.next().unwrap_or_default();
    let name: named::Name = "dev".parse().map_err(anyhow::Error::msg)?;
    let begun = Instant::now();
    let show = move |step| eprintln!("{:>7.2} {step:?}", begun.elapsed().as_secs_f32());
    match word.as_str() {
        "servers" => {
            testbed::Servers::ensure(&show).await?;
        }
        "up" => {
            let nodes: usize = args.next().unwrap_or_default().parse()?;
            let options = Options { nodes_max: nodes, parts: vec![Part::ControllerManager, Part::Kwok] };
            let plan = named::Plan { options, fleet: Fleet::new(nodes, 8, 1) };
            let cluster = named::up(&name, &plan, &show).await?;
            eprintln!("{:>7.2} servers up", begun.elapsed().as_secs_f32());
            let client = cluster.client().await?;
            let quiet = |_| ();
            plan.fleet.create(&client, &quiet).await?;
            eprintln!("{:>7.2} created", begun.elapsed().as_secs_f32());
            let readiness = plan.fleet.wait_ready(&client, Duration::from_secs(900), &show).await?;
            eprintln!("{:>7.2} {readiness:?}", begun.elapsed().as_secs_f32());
            eprintln!("{:?}\n{}", cluster.resident_bytes_by_server(), cluster.kubeconfig().display());
        }
        "down" => {
            eprintln!("{:?}", named::down(&name).await?);
        }
        "mem" => {
            let (cluster, _) = named::find(&name)?.unwrap();
            let client = cluster.client().await?;
            eprintln!("{:?} {:?}", testbed::fleet::readiness(&client, None).await?, cluster.resident_bytes_by_server());
        }
        _ => {}
    }
    eprintln!("{:>7.2} done", begun.elapsed().as_secs_f32());
    Ok(())
}
