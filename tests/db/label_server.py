"""A process that records labels without end: `python -m tests.db.label_server URL`. It prints a line for each.

"saved ID" once the label is acknowledged, else "refused REASON"; a refused label is sent again, as the browser does.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from multiprocessing.connection import Connection

from core.data import SegmentKey
from core.errors import Unavailable
from core.ports.labels import Action
from db.store import open_store
from tests.builders import small_dataset


def serve(say: Callable[[str], object], url: str) -> None:
    store = open_store(url)
    found = store.projects.list()
    project = found[0].id if found else store.projects.create("p").id
    if not found:
        store.projects.add(project, small_dataset())
    start = len(store.labels.events(project))
    for number in count(start):
        action = Action(f"a{number}", "verdict", "A", {"value": "no_error" if number % 2 else None})
        while True:
            try:
                store.labels.append(project, "ann", SegmentKey("doc", "0"), [action])
                say(f"saved {action.id}")
                break
            except Unavailable as error:
                say(f"refused {error}")
                time.sleep(0.02)


def serve_through(connection: Connection, url: str) -> None:
    serve(connection.send, url)


if __name__ == "__main__":
    serve(partial(print, flush=True), sys.argv[1])
