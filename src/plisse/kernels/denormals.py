"""Numbers below the smallest normal one, with which processors compute up to a hundred times as slowly."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from plisse.kernels.jit import kernel

FLUSH = 0x8040  # bits of x86's control register MXCSR: results below the normal range, and operands, count as zero


def _call(builder: Any, name: str, register: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    builder.call(function, [builder.bitcast(register, ir.IntType(8).as_pointer())])


@intrinsic
def _control(typing: Any) -> Any:
    """What the register holds."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        register = cgutils.alloca_once(builder, ir.IntType(32))
        _call(builder, "llvm.x86.sse.stmxcsr", register)
        return builder.load(register)

    return types.uint32(), generate


@intrinsic
def _set_control(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _call(builder, "llvm.x86.sse.ldmxcsr", cgutils.alloca_once_value(builder, arguments[0]))
        return context.get_dummy_value()

    return types.void(types.uint32), generate


@kernel
def read_control():
    return _control()


@kernel
def write_control(value):
    _set_control(types.uint32(value))


@contextmanager
def flushed() -> Iterator[None]:
    """This thread, and those of MKL that work for it, take numbers below the normal range for zero. Only on x86."""
    before = read_control()
    write_control(before | FLUSH)
    try:
        yield
    finally:
        write_control(before)
