"""What numba has to know of a flow, so that hooks of a class become functions of C.

A hook gets the flow's record and what it is told as pointers into memory that the core owns; the
layouts are the core's (`_core.layouts`). An attribute is a load or a store there. Whatever numba
calls otherwise than Python would, and what it does not check, is put right here: a run is the same
byte for byte, compiled or not.
"""

from __future__ import annotations

import ctypes
import inspect
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import llvmlite.binding
import numpy as np
from llvmlite import ir as llvm
from numba import carray, cfunc, types
from numba.core import cgutils, errors, ir, typing
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import FixupArgs
from numba.extending import intrinsic, overload, overload_method, register_model
from numba.np.arrayobj import populate_array

from cclab import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LAYOUTS = _core.layouts()
_SIGNS: Sequence[str] = LAYOUTS["kinds"]

_POWER = "cclab_pow"
"""The system's `pow` under a name that LLVM knows nothing of, and so does not replace."""


@dataclass(frozen=True)
class Field:
    """A part of a record."""

    name: str
    kind: str
    """One of the core's kinds; or `own`, a number of 64 bits of the class itself; or `array`."""
    offset: int
    bounds: tuple[float, bool, bool] | None = None
    """Of `set`: the least that it may be, whether it may be infinite, whether None."""
    number: str = "float64"
    """Of `own` and `array`: what it is."""
    length: int = 0
    """Of `array`: how many."""
    index: int = 0
    """Of `set`: which of them, from 1."""


def told(name: str) -> list[Field]:
    """The fields of the core's structure `name`."""
    _, fields = LAYOUTS[name]
    known: list[Field] = []
    for field, kind, offset, bounds in fields:
        index = 1 + sum(before.kind == "set" for before in known) if bounds else 0
        known.append(Field(field, kind, offset, bounds, index=index))
    return known


class Lent(types.Type):  # type: ignore[misc]
    """A pointer to a record with these fields."""

    def __init__(self, name: str, fields: Sequence[Field]) -> None:
        """Records of the same name are the same."""
        super().__init__(name=name)
        self.fields = {field.name: field for field in fields}
        self.others: Mapping[str, str] = {}
        """What the object has beside, and why that is no field."""
        self.methods: frozenset[str] = frozenset()


class Dice(types.Type):  # type: ignore[misc]
    """A pointer to the state of `random.Random`: 624 words and where it is among them."""


DICE = Dice("Dice")
for _type in (Lent, Dice):
    register_model(_type)(models.OpaqueModel)

_TYPES = {
    "float": types.float64,
    "maybe": types.Optional(types.float64),
    "whole": types.int64,
    "long": types.int64,
    "truth": types.boolean,
    "sign": types.unicode_type,
    "dice": DICE,
}
_NUMBERS = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}
_ARRAYS = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}


def own_type(name: str, fields: Sequence[Field]) -> Lent:
    """A type of records that no other class has."""
    cls = type("Flow", (Lent,), {})
    register_model(cls)(models.OpaqueModel)
    made: Lent = cls(name, fields)
    return made


def _type_of(field: Field) -> Any:
    if field.kind == "set":
        assert field.bounds is not None
        return types.Optional(types.float64) if field.bounds[2] else types.float64
    if field.kind == "own":
        return _NUMBERS[field.number]
    if field.kind == "array":
        return types.Array(_ARRAYS[field.number], 1, "C")
    return _TYPES[field.kind]


@typing.templates.infer_getattr
class _Attributes(typing.templates.AttributeTemplate):  # type: ignore[misc]
    key = Lent

    def generic_resolve(self, typ: Lent, attr: str) -> Any:
        """The type of an attribute."""
        if attr in typ.fields:
            return _type_of(typ.fields[attr])
        if attr in typ.methods:
            return None
        if attr in typ.others:
            raise errors.TypingError(typ.others[attr])
        known = [name for name in typ.fields if name[0] not in "$_"]
        raise errors.TypingError(f"{typ.name} has no {attr!r}: it has {', '.join(known)}")


_BYTE = llvm.IntType(8)
_DOUBLE = llvm.DoubleType()
_LONG = llvm.IntType(64)


def _at(builder: Any, record: Any, offset: int, kind: Any) -> Any:
    """A pointer to what is at `offset` of `record`."""
    place = builder.gep(record, [llvm.Constant(_LONG, offset)])
    return builder.bitcast(place, kind.as_pointer())


def _none_if_nan(context: Any, builder: Any, number: Any) -> Any:
    optional = types.Optional(types.float64)
    made = cgutils.create_struct_proxy(optional)(context, builder)
    made.data = number
    made.valid = builder.fcmp_ordered("ord", number, number)
    return made._getvalue()


def _sign(index: int) -> str:
    if index == 0:
        return "loss"
    if index == 1:
        return "ecn"
    return "timeout"


assert [_sign(index) for index in range(3)] == list(_SIGNS)


@lower_getattr_generic(Lent)
def _read(context: Any, builder: Any, typ: Lent, record: Any, attr: str) -> Any:
    field = typ.fields[attr]
    if field.kind in ("set", "float", "maybe"):
        number = builder.load(_at(builder, record, field.offset, _DOUBLE))
        optional = isinstance(_type_of(field), types.Optional)
        return _none_if_nan(context, builder, number) if optional else number
    if field.kind == "whole":
        short = builder.load(_at(builder, record, field.offset, llvm.IntType(32)))
        return builder.zext(short, _LONG)
    if field.kind == "truth":
        byte = builder.load(_at(builder, record, field.offset, _BYTE))
        return builder.icmp_unsigned("!=", byte, llvm.Constant(_BYTE, 0))
    if field.kind == "sign":
        byte = builder.load(_at(builder, record, field.offset, _BYTE))
        asked = types.unicode_type(types.int64)
        return context.compile_internal(builder, _sign, asked, [builder.zext(byte, _LONG)])
    if field.kind == "dice":
        address = builder.load(_at(builder, record, field.offset, _LONG))
        return builder.inttoptr(address, _BYTE.as_pointer())
    if field.kind == "array":
        return _array(context, builder, record, field)
    if field.kind == "own" and field.number == "float64":
        return builder.load(_at(builder, record, field.offset, _DOUBLE))
    whole = builder.load(_at(builder, record, field.offset, _LONG))
    if field.number == "bool":
        return builder.icmp_unsigned("!=", whole, llvm.Constant(_LONG, 0))
    return whole


def _array(context: Any, builder: Any, record: Any, field: Field) -> Any:
    """The array whose data the record points to."""
    typ = _type_of(field)
    made = context.make_array(typ)(context, builder)
    address = builder.load(_at(builder, record, field.offset, _LONG))
    size = context.get_constant(types.intp, np.dtype(field.number).itemsize)
    populate_array(
        made,
        data=builder.inttoptr(address, context.get_data_type(typ.dtype).as_pointer()),
        shape=[context.get_constant(types.intp, field.length)],
        strides=[size],
        itemsize=size,
        meminfo=None,
    )
    return made._getvalue()


@lower_setattr_generic(Lent)
def _write(context: Any, builder: Any, sig: Any, args: Any, attr: str) -> None:
    typ, given = sig.args
    record, value = args
    field = typ.fields[attr]
    place = _at(builder, record, field.offset, _LONG)
    if field.kind == "set":
        _set(context, builder, typ, record, field, value, given)
    elif given == types.float64:
        builder.store(value, builder.bitcast(place, _DOUBLE.as_pointer()))
    elif given == types.boolean:
        builder.store(builder.zext(value, _LONG), place)
    else:
        builder.store(value, place)


def _set(
    context: Any, builder: Any, typ: Lent, record: Any, field: Field, value: Any, given: Any
) -> None:
    """Stores a number that has bounds, and that it was set; or that it was set to a wrong one."""
    assert field.bounds is not None
    least, infinite, _ = field.bounds
    number, some = value, cgutils.true_bit
    if isinstance(given, types.Optional):
        both = cgutils.create_struct_proxy(given)(context, builder, value=value)
        some = cgutils.as_bool_bit(builder, both.valid)
        number = builder.select(some, both.data, llvm.Constant(_DOUBLE, float("nan")))
    right = builder.fcmp_ordered(">=", number, llvm.Constant(_DOUBLE, least))
    if not infinite:
        limit = llvm.Constant(_DOUBLE, float("inf"))
        right = builder.and_(right, builder.fcmp_ordered("<", number, limit))
    wrong = _at(builder, record, typ.fields["$wrong"].offset, _LONG)
    bad = builder.and_(some, builder.not_(right))
    # What is told is the first, and its line.
    first = builder.icmp_unsigned("==", builder.load(wrong), llvm.Constant(_LONG, 0))
    with builder.if_then(builder.and_(bad, first), likely=False):
        builder.store(llvm.Constant(_LONG, field.index), wrong)
        what = _at(builder, record, typ.fields["$wrong_value"].offset, _DOUBLE)
        builder.store(number, what)
        at = builder.load(_at(builder, record, typ.fields["$place"].offset, _LONG))
        builder.store(at, _at(builder, record, typ.fields["$wrong_place"].offset, _LONG))
    builder.store(number, _at(builder, record, field.offset, _DOUBLE))
    builder.store(llvm.Constant(_BYTE, 1), _at(builder, record, field.offset + 8, _BYTE))


def _power(base: float, exponent: float) -> float:
    """`base ** exponent`: Python's."""
    return float(base**exponent)


_system_pow = types.ExternalFunction(_POWER, types.float64(types.float64, types.float64))


@overload(_power, strict=False)
def _power_compiled(base: Any, exponent: Any) -> Callable[..., Any] | None:
    if isinstance(base, types.Integer) and isinstance(exponent, types.Integer):
        return lambda base, exponent: base**exponent
    if not all(isinstance(one, types.Number | types.Boolean) for one in (base, exponent)):
        return None

    def power(base, exponent):  # type: ignore[no-untyped-def]
        x = float(base)
        y = float(exponent)
        if x == 0.0 and y < 0.0:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        result = _system_pow(x, y)
        if np.isnan(result) and not (np.isnan(x) or np.isnan(y)):
            raise ValueError("a negative number has no fractional power")
        if np.isinf(result) and not (np.isinf(x) or np.isinf(y)):
            raise OverflowError("the power is too large")
        return result

    return power


class _Places:
    """Which files' lines are told, in the order of their indices."""

    files: tuple[str, ...] = ()


@register_pass(mutates_CFG=False, analysis_only=False)
class _Prepare(FunctionPass):  # type: ignore[misc]
    """Has each line noted in the record as it begins, and powers computed as Python does."""

    _name = "cclab_prepare"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Changes the function's code."""
        func_ir = state.func_ir
        record = _record_of(state)
        power = ir.Global("_power", _power, ir.unknown_loc)
        for block in func_ir.blocks.values():
            body: list[Any] = []
            line = None
            scope = block.scope

            def fresh(
                value: Any, name: str, loc: Any, body: list[Any] = body, scope: Any = scope
            ) -> Any:
                made = scope.redefine(name, loc)
                body.append(ir.Assign(value, made, loc))
                func_ir._definitions[made.name].append(value)
                return made

            for step in block.body:
                if isinstance(step, ir.Del):
                    continue  # numba says anew where a variable ends
                loc = step.loc
                known = loc.filename in _Places.files
                late = isinstance(getattr(step, "value", None), ir.Arg)
                if record is not None and known and loc.line != line and not late:
                    line = loc.line
                    place = _Places.files.index(loc.filename) << 32 | line
                    const = fresh(ir.Const(place, loc), "$cclab_place", loc)
                    body.append(ir.SetAttr(record, "$place", const, loc))
                value = getattr(step, "value", None)
                if isinstance(value, ir.Expr) and value.op in ("binop", "inplace_binop"):
                    operation = value.fn if value.op == "binop" else value.immutable_fn
                    if operation in (operator.pow, "**") and known:
                        function = fresh(power, "$cclab_power", loc)
                        called = ir.Expr.call(function, (value.lhs, value.rhs), (), loc)
                        step = ir.Assign(called, step.target, loc)
                        func_ir._definitions[step.target.name] = [called]
                body.append(step)
            block.body = body
        return True


def _record_of(state: Any) -> Any:
    """The variable with the flow's record, if the function is given it."""
    for block in state.func_ir.blocks.values():
        for step in block.body:
            value = getattr(step, "value", None)
            if isinstance(value, ir.Arg):
                typ = state.args[value.index]
                if isinstance(typ, Lent) and "$place" in typ.fields:
                    return step.target
    return None


@register_pass(mutates_CFG=False, analysis_only=True)
class _Check(FunctionPass):  # type: ignore[misc]
    """Refuses what would be stored as another number than Python keeps."""

    _name = "cclab_check"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Raises `TypingError`."""
        for block in state.func_ir.blocks.values():
            for step in block.find_insts(ir.SetAttr):
                typ = state.typemap[step.target.name]
                if isinstance(typ, Lent):
                    why = _unsettable(typ.fields[step.attr], state.typemap[step.value.name])
                    if why:
                        raise errors.TypingError(f"{typ.name}.{step.attr} {why}", loc=step.loc)
        return False


def _unsettable(field: Field, given: Any) -> str | None:
    """Why what is `given` cannot be stored in `field`, if it cannot."""
    if field.name.startswith("$") or field.kind == "set":
        return None
    if field.kind == "array":
        return "is an array: set its elements"
    if field.kind != "own":
        return "cannot be set"
    if field.number == "int64" and not isinstance(given, types.Integer | types.Boolean):
        return "begins as a whole number, and this has a fraction: let it begin with 0.0"
    if field.number == "bool" and given != types.boolean:
        return "begins as True or False, and this is a number: let it begin with a number"
    return None


class Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with the passes above."""

    def define_pipelines(self) -> list[Any]:
        """One pipeline."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_Prepare, FixupArgs)
        passes.add_pass_after(_Check, NopythonTypeInference)
        passes.finalize()
        return [passes]


_OPTIONS = {"nopython": True, "boundscheck": True, "error_model": "python"}
_JIT = {**_OPTIONS, "pipeline_class": Compiler}


def _answer(flow: object, said: object) -> None:
    """A hook returned `said`."""


@overload(_answer, strict=False)
def _answer_compiled(flow: Any, said: Any) -> Callable[..., None]:
    if isinstance(said, types.NoneType):
        return lambda flow, said: None
    if isinstance(said, types.Optional):

        def some(flow, said):  # type: ignore[no-untyped-def]
            if said is not None:
                _note_answer(flow, said)

        return some
    return lambda flow, said: _note_answer(flow, said)


@intrinsic
def _note_answer(context: Any, flow: Any, said: Any) -> Any:
    """Stores what was returned, as the number that it is."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        field = flow.fields["$answer"]
        _set(context, builder, flow, args[0], field, args[1], types.float64)
        return context.get_dummy_value()

    return types.none(flow, types.float64), generate


@intrinsic
def _words_of(context: Any, dice: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[0], llvm.IntType(32).as_pointer())

    return types.CPointer(types.uint32)(DICE), generate


def _word(dice: object) -> Any:
    """32 random bits: MT19937 (Matsumoto and Nishimura 1998), as Python's `random` has it."""


@overload(_word, strict=False)
def _word_compiled(dice: Any) -> Callable[..., Any]:
    def word(dice):  # type: ignore[no-untyped-def]
        words = carray(_words_of(dice), 625)
        at = np.int64(words[624])
        if at >= 624:
            for i in range(624):
                joined = (words[i] & np.uint32(0x80000000)) | (
                    words[(i + 1) % 624] & np.uint32(0x7FFFFFFF)
                )
                mixed = words[(i + 397) % 624] ^ (joined >> np.uint32(1))
                if joined & np.uint32(1):
                    mixed ^= np.uint32(0x9908B0DF)
                words[i] = mixed
            at = np.int64(0)
        y = words[at]
        words[624] = at + 1
        y ^= y >> np.uint32(11)
        y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
        y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
        y ^= y >> np.uint32(18)
        return np.int64(y & np.uint32(0xFFFFFFFF))

    return word


@overload_method(Dice, "random", strict=False)
def _random(dice: Any) -> Callable[..., float]:
    def random(dice):  # type: ignore[no-untyped-def]
        high = _word(dice) >> 5
        low = _word(dice) >> 6
        return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0)

    return random


@overload_method(Dice, "uniform", strict=False)
def _uniform(dice: Any, a: Any, b: Any) -> Callable[..., float]:
    return lambda dice, a, b: a + (b - a) * dice.random()


def compiled(
    flow: Lent, hooks: Mapping[str, Any], functions: Sequence[Any], files: Sequence[str]
) -> dict[str, tuple[str, Any]]:
    """The `hooks` of a class, by their names: each as the name of a function of C, and the library
    that has it. They may call `functions`, and each other as methods; lines of `files` are told.

    Raises numba's `NumbaError`.
    """
    _link()
    _Places.files = tuple(files)
    for function in {id(one): one for one in (*functions, *hooks.values())}.values():
        overload(function, strict=False, jit_options=_JIT)(_itself(function))
    made = {}
    for name, hook in hooks.items():
        signature = types.void(flow, _TOLD.get(name, _NOTHING))
        entry = cfunc(signature, pipeline_class=Compiler, **_OPTIONS)(_entry(name, hook))
        made[name] = (entry._wrapper_name, entry._library)
    return made


def method(flow: Lent, name: str, function: Any) -> None:
    """A `flow` may be called with the method `name`."""
    overload_method(type(flow), name, strict=False, jit_options=_JIT)(_itself(function))


def _itself(function: Any) -> Callable[..., Any]:
    """What numba asks for the code of `function`: it has to take the same arguments."""
    names = ", ".join(inspect.signature(function).parameters)
    asked: Callable[..., Any] = eval(f"lambda {names}: function", {"function": function})
    asked.__defaults__ = function.__defaults__
    return asked


_TOLD = {
    hook: Lent(name, told(name))
    for hook, name in (
        ("on_ack", "Ack"),
        ("on_congestion", "Congestion"),
        ("on_report", "Report"),
    )
}
_NOTHING = Lent("Nothing", [])


def _entry(name: str, hook: Any) -> Callable[..., None]:
    """What the core calls for `hook`."""
    if name == "on_congestion":
        return lambda flow, told: _answer(flow, hook(flow, told))
    if name == "on_timer":
        return lambda flow, told: _void(hook(flow, flow.now))
    if name == "on_undo":
        return lambda flow, told: _void(hook(flow))
    return lambda flow, told: _void(hook(flow, told))


def _void(said: object) -> None:
    """What a hook returns, and nobody asks for."""


@overload(_void, strict=False)
def _void_compiled(said: Any) -> Callable[..., None]:
    return lambda said: None


def _link() -> None:
    """Lets compiled code call what it takes from this process."""
    pow_ = ctypes.cast(ctypes.CDLL(None).pow, ctypes.c_void_p).value
    llvmlite.binding.add_symbol(_POWER, pow_)


def kept(made: Mapping[str, tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """What was `compiled` as what can be pickled."""
    return {
        hook: (name, library.serialize_using_object_code())
        for hook, (name, library) in made.items()
    }


def loaded(made: Mapping[str, tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """What was `kept` as functions of this process."""
    _link()
    # What is compiled calls numba's memory manager, which nothing has brought in so far.
    rtsys.initialize(cpu_target.target_context)
    codegen = cpu_target.target_context.codegen()
    return {
        hook: (name, codegen.unserialize_library(library)) for hook, (name, library) in made.items()
    }


def addresses(made: Mapping[str, tuple[str, Any]]) -> dict[str, int]:
    """Where the functions of what was `compiled`, or `loaded`, are."""
    return {hook: library.get_pointer_to_function(name) for hook, (name, library) in made.items()}
