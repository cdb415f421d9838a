"""csv: rows and columns of a CSV or TSV file: counts, sums, averages, extremes, most common values."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.report import Play, PlaybookFailed, PlaybookReport, code, line, many, table, text_of
from lumen_tui.providers.offline.vocabulary import COMMON, TURNING, words

_OPERATIONS = {
    "sum": "sum", "summed": "sum", "average": "average", "avg": "average", "mean": "average", "highest": "largest",
    "maximum": "largest", "max": "largest", "largest": "largest", "biggest": "largest", "lowest": "smallest",
    "minimum": "smallest", "min": "smallest", "smallest": "smallest", "distinct": "distinct", "different": "distinct",
    "unique": "distinct", "common": "common", "frequent": "common", "popular": "common", "per": "common",
    "by": "common", "each": "common", "columns": "columns", "headers": "columns", "header": "columns",
}  # fmt: skip
_CONNECTIVES = words(
    "rows row records record entries lines line data column field value values where equals equal have has with "
    "having use uses using of in are is from for the many number count how which what whats most all set marked "
    "being status' there total totals amount up"
)


class _Sheet(Struct, frozen=True):
    columns: tuple[str, ...]
    rows: list[dict[str, str]]


class _Reading(Struct, frozen=True):
    """What the words of the question are in this table."""

    operation: str
    columns: tuple[str, ...]
    conditions: dict[str, str]


def _fields(ask: Asked) -> Fields | None:
    if len(ask.paths) != 1 or not ask.paths[0].endswith((".csv", ".tsv")):
        return None
    tokens = [token.strip(".'") for token in re.findall(r"[^\s,;:?!()\"`=]+", ask.text)]
    return {"patterns": tuple(tokens), "terms": ask.quoted}


def csv_table(plan: PlaybookPlan) -> Play:
    """Report what is asked of a table. PlaybookFailed where a word is neither a column, a value nor understood."""
    sheet = _read(plan.path, (yield from text_of(plan.path)))
    reading = _understood(plan, sheet)
    rows = [row for row in sheet.rows if all(_same(row[column], value) for column, value in reading.conditions.items())]
    where = " and ".join(f"{code(column)} is {code(value)}" for column, value in reading.conditions.items())
    of = f"{many(len(rows), 'row')}" + (f" of {len(sheet.rows):,} where {where}" if where else "")
    title = f"Rows of {line(plan.path)}"
    if reading.operation == "columns":
        return PlaybookReport(
            title, f"{many(len(sheet.columns), 'column')}: {', '.join(code(name) for name in sheet.columns)}."
        )
    if not reading.operation:
        return PlaybookReport(title, f"**{of}**" + (", the header not counted." if not where else "."))
    return PlaybookReport(title, _calculated(reading, rows, of))


def _read(path: str, text: str) -> _Sheet:
    separator = "\t" if path.endswith(".tsv") else max(",;\t|", key=text.partition("\n")[0].count)
    try:
        lines = [row for row in csv.reader(io.StringIO(text), delimiter=separator, strict=True) if row]
    except csv.Error as error:
        raise PlaybookFailed(f"{line(path)} cannot be read: {line(str(error))}") from error
    if not lines:
        raise PlaybookFailed(f"{line(path)} is empty")
    head, *rows = lines
    if (
        len(set(head)) < len(head)
        or not all(name.strip() for name in head)
        or any(_decimal(name) is not None for name in head)
    ):
        raise PlaybookFailed(f"the first line of {line(path)} does not name its columns")
    if odd := sum(len(row) != len(head) for row in rows):
        raise PlaybookFailed(f"{many(odd, 'row')} of {line(path)} with more or fewer fields than the first line")
    return _Sheet(tuple(head), [dict(zip(head, row, strict=True)) for row in rows])


def _understood(plan: PlaybookPlan, sheet: _Sheet) -> _Reading:
    """Tell columns, values and operations among the words."""
    stem = re.split(r"[^a-z]+", plan.path.rsplit("/", 1)[-1].lower().rsplit(".", 1)[0])
    operations = [
        _OPERATIONS[token.lower()]
        for token in plan.patterns
        if token.lower() in _OPERATIONS and not _column(token, sheet)
    ]
    if not operations and "total" in (token.lower() for token in plan.patterns) and not _column("total", sheet):
        operations = ["sum"]
    columns: list[str] = []
    conditions: dict[str, str] = {}
    for token in [*plan.patterns, *plan.terms]:
        word = token.lower()
        if column := _column(token, sheet):
            columns.append(column)
        elif word in COMMON | _CONNECTIVES or word in _OPERATIONS or _of_file(word, stem):
            continue
        else:
            conditions[_holder(token, columns, conditions, sheet, plan)] = token
    columns = [column for column in dict.fromkeys(columns) if column not in conditions]
    kinds = list(dict.fromkeys(operations))
    words = {token.lower() for token in plan.patterns}
    if not kinds and words & {"column", "fields", "field"} and words & {"names", "which", "what", "name", "list"}:
        kinds = ["columns"]
    if not kinds and not words & {"many", "count", "number", "rows", "records", "entries"}:
        raise PlaybookFailed(
            f"what is asked of {line(plan.path)} is not clear: ask how many rows it has, or for a column"
        )
    if len(kinds) > 1 or (kinds and kinds != ["columns"] and len(columns) != 1) or (not kinds and columns):
        raise PlaybookFailed(
            f"what is asked of {line(plan.path)} is not clear: it has the columns "
            f"{', '.join(line(name) for name in sheet.columns)}; ask for the sum, average, largest, smallest, distinct "
            "or most common of one of them, or how many rows have a value"
        )
    return _Reading(kinds[0] if kinds else "", tuple(columns), conditions)


def _of_file(word: str, stem: list[str]) -> bool:
    return any(word.rstrip("s") == part.rstrip("s") for part in stem if part)


def _column(token: str, sheet: _Sheet) -> str:
    plain = _plain(token)
    return next(
        (
            name
            for name in sheet.columns
            if plain in (_plain(name), _plain(name) + "s", re.sub(r"y$", "ies", _plain(name)))
        ),
        "",
    )


def _plain(text: str) -> str:
    return re.sub(r"[\s_\-]+", "", text).lower()


def _holder(token: str, columns: list[str], conditions: dict[str, str], sheet: _Sheet, plan: PlaybookPlan) -> str:
    """Return the column with this value: the one named just before, else the only one that has it."""
    having = [name for name in sheet.columns if any(_same(row[name], token) for row in sheet.rows)]
    if columns and columns[-1] in having:
        having = [columns[-1]]
    if len(having) != 1 or having[0] in conditions or token.lower() in TURNING:
        names = ", ".join(line(name) for name in sheet.columns)
        holders = "several columns" if having else "no column and no value"
        raise PlaybookFailed(f"{line(token)} is {holders} of {line(plan.path)}, which has the columns {names}")
    return having[0]


def _same(value: str, wanted: str) -> bool:
    return value.strip().casefold() == wanted.strip().casefold()


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _calculated(reading: _Reading, rows: list[dict[str, str]], of: str) -> str:
    column = reading.columns[0]
    values = [row[column].strip() for row in rows]
    if reading.operation in ("common", "distinct"):
        counts = Counter(values).most_common()
        tie = len(counts) > 1 and counts[0][1] == counts[1][1]
        head = f"{len(counts):,} different values of {code(column)} in {of}."
        if counts and reading.operation == "common":
            head += (
                f" The most common is {code(counts[0][0])}, {counts[0][1]:,} times{', as others are' if tie else ''}."
            )
        shown = [[f"{count:,}", code(value)] for value, count in counts[:50]]
        return f"{head}\n\n{table(('rows', line(column)), shown, right=(0,))}"
    numbers = [number for value in values if (number := _decimal(value)) is not None]
    empty = sum(not value for value in values)
    if not numbers or len(numbers) + empty < len(values):
        raise PlaybookFailed(
            f"{line(column)} is not all numbers: {len(values) - len(numbers) - empty:,} of {len(values):,} are none"
        )
    result = {
        "sum": lambda: sum(numbers, Decimal(0)),
        "average": lambda: round(sum(numbers, Decimal(0)) / len(numbers), 6).normalize(),
        "largest": lambda: max(numbers),
        "smallest": lambda: min(numbers),
    }[reading.operation]()
    left_out = f" {many(empty, 'empty field')} left out." if empty else ""
    return f"The {reading.operation} of {code(column)} is **{result:f}**, over {of}.{left_out}"


TABLE = PlaybookKind(
    "csv",
    "rows, sums and values in a CSV file",
    (),
    words(
        "rows row records record entries lines line column columns field fields value values where equals equal "
        "set sum summed average avg mean highest maximum max largest biggest lowest minimum min smallest distinct "
        "different unique common frequent popular per each header headers most many number count total totals "
        "amount group grouped up there names name"
    ),
    csv_table,
    _fields,
    words("terms quoted"),
    which="which file",
)
