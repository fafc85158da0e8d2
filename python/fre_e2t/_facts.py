"""Numbers as people read them: plans, accounts, evaluations, audits and ledgers, which are dicts of the program's
JSON."""

from __future__ import annotations

import html
import re
import textwrap
from typing import Any

from ._errors import named
from ._shown import COLUMNS, LEFT, notes_html, row_html

_KEY = 20  # columns
_CURVES = ("curve", "curves")  # for drawings
_HASH = re.compile(r"[0-9a-f]{16,}")


def _is_short(value: Any) -> bool:
    return value is not None and not isinstance(value, (list, dict)) and \
        not (isinstance(value, str) and _HASH.fullmatch(value))


def _value(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _inline(row: dict[str, Any]) -> str:
    return ", ".join(f"{key} {_value(value)}" for key, value in row.items() if _is_short(value))


def _rows(found: dict[str, Any], within: str = "") -> list[tuple[str, str]]:
    """What has one value, and a row for the values of each part."""
    rows = []
    for key, value in found.items():
        name = f"{within}{key}"
        if _is_short(value) and not within:
            rows.append((name, _value(value)))
        elif isinstance(value, dict) and key not in _CURVES:
            inline = _inline(value)
            rows += [(name, inline)] if inline else []
            rows += _rows(value, f"{name}.")
    return rows


def _tables(found: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """What there are several of, such as levels: without columns in which nothing stands."""
    tables = []
    for key, values in found.items():
        if isinstance(values, list) and values and all(isinstance(v, dict) for v in values):
            columns = [k for k in values[0] if any(_is_short(v.get(k)) for v in values)]
            tables.append((str(key), [{k: v.get(k) for k in columns} for v in values]))
    return tables


def _table_html(table: list[dict[str, Any]]) -> str:
    head = row_html(*((html.escape(str(key)), LEFT) for key in table[0]), tag="th")
    rows = "".join(row_html(*((html.escape(_value(v)) if _is_short(v) else "", LEFT) for v in row.values()))
                   for row in table)
    return f"<table>{head}{rows}</table>"


def _folded(line: str, indent: int = 4) -> str:
    return textwrap.fill(line, COLUMNS, subsequent_indent=" " * indent, break_on_hyphens=False)


def _line(key: str, value: str) -> str:
    return _folded(f"{key + ' ':<{_KEY}}{value}", _KEY)


class Facts(dict[str, Any]):
    """A dict, in full; shown on a terminal and in a notebook without what is for drawings and machines alone."""

    @property
    def warnings(self) -> list[str]:
        """What one should know of it."""
        return [named(w) for w in self.get("warnings", [])]

    def _shown(self) -> dict[str, Any]:
        return dict(self)

    def __str__(self) -> str:
        found = self._shown()
        several = [f"{key}: {_inline(row)}" for key, table in _tables(found) for row in table]
        return "\n".join([*(_line(*row) for row in _rows(found)), *map(_folded, (*several, *self.warnings))])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        found = self._shown()
        rows = "".join(row_html((html.escape(key), LEFT), (html.escape(value), LEFT)) for key, value in _rows(found))
        tables = "".join(f"<p>{html.escape(key)}</p>{_table_html(table)}" for key, table in _tables(found))
        return f"<div><table>{rows}</table>{tables}{notes_html(self.warnings)}</div>"
