"""Data frames in and out, by Arrow's PyCapsule interface.  Each library is used where it is installed; `make check-python`
has all of them."""

import datetime
import re

import pytest

from arrow_producer import STRING, TWO, Producer, array, capsule, column, indices, ints, schema, view
from conftest import FREQUENT, texts
from the_package import fre_e2t

np = pytest.importorskip("numpy")

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
    with pytest.raises(fre_e2t.DataError, match="the first: data: record 1: "):
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


# ---- what does not keep to the interface ------------------------------------------------------------------------

FAR = (1 << 63) - 1
HEAD = ints("i", 20) + b"xxxx"
BUFFERS, ROW = 'the column "t" has fewer rows or buffers', 'row 1 of the column "t" has an offset, a length or an index outside'
UNSOUND = {
    "no capsule": (lambda: Producer(STRING, name=None), "returns no capsule"),
    "another capsule": (lambda: Producer(STRING, name=b"arrow_array"), "returns no capsule"),
    "released": (lambda: Producer(STRING, release=None), "was read before: make it anew"),
    "format missing": (lambda: column(array(2, TWO), schema(None, b"t")), "the column 't' holds an unknown type, not strings"),
    "name missing": (lambda: column(array(2, TWO), schema(b"u", None)), "has no column 't'"),
    "children missing": (lambda: Producer(schema(b"+s", n_children=1), [array(2)]), "its schema lacks columns"),
    "child missing": (lambda: Producer(schema(b"+s", children=[None]), [array(2)]), "its schema lacks columns"),
    "children of the chunk": (lambda: Producer(schema(b"+s", children=[STRING]), [array(2, [None], n_children=1)]), BUFFERS),
    "child of the chunk": (lambda: column(None), BUFFERS),
    "length below 0": (lambda: column(array(2, TWO), rows=-1), BUFFERS),
    "length": (lambda: column(array(2, TWO), rows=FAR), BUFFERS),
    "shorter child": (lambda: column(array(1, TWO)), BUFFERS),
    "offset below 0": (lambda: column(array(2, TWO, offset=-1)), BUFFERS),
    "offset": (lambda: column(array(2, TWO, offset=FAR)), BUFFERS),
    "the table's offset": (lambda: column(array(2, TWO), offset=-5), BUFFERS),
    "buffers missing": (lambda: column(array(2, n_buffers=3)), BUFFERS),
    "a buffer missing": (lambda: column(array(2, TWO[:2])), BUFFERS),
    "offsets missing": (lambda: column(array(2, [None, None, b"x"])), ROW),
    "data missing": (lambda: column(array(2, [None, TWO[1], None])), ROW),
    "offsets that fall": (lambda: column(array(2, [None, ints("i", 5, 3, 8), b"x" * 8])), ROW),
    "offsets below 0": (lambda: column(array(2, [None, ints("i", -5, 3, 8), b"x" * 8])), ROW),
    "view of no buffer": (lambda: view(HEAD + ints("i", 7, 0)), ROW),
    "view behind its buffer": (lambda: view(HEAD + ints("i", 0, 1 << 30)), ROW),
    "view before its buffer": (lambda: view(HEAD + ints("i", 0, -9)), ROW),
    "view longer than its buffer": (lambda: view(ints("i", 1 << 30) + HEAD[4:] + ints("i", 0, 0)), ROW),
    "view without lengths": (lambda: view(HEAD + ints("i", 0, 0), lengths=None), ROW),
    "view without buffers": (lambda: view(HEAD + ints("i", 0, 0), buffers=()), ROW),
    "view, two buffers": (lambda: column(array(1, [None, HEAD * 2]), schema(b"vu", b"t"), 1), BUFFERS),
    "index outside": (lambda: indices(b"i", ints("i", 2, 0)), ROW),
    "index below 0": (lambda: indices(b"i", ints("i", -1, 0)), ROW),
    "index of 64 bits": (lambda: indices(b"L", ints("Q", (1 << 64) - 1, 0)), ROW),
    "indices missing": (lambda: indices(b"i", None), ROW),
    "dictionary's length": (lambda: indices(b"i", ints("i", 0, 0), dictionary=array(-2, TWO)), BUFFERS),
    "dictionary's buffers": (lambda: indices(b"i", ints("i", 0, 0), dictionary=array(2, n_buffers=3)), BUFFERS),
    "dictionary missing": (lambda: column(array(2, [None, ints("i", 0, 1)]), schema(b"i", b"t", dictionary=schema(b"u"))), BUFFERS),
    "nested dictionary": (lambda: column(array(2, TWO), schema(b"i", b"t", dictionary=schema(b"i", dictionary=schema(b"u")))),
                          "holds dictionary of dictionary of string, not strings"),
    "two of one name": (lambda: Producer(schema(b"+s", children=[STRING, STRING]), []), "data has 2 columns 't' for text"),
    "no UTF-8": (lambda: column(array(1, [None, ints("i", 0, 2), b"\xff\xfe"]), rows=1), "record 1 of data is not UTF-8"),
    "fails": (lambda: Producer(STRING, code=5), "failed to hand over its rows: fetch them yourself"),
    "fails, and says why": (lambda: Producer(STRING, [array(2, TWO)], 5, b"a secret is no number"), "the rows behind the first 2: fetch"),
    "fails, and cannot say": (lambda: Producer(STRING, code=5, get_last_error=None), "its rows: fetch them yourself"),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_a_producer_that_lies(case):
    """One sentence with the column and the row; nothing is read that is not there, and all is released."""
    make, words = UNSOUND[case]
    data = make()
    with pytest.raises(fre_e2t.DataError, match=re.escape(words)) as caught:
        fre_e2t.embed(data, text="t")
    said = str(caught.value)
    assert said.isprintable() and "secret" not in said and caught.value.__context__ is None
    assert data.ends == ([] if "capsule" in case or case == "released" else ["released"])


def test_what_a_producer_may_do():
    """Empty chunks, offsets, unknown counts of nulls, views, dictionaries with offsets."""
    one, two = fre_e2t.embed(["one two", "three four"])
    shifted = column(array(2, TWO, null_count=-1), rows=1, offset=1)
    assert (fre_e2t.embed(shifted, text="t") == [two]).all()
    chunks = [array(0, [None], [array(0, [None, None, None])]), array(2, [None], [array(2, TWO)])]
    assert (fre_e2t.embed(Producer(schema(b"+s", children=[STRING]), chunks), text="t") == [one, two]).all()
    assert (fre_e2t.embed(indices(b"C", b"\x09\x01\x00", offset=1), text="t") == [two, one]).all()
    inline = ints("i", 7) + b"one two\0\0\0\0\0"
    assert (fre_e2t.embed(view(inline), text="t") == [one]).all()
    long = view(HEAD + ints("i", 0, 2), buffers=(b"  " + b"x" * 20,), lengths=ints("q", 22))
    assert (fre_e2t.embed(long, text="t") == fre_e2t.embed(["x" * 20])).all()
    with pytest.raises(fre_e2t.DataError, match="record 2 has no text"):
        fre_e2t.embed(column(array(2, [b"\1", *TWO[1:]], null_count=77)), text="t")


def fails(data):
    """A frame whose own error quotes a value: ours doesn't, nor does what hangs on it."""
    with pytest.raises(fre_e2t.DataError, match="^data failed to hand over .*: fetch them yourself, as with") as caught:
        fre_e2t.embed(data)
    assert "secret" not in str(caught.value) and caught.value.__context__ is caught.value.__cause__ is None
    return str(caught.value)


def test_an_exporter_that_fails():
    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("a secret is no number")

    class NoPair:
        def __arrow_c_array__(self, requested_schema=None):
            return "a secret"

    fails(Raises())
    fails(NoPair())


def test_frames_that_fail_quote_nothing():
    """Of DuckDB before the first row and behind some, of polars, and of a generator of pyarrow's."""
    duckdb, pa = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    fails(duckdb.sql("select cast(x as int)::varchar as text from (values ('a secret')) t(x)"))
    late = "case when i > 200000 then cast('a secret ' || i as int)::varchar else 'x' end"
    fails(duckdb.sql(f"select {late} as text from range(300000) t(i)"))
    fails(polars.LazyFrame({"text": ["a secret"]}).select(polars.col("text").str.to_integer()))

    def batches():
        yield pa.record_batch({"text": ["one"]})
        raise ValueError("a secret")

    assert "the rows behind the first 1:" in fails(pa.RecordBatchReader.from_batches(pa.schema([("text", pa.string())]), batches()))


# ---- frames and arrays without a stream ---------------------------------------------------------------------------

class One:
    """What has Arrow's array and no stream."""

    def __init__(self, what, chunk, names=(b"arrow_schema", b"arrow_array")):
        self.both, self.names = (what, chunk), names

    def __arrow_c_array__(self, requested_schema=None):
        return tuple(capsule(c, name) for c, name in zip(self.both, self.names))


def test_an_array_alone():
    """Is taken as it is, a table of one chunk or a single column, and released."""
    one, two = fre_e2t.embed(["one two", "three four"])
    for what, chunk in [(schema(b"u"), array(2, TWO)),
                        (schema(b"+s", children=[schema(b"i", b"n"), schema(b"u", b"text")]),
                         array(2, [None], [array(2, [None, ints("i", 1, 2)]), array(2, TWO)]))]:
        assert (fre_e2t.embed(One(what, chunk)) == [one, two]).all()
        assert not what.release and not chunk.release
        with pytest.raises(fre_e2t.DataError, match="was read before"):
            fre_e2t.embed(One(what, chunk))
    wrong = schema(b"i"), array(2, [None, ints("i", 1, 2)])
    with pytest.raises(fre_e2t.DataError, match="^data holds int32, not strings: convert it$"):
        fre_e2t.embed(One(*wrong))
    assert not wrong[0].release and not wrong[1].release
    for names in [(b"arrow_schema", b"arrow_schema"), (b"arrow_array", b"arrow_array")]:
        with pytest.raises(fre_e2t.DataError, match="no sound Arrow: it returns no capsule 'arrow_"):
            fre_e2t.embed(One(schema(b"u"), array(2, TWO), names))


def test_arrays_of_pyarrow(expected):
    pa = pytest.importorskip("pyarrow")
    batch = pa.RecordBatch.from_pydict({"message": ["x", *texts()], "who": ["y", *WHO]}).slice(1)
    same(batch, expected)
    same(batch.to_struct_array(), expected)
    alone = fre_e2t.synthesize(texts(), user=False, **PLAIN)
    for column in (pa.array(["x", *texts()])[1:], pa.array(texts()).dictionary_encode(), pa.chunked_array([texts()])):
        assert fre_e2t.synthesize(column, user=False, **PLAIN) == alone
    with pytest.raises(fre_e2t.UsageError, match="a single column of texts"):
        fre_e2t.synthesize(pa.array(texts()), user="who", **PLAIN)
    with pytest.raises(fre_e2t.DataError, match="^data holds list, not strings: convert it$"):
        fre_e2t.embed(pa.array([["a"]]))
    assert fre_e2t.synthesize(embeddings=np.ones((2, 3)), user=pa.array([1, None]), epsilon=8, threshold=40, population=100000,
                              ledger=False, dry_run=True)


def test_a_lazy_frame_of_polars(expected):
    """Of which the named columns are collected, and nothing else."""
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"message": texts(), "who": WHO, "other": "a secret"})
    frame = frame.with_columns(polars.col("other").str.to_integer())  # fails
    same(frame, expected)
    with pytest.raises(fre_e2t.DataError, match="has no column 'massage' for text; .* did you mean 'message'"):
        fre_e2t.embed(frame, text="massage")


def test_a_series_of_pandas():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    alone = fre_e2t.synthesize(texts(), user=False, **PLAIN)
    for kind in ("str", "object", "category"):
        assert fre_e2t.synthesize(pandas.Series(texts()).astype(kind), user=False, **PLAIN) == alone
    with pytest.raises(fre_e2t.DataError, match="^data holds int64, not strings: convert it$"):
        fre_e2t.embed(pandas.Series([1, 2]))
    with pytest.raises(fre_e2t.DataError, match="^record 2 of data is NAType, not a str: make what is missing None"):
        fre_e2t.embed(["a", pandas.NA])
    frame = pandas.DataFrame({"t": ["a", "b"], "who": [1, None]})
    with pytest.raises(fre_e2t.DataError, match=r"holds double, not .*: convert it \(.astype\('Int64'\) where pandas made floats"):
        fre_e2t.synthesize(frame, text="t", user="who", **PLAIN)
    assert fre_e2t.synthesize(frame.astype({"who": "Int64"}), text="t", user="who", dry_run=True, **PLAIN)


def test_users_of_a_nested_dictionary():
    """Whose indices are no names: one user would be taken for two."""
    inner = array(2, [None, ints("i", 0, 0)], dictionary=array(2, TWO))
    kind = schema(b"i", b"u", dictionary=schema(b"i", dictionary=schema(b"u")))
    chunk = array(2, [None], [array(2, TWO), array(2, [None, ints("i", 0, 1)], dictionary=inner)])
    with pytest.raises(fre_e2t.DataError, match="the column 'u' holds dictionary of dictionary of string, not strings or integers"):
        fre_e2t.synthesize(Producer(schema(b"+s", children=[STRING, kind]), [chunk]), text="t", user="u", **PLAIN)


def test_pandas_that_arrow_has_no_type_for():
    """Of columns that are not named nobody asks; an error of pyarrow's would quote a value."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    mixed = ["a secret", 5] * 300
    frame = pandas.DataFrame({"t": texts(), "who": WHO}).assign(other=(mixed * len(WHO))[:len(WHO)])
    assert fre_e2t.synthesize(frame, text="t", user="who", dry_run=True, **PLAIN)
    assert fre_e2t.synthesize(frame.set_index("other"), text="t", dry_run=True, **PLAIN)
    with pytest.raises(fre_e2t.DataError, match="^the column 'other' of data mixes types") as caught:
        fre_e2t.synthesize(frame, text="other", **PLAIN)
    assert caught.value.__context__ is None and "secret" not in str(caught.value)
    twice = pandas.DataFrame([["a", "b", "c"]], columns=["t", "t", "u"])
    with pytest.raises(fre_e2t.DataError, match="data has 2 columns 't' for text"):
        fre_e2t.synthesize(twice, text="t", **PLAIN)
    twice.columns = ["t", "u", "u"]
    assert fre_e2t.embed(twice, text="t").shape[0] == 1


def test_frames_without_a_stream(monkeypatch):
    class Frame:
        columns = ["text"]

        def __iter__(self):
            return iter(self.columns)

    with pytest.raises(fre_e2t.UsageError, match="data is of type Frame, which has no stream of Arrow"):
        fre_e2t.synthesize(Frame(), **PLAIN)
    monkeypatch.setattr(Frame, "__module__", "pyspark.sql.dataframe")
    with pytest.raises(fre_e2t.UsageError, match="data is a Spark frame: fre_e2t.spark.synthesize takes it"):
        fre_e2t.synthesize(Frame(), **PLAIN)
