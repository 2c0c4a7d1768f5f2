//! Network namespaces: made, named under /run/netns for `ip`, entered and left.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::failure::{During, Step};

const OWN: &str = "/proc/thread-self/ns/net";
const NAMED: &str = "/run/netns";

/// The agent's own namespace and those of the run.
pub struct Namespaces {
    own: File,
    all: Vec<(String, File)>,
}

impl Namespaces {
    /// Makes the namespaces called `names`. The caller has a /run of its own.
    pub fn make<'a>(names: impl Iterator<Item = &'a str>) -> Step<Namespaces> {
        let own = File::open(OWN).during("the agent's namespace")?;
        fs::create_dir_all(NAMED).during("the folder of namespaces")?;
        let mut all = Vec::new();
        for name in names {
            let step = format!("namespace {name}");
            unshare(CloneFlags::CLONE_NEWNET).during(&step)?;
            let path = Path::new(NAMED).join(name);
            File::create(&path).during(&step)?;
            mount(
                Some(OWN),
                &path,
                None::<&str>,
                MsFlags::MS_BIND,
                None::<&str>,
            )
            .during(&step)?;
            all.push((name.to_owned(), File::open(OWN).during(&step)?));
        }
        setns(own.as_fd(), CloneFlags::CLONE_NEWNET).during("the agent's namespace")?;
        Ok(Namespaces { own, all })
    }

    /// The number that the kernel's events name it by.
    pub fn inode(&self, index: usize) -> Step<u32> {
        use std::os::unix::fs::MetadataExt;
        let metadata = self.all[index].1.metadata();
        Ok(metadata.during("the number of a namespace")?.ino() as u32)
    }

    /// Does `work` in the namespace at `index`: sockets made and programs started there stay
    /// there.
    pub fn within<T>(&self, index: usize, work: impl FnOnce() -> Step<T>) -> Step<T> {
        let (name, file) = &self.all[index];
        setns(file.as_fd(), CloneFlags::CLONE_NEWNET).during(&format!("entering {name}"))?;
        let done = work();
        setns(self.own.as_fd(), CloneFlags::CLONE_NEWNET).during(&format!("leaving {name}"))?;
        done
    }
}
