//! An in-cluster program with kube-rs: Config::incluster, a list, a watcher. It prints one JSON object a line; the suite
//! beside it says what the lines mean.

use std::{collections::BTreeMap, error::Error, pin::pin};

use futures::TryStreamExt;
use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    core::v1::{ConfigMap, Pod},
};
use kube::{
    Api, Client, Config, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
    runtime::watcher::{self, Event, watcher},
};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let client = Client::try_from(Config::incluster()?)?;
    who_am_i(&client).await?;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let listed = pods.list(&ListParams::default()).await?;
    let names: Vec<String> = listed.iter().map(ResourceExt::name_any).collect();
    println!("{}", json!({"step": "pods", "names": names}));
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    write(&maps).await?;
    follow(maps).await
}

async fn who_am_i(client: &Client) -> Outcome {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    let user = review.status.and_then(|status| status.user_info).and_then(|info| info.username);
    println!("{}", json!({"step": "identity", "user": user}));
    Ok(())
}

async fn write(maps: &Api<ConfigMap>) -> Outcome {
    let mut own = ConfigMap::default();
    own.metadata.name = Some("own".into());
    own.data = Some(BTreeMap::from([("phase".into(), "created".into())]));
    let mut created = maps.create(&PostParams::default(), &own).await?;
    created.data = Some(BTreeMap::from([("phase".into(), "updated".into())]));
    let updated = maps.replace("own", &PostParams::default(), &created).await?;
    maps.delete("own", &DeleteParams::default()).await?;
    println!("{}", json!({"step": "written", "phase": phase_of(&updated)}));
    Ok(())
}

async fn follow(maps: Api<ConfigMap>) -> Outcome {
    let mut names: Vec<String> = Vec::new();
    let mut events = pin!(watcher(maps, watcher::Config::default()));
    while let Some(event) = events.try_next().await? {
        match event {
            Event::InitApply(object) => names.push(object.name_any()),
            Event::InitDone => println!("{}", json!({"step": "watching", "names": names})),
            Event::Apply(object) if object.name_any() == "signal" => {
                println!("{}", json!({"step": "seen", "phase": phase_of(&object)}))
            }
            Event::Delete(object) if object.name_any() == "signal" => {
                println!("{}", json!({"step": "gone"}));
                return Ok(());
            }
            _ => {}
        }
    }
    Err("the watch ended early".into())
}

fn phase_of(object: &ConfigMap) -> Option<&String> {
    object.data.as_ref()?.get("phase")
}
