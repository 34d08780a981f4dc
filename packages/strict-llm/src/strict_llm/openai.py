"""What both APIs of OpenAI have: the key, the largest body, the form of an error."""

from collections.abc import Mapping

from strict_llm.dialect import StrictDialect
from strict_llm.exchange import Object, RequestProblem


class OpenAIDialect(StrictDialect):
    """One of the APIs of OpenAI."""

    body_bytes = 52_428_800
    """Largest body: OpenAI's limit of images in one request, 50 MB."""

    def missing_key(self, headers: Mapping[str, str]) -> RequestProblem | None:
        """Return the problem of a request without a key; see `StrictDialect.missing_key`."""
        if headers.get("authorization", "").startswith("Bearer "):
            return None
        return RequestProblem(
            "You didn't provide an API key. You need to provide your API key in an Authorization "
            "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            401,
        )

    def too_large(self) -> RequestProblem:
        """Refuse a body for its size; see `StrictDialect.too_large`."""
        return RequestProblem(
            f"Request body is too large: at most {self.body_bytes} bytes are allowed.",
            413,
            code="request_too_large",
        )

    def error(self, problem: RequestProblem, request_id: str) -> Object:  # noqa: ARG002 (in a header)
        """Write the body of an error; see `StrictDialect.error`."""
        error = {"message": problem.message, "type": problem.kind}
        return {"error": {**error, "param": problem.param, "code": problem.code}}
