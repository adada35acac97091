"""The console as an ASGI application: the pages of the table, behind the guard."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Final

import anyio
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from jobs.console.access.people import PeopleError
from jobs.console.admit import NotSignedInError, admit, give_session
from jobs.console.attempt import OPERATORS, RefusedError, told_of
from jobs.console.guard import Guard
from jobs.console.house import House, Visit
from jobs.console.page import Page
from jobs.console.pages import PAGES
from jobs.console.pages.sign import sign_in_page
from jobs.console.render import STATIC, render
from jobs.errors import keep_traceback

_FLUSH_SECONDS: Final = 15.0


def make_app(house: House, body_seconds: float = 15.0) -> ASGIApp:
    """The application of a workspace. A browser has so many seconds to send a form."""
    routes = [Route(page.path, _endpoint(house, page), methods=[page.method]) for page in PAGES]
    routes.append(Route("/static/{name:str}", _static))
    app = Starlette(routes=routes, lifespan=_lifespan(house), exception_handlers={HTTPException: _no_page(house)})
    app.router.redirect_slashes = False
    return Guard(app, house, body_seconds)


def _endpoint(house: House, page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = await request.body()
        return await run_in_threadpool(_answer, house, page, request, body)

    return endpoint


def _answer(house: House, page: Page, request: Request, body: bytes) -> Response:
    """The answer of a page, or the sentence that says why there is none."""
    visit = Visit(house, request)
    try:
        visit = replace(admit(house, request, page.right, body), asks=page.asks)
        answer = page.answer(visit)
    except NotSignedInError as refused:
        _note(visit, refused)
        if _is_json(visit) or house.proxy is not None or request.method == "POST":
            return _sentence(visit, 401, refused.told)
        if request.headers.get("sec-fetch-site") == "cross-site":
            return render(visit, "again.html")  # a browser keeps the cookie back from a link that stands elsewhere
        return sign_in_page(visit, status=401)
    except RefusedError as refused:
        _note(who := _who(house, request), refused)
        return _sentence(who, refused.status, refused.told)
    except Exception as error:  # the one boundary: a page that fails is a sentence, and the console goes on
        return _failed(visit, error)
    if visit.new_session:
        give_session(house, answer, visit.new_session)
    return answer


def _who(house: House, request: Request) -> Visit:
    """The visit of somebody whom a page refused, for the frame of the sentence that says so."""
    try:
        return admit(house, request, None, b"")
    except (RefusedError, PeopleError):
        return Visit(house, request)


def _note(visit: Visit, refused: RefusedError) -> None:
    if refused.recorded:
        visit.house.attempts.refused_here(refused.recorded, visit.name)


def _failed(visit: Visit, error: Exception) -> Response:
    """Failures that are the operator's are told in their own words; others are defects, whose traceback is kept."""
    if type(error) is LookupError:
        return _sentence(visit, 404, str(error))
    if isinstance(error, OPERATORS):
        return _sentence(visit, 503, told_of(error))
    import traceback

    place = keep_traceback("".join(traceback.format_exception(error)), visit.house.workspace.root)
    return _sentence(visit, 500, f"A defect of Cloister: {type(error).__name__}. Its traceback is kept in {place}.")


def _sentence(visit: Visit, status: int, told: str) -> Response:
    if _is_json(visit):
        return JSONResponse({"error": told}, status)
    return render(visit, "sentence.html", status=status, told=told)


def _is_json(visit: Visit) -> bool:
    return visit.request.url.path.endswith(".json")


def _no_page(house: House) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def told(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        sentence = "There is no such page." if status == 404 else "Pages are read by GET and forms are sent by POST."
        return await run_in_threadpool(lambda: _sentence(_who(house, request), status, sentence))

    return told


async def _static(request: Request) -> Response:
    found = STATIC.get(request.path_params["name"])
    if found is None:
        return PlainTextResponse("There is no such file.\n", 404)
    return Response(found[0], media_type=found[1])


def _lifespan(house: House) -> Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]:
    async def flush_attempts() -> None:
        while True:
            await anyio.sleep(_FLUSH_SECONDS)
            await run_in_threadpool(house.attempts.flush)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        house.indexes.start()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(flush_attempts)
            yield
            tasks.cancel_scope.cancel()
        await run_in_threadpool(house.close)

    return lifespan
