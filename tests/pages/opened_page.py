"""Open a page on a project, as its address in a browser does."""

from streamlit.testing.v1 import AppTest

from tests.paths import APP


def opened(page: str, project: int) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=120)
    at.query_params["project"] = str(project)
    at = at.switch_page(f"pages/{page}.py").run()
    assert not at.exception
    return at
