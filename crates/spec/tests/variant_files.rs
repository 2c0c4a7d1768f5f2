//! Variants that a study brings in files of its own.

use std::fs;
use std::path::{Path, PathBuf};

use cclab_spec::{Language, Overrides, Plan, Scenario, Study};

const RUST: &str = "cclab::variant! { interface: 1, name: \"quick\", start: Quick::new }\n";
const MODULE: &str = "#include <net/tcp.h>\n#include \"foo.h\"\n\
    static int beta = BETA;\nmodule_param(beta, int, 0644);\n\
    static bool fast;\nmodule_param(fast, bool, 0644);\n\
    static struct tcp_congestion_ops foo = { .name = \"NAME\" };\n\
    static int __init foo_register(void) { return tcp_register_congestion_control(&foo); }\n";

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cclab-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn module(&self, path: &str, name: &str) {
        self.write(path, &MODULE.replace("NAME", name));
        let header = Path::new(path).with_file_name("foo.h");
        self.write(header.to_str().expect("text"), "#define BETA 717\n");
    }

    fn plan(&self, study: &str, set: &[&str]) -> Result<Plan, String> {
        let file = self.0.join("study.toml").display().to_string();
        let text = format!(
            "duration = \"1s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"20ms\"\n\
             queue = {{ limit = \"1bdp\" }}\n{study}"
        );
        let overrides = Overrides {
            set: set.iter().map(|&one| one.to_owned()).collect(),
            ..Overrides::default()
        };
        let plan = Study::load(&text, &file)
            .and_then(|study| study.plan(&overrides, &|_, _| String::new()));
        plan.map_err(|error| error.to_string().replace(&file, "study.toml"))
    }

    fn scenario(&self, study: &str) -> Scenario {
        let mut plan = self.plan(study, &[]).expect("a good study");
        plan.scenarios.swap_remove(0).scenario
    }

    fn id(&self, study: &str) -> String {
        self.plan(study, &[]).expect("a good study").runs[0]
            .run
            .id
            .clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const FOO: &str = "[[flow]]\ncc = \"./tcp_foo.c\"\n";

#[test]
fn a_scenario_carries_the_file_and_what_it_includes_and_not_where_they_are() {
    let folder = Folder::new("carries");
    folder.module("tcp_foo.c", "foo");
    let scenario = folder.scenario(&format!("{FOO}count = 2\ncc_params = {{ beta = 819 }}\n"));
    assert_eq!(scenario.flows[0].cc, "foo");
    assert_eq!(scenario.flows[1].cc_params["beta"], 819.0);
    let [file] = scenario.variant_files.as_slice() else {
        panic!("{} files", scenario.variant_files.len());
    };
    assert_eq!((file.label.as_str(), file.language), ("foo", Language::C));
    assert_eq!(file.file, "tcp_foo.c");
    let names: Vec<&String> = file.texts.keys().collect();
    assert_eq!(names, ["foo.h", "tcp_foo.c"]);
    let json = serde_json::to_string(&scenario).expect("JSON");
    let place = folder.0.display().to_string();
    assert!(!json.contains(&place), "{place}");
    assert_eq!(serde_json::from_str::<Scenario>(&json).ok(), Some(scenario));
}

#[test]
fn the_content_names_the_run_and_the_place_does_not() {
    let (here, there) = (Folder::new("here"), Folder::new("there"));
    here.module("tcp_foo.c", "foo");
    there.module("deep/tcp_foo.c", "foo");
    let deep = FOO.replace("./", "deep/");
    assert_eq!(here.id(FOO), there.id(&deep));
    let absolute = FOO.replace("./", &format!("{}/", here.0.display()));
    assert_eq!(here.id(FOO), here.id(&absolute));
    let before = here.id(FOO);
    here.write("foo.h", "#define BETA 718\n");
    assert_ne!(before, here.id(FOO));
    here.module("tcp_foo.c", "foo");
    assert_eq!(before, here.id(FOO));
    // What no flow has is in no scenario.
    here.module("other.c", "other");
    let other = format!("{FOO}[[flow]]\ncount = 0\ncc = \"./other.c\"\n");
    assert_eq!(before, here.id(&other));
}

#[test]
fn a_label_is_the_files_own_name_unless_that_is_taken() {
    let folder = Folder::new("labels");
    folder.module("tcp_foo.c", "foo");
    folder.module("b/tcp_foo.c", "foo");
    folder.write("b/foo.h", "#define BETA 1\n");
    folder.module("cubic.c", "cubic");
    folder.module("own.c", "own");
    folder.write(
        "mine.py",
        "class Mine(Base):\n    pass\n\nclass Cubic:\n    pass\n",
    );
    folder.write("file.rs", RUST);
    let paths = [
        "./tcp_foo.c",
        "b/tcp_foo.c",
        "cubic.c",
        "./own.c",
        "./mine.py:Mine",
        "./file.rs",
        "reno",
    ];
    let swept = format!("[[flow]]\nname = \"a\"\n[sweep]\n\"flow.a.cc\" = {paths:?}\n");
    let plan = folder.plan(&swept, &[]).expect("a good study");
    let points = plan.scenarios.iter().map(|point| &point.scenario);
    let labels: Vec<&str> = points.map(|scenario| &*scenario.flows[0].cc).collect();
    let expected = [
        "./tcp_foo.c",
        "b/tcp_foo.c",
        "cubic.c",
        "own",
        "Mine",
        "quick",
        "reno",
    ];
    assert_eq!(labels, expected);
    let files = plan.scenarios[6].scenario.variant_files.len();
    assert_eq!(files, 0);
    // From the root of the file system a path names its file alone.
    let absolute = format!("{}/cubic.c", folder.0.display());
    let scenario = folder.scenario(&format!("[[flow]]\ncc = \"{absolute}\"\n"));
    let file = &scenario.variant_files[0];
    assert_eq!(file.label, format!("cubic.c@{}", &file.sha256[..8]));
    // One file by two names is one file.
    let twice = folder.scenario("[[flow]]\ncc = \"./own.c\"\n[[flow]]\ncc = \"own.c\"\n");
    assert_eq!((&*twice.flows[0].cc, &*twice.flows[1].cc), ("own", "own"));
    assert_eq!(twice.variant_files.len(), 1);
}

#[test]
fn the_command_line_and_cross_traffic_name_files_too() {
    let folder = Folder::new("elsewhere");
    folder.module("tcp_foo.c", "foo");
    let set = folder.plan("[[flow]]\nname = \"a\"\n", &["flow.a.cc=./tcp_foo.c"]);
    assert_eq!(
        set.expect("a plan").scenarios[0].scenario.flows[0].cc,
        "foo"
    );
    let traffic = "[[flow]]\n[[traffic]]\nkind = \"poisson\"\nload = 0.1\ntransfer = \"9kB\"\n\
        cc = \"./tcp_foo.c\"\n";
    let scenario = folder.scenario(traffic);
    assert_eq!(scenario.traffic[0].cc.as_deref(), Some("foo"));
    assert_eq!(scenario.variant_files.len(), 1);
}

#[test]
fn what_a_python_file_imports_from_beside_it_belongs_to_it() {
    let folder = Folder::new("python");
    folder.write(
        "mine.py",
        "import math\nfrom window import Window\nimport deep.inner\nclass Mine:\n    pass\n",
    );
    folder.write("window.py", "import mine\n");
    folder.write("deep/__init__.py", "");
    folder.write("deep/inner.py", "x = 1\n");
    folder.write("other.py", "");
    let scenario = folder.scenario("[[flow]]\ncc = \"./mine.py:Mine\"\n");
    let names: Vec<&String> = scenario.variant_files[0].texts.keys().collect();
    assert_eq!(
        names,
        ["deep/__init__.py", "deep/inner.py", "mine.py", "window.py"]
    );
}

#[test]
fn bad_files_are_told_at_the_studys_key() {
    let folder = Folder::new("bad");
    folder.module("tcp_foo.c", "foo");
    folder.write("none.c", "int x;\n");
    let two = MODULE.replace("NAME", "one") + &MODULE.replace("NAME", "two").replace("foo", "bar");
    folder.write("two.c", &two);
    folder.write("long.c", &MODULE.replace("NAME", "longer_than_fifteen"));
    folder.write("outside/in.c", &MODULE.replace("foo.h", "../foo.h"));
    folder.write("mine.py", "class Mine:\n    pass\n");
    folder.write("none.rs", "fn main() {}\n");
    folder.write("named.rs", &RUST.replace("quick", "a b"));
    fs::create_dir(folder.0.join("folder.c")).expect("a folder");
    fs::write(folder.0.join("binary.c"), [0xff, 0xfe]).expect("a file");
    let cases = [
        (
            "./tcp_fooo.c",
            "the variant \"./tcp_fooo.c\" cannot be read: there is no such file; did you mean \
             tcp_foo.c? A path starts at the folder of the study file",
        ),
        (
            "./folder.c",
            "the variant \"./folder.c\" is a folder; a variant's file is a C module (.c), a class \
             of a Python file (.py:Class) or a Rust file (.rs)",
        ),
        (
            "./tcp_foo.cc",
            "the variant \"./tcp_foo.cc\" has no ending that is known; a variant's file is a C \
             module (.c), a class of a Python file (.py:Class) or a Rust file (.rs)",
        ),
        (
            "./none.c",
            "the C file \"./none.c\" registers no congestion control; it defines a struct \
             tcp_congestion_ops with a `.name`, and hands its address to \
             tcp_register_congestion_control",
        ),
        (
            "./two.c",
            "the C file \"./two.c\" registers 2 congestion controls; a study knows a file by the \
             one that it registers: write a file for each",
        ),
        (
            "./long.c",
            "the C file \"./long.c\" registers \"longer_than_fifteen\", which cannot be a name; it \
             has 1 to 15 letters, digits, `-`, `_`, `.` and `+`",
        ),
        (
            "outside/in.c",
            "the variant \"outside/in.c\" cannot be read: in.c includes \"../foo.h\", which is \
             outside the folder of the file",
        ),
        (
            "./binary.c",
            "the variant \"./binary.c\" cannot be read: it is not text in UTF-8",
        ),
        (
            "./mine.py",
            "the Python file \"./mine.py\" is named without its class; write \"./mine.py:Mine\"",
        ),
        (
            "./mine.py:Mien",
            "unknown class of \"./mine.py\" `Mien`; did you mean `Mine`?",
        ),
        (
            "./none.rs",
            "the Rust file \"./none.rs\" declares no variant; it says cclab::variant! { name: \
             \"mine\", start: Mine::new }, the name first",
        ),
        (
            "./named.rs",
            "the Rust file \"./named.rs\" declares \"a b\", which cannot be a name; it has 1 to 15 \
             letters, digits, `-`, `_`, `.` and `+`",
        ),
    ];
    for (path, message) in cases {
        let error = folder.plan(&format!("[[flow]]\ncc = \"{path}\"\n"), &[]);
        assert_eq!(error.err(), Some(format!("study.toml:7:6: {message}")));
    }
    let params = [
        (
            "betta = 1",
            "8:15: unknown parameter of foo `betta`; did you mean `beta`?",
        ),
        (
            "beta = 0.5",
            "8:15: beta = 0.5 of foo; its module_param is of type int: a whole number from \
             -2147483648 to 2147483647",
        ),
        (
            "fast = 2",
            "8:15: fast = 2 of foo; its module_param is of type bool: true or false",
        ),
    ];
    for (given, message) in params {
        let study = format!("{FOO}cc_params = {{ {given} }}\n");
        let error = folder.plan(&study, &[]);
        assert_eq!(error.err(), Some(format!("study.toml:{message}")));
    }
}
