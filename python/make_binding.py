"""Writes the C source of the package's extension: make_binding.py OUT.c (the build runs it)."""

import pathlib
import sys

import cffi

HEADERS = ("curator", "evaluate", "report", "audit", "lm", "paraphrase", "forecast", "wire")

ffi = cffi.FFI()
ffi.cdef(pathlib.Path(__file__).with_name("cdef.h").read_text(encoding="utf-8"))
ffi.set_source("fre_e2t._fre", "#include <stdlib.h>\n#include \"glue.h\"\n#include \"arrow.h\"\n"
               + "".join(f"#include <fre/{name}.h>\n" for name in HEADERS))
ffi.emit_c_code(sys.argv[1])
