"""The wheels, as somebody has them who has neither a compiler nor Rust: pip, and the first figure
from the simulator and from the kernel."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sharing import shared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]

QUICKSTART = (ROOT / "examples" / "quickstart.toml").read_text()


@pytest.fixture(scope="session")
def wheels(shared_place: Path) -> Iterator[dict[str, Path]]:
    """The wheels by their names: Rust as the tests have it, which is built already."""

    with shared(shared_place / "wheels", _build) as out:
        yield {wheel.name.partition("-")[0]: wheel for wheel in out.glob("*.whl")}


def _build(out: Path) -> None:
    build = [sys.executable, str(ROOT / "wheels" / "build.py"), "--profile", "checked"]
    subprocess.run([*build, "--out", str(out)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def bare(wheels: dict[str, Path], shared_place: Path) -> Iterator[Path]:
    """A folder of programs in which cclab is installed, and no others; it is half a gigabyte."""

    def make(home: Path) -> None:
        programs = home / "venv" / "bin"
        venv.create(programs.parent, with_pip=True)
        # The versions that everything else is tested with.
        listed = [sys.executable, "-c", "import locked; print(locked.constraints())"]
        constraints = home / "constraints.txt"
        constraints.write_bytes(subprocess.check_output(listed, cwd=ROOT / "wheels"))
        install = ["pip", "install", "--quiet", "--constraint", str(constraints)]
        _run([*install, *map(str, wheels.values())], programs, home)

    with shared(shared_place / "bare", make) as home:
        yield home / "venv" / "bin"


def _run(command: Sequence[str], programs: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command that finds no programs but those; its home is empty."""
    settings = ("HTTP", "HTTPS", "NO", "ALL")
    passed_on = {
        k: v for k, v in os.environ.items() if k.upper().removesuffix("_PROXY") in settings
    }
    passed_on |= {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_"))}
    environment = {**passed_on, "PATH": str(programs), "HOME": str(home), "TMPDIR": str(home)}
    words = [str(programs / command[0]), *command[1:]]
    ended = subprocess.run(words, env=environment, cwd=home, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended


def test_the_wheel_of_kernels_offers_their_sources(wheels: dict[str, Path]) -> None:
    with zipfile.ZipFile(wheels["cclab_kernel"]) as wheel:
        files = wheel.namelist()
        kernels = {name.split("/")[2] for name in files if name.startswith("cclab_kernel/kernels/")}
        for name in ("6.1", "6.12"):
            sources = [f for f in files if f.startswith(f"cclab_kernel/sources/{name}/")]
            assert sum(f.endswith(".patch") for f in sources) >= 10
            told = wheel.read(f"cclab_kernel/sources/{name}/SOURCE.txt").decode()
            assert f"linux-source-{name}.tar.xz" in told
            assert any(f"kernels/{key}/config" in told for key in kernels)
        (licence,) = (f for f in files if f.endswith("/COPYING"))
        assert b"GNU GENERAL PUBLIC LICENSE" in wheel.read(licence)
        programs = [f for f in files if f.endswith("/linux")]
        assert len(programs) == 2
        # pip makes those executable that are so in the wheel.
        assert all((wheel.getinfo(f).external_attr >> 16) & 0o111 == 0o111 for f in programs)
        # Nothing tells where it was built.
        tell = b"".join(wheel.read(f) for f in files)
        assert str(Path.home()).encode() + b"/" not in tell
        assert str(ROOT).encode() not in tell


def test_the_bill_of_materials_of_kernels_is_of_those_in_the_wheel(wheels: dict[str, Path]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "wheels")
        sbom = importlib.import_module("sbom")
        document = json.loads(sbom.of_kernels({"SOURCE_DATE_EPOCH": "0"}))
    with zipfile.ZipFile(wheels["cclab_kernel"]) as wheel:
        texts = [wheel.read(f).decode() for f in wheel.namelist() if f.endswith("/SOURCE.txt")]
        programs = [wheel.read(f) for f in wheel.namelist() if f.endswith("/linux")]
    assert len(document["components"]) == len(texts) == 2
    for component in document["components"]:
        (told,) = (text for text in texts if text.startswith(f"Linux {component['version']}\n"))
        (tarball,) = component["externalReferences"]
        assert f"SHA-256 of the tarball: {tarball['hashes'][0]['content']}\n" in told
        assert tarball["comment"].replace("of the", "of Debian's") in told
    digests = {component["hashes"][0]["content"] for component in document["components"]}
    assert digests == {hashlib.sha256(program).hexdigest() for program in programs}


def test_wheels_have_the_size_that_one_downloads_in_a_moment(wheels: dict[str, Path]) -> None:
    assert wheels["cclab_kernel"].stat().st_size < 12e6
    assert wheels["cclab"].stat().st_size < 40e6


def test_what_is_packed_twice_has_the_same_bytes(wheels: dict[str, Path], tmp_path: Path) -> None:
    _build(tmp_path)
    again = {wheel.name: wheel.read_bytes() for wheel in tmp_path.glob("*.whl")}
    assert again == {wheel.name: wheel.read_bytes() for wheel in wheels.values()}


@pytest.mark.parametrize("backend", ["sim", "linux"])
def test_who_has_pip_alone_has_figures(bare: Path, backend: str) -> None:
    home = bare.parent.parent
    study = home / f"{backend}.toml"
    study.write_text(QUICKSTART.replace('duration = "60s"', 'duration = "10s"'))
    words = ["cclab", "run", f"{backend}.toml", "--backend", backend, "--repeat", "2"]
    _run([*words, "--out", backend], bare, home)
    report = home / backend / "report"
    assert (report / "index.html").is_file()
    assert len([*report.glob("*.svg")]) >= 2
    # It is what was installed, and not the checkout, that ran.
    told = _run(["cclab", "kernel", "path"], bare, home).stdout
    assert told.startswith(str(bare.parent))


def test_who_has_pip_alone_has_the_labs(bare: Path) -> None:
    home = bare.parent.parent
    _run(["cclab", "new", "labs"], bare, home)
    there = {lab.name: lab.read_bytes() for lab in (ROOT / "labs").glob("*.ipynb")}
    assert {lab.name: lab.read_bytes() for lab in (home / "labs").iterdir()} == there


def test_the_version_tells_what_it_was_built_from(bare: Path) -> None:
    told = _run(["cclab", "--version"], bare, bare.parent).stdout
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    assert f"(built from {commit}" in told


def test_the_wheel_brings_its_manual_page_and_what_shells_load(bare: Path) -> None:
    share = bare.parent / "share"
    page = (share / "man" / "man1" / "cclab.1").read_text()
    assert page.startswith(".TH CCLAB 1 ")
    # `man` looks beside the programs on the path.
    searched = {**os.environ, "PATH": f"{bare}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    searched.pop("MANPATH", None)
    where = subprocess.run(
        ["man", "--path", "cclab"], env=searched, capture_output=True, text=True, check=True
    )
    assert Path(where.stdout.strip()) == share / "man" / "man1" / "cclab.1"
    loaded = share / "bash-completion" / "completions" / "cclab"
    script = f"source {loaded}; complete -p cclab"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=searched, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith(" cclab\n")
    assert (share / "zsh/site-functions/_cclab").read_text().startswith("#compdef cclab\n")
    assert (share / "fish/vendor_completions.d/cclab.fish").is_file()


def test_the_texts_in_the_wheel_name_no_folder_that_it_was_built_in(
    wheels: dict[str, Path],
) -> None:
    with zipfile.ZipFile(wheels["cclab"]) as wheel:
        # Programs are of the profile that tests have, which keeps paths for messages.
        texts = [f for f in wheel.namelist() if not f.endswith((".so", "/cclab-agent"))]
        assert len(texts) > 200
        named = [f for f in texts if str(ROOT).encode() in wheel.read(f)]
    assert named == []
