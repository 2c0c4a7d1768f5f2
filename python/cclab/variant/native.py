"""Compiled classes: their hooks as functions of C, where numba is installed.

What numba is told of them is in `cclab.variant.jit`; here is what is compiled, for which state, and
where it is kept. Without numba a compiled class runs as any class does, to the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import os
import pickle
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import _core, whole
from cclab.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cclab.variant import jit

_OWN = Path(__file__).parent
_LONG = 8
"""Bytes of a number of the class's own."""
_WORDS = 625
"""Of the state of `random.Random`."""


class CompileError(Exception):
    """Numba cannot compile a class: the message says where, and why."""


class PlacedError(Exception):
    """What compiled code raised at a place in a file."""

    def __init__(self, file: str, line: int, error: BaseException | None) -> None:
        """`error` was raised at `line` of `file`."""
        super().__init__(file, line, error)
        self.file, self.line, self.error = file, line, error


def missing() -> str | None:
    """Why classes are not compiled here, if they are not."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "NUMBA_DISABLE_JIT is set"
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed (pip install 'cclab[numba]')"
    return None


class Native:
    """The hooks of a class, compiled for the state that its objects have."""

    def __init__(self, cls: type[Variant], hooks: Sequence[str], texts: Mapping[str, str]) -> None:
        """Not compiled yet: the first object shows for which state. `texts` are users' files."""
        self._cls = cls
        self._hooks = {hook: inspect.getattr_static(cls, hook) for hook in hooks}
        self._texts = texts
        self._files = sorted(texts)
        self._shape: tuple[Any, ...] | None = None
        self._fields: list[jit.Field] = []
        self._made: dict[str, tuple[str, Any]] = {}
        self._addresses: dict[str, int] = {}

    def start(self, flow: Variant) -> tuple[int, dict[str, int], object]:
        """The address of a record of `flow`, those of the hooks, and what both live in.

        Raises `CompileError`, and `TypeError` if the state is of another kind than that of the
        first object.
        """
        state = dict(_state(flow))
        shape = tuple((name, _kind(value)) for name, value in state.items())
        if self._shape is None:
            self._compile(state)
            self._shape = shape
        elif shape != self._shape:
            differing = next(iter(set(shape) ^ set(self._shape)))
            raise TypeError(
                f"self.{differing[0]} is not of the same kind in each flow: what is compiled has "
                "attributes of one kind"
            )
        return self._record(flow, state)

    def failed(self, place: tuple[int, int], error: BaseException | None) -> PlacedError:
        """What to raise as `error` came out of compiled code at `place`."""
        index, line = place
        file = self._files[index] if index < len(self._files) else self._files[0]
        return PlacedError(file, line, error)

    def _record(
        self, flow: Variant, state: Mapping[str, Any]
    ) -> tuple[int, dict[str, int], object]:
        size, _ = _core.layouts()["Window"]
        record: Any = np.zeros((size + _LONG * (len(state) + 1)) // _LONG, np.uint64)
        kept: list[Any] = [self, flow, record]
        for field in self._fields:
            if field.kind == "dice":
                words = np.array(flow.random.getstate()[1], np.uint32)
                kept.append(words)
                value: Any = words.ctypes.data
            elif field.kind == "array":
                value = state[field.name].ctypes.data
            elif field.kind == "own":
                value = state[field.name]
            else:
                continue
            form = "<d" if field.kind == "own" and field.number == "float64" else "<q"
            try:
                struct.pack_into(form, record, field.offset, value)
            except struct.error:
                raise OverflowError(f"self.{field.name} = {value} has more than 64 bits") from None
        return record.ctypes.data, self._addresses, kept

    def _compile(self, state: Mapping[str, Any]) -> None:
        # Numba takes half a second to load: for classes that are compiled alone.
        try:
            from cclab.variant import jit
        except ImportError as error:
            raise CompileError(
                f"numba cannot be used ({error}): NUMBA_DISABLE_JIT=1 runs the class without"
            ) from error
        reach = _Reach(self._cls, self._hooks, self._texts)
        size, _ = _core.layouts()["Window"]
        public = set(dir(Variant))
        fields = [
            field if field.name in public else _renamed(field) for field in jit.told("Window")
        ]
        kinds = {name: _kind(value) for name, value in state.items()}
        own = [(name, kind) for name, kind in kinds.items() if not isinstance(kind, str)]
        for place, (name, (kind, number, length)) in enumerate(own):
            offset = size + _LONG * place
            fields.append(jit.Field(name, kind, offset, number=number, length=length))
        if "random" in reach.names:
            fields.append(jit.Field("random", "dice", size + _LONG * len(own)))
        self._fields = fields
        key = self._key(fields, reach, jit)
        made = None if key is None else _kept(key)
        if made is None:
            made = self._compiled(fields, kinds, reach, jit)
            if key is not None:
                _keep(key, jit.kept(made))
        else:
            made = jit.loaded(made)
        self._made = made
        self._addresses = jit.addresses(made)

    def _compiled(
        self, fields: list[jit.Field], kinds: Mapping[str, Any], reach: _Reach, jit: Any
    ) -> dict[str, tuple[str, Any]]:
        from numba.core import errors

        # A type of its own: its methods are this class's.
        flow = jit.own_type("self", fields)
        flow.others = {
            name: f"self.{name} is {why}" for name, why in kinds.items() if isinstance(why, str)
        }
        flow.methods = frozenset(reach.methods)
        for name, function in reach.methods.items():
            jit.method(flow, name, function)
        try:
            compiled: dict[str, tuple[str, Any]] = jit.compiled(
                flow, self._hooks, reach.functions, self._files
            )
        except errors.NumbaError as error:
            raise CompileError(self._said(error)) from None
        return compiled

    def _said(self, error: Any) -> str:
        """What numba says innermost, at the first place there in a file of users'."""
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        inner = text[text.rfind(_FAILED) :] if _FAILED in text else f"\n{text}"
        places = [(a or c, b or d) for a, b, c, d in _PLACE.findall(inner)]
        own = [f"{file}:{line}" for file, line in places if file in self._texts]
        lines = [line.strip() for line in inner.splitlines()[1:]]
        lines = [line for line in lines if line and not line.startswith("- Resol")] or [text]
        said = lines[0]
        if said.startswith("No implementation"):
            called = [line[4:] for line in lines if line.startswith(">>> ")]
            said = f"it has no {called[0]}" if called else said
        place = own[0] if own else self._files[0]
        return f"{place}: numba cannot compile {self._cls.__name__}: {said}"

    def _key(self, fields: list[jit.Field], reach: _Reach, jit: Any) -> str | None:
        """What names the compiled code: all that it is made of. None: not all of it is known."""
        if not reach.is_known:
            return None
        import llvmlite
        import numba

        cpu = jit.llvmlite.binding
        made_of = (
            numba.__version__,
            llvmlite.__version__,
            sys.version,
            cpu.get_host_cpu_name(),
            cpu.get_host_cpu_features().flatten(),
            [(_OWN / f"{name}.py").read_bytes() for name in ("__init__", "jit", "native")],
            _core.layouts(),
            self._cls.__qualname__,
            sorted(self._hooks),
            fields,
            sorted(self._texts.items()),
            sorted(reach.constants),
        )
        return hashlib.sha256(repr(made_of).encode()).hexdigest()


_FAILED = "Failed in "
"""How numba begins on each level of what it compiles."""

_PLACE = re.compile(r'File "([^"]+)", line (\d+)|\bat (\S+) \((\d+)\)')


def _renamed(field: jit.Field) -> jit.Field:
    """A `field` of the core's own, which no class can name."""
    return replace(field, name=f"${field.name}")


def _state(flow: Variant) -> Iterator[tuple[str, Any]]:
    """The attributes of `flow`, its class's included, that its hooks may name, by name."""
    cls = type(flow)
    of_class = {name for name in dir(cls) if not name.startswith("__")}
    for name in sorted(of_class | set(vars(flow))):
        value = inspect.getattr_static(flow, name)
        if name in vars(flow) or not (callable(value) or hasattr(type(value), "__get__")):
            yield name, value


def _kind(value: Any) -> Any:
    """How compiled code keeps `value`: as which of `jit.Field`'s kinds, number and length; or why
    it cannot."""
    if isinstance(value, bool | np.bool_):
        return "own", "bool", 0
    if isinstance(value, int | np.integer):
        return "own", "int64", 0
    if isinstance(value, float | np.floating):
        return "own", "float64", 0
    able = "compiled code has numbers, True and False, and NumPy arrays of them in one dimension"
    if isinstance(value, np.ndarray):
        named = value.dtype.name
        if value.ndim == 1 and value.flags.c_contiguous and named in ("float64", "int64", "bool"):
            return "array", named, len(value)
        return f"an array of {named} in {value.ndim} dimensions: {able}"
    what = "None" if value is None else f"a {type(value).__name__}"
    return f"{what}: {able}" + ("; math.nan says that there is none" if value is None else "")


_PRINTED = (bool, int, float, str, tuple, BuiltinFunctionType, np.ufunc)
"""What is the same where it is printed the same."""


class _Reach:
    """What hooks of a class come to: the functions of users' files, methods, and constants."""

    def __init__(
        self, cls: type[Variant], hooks: Mapping[str, Any], texts: Mapping[str, str]
    ) -> None:
        """Looks at `hooks`, and at what they call."""
        self._cls = cls
        self._texts = texts
        self.names: set[str] = set()
        """Attributes and names."""
        self.functions: list[Any] = []
        self.methods: dict[str, Any] = {}
        self.constants: set[tuple[str, str]] = set()
        self.is_known = True
        """Whether compiled code is made of nothing else."""
        for hook in hooks.values():
            self._look(hook)

    def _look(self, function: Any) -> None:
        names = set(_names(function.__code__))
        self.names |= names
        space = {**function.__globals__, **_free(function)}
        for name in sorted(names | set(function.__code__.co_freevars)):
            if name in space:
                self._reach(name, space[name], names)
            method = inspect.getattr_static(self._cls, name, None)
            if isinstance(method, FunctionType) and name not in self.methods:
                self.methods[name] = method
                self._look(method)

    def _reach(self, name: str, value: Any, names: set[str]) -> None:
        if isinstance(value, FunctionType):
            if self._is_users(value) and value not in self.functions:
                self.functions.append(value)
                self._look(value)
            elif not self._is_users(value):
                self.is_known = False
        elif isinstance(value, ModuleType):
            if getattr(value.__spec__, "origin", None) in self._texts:
                for inner in sorted(names & set(vars(value))):
                    self._reach(inner, vars(value)[inner], names)
        elif isinstance(value, np.ndarray):
            self.constants.add((name, f"{value.dtype} {value.shape} {value.tobytes().hex()}"))
        elif value is None or isinstance(value, _PRINTED):
            self.constants.add((name, repr(value)))
        elif not isinstance(value, type):
            self.is_known = False

    def _is_users(self, function: FunctionType) -> bool:
        return function.__code__.co_filename in self._texts


def _names(code: Any) -> Iterator[str]:
    """What `code` names, that of functions within it included."""
    yield from code.co_names
    for const in code.co_consts:
        if inspect.iscode(const):
            yield from _names(const)


def _free(function: FunctionType) -> dict[str, Any]:
    """The variables of outer functions that `function` uses."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if name != "__class__"}


_KEPT = 200
"""Compiled classes that stay: those used last."""


def _folder() -> Path | None:
    """Where compiled classes are kept; None: there is no place for them."""
    for name, below in (("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
        given = Path(os.environ.get(name, ""))
        # The specification has relative paths ignored.
        if given.is_absolute():
            return given / below / "cclab" / "python"
    return None


def _kept(key: str) -> dict[str, tuple[str, Any]] | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        with (folder / key).open("rb") as file:
            made: dict[str, tuple[str, Any]] = pickle.load(file)
    except (OSError, EOFError, pickle.UnpicklingError, ValueError):
        return None
    # Where that is not allowed, others do not forget either.
    with contextlib.suppress(OSError):
        os.utime(folder / key)
    return made


def _keep(key: str, made: Mapping[str, tuple[str, Any]]) -> None:
    """Keeps it, if that can be: it is compiled again otherwise."""
    folder = _folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        whole.file(folder / key, pickle.dumps(made))
        files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        for oldest in files[:-_KEPT]:
            oldest.unlink(missing_ok=True)
