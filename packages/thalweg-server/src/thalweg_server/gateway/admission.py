"""Whether a request comes in: who sends it, how many of the owner's came, and its body."""

from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from thalweg_server.gateway.authentication import OWNER
from thalweg_server.gateway.bodies import bounded_body
from thalweg_server.gateway.budgets import Budgets
from thalweg_server.gateway.problems import GatewayRefusal, refuse
from thalweg_server.gateway.rules import GatewayRules


class Admission:
    """ASGI middleware: notes the owner of a request, or refuses it before a route runs."""

    def __init__(
        self, application: ASGIApp, rules: Callable[[], GatewayRules], budgets: Budgets
    ) -> None:
        self._application = application
        self._rules = rules
        self._budgets = budgets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        try:
            if scope["type"] == "http":
                receive = await self._admit(scope, receive)
            await self._application(scope, receive, send)
        except GatewayRefusal as refusal:
            await refuse(refusal, scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        """Check a request in the order of cost: its body comes last."""
        rules = self._rules()
        if (lock := rules.lock_of(scope["path"])) is not None:
            owner = scope[OWNER] = await lock(scope)
            self._budgets.take_request(owner)
        return await bounded_body(scope, receive, rules.bodies)
