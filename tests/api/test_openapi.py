"""Programs find a description of the routes, and the routes do what it says, whatever is sent."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from starlette.applications import Starlette

from api.documentation import FOR_PROGRAMS, routes
from tests.api.conftest import Site

PLAIN = settings(
    max_examples=40, deadline=None, database=None, phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def test_every_route_for_programs_is_described(site: Site) -> None:
    document = site.client.get("/api/openapi.json").json()
    described = {(method.upper(), path) for path, of in document["paths"].items() for method in of}
    assert described == {(route.method, route.path) for route in FOR_PROGRAMS}
    assert {"LabelBatches", "ActionsSaved", "ErrorAnswer"} <= document["components"]["schemas"].keys()


@pytest.mark.extended
def test_generated_requests_get_the_answers_that_are_described(site: Site) -> None:
    import schemathesis
    from schemathesis import checks

    app = Starlette(routes=routes())
    schema = schemathesis.openapi.from_dict(site.client.get("/api/openapi.json").json())
    schema.app = app
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()

        @PLAIN
        @given(case=operation.as_strategy())
        def answers(case: schemathesis.Case) -> None:
            response = case.call(headers=site.link)
            case.validate_response(
                response,
                checks=[checks.not_a_server_error, checks.response_schema_conformance, checks.content_type_conformance],
            )
            tried.append(response.status_code)

        answers()
    assert len(tried) > 50
    assert 200 in tried
    assert max(tried) < 500
