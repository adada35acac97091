"""Functions of pdfium called for each of many objects, in machine code, as numpy calls a ufunc.

A page has thousands of objects, each is asked several things, and a call from Python takes ten times as long as its
answer. LLVM makes the loops when the parsers are loaded, before there is a document, in a few milliseconds.
"""

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from ctypes import c_int64
from typing import Any, NamedTuple

import llvmlite.binding as llvm

_LOOP = """
define void @{name}(i64 %count, ptr %objects, i64 %given, ptr %records) {{
start:
  %number = trunc i64 %given to i32
  br label %again
again:
  %i = phi i64 [0, %start], [%next, %again]
  %place = trunc i64 %i to i32
  %from = getelementptr i64, ptr %objects, i64 %i
  %object = load ptr, ptr %from
  %record = getelementptr [{record} x i8], ptr %records, i64 %i
{calls}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %again, label %end
end:
  ret void
}}
"""


class Call(NamedTuple):
    """A C function, and what it is called with.

    `arguments` in LLVM's words: "ptr %object" is the object, "i32 %place" and "i64 %i" its number from 0, "i32 %number"
    one that is the same for all, "ptr %r0" the result of the first call. After them come pointers into the object's
    record, where the function writes its `answers`; its `result`, "i32" or "ptr", goes to `kept`. Both are offsets.
    """

    function: Any
    arguments: str = "ptr %object"
    answers: Sequence[int] = ()
    result: str = "i32"
    kept: int | None = None

    def source(self, number: int) -> str:
        """The call as LLVM reads it, as number so many of its loop."""
        lines = [f"  %f{number} = inttoptr i64 {ctypes.cast(self.function, ctypes.c_void_p).value} to ptr"]
        lines += [f"  %a{number}.{offset} = getelementptr i8, ptr %record, i64 {offset}" for offset in self.answers]
        arguments = ", ".join([self.arguments, *(f"ptr %a{number}.{offset}" for offset in self.answers)])
        lines.append(f"  %r{number} = call {self.result} %f{number}({arguments})")
        if self.kept is not None:
            lines.append(f"  %k{number} = getelementptr i8, ptr %record, i64 {self.kept}")
            lines.append(f"  store {self.result} %r{number}, ptr %k{number}")
        return "\n".join(lines)


class Loop:
    """The calls for many objects: records of so many bytes, each of which is 0 where nothing was written."""

    def __init__(self, address: int, record: int) -> None:
        self._call = ctypes.PYFUNCTYPE(None, *[c_int64] * 4)(address)
        self._record = record

    def __call__(self, objects: Sequence[int], number: int = 0) -> "array[int]":
        """The records, one after another, as bytes."""
        records = array("B", bytes(self._record * len(objects)))
        if objects:
            asked = array("Q", objects)
            self._call(len(objects), asked.buffer_info()[0], number, records.buffer_info()[0])
        return records


def loops(questions: Mapping[str, tuple[int, Sequence[Call]]]) -> dict[str, Loop]:
    """By name: for each the bytes of its record, and the calls, in that order."""
    source = "".join(_source(name, *question) for name, question in questions.items())
    addresses = compiled(source, *questions)
    return {name: Loop(addresses[name], record) for name, (record, _) in questions.items()}


def compiled(source: str, *names: str) -> dict[str, int]:
    """The addresses of functions that LLVM reads; they last as long as the process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    _compiled.append(compiler := llvm.create_mcjit_compiler(llvm.parse_assembly(source), machine))
    compiler.finalize_object()
    return {name: compiler.get_function_address(name) for name in names}


def _source(name: str, record: int, calls: Sequence[Call]) -> str:
    return _LOOP.format(
        name=name, record=record, calls="\n".join(call.source(number) for number, call in enumerate(calls))
    )


_compiled: list[Any] = []  # the code, which ends with what is here
