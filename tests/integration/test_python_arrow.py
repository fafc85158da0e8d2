"""Data frames in and out, by Arrow's PyCapsule interface.  Each library is used where it is installed; `make check-python`
has all of them."""

import datetime
import importlib
import os
import sys

import pytest

from conftest import FREQUENT, texts


np = pytest.importorskip("numpy")
PACKAGE = os.environ.get("FRE_PYTHON_PACKAGE", "")
if PACKAGE != "installed":
    if not PACKAGE:
        pytest.skip("the Python package is not built here: it needs python3-dev and python3-cffi", allow_module_level=True)
    pytest.importorskip("_cffi_backend")
    sys.path.insert(0, PACKAGE)
fre_e2t = importlib.import_module("fre_e2t")

PLAIN = {"epsilon": 8, "threshold": 40, "population": 100000, "inverter": "none", "ledger": False, "seed": "5e" * 32}
WHO = [f"user {i % 70}" for i in range(len(texts()))]


@pytest.fixture(scope="module")
def expected():
    return fre_e2t.synthesize([{"message": t, "who": w} for t, w in zip(texts(), WHO)], text="message", user="who", **PLAIN)


def same(data, expected, **more):
    assert fre_e2t.synthesize(data, text="message", user="who", **PLAIN, **more) == expected


def test_pandas(expected):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"message": texts(), "who": WHO, "n": range(len(WHO))})
    same(frame, expected)
    same(frame.astype({"message": "category"}), expected)
    back = expected.texts.to_pandas()
    assert list(back["count"]) == list(expected.counts) and back["text"].isna().all()
    with pytest.raises(fre_e2t.DataError, match="the column 'n' holds int64, not strings"):
        fre_e2t.synthesize(frame, text="n", user="who", **PLAIN)
    with pytest.raises(fre_e2t.DataError, match="has no column 'massage' for text; its columns: message, who, n; did you "
                                                "mean 'message'"):
        fre_e2t.synthesize(frame, text="massage", **PLAIN)
    times = frame.assign(message=pandas.Timestamp("2026-01-01"))
    with pytest.raises(fre_e2t.DataError, match="the column 'message' holds timestamp, not strings"):
        fre_e2t.synthesize(times, text="message", **PLAIN)
    with pytest.raises(fre_e2t.DataError, match="data is empty"):
        fre_e2t.synthesize(frame.iloc[:0], text="message", **PLAIN)


def test_polars(expected):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"message": texts(), "who": WHO})
    same(frame, expected)
    same(frame.with_columns(polars.col("message").cast(polars.Categorical)), expected)
    alone = fre_e2t.synthesize(frame["message"], user=False, **PLAIN)
    assert alone == fre_e2t.synthesize(texts(), user=False, **PLAIN)
    back = expected.texts.to_polars()
    assert back["count"].to_list() == expected.counts.tolist()
    with pytest.raises(fre_e2t.UsageError, match="a single column"):
        fre_e2t.synthesize(frame["message"], user="who", **PLAIN)


def test_pyarrow(expected):
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        column = pa.array(texts()).cast(pa.dictionary(pa.int32(), pa.string())) if pa.types.is_dictionary(kind) \
            else pa.array(texts(), kind)
        table = pa.table({"message": column, "who": pa.array(WHO)})
        same(table, expected)
        same(pa.concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7)]), expected)
        same(table.to_reader(max_chunksize=11), expected)
    back = expected.texts.to_arrow()
    assert back.num_rows == len(expected) and back["level"].to_pylist() == ["grid"] * len(expected)
    assert back["text"].null_count == len(expected)


def test_duckdb(expected):
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    rows = pa.table({"message": texts(), "who": WHO, "place": list(range(len(WHO)))})  # noqa: F841  (DuckDB finds it by name)
    same(duckdb.sql("select message, who from rows order by place"), expected)
    out = expected.texts.to_arrow()  # noqa: F841
    assert duckdb.sql("select sum(count) from out").fetchall()[0][0] == expected.counts.sum()


def test_columns_of_other_kinds():
    pa = pytest.importorskip("pyarrow")
    wrong = {"list<item: string>": pa.array([["a"], ["b"]]), "timestamp": pa.array([datetime.datetime(2026, 1, 1)] * 2),
             "double": pa.array([1.0, 2.0]), "bool": pa.array([True, False]), "binary": pa.array([b"a", b"b"]),
             "struct": pa.array([{"a": "b"}] * 2)}
    for name, column in wrong.items():
        with pytest.raises(fre_e2t.DataError, match="the column 'message' holds [a-z0-9_]+, not strings") as caught:
            fre_e2t.synthesize(pa.table({"message": column}), text="message", **PLAIN)
        assert "\n" not in str(caught.value), name
    with pytest.raises(fre_e2t.DataError, match="the column 'who' holds double, not strings or integers"):
        fre_e2t.synthesize(pa.table({"message": ["a"], "who": [1.0]}), text="message", user="who", **PLAIN)
    with pytest.raises(fre_e2t.DataError, match="the first: data: line 1: "):
        fre_e2t.synthesize(pa.table({"message": pa.nulls(3)}), text="message", **PLAIN)


def test_nulls_and_numbers_of_users():
    pa = pytest.importorskip("pyarrow")
    some = [t if i % 5 else None for i, t in enumerate(texts())]
    numbers = [i % 70 for i in range(len(some))]
    release = fre_e2t.synthesize(pa.table({"message": some, "who": numbers}), text="message", user="who", **PLAIN)
    assert release.not_for_publication["records"] == sum(t is not None for t in some)
    assert release.not_for_publication["users"] == len({n for t, n in zip(some, numbers) if t})


def test_rows_of_texts():
    pa = pytest.importorskip("pyarrow")
    assert fre_e2t.embed(pa.table({"message": FREQUENT}), text="message").shape[0] == len(FREQUENT)
