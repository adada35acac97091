"""Letters that stand on one spot: a sign that a font says to be a whole text, or letters drawn over one another.

The loop over a page's characters is machine code, as in each.py: it runs for every page.
"""

import ctypes
import unicodedata
from collections.abc import Container
from ctypes import c_int64

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.each import compiled
from pipeline.parse.pdf.text.page import Page

_LEAST = 8  # characters; ligatures have up to four, and those of Arabic whole words
_NEAR = 0.25  # points
_ORIGIN = ctypes.cast(raw.FPDFText_GetCharOrigin, ctypes.c_void_p).value
_SOURCE = f"""
define i64 @heap(i64 %text, i64 %first, i64 %count) {{
start:
  %page = inttoptr i64 %text to ptr
  %origin = inttoptr i64 {_ORIGIN} to ptr
  %x = alloca double
  %y = alloca double
  store double 0.0, ptr %x
  store double 0.0, ptr %y
  %any = icmp slt i64 %first, %count
  br i1 %any, label %again, label %none
again:
  %i = phi i64 [%first, %start], [%next, %more]
  %run = phi i64 [0, %start], [%longer, %more]
  %left = phi double [-1.0e9, %start], [%right, %more]
  %low = phi double [-1.0e9, %start], [%high, %more]
  %place = trunc i64 %i to i32
  %done = call i32 %origin(ptr %page, i32 %place, ptr %x, ptr %y)
  %right = load double, ptr %x
  %high = load double, ptr %y
  %dx = fsub double %right, %left
  %dy = fsub double %high, %low
  %ax = call double @llvm.fabs.f64(double %dx)
  %ay = call double @llvm.fabs.f64(double %dy)
  %sum = fadd double %ax, %ay
  %same = fcmp olt double %sum, {_NEAR}
  %one = add i64 %run, 1
  %longer = select i1 %same, i64 %one, i64 0
  %next = add i64 %i, 1
  %full = icmp sge i64 %longer, {_LEAST - 1}
  br i1 %full, label %found, label %more
more:
  %last = icmp sge i64 %next, %count
  br i1 %last, label %none, label %again
found:
  ret i64 %i
none:
  ret i64 -1
}}
declare double @llvm.fabs.f64(double)
"""
_heap = ctypes.PYFUNCTYPE(c_int64, c_int64, c_int64, c_int64)(compiled(_SOURCE, "heap")["heap"])


def has_heap(page: Page, hidden: Container[int]) -> bool:
    """Whether characters of the page's text, which is loaded, stand on one spot, but for texts that are hidden."""
    count, end = page.count_characters(), -1
    while (end := int(_heap(page.characters, end + 1, count))) >= 0:
        heap = range(end - _LEAST + 1, end + 1)
        if page.text_object(end) not in hidden and not any(_joins(page.character(place)) for place in heap):
            return True
    return False


def _joins(one: str) -> bool:
    """Whether it is of a script whose ligatures may be whole words."""
    return unicodedata.bidirectional(one) in {"R", "AL"}
