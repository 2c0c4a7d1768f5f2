"""Classes of variants' files, imported from the texts that a scenario carries."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import linecache
import sys
import traceback
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from cclab.variant import HOOKS, Variant, checks, native

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from cclab.documents.scenario import Scenario


class FileError(Exception):
    """What is wrong with a file: the message says where, and what would be right."""


class StuckError(BaseException):
    """Code of a file did not come back. No `except Exception` of its own catches it."""


@dataclass(frozen=True)
class Class:
    """A class of a file with the parameters of some flows, as the simulator takes it."""

    label: str
    """What flows call it."""
    params: dict[str, float]
    """Their `cc_params`."""
    cls: type[Variant]
    arguments: dict[str, Any]
    """What `__init__` gets of the parameters."""
    hooks: list[str]
    """The hooks that it defines."""
    own_recovery: bool
    needs_ecn: bool
    traced: list[str]
    """The attributes that traces tell."""
    native: native.Native | None
    """What compiles the hooks, if they are to be."""


@dataclass(frozen=True)
class Parameter:
    """An argument of a class's `__init__`."""

    name: str
    default: Any
    """`inspect.Parameter.empty`: it has to be given."""


class Files:
    """The Python files of a scenario."""

    def __init__(self) -> None:
        """None yet."""
        self._texts: dict[str, str] = {}
        self._classes: dict[str, type[Variant]] = {}

    def load(self, file: Mapping[str, Any]) -> type[Variant]:
        """The class of `file`, one of the `variant_files` of a scenario.

        Raises `FileError` if it cannot be imported or is no variant.
        """
        label = file["label"]
        if label not in self._classes:
            self._take(file["file"], file["texts"])
            with self.telling(file["file"], f"import {file['name']}"):
                module = _imported(file["file"], file["texts"])
                self._classes[label] = _variant(file, getattr(module, file["name"], None))
        return self._classes[label]

    def with_params(
        self, file: Mapping[str, Any], params: Mapping[str, float], *, tells: bool = False
    ) -> Class:
        """The class of `file` with the `params` of a flow. Raises `FileError` as `load`, and if it
        does not take them.

        A class that `tells` traces of its objects runs as Python, to the same bytes.
        """
        cls = self.load(file)
        defined = [hook for hook in HOOKS if _defines(cls, hook)]
        compiled = None
        traced = list(cls.traced) if tells else []
        if getattr(cls, "_is_compiled", False) and not traced and native.missing() is None:
            asked = [*defined, *(["on_congestion"] if "on_congestion" not in defined else [])]
            compiled = native.Native(cls, asked, self._texts)
        return Class(
            file["label"],
            dict(params),
            cls,
            _arguments(file, cls, params),
            defined,
            bool(cls.own_recovery),
            bool(cls.needs_ecn),
            traced,
            compiled,
        )

    def tried(self, scenario: Scenario) -> None:
        """Makes an object of each class of `scenario`, and has its hooks compiled if they are to
        be. Raises `FileError` if that cannot be done."""
        files = {file["label"]: file["file"] for file in scenario.get("variant_files", [])}
        for made in self.of_flows(scenario):
            with self.telling(files[made.label], "__init__"):
                flow = made.cls.__new__(made.cls)
                flow.__init__(**made.arguments)  # type: ignore[misc]
                if made.native is not None:
                    made.native.start(flow)

    def of_flows(self, scenario: Scenario) -> list[Class]:
        """The classes of the flows and the cross traffic of `scenario`, each once for each set of
        parameters."""
        classes: list[Class] = []
        tells = "state" in scenario["trace"]["events"]
        files = {file["label"]: file for file in scenario.get("variant_files", [])}
        for user in [*scenario["flows"], *scenario.get("traffic", [])]:
            file = files.get(user.get("cc", ""))
            if file is None or file["language"] != "python":
                continue
            params = user.get("cc_params", {})
            if not any((made.label, made.params) == (file["label"], params) for made in classes):
                classes.append(self.with_params(file, params, tells=tells))
        return classes

    @contextlib.contextmanager
    def telling(self, file: str, what: str) -> Iterator[None]:
        """What the code of `file` raises is told as a `FileError` that says where it was raised."""
        try:
            yield
        except FileError:
            raise
        except BaseException as error:
            raise FileError(self.told(file, what, error)) from error

    def told(self, file: str, what: str, error: BaseException) -> str:
        """What to say of `error`, which code of `file` raised at `what`: where first of all."""
        if isinstance(error, native.CompileError):
            return str(error)
        place = None
        if isinstance(error, native.PlacedError):
            place, error = f"{error.file}:{error.line}", error.error or error
        if isinstance(error, SyntaxError) and error.filename in self._texts:
            return f"{error.filename}:{error.lineno}:{error.offset}: {error.msg}"
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename in self._texts]
        if place is None:
            place = _place(own[-1]) if own else self._where(file, what)
        said = str(error).strip() + checks.meant(error)
        kind = type(error).__name__
        why = said if isinstance(error, StuckError) else f"{kind}: {said}" if said else kind
        return f"{place}: {what}: {why}"

    def _where(self, file: str, hook: str) -> str:
        """Where the hook of a class of `file` begins, if that is what it is."""
        places = {checks.place(file, getattr(cls, hook, None)) for cls in self._classes.values()}
        (only,) = places if len(places) == 1 else (file,)
        return only if only.startswith(f"{file}:") else file

    def _take(self, file: str, texts: Mapping[str, str]) -> None:
        """The modules of `texts` can be imported from now on.

        Raises `FileError` if one would hide another.
        """
        for path, text in texts.items():
            name = _module_of(path)
            if path != file and name.partition(".")[0] in sys.stdlib_module_names:
                raise FileError(
                    f"{path}: Python itself has a module {name}: give the file another name"
                )
            if self._texts.get(path, text) != text:
                raise FileError(
                    f"{path}: two of the study's files bring one of this name, with different "
                    "texts: give one another name"
                )
            self._texts[path] = text
            # What a traceback shows, and `inspect.getsource`.
            linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder(self._texts))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that have a text."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module `name`, if it has a text."""
        del path, target
        stem = name.replace(".", "/")
        for file, package in ((f"{stem}/__init__.py", True), (f"{stem}.py", False)):
            if file in self._texts:
                return _spec(name, file, self._texts[file], package)
        return None


class _Loader(importlib.abc.InspectLoader):
    """Loads a module of its text."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text

    def get_source(self, fullname: str) -> str:
        """Its text."""
        del fullname
        return self._text

    def exec_module(self, module: ModuleType) -> None:
        """Runs its code."""
        # An editor's mark of UTF-8 is no part of the text.
        code = compile(self._text.removeprefix("\ufeff"), self._file, "exec", dont_inherit=True)
        exec(code, module.__dict__)


def _place(frame: traceback.FrameSummary) -> str:
    column = getattr(frame, "colno", None)
    at = f"{frame.filename}:{frame.lineno}"
    return at if column is None else f"{at}:{column + 1}"


def _spec(name: str, file: str, text: str, package: bool) -> importlib.machinery.ModuleSpec | None:
    spec = importlib.util.spec_from_loader(
        name, _Loader(file, text), origin=file, is_package=package
    )
    if spec is not None:
        spec.has_location = True
    return spec


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(file: str, texts: Mapping[str, str]) -> ModuleType:
    """The module of `file`, as its own name unless that is taken."""
    name = _module_of(file)
    if name in sys.stdlib_module_names or name in sys.modules:
        name = f"{name} of a study"
    spec = _spec(name, file, texts[file], package=False)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _variant(file: Mapping[str, Any], brought: object) -> type[Variant]:
    """`brought` as a variant."""
    place = f"{file['file']}: {file['name']}"
    if not isinstance(brought, type):
        raise FileError(f"{place} is no class once the file is imported")
    # A class without a base of ours has its hooks alone.
    cls = (
        brought if issubclass(brought, Variant) else type(brought.__name__, (brought, Variant), {})
    )
    if why := checks.wrong(file["file"], cls):
        raise FileError(why)
    return cls


def _defines(cls: type[Variant], hook: str) -> bool:
    return getattr(cls, hook) is not getattr(Variant, hook)


def parameters(cls: type[Variant]) -> list[Parameter] | None:
    """The parameters that `cls` takes by name; None: any."""
    if cls.__init__ is object.__init__:
        return []
    named = list(inspect.signature(cls.__init__).parameters.values())[1:]
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in named):
        return None
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [
        Parameter(parameter.name, parameter.default)
        for parameter in named
        if parameter.kind in by_name
    ]


def _arguments(
    file: Mapping[str, Any], cls: type[Variant], params: Mapping[str, float]
) -> dict[str, Any]:
    """What `__init__` of `cls` gets of `params`: whole numbers and switches where its defaults are
    such."""
    place = f"{file['file']}: {file['name']}"
    taken = parameters(cls)
    if taken is None:
        return dict(params)
    known = {parameter.name: parameter.default for parameter in taken}
    for name in params:
        if name not in known:
            near = get_close_matches(name, known, 1)
            help = f"did you mean {near[0]}?" if near else f"its __init__ takes: {', '.join(known)}"
            help = help if known else "its __init__ takes none"
            raise FileError(f"{place} has no parameter {name}; {help}")
    for name, default in known.items():
        if default is inspect.Parameter.empty and name not in params:
            raise FileError(f"{place} needs the parameter {name}: give it in cc_params")
    return {name: _as(known[name], value) for name, value in params.items()}


def _as(default: object, value: float) -> object:
    """`value` as a number of the kind that `default` is."""
    if isinstance(default, bool) and value in (0, 1):
        return bool(value)
    if isinstance(default, int) and value == int(value):
        return int(value)
    return value
