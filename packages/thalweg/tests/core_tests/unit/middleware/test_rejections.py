"""Refusals of what a request contains, as each provider words them."""

import pytest
from langchain_core.language_models import FakeListChatModel

from thalweg.context.request.refusals import refuses_tools, rejection_of


class RefusalError(Exception):
    """What a client raises for an HTTP error."""

    def __init__(self, said: str, status: int = 400) -> None:
        super().__init__(said)
        self.status_code = status


CONTENT = (
    "messages.2.content.0.image.source.base64.data: The image could not be processed",
    'messages: roles must alternate between "user" and "assistant"',
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "string does not match pattern. {'param': 'messages[3].tool_calls[0].function.name'}",
    "{'error': {'message': 'No tool output found for function call', 'param': 'input'}}",
    "* GenerateContentRequest.contents[2].parts: contents.parts must not be empty.",
    "Please ensure that function call turn comes immediately after a user turn",
    "Invalid request.",
    "This model: foo does not support image input",
    "Request failed for model: llava. image could not be processed",
)
"""About what a thread holds, or without a reason."""
SETTINGS = (
    "tools.0.custom.input_schema: JSON schema is invalid",
    "max_tokens: must be greater than or equal to 1",
    "context_management.edits.0: Input should be a valid edit",
    'Unsupported value: \'temperature\'. {"param": "temperature", "code": "unsupported_value"}',
    "{'type': 'error', 'error': {'message': 'tools.0.custom.name: should match pattern'}}",
    "when calling the InvokeModel operation: tools.0.custom.name: should match pattern",
    "400 * GenerateContentRequest.tools[0].function_declarations[0].name: Invalid name.",
    "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name.",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "This model does not support assistant message prefill.",
    "Your credit balance is too low to access the Anthropic API.",
)
"""About what the caller set."""


@pytest.mark.parametrize("said", CONTENT)
def test_a_refusal_of_the_content_is_read(said: str) -> None:
    rejection = rejection_of(RefusalError(said), "openai:m")
    assert rejection is not None
    assert (rejection.status, rejection.model) == (400, "openai:m")
    assert rejection.message.startswith(said[:40])


@pytest.mark.parametrize("said", SETTINGS)
def test_no_thread_is_edited_for_a_setting(said: str) -> None:
    assert rejection_of(RefusalError(said)) is None


@pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 413, 429, 500, 529])
def test_other_statuses_are_something_else(status: int) -> None:
    assert rejection_of(RefusalError("messages.0: no", status)) is None


def test_a_file_that_gemini_has_deleted_is_content_in_spite_of_its_status() -> None:
    gone = "You do not have permission to access the File 6w9x or it may not exist."
    assert rejection_of(RefusalError(f"403 PERMISSION_DENIED. {gone}", 403)) is not None


class ModelTimeoutError(RefusalError):
    """A user's own class with a name of LangChain's."""


def test_a_class_is_not_recognized_by_its_name() -> None:
    assert rejection_of(ModelTimeoutError("messages.0: no")) is not None


def test_only_bind_tools_refuses_tools_by_what_it_does_not_implement() -> None:
    """Another method that is not implemented does not depend on the tools."""
    with pytest.raises(NotImplementedError) as unbound:
        FakeListChatModel(responses=["Yes."]).bind_tools([])
    assert refuses_tools(unbound.value)

    with pytest.raises(NotImplementedError) as other:
        raise NotImplementedError
    assert not refuses_tools(other.value)


def test_a_failure_without_a_status_is_something_else() -> None:
    assert rejection_of(ConnectionError("messages.0: no")) is None


def test_the_cause_of_a_wrapped_error_is_read() -> None:
    """As ChatGoogleGenerativeAI raises the refusals of Google's client."""
    wrapped = ValueError("Invalid argument provided to Gemini")
    wrapped.__cause__ = RefusalError("400 INVALID_ARGUMENT")
    rejection = rejection_of(wrapped)
    assert rejection is not None
    assert rejection.message == "400 INVALID_ARGUMENT"


CONTENT_BEHIND_A_COLON = (
    "upstream error: model: messages.0.content.1.image: could not process",
    "Error: model: the image could not be processed",
    "provider: input: messages[3] has no content",
    "Bad request: text: content blocks must not be empty",
    "litellm.BadRequestError: reasoning: item rs_1 was provided without its required item",
    "vLLM: model: audio is not supported",
    "Error from upstream: thinking: blocks in the latest assistant message cannot be modified",
    "400: system: contents.2.parts must not be empty",
    "gateway: metadata: tool_result without tool_use in messages.4",
    "failed: messages: text content blocks must contain non-whitespace text",
    "when calling the Converse operation: messages.2.content.0: the file could not be read",
    "proxy: text: messages.1.content.0.text is blank",
    "INVALID_ARGUMENT: model: unsupported MIME type video/x",
    "Error: tools: contents.3.parts.0 calls a function that is not declared",
    "openrouter: model: roles must alternate",
)
SETTING_BEHIND_A_COLON = (
    "when calling the InvokeModel operation: temperature: range: -1..1",
    "when calling the InvokeModel operation: max_tokens: must be at least 1",
    "ValidationException: tools.3.input_schema: JSON schema is invalid",
    "Bad request: tool_choice: unknown tool",
    "upstream error: thinking.enabled.budget_tokens: should be at least 1024",
    "400: stop_sequences: each must hold a letter",
    "Error: top_p: must not be used with temperature",
    "gateway: reasoning.effort: unsupported value",
    "INVALID_ARGUMENT: generation_config.top_k: out of range",
    "litellm: metadata.user_id: too long",
    "proxy: response_format: schema is missing",
    "Error: service_tier: unknown",
    "vLLM: output_config.effort: is not allowed",
    "provider: tools[2].name: should match pattern",
    "Error: text.format.schema: is invalid",
)
"""Both were written before the rule between them. The one before read four of the first."""


@pytest.mark.parametrize("text", CONTENT_BEHIND_A_COLON)
def test_a_word_behind_a_colon_is_no_setting(text: str) -> None:
    assert rejection_of(RefusalError(text)) is not None


@pytest.mark.parametrize("text", SETTING_BEHIND_A_COLON)
def test_a_path_behind_a_colon_is_a_setting(text: str) -> None:
    assert rejection_of(RefusalError(text)) is None
