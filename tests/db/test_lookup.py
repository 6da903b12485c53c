from sqlalchemy import Engine, select

from core.data import Dataset, Segment, SegmentKey, Value
from core.ports.store import Store
from db import lookup
from db.engine import reading
from db.lookup import among
from db.tables import runs, scores

KEYS = ["a", "a,b", 'say "a"', "back\\slash", "{}", "NULL", " ", "", "语", "it's", "%s", ":x"]


def test_keys_are_looked_up_as_they_are_written(store: Store, engine: Engine) -> None:
    for wanted in [KEYS, KEYS[3:5], ["absent"], []]:
        store.scores.put("m", "s", {key: Value(1.0) for key in KEYS}, 0.1)
        with reading(engine) as connection:
            query = select(scores.c.content_key).where(among(connection, scores.c.content_key, wanted))
            assert set(connection.execute(query).scalars()) == set(wanted) & set(KEYS)


def test_segments_are_found_by_document_and_name(store: Store, engine: Engine) -> None:
    first, other = store.projects.create("first").id, store.projects.create("other").id
    keys = [SegmentKey(doc_id, name) for doc_id in (*KEYS[:-1], "1") for name in ("1", "a,b", "back\\slash", "语")]
    store.projects.add(first, Dataset(tuple(Segment(*key, f"source {i}") for i, key in enumerate(keys)), ()))
    store.projects.add(other, Dataset((Segment("a", "1", "not this one"), Segment("absent", "1", "nor this one")), ()))
    sought = [*keys[::-2], SegmentKey("absent", "1"), SegmentKey("1", "absent"), keys[-1]]
    with reading(engine) as connection:
        assert list(lookup.segment_ids(connection, first, sought)) == [key for i, key in enumerate(keys) if i % 2]
    texts = store.projects.texts(first, sought).segments
    assert [(s.key, s.source) for s in texts] == [(key, f"source {i}") for i, key in enumerate(keys) if i % 2]
    assert store.projects.texts(first, []).segments == ()


def test_numbers_are_looked_up(store: Store, engine: Engine) -> None:
    for i in range(3):
        store.scores.put("m", "s", {str(i): Value(1.0)}, 0.1)
    with reading(engine) as connection:
        ids = sorted(connection.execute(select(runs.c.id)).scalars())
        query = select(runs.c.id).where(among(connection, runs.c.id, [ids[2], ids[0], 10**9])).order_by(runs.c.id)
        assert list(connection.execute(query).scalars()) == [ids[0], ids[2]]


def test_a_long_list_of_keys_is_cut_into_parts(store: Store) -> None:
    values = {f"{i:064}": Value(float(i)) for i in range(lookup.LISTED + 1)}
    store.scores.put("m", "s", values, 0.1)
    assert store.scores.known("s", [*values, "unknown"]) == set(values)
    assert store.scores.values("s", list(values)) == values
