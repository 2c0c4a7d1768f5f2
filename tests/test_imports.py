"""What modules load, and where they say so."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cclab.late import late
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = ROOT / "python/cclab"

OPTIONAL = {
    "cclab.execute.cluster": "distributed",
    "cclab.variant.jit": "numba",
    "dask": "distributed",
    "distributed": "distributed",
    "llvmlite": "numba",
    "numba": "numba",
    "numba.core.errors": "numba",
}
"""Modules that not everyone can load, each with what it needs: functions import them."""


def imported(tree: ast.AST, *, within: bool = False) -> Iterator[str]:
    """The modules, and names of modules, that functions of `tree` import."""
    for node in ast.iter_child_nodes(tree):
        if within and isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif within and isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imported(node, within=within or is_function)


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE))
)
def test_functions_import_what_is_optional_alone(file: Path) -> None:
    found = set(imported(ast.parse(file.read_text(encoding="utf-8"))))
    wrong = {name for name in found if not any(f"{name}.".startswith(f"{o}.") for o in OPTIONAL)}
    assert not wrong, "at the top of the file, or by `late`"


def test_what_is_late_loads_at_its_first_use() -> None:
    program = (
        "import sys; from cclab.late import late; fractions = late('fractions')\n"
        "assert 'fractions' not in sys.modules\n"
        "assert fractions.Fraction(2, 4).denominator == 2\n"
        "assert 'fractions' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_late_is_the_module_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    colors = late("cclab.drawing.palette")
    monkeypatch.setattr("cclab.drawing.palette.MADE_UP", 1, raising=False)
    assert colors.MADE_UP == 1
    monkeypatch.undo()
    # To ask is what fails: the values are of no use.
    with pytest.raises(AttributeError, match="MADE_UP"):
        colors.MADE_UP  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="nothing_is_called_so"):
        late("nothing_is_called_so").anything  # noqa: B018


@pytest.mark.parametrize("command", ["--help", "list variants", "store --help"])
def test_a_command_loads_no_library_that_it_does_not_use(command: str) -> None:
    heavy = ("distributed", "gymnasium", "jinja2", "matplotlib", "numba", "polars", "scipy")
    program = (
        "import sys; from cclab.cli.main import invoke; assert invoke(sys.argv[1:]) == 0\n"
        f"print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)"
    )
    ran = [sys.executable, "-c", program, *command.split()]
    done = subprocess.run(ran, check=True, capture_output=True, text=True)
    assert done.stderr.split() == []


def test_the_command_alone_says_how_garbage_is_searched_for() -> None:
    program = (
        "import gc, sys; before = gc.get_threshold(), gc.get_freeze_count()\n"
        "import cclab.cli.main as commands\n"
        "import cclab; cclab.Study.load(sys.argv[1])\n"
        "assert (gc.get_threshold(), gc.get_freeze_count()) == before\n"
        "commands.main = lambda: print(gc.get_threshold()[0] > before[0][0])\n"
        "from cclab.__main__ import main; main()"
    )
    study = ROOT / "examples/quickstart.toml"
    ran = [sys.executable, "-c", program, str(study)]
    assert subprocess.run(ran, check=True, capture_output=True, text=True).stdout == "True\n"
