"""`HermesThreads`: the engine as a `ContextEngine` of Hermes Agent, registered as a plug-in.

Hermes loads this module by its entry point; `context.engine: thalweg` in its `config.yaml` selects
it. Hermes itself is imported in `register` alone.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from thalweg.archive import RECALL_TOOL
from thalweg.engine.entries import RECALL
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_integrations.slot import EngineSlot, HostCall

_WIRE = OpenAIChatWire()
_WIRES = {"anthropic_messages": "anthropic", "codex_responses": "openai-responses"}
"""The wire by Hermes' `api_mode`; any other is `openai-chat`."""
NAME = "thalweg"
Rows = list[dict[str, Any]]


class HermesThreads:
    """The methods of Hermes' `ContextEngine`, one instance an agent.

    If Hermes asks for each request (`select_context`), the request gets the view and the
    transcript is kept whole. An older Hermes asks when its threshold is reached (`compress`), and
    continues with the view in the transcript's place. A view is as valid in both, and the log has
    every message.

    Args:
        slot: The archive and the policy; by default those of `EngineSlot`.
    """

    name = NAME
    last_prompt_tokens = 0
    last_completion_tokens = 0
    last_total_tokens = 0
    threshold_tokens = 0
    context_length = 0
    compression_count = 0
    threshold_percent = 0.5
    """Share of the window at which an older Hermes compacts: the default of its own engine."""
    protect_first_n = 3
    protect_last_n = 6

    def __init__(self, slot: EngineSlot | None = None) -> None:
        super().__init__()
        self.slot = EngineSlot() if slot is None else slot
        self.thread = ""
        self.model = ""
        self.wire = _WIRE.name
        self._selects = False
        """Whether this Hermes asks for each request."""
        self._is_due = False
        """Whether the transcript reached the threshold: `compress` is called for that."""

    def __deepcopy__(self, memo: object) -> Self:
        """Return an engine for another agent, over the same archive."""
        del memo
        return type(self)(self.slot)

    def on_session_start(self, session_id: str, **kwargs: object) -> None:
        """Set the thread; a session that continues another one after a compaction keeps it."""
        if kwargs.get("boundary_reason") != "compression" or not self.thread:
            self.thread = session_id

    def on_session_reset(self) -> None:
        """Reset the counts of a session."""
        self.last_prompt_tokens = self.last_completion_tokens = self.last_total_tokens = 0
        self.compression_count = 0

    def on_session_end(self, session_id: str, messages: Rows) -> None:
        """Log the last messages of a session."""
        del session_id
        self._log(messages)

    def on_turn_complete(
        self, messages: Rows, usage: Mapping[str, Any] | None = None, **kwargs: object
    ) -> None:
        """Log the last messages of a turn."""
        del usage, kwargs
        self._log(messages)

    def update_model(
        self,
        model: str,
        context_length: int,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
        api_mode: str = "",
    ) -> None:
        """Set the model of the next requests, and its window."""
        del base_url, api_key
        self.model = f"{provider}:{model}"
        self.wire = _WIRES.get(api_mode, _WIRE.name)
        self.context_length = context_length
        self.threshold_tokens = int(context_length * self.threshold_percent)

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Observe the tokens that the provider reports."""
        self.last_prompt_tokens = int(usage.get("prompt_tokens") or 0)
        self.last_completion_tokens = int(usage.get("completion_tokens") or 0)
        self.last_total_tokens = int(usage.get("total_tokens") or 0)
        if self._selects:
            self.slot.observe(self.thread, self.model, self.last_prompt_tokens)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether the transcript is to be replaced: never if each request is selected."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        self._is_due = not self._selects and 0 < self.threshold_tokens <= tokens
        return self._is_due

    def compress(
        self,
        messages: Rows,
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,  # noqa: FBT001, FBT002 (Hermes calls it so)
        memory_context: str = "",
    ) -> Rows:
        """Return the view that takes the place of the transcript.

        Where neither the threshold nor the user is the reason, the provider refused the request as
        too large: the view is smaller than that.

        Raises:
            WindowExceededError: What cannot be compacted is larger than the model's window.
        """
        del current_tokens, focus_topic, memory_context
        if not self._is_due and not force:
            self.slot.refused(self.thread)
        self._is_due = False
        parsed, _ = _WIRE.read(messages)
        view: Rows = _WIRE.write(self.slot.view(self.thread, parsed, self._call(requested=True)))
        self.compression_count += view != messages
        self.last_prompt_tokens = -1  # Hermes': until the provider reports the next request
        return view

    def select_context(
        self,
        request_messages: Rows,
        *,
        conversation_messages: Rows | None = None,
        incoming_message: Mapping[str, Any] | None = None,
        budget_tokens: int = 0,
    ) -> Rows:
        """Return the view for one request, with what Hermes adds to it alone.

        Raises:
            WindowExceededError: What cannot be compacted is larger than the model's window.
        """
        del incoming_message
        self._selects = True
        self.context_length = budget_tokens or self.context_length
        head = next((k for k, m in enumerate(request_messages) if m.get("role") != "system"), 0)
        tail = request_messages[head:]
        kept = tail if conversation_messages is None else conversation_messages
        added = len(tail) - len(kept)
        if added < 0 or [m.get("role") for m in tail[added:]] != [m.get("role") for m in kept]:
            kept, added = tail, 0
        parsed, _ = _WIRE.read(kept)
        system = json.dumps(request_messages[:head], default=str) if head else ""
        view = self.slot.view(self.thread, parsed, self._call(system))
        sent = {id(m): row for m, row in zip(kept, tail[added:], strict=True)}
        rows: Rows = [sent.get(id(row), row) for row in _WIRE.write(view)]
        return [*request_messages[: head + added], *rows]

    def get_tool_schemas(self) -> Rows:
        """Return the schema of the tool `recall`."""
        return [RECALL_TOOL]

    def handle_tool_call(self, name: str, args: Mapping[str, Any], **kwargs: object) -> str:
        """Return the result of a call of `recall`, as JSON."""
        del kwargs
        if name != RECALL:
            return json.dumps({"error": f"there is no tool {name!r} here; call {RECALL!r}"})
        return json.dumps({"result": self.slot.recall(self.thread, **args)}, ensure_ascii=False)

    def _call(self, system: str = "", *, requested: bool = False) -> HostCall:
        window = self.context_length or None
        return HostCall(self.model, self.wire, window, system, self.get_tool_schemas(), requested)

    def _log(self, messages: Sequence[Mapping[str, Any]]) -> None:
        if self.thread and messages:
            self.slot.log(
                self.thread, _WIRE.read([m for m in messages if m.get("role") != "system"])[0]
            )


def register(context: Any) -> None:  # noqa: ANN401 (Hermes' plug-in context)
    """Register the engine; Hermes calls this when it loads its plug-ins."""
    from agent.context_engine import ContextEngine  # noqa: PLC0415 (Hermes, where it runs)

    kinds: tuple[type, ...] = (HermesThreads, ContextEngine)
    make: Callable[[], object] = type("ThalwegEngine", kinds, {})
    context.register_context_engine(make())
