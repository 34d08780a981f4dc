"""Putting the application together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from os import PathLike

from fastapi import FastAPI
from starlette.middleware import Middleware

from thalweg_server.app import App, open_app
from thalweg_server.gateway.access import Gateway
from thalweg_server.gateway.admission import Admission
from thalweg_server.gateway.budgets import Budgets
from thalweg_server.gateway.document import documents_itself
from thalweg_server.gateway.metrics import Metrics
from thalweg_server.gateway.observing import RequestObserver
from thalweg_server.gateway.problems import answers_problems
from thalweg_server.gateway.routes.catalogue import catalogue
from thalweg_server.gateway.routes.facts import facts
from thalweg_server.gateway.routes.files import files
from thalweg_server.gateway.routes.health import health
from thalweg_server.gateway.routes.memory import memory
from thalweg_server.gateway.routes.page import shows_its_page
from thalweg_server.gateway.routes.runs import runs
from thalweg_server.gateway.routes.threads import threads
from thalweg_server.gateway.rules import CorsByRules, rule_book
from thalweg_server.gateway.streams import Streams
from thalweg_server.settings import Settings


def create_app(
    app: App | Settings | str | PathLike[str] | None = None,
    *,
    owner: str | None = None,
    token: str | None = None,
) -> FastAPI:
    """Return the HTTP application over an `App`.

    Args:
        app: An open `App`, which this application does not close; or a closed one, settings, or the
            path of a `config.yaml` (by default the usual places), which is opened and closed with
            this application's lifespan.
        owner: The owner of everything, for an application that only its own process can reach: then
            callers do not authenticate. By default keys and tokens determine the owner.
        token: The token of callers on this machine if the settings have neither keys nor an OpenID
            provider; without it every process of the machine has access.
    """
    inside = open_app(app) if not isinstance(app, App) else app
    rules = rule_book(lambda: inside.settings.gateway, owner, token)
    metrics = Metrics()
    budgets = Budgets(lambda owner: rules().limits_of(owner), metrics.refused)
    inside.watch(metrics.happened)
    inside.watch(budgets.happened)
    streams = Streams(lambda: inside.settings.gateway.max_streams, metrics.refused)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if inside.is_open:
            yield
            return
        async with inside:
            yield

    application = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(RequestObserver, metrics),
            Middleware(CorsByRules, rules),
            Middleware(Admission, rules, budgets),
        ],
    )
    application.state.gateway = Gateway(inside, streams, metrics, budgets, rules)
    answers_problems(application)
    for router in (runs, threads, files, memory, facts, catalogue, health):
        application.include_router(router)
    documents_itself(application, lambda: rules().is_locked)
    shows_its_page(application)
    return application
