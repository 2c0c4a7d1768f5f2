"""Files to begin with: what `cclab new` writes.

The files of this folder are a variant that works, in each language; what they call `gentle` gets
the name asked for. The folder `labs` has links to the notebooks of the repository's, of which a
wheel has copies.
"""

from __future__ import annotations

import builtins
import importlib.util
import keyword
import re
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent
_NAME = "gentle"
_CLASS = "Gentle"
_ENDINGS = {"c": ".c", "python": ".py", "rust": ".rs"}
LANGUAGES = tuple(_ENDINGS)
"""What a variant may be written in."""


def class_of(name: str) -> str:
    """The class, or struct, of the variant `name`: `slow_start` is `SlowStart`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def file_of(name: str, language: str) -> str:
    """The name of the variant's file."""
    return name + _ENDINGS[language]


def path_of(name: str, language: str) -> str:
    """What a study beside the file writes for it."""
    ending = f":{class_of(name)}" if language == "python" else ""
    return f"./{file_of(name, language)}{ending}"


def taken(name: str, language: str) -> str | None:
    """Why no variant in `language` can be called `name`, if none can."""
    word = class_of(name)
    text = (_FOLDER / file_of(_NAME, language)).read_text(encoding="utf-8")
    used = re.search(rf"\b{word}\b", text) is not None and word != _CLASS
    if name == "conftest":
        return "pytest takes a file of that name for its own"
    if language == "c":
        # Functions of headers would be defined a second time.
        begins = name == "tcp" or name.startswith("tcp_")
        return "the kernel has names that begin so" if begins or name in _OF_KERNEL else None
    if language == "rust":
        common = word in _PRELUDE
        return f"the file means something else by {word}" if used or common else None
    if used or keyword.iskeyword(word) or hasattr(builtins, word):
        return f"the file means something else by {word}"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return "Python has a word of that name, and the file is a module"
    if name in sys.stdlib_module_names:
        return "Python has a module of that name"
    if module := _installed(name):
        return f"the file would stand in front of the module {name} ({module})"
    return None


_PRELUDE = {
    *("AsMut", "AsRef", "Box", "Clone", "Copy", "Debug", "Default", "DoubleEndedIterator", "Drop"),
    *("Eq", "Err", "ExactSizeIterator", "Extend", "Fn", "FnMut", "FnOnce", "From", "FromIterator"),
    *("Hash", "Into", "IntoIterator", "Iterator", "None", "Ok", "Option", "Ord", "PartialEq"),
    *("PartialOrd", "Result", "Self", "Send", "Sized", "Some", "String", "Sync", "ToOwned"),
    *("ToString", "TryFrom", "TryInto", "Unpin", "Vec"),
}
"""What every Rust file has by these names (std::prelude of the edition 2024)."""

_OF_KERNEL = {
    *("bdi", "bus", "class", "class_compat", "class_interface", "default_qdisc", "device"),
    *("driver", "flow_indr_dev", "ipv6_sysctl", "kobj_ns_type", "kset", "loopback_net"),
    *("mq_qdisc", "neigh_sysctl", "noop_qdisc", "noqueue_qdisc", "pfifo_fast", "pm_vt_switch"),
    *("proto", "root_device", "rtnl", "rtnl_af", "shrinker", "sock", "subsys_system"),
    *("subsys_virtual", "uprobe", "wakeup_source", "workqueue_sysfs", "xfrm4_protocol"),
    *("xfrm4_tunnel", "xfrm6_protocol", "xfrm6_tunnel"),
}
"""Names of which `net/tcp.h` and `linux/module.h` of Linux 6.12 bring a NAME_register, a
NAME_unregister or NAME_ops: the file would define it a second time."""


def _installed(name: str) -> str | None:
    """Where the module `name` is that an import would find, unless it is the folder at hand."""
    try:
        module = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    here = Path.cwd()
    origin = module.origin if module is not None else None
    # A folder without code is found as well, and has no origin.
    if origin is None or Path(origin).parent in (here, here / name):
        return None
    return origin


def labs() -> dict[str, str]:
    """The notebooks of the labs, by the names of their files."""
    files = sorted((_FOLDER / "labs").glob("*.ipynb"))
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def texts(name: str, language: str) -> dict[str, str]:
    """What is written for the variant `name`: a text for the name of each file."""
    of_variant = file_of(_NAME, language)
    test = f"test_{_NAME}.py"
    written = {
        file_of(name, language): of_variant,
        "study.toml": "study.toml",
        f"test_{name}.py": test,
    }
    return {
        new: _named((_FOLDER / old).read_text(encoding="utf-8"), name, language)
        for new, old in written.items()
    }


def _named(text: str, name: str, language: str) -> str:
    """`text` with the variant's own names in it; `gentler` is a word and stays."""
    # In one go: what is put in may itself hold one of these words.
    new = {f"./{_NAME}.c": path_of(name, language), _NAME: name, _CLASS: class_of(name)}
    words = rf"\./{_NAME}\.c\b|(?:{_NAME}|{_CLASS})(?![a-z])"
    return re.sub(words, lambda match: new[match.group()], text)
