"""The rules that providers apply to a request, as of November 2026: one row each.

To add a rule: write a check in the provider's module (it yields one fault per breach), add a
row with the provider's own document, its date and what keeps it, and a body that breaks it in
`test_table.py`. `docs/providers.md` lists every row; a test compares the two.

The rows come from the providers' documents, SDKs and error messages alone, never from what
Thalweg sends: they judge it.
"""

from tests.rules import anthropic, gemini, openai_chat, openai_responses, shared
from tests.rules.rule import Check, KeptBy, Provider, Request, Rule, Source

ANTHROPIC = "https://platform.claude.com/docs/en/"
OPENAI = "https://developers.openai.com/api/"
GOOGLE = "https://ai.google.dev/"
GITHUB = "https://github.com/"

CHAT_REFERENCE = Source("Create chat completion", OPENAI + "reference/chat/create")
RESPONSES_REFERENCE = Source("Create a model response", OPENAI + "reference/responses/create")
OPENAI_CALLS = Source("Function calling", OPENAI + "docs/guides/function-calling")
OPENAI_REASONING = Source("Reasoning models", OPENAI + "docs/guides/reasoning")
OPENAI_VISION = Source("Images and vision", OPENAI + "docs/guides/images-vision")
MESSAGES_REFERENCE = Source("Create a Message", ANTHROPIC + "api/messages/create")
DEFINE_TOOLS = Source("Define tools", ANTHROPIC + "agents-and-tools/tool-use/define-tools")
HANDLE_CALLS = Source(
    "Handle tool calls", ANTHROPIC + "agents-and-tools/tool-use/handle-tool-calls"
)
PRESERVED = Source("Preserved thinking", ANTHROPIC + "build-with-claude/preserved-thinking")
OPUS_5_5 = Source("What's new in Claude Opus 5.5", ANTHROPIC + "models/opus-5-5/whats-new-opus-5-5")
THINKING = Source("Extended thinking", ANTHROPIC + "build-with-claude/extended-thinking")
SYSTEM_MESSAGES = Source(
    "Mid-conversation system messages",
    ANTHROPIC + "build-with-claude/mid-conversation-system-messages",
)
CLAUDE_ERRORS = Source("Errors", ANTHROPIC + "api/errors")
CACHING = Source("Prompt caching", ANTHROPIC + "build-with-claude/prompt-caching")
CLAUDE_VISION = Source("Images and vision", ANTHROPIC + "build-with-claude/vision")
GEMINI_REFERENCE = Source("Generating content", GOOGLE + "api/generate-content")
GEMINI_CALLS = Source("Function calling", GOOGLE + "gemini-api/docs/function-calling")
SIGNATURES = Source("Thought signatures", GOOGLE + "gemini-api/docs/thought-signatures")


def reported(repository: str, number: int, title: str) -> Source:
    """Return a thread that quotes the provider's error message."""
    return Source(title, f"{GITHUB}{repository}/issues/{number}")


def _rule(  # one row, in the order of the documentation's columns
    provider: Provider,
    name: str,
    demand: str,
    source: Source,
    since: str,
    check: Check,
    *kept_by: KeptBy,
) -> Rule:
    return Rule(f"{provider}/{name}", provider, demand, source, since, check, kept_by)


SURROGATES = reported("anthropics/claude-code", 60394, "Invalid JSON: no low surrogate in string")
IDS_OF_40 = reported("vercel/ai", 5171, "Long tool call IDs break OpenAI's validation")
EMPTY_TOOL_CALLS = reported("chatboxai/chatbox", 2079, "tool_calls: empty array")
CALL_IDS_OF_64 = reported("AnswerDotAI/fastllm", 45, "call_id: string too long, maximum length 64")
ITEM_IDS = reported("nodetool-ai/nodetool", 4252, "Expected an ID that begins with 'fc'")
NO_OUTPUT = reported("continuedev/continue", 10092, "No tool call found for function call output")
REASONING_ALONE = reported("vercel/ai", 7099, "reasoning without its required following item")
CLAUDE_IDS = reported("HKUDS/nanobot", 4356, "tool_use ids must match ^[a-zA-Z0-9_-]+$")
CLAUDE_NAMES = reported("anthropics/claude-code", 96152, "Tool name exceeds 128 characters")
FOUR_MARKS = reported("continuedev/continue", 6937, "A maximum of 4 blocks with cache_control")
EMPTY_MESSAGE = reported("anthropics/claude-code", 6774, "all messages must have non-empty content")
FIRST_USER = reported("lobehub/lobehub", 1601, "first message must use the user role")
NO_PREFILL = reported("agenticloops-ai/agentic-ai-engineering", 43, "No prefill from 4.6 on")
GEMINI_ORDER = reported(
    "google-gemini/gemini-cli", 26486, "function call turn comes immediately after"
)
GEMINI_EMPTY = reported("router-for-me/CLIProxyAPI", 1292, "required oneof field 'data'")
GEMINI_SYSTEM = reported("QuantumNous/new-api", 1017, "system_instruction.parts[0].data")
GEMINI_NAMES = reported("kaitranntt/ccs", 219, "Invalid function name")
GEMINI_END = reported("crewAIInc/crewAI", 7134, "requests end with a user turn")

RULES: tuple[Rule, ...] = (
    # OpenAI, chat completions ----------------------------------------------------------------
    _rule("openai-chat", "unicode", "The body is UTF-8 JSON without a lone surrogate.",
          CHAT_REFERENCE, "2026-11", shared.valid_unicode, "check"),
    _rule("openai-chat", "messages", "There is at least one message, each of a known role.",
          CHAT_REFERENCE, "2026-11", openai_chat.has_messages, "client"),
    _rule("openai-chat", "content", "Content is a string, or at least one part that the role may have: a tool message has text alone; null only beside tool calls.",
          CHAT_REFERENCE, "2026-11", openai_chat.content, "adapted", "check"),
    _rule("openai-chat", "pairs", "Tool calls are followed at once by exactly one tool message each.",
          OPENAI_CALLS, "2023-11", openai_chat.calls_are_answered, "layout", "check"),
    _rule("openai-chat", "tool-calls", "`tool_calls` is absent or not empty.",
          EMPTY_TOOL_CALLS, "2025-02", openai_chat.calls_are_not_empty, "client"),
    _rule("openai-chat", "call-names", "A called function's name is 1 to 64 of a-z, A-Z, 0-9, _ and -.",
          CHAT_REFERENCE, "2023-06", openai_chat.call_names, "check"),
    _rule("openai-chat", "call-ids", "A tool call's id has 1 to 40 characters.",
          IDS_OF_40, "2025-03", openai_chat.call_ids, "layout"),
    _rule("openai-chat", "arguments", "A call's arguments are one string (it need not be JSON).",
          CHAT_REFERENCE, "2026-11", openai_chat.call_arguments, "client", "check"),
    _rule("openai-chat", "media", "An image is a web address or base64 of PNG, JPEG, GIF or WebP; a file is an id or a named PDF by value; a sound is WAV or MP3.",
          OPENAI_VISION, "2026-11", openai_chat.media, "adapted", "check"),
    _rule("openai-chat", "names", "A participant's name has 1 to 64 characters without white space, <, |, \\, / and >.",
          CHAT_REFERENCE, "2026-11", openai_chat.participant_names, "settings"),
    _rule("openai-chat", "length", "A content string has at most 10,485,760 characters.",
          CHAT_REFERENCE, "2025-01", openai_chat.text_length, "budget"),
    _rule("openai-chat", "tools", "A tool's name is 1 to 64 of the alphabet, used once; its schema is an object.",
          CHAT_REFERENCE, "2026-11", openai_chat.tools, "settings"),
    _rule("openai-chat", "tool-count", "At most 128 tools.",
          CHAT_REFERENCE, "2023-11", shared.at_most_items("tools", limit=128), "settings"),
    _rule("openai-chat", "tool-choice", "A tool choice needs tools, and names a declared one.",
          CHAT_REFERENCE, "2026-11", openai_chat.tool_choice, "settings"),
    _rule("openai-chat", "metadata", "At most 16 metadata pairs, keys of 64 and values of 512 characters.",
          CHAT_REFERENCE, "2026-11", shared.metadata_limits, "settings"),
    # OpenAI, Responses -----------------------------------------------------------------------
    _rule("openai-responses", "unicode", "The body is UTF-8 JSON without a lone surrogate.",
          RESPONSES_REFERENCE, "2026-11", shared.valid_unicode, "check"),
    _rule("openai-responses", "input", "There is input.",
          RESPONSES_REFERENCE, "2026-11", openai_responses.has_input, "client"),
    _rule("openai-responses", "content", "A message's content is a string or parts that its role may have.",
          RESPONSES_REFERENCE, "2026-11", openai_responses.content, "adapted", "check"),
    _rule("openai-responses", "pairs", "Each function call has exactly one output behind it, each output a call before it; no call id repeats.",
          NO_OUTPUT, "2025-03", openai_responses.calls_are_answered, "layout", "check"),
    _rule("openai-responses", "calls", "A call's name is 1 to 64 of a-z, A-Z, 0-9, _ and -; its arguments are a string; its call id has 1 to 64 characters.",
          CALL_IDS_OF_64, "2026-06", openai_responses.call_shape, "layout", "check"),
    _rule("openai-responses", "outputs", "An output is a string, or text, images and files.",
          RESPONSES_REFERENCE, "2026-11", openai_responses.outputs, "adapted", "check"),
    _rule("openai-responses", "item-ids", "An item's id begins with its type's prefix (`fc`, `msg`, `rs`), has at most 64 characters and occurs once.",
          ITEM_IDS, "2026-07", openai_responses.item_ids, "adapted", "client"),
    _rule("openai-responses", "reasoning-pairs", "A reasoning item stands right before the item it was issued with, and neither comes without the other.",
          REASONING_ALONE, "2025-05", openai_responses.reasoning_pairs, "verbatim"),
    _rule("openai-responses", "reasoning", "Encrypted reasoning comes back as issued; with `store: false` an item's id alone names nothing.",
          OPENAI_REASONING, "2025-05", openai_responses.reasoning_content, "verbatim"),
    _rule("openai-responses", "media", "An image is a file's id, a web address, or base64 of PNG, JPEG, GIF or WebP.",
          OPENAI_VISION, "2026-11", openai_responses.media, "adapted", "check"),
    _rule("openai-responses", "tools", "A tool's name is 1 to 64 of the alphabet, used once; its schema is an object.",
          RESPONSES_REFERENCE, "2026-11", openai_responses.tools, "settings"),
    _rule("openai-responses", "tool-count", "At most 128 tools.",
          RESPONSES_REFERENCE, "2025-03", shared.at_most_items("tools", limit=128), "settings"),
    _rule("openai-responses", "metadata", "At most 16 metadata pairs, keys of 64 and values of 512 characters.",
          RESPONSES_REFERENCE, "2026-11", shared.metadata_limits, "settings"),
    # Anthropic -------------------------------------------------------------------------------
    _rule("anthropic", "unicode", "The body is UTF-8 JSON without a lone surrogate.",
          SURROGATES, "2025-06", shared.valid_unicode, "check"),
    _rule("anthropic", "first", "The first message is the user's.",
          FIRST_USER, "2024-03", anthropic.begins_with_user, "layout", "check"),
    _rule("anthropic", "roles", "Roles are user and assistant; `system` in mid-conversation from Opus 4.8 on.",
          SYSTEM_MESSAGES, "2026-05-28", anthropic.roles, "adapted", "check"),
    _rule("anthropic", "system-turns", "A `system` message follows a user message (or a server tool's result) and is last or before an assistant message; text alone.",
          SYSTEM_MESSAGES, "2026-05-28", anthropic.system_turns, "adapted", "client"),
    _rule("anthropic", "content", "No message is empty, a final assistant message apart.",
          EMPTY_MESSAGE, "2024-03", anthropic.content, "layout", "check"),
    _rule("anthropic", "text", "A text block has more than white space (a result that is one string may be empty, unless it is an error).",
          CLAUDE_ERRORS, "2024-06", anthropic.text, "check"),
    _rule("anthropic", "system-prompt", "The system prompt is absent or has text in each block.",
          CLAUDE_ERRORS, "2024-06", anthropic.system_prompt, "check"),
    _rule("anthropic", "pairs", "Each tool_use has exactly one tool_result, in the user turn right behind it; a result answers a call of the turn before.",
          HANDLE_CALLS, "2024-05", anthropic.calls_are_answered, "layout", "check"),
    _rule("anthropic", "results-first", "Tool results come before anything else in their message.",
          HANDLE_CALLS, "2024-05", anthropic.results_come_first, "layout"),
    _rule("anthropic", "calls", "A call's id and name match [a-zA-Z0-9_-]+, the name with at most 200 characters; ids are unique; the input is an object.",
          CLAUDE_IDS, "2026-06-15", anthropic.call_shape, "layout", "check"),
    _rule("anthropic", "signatures", "A thinking block comes back with the signature and text it was issued with.",
          THINKING, "2025-02", anthropic.signatures, "verbatim"),
    _rule("anthropic", "binding", "On Fable 5.1 and 5.2, Mythos 5.2 and Opus 5.5 nothing before a thinking block has changed since it was issued, and only a leading run of blocks is left out.",
          PRESERVED, "2026-08-31", anthropic.binding, "binding"),
    _rule("anthropic", "thinking-first", "With `thinking: enabled`, the assistant message of an open tool loop begins with thinking.",
          THINKING, "2025-02", anthropic.thinking_leads, "adapted"),
    _rule("anthropic", "forced-tools", "No `tool_choice` any or tool beside thinking, nor on models that bind thinking.",
          OPUS_5_5, "2026-09-22", anthropic.forced_tools, "learned", "settings"),
    _rule("anthropic", "always-thinking", "Thinking is not disabled on models that bind it.",
          OPUS_5_5, "2026-09-22", anthropic.thinking_stays_on, "settings"),
    _rule("anthropic", "prefill", "The conversation does not end with the assistant from 4.6 on; before, not with white space.",
          NO_PREFILL, "2026-02", anthropic.no_prefill, "layout"),
    _rule("anthropic", "cache-marks", "At most four cache_control marks, none on empty text or thinking.",
          FOUR_MARKS, "2024-08", anthropic.cache_marks, "budget"),
    _rule("anthropic", "blocks", "A block has a type that its place takes; calls and thinking are the assistant's.",
          MESSAGES_REFERENCE, "2026-11", anthropic.block_kinds, "adapted", "client"),
    _rule("anthropic", "media", "An image is base64 of PNG, JPEG, GIF or WebP, of the type that is stated, an address or a file; a document PDF or plain text; at most 600 images.",
          CLAUDE_VISION, "2026-11", anthropic.media, "adapted", "check", "budget"),
    _rule("anthropic", "tools", "A tool's name is 1 to 128 of a-z, A-Z, 0-9, _ and -, used once; its schema is an object without oneOf, allOf, anyOf at the top.",
          CLAUDE_NAMES, "2026-09-22", anthropic.tools, "settings"),
    _rule("anthropic", "limits", "`max_tokens` is given; at most 100,000 messages.",
          MESSAGES_REFERENCE, "2026-11", anthropic.limits, "client", "budget"),
    _rule("anthropic", "size", "The body has at most 32 MB.",
          CLAUDE_ERRORS, "2026-11", shared.at_most_bytes(32_000_000), "budget"),
    _rule("anthropic", "metadata", "`metadata` has `user_id` alone.",
          MESSAGES_REFERENCE, "2026-11", anthropic.metadata, "settings"),
    # Gemini ----------------------------------------------------------------------------------
    _rule("gemini", "unicode", "The body is UTF-8 JSON without a lone surrogate.",
          GEMINI_REFERENCE, "2026-11", shared.valid_unicode, "check"),
    _rule("gemini", "contents", "There is a content; each is the user's or the model's and has a part.",
          GEMINI_REFERENCE, "2026-11", gemini.has_contents, "layout", "client"),
    _rule("gemini", "parts", "A part has exactly one kind of data; a text is not empty.",
          GEMINI_EMPTY, "2026-01-28", gemini.part_data, "layout", "check"),
    _rule("gemini", "system", "A system instruction is absent or has text in each part.",
          GEMINI_SYSTEM, "2025-04", gemini.system_instruction, "check"),
    _rule("gemini", "ends", "The conversation begins with the user and ends with the user or a function response.",
          GEMINI_END, "2026-08-27", gemini.first_is_user, "layout"),
    _rule("gemini", "order", "A function call turn follows a user or response turn; as many responses as calls follow it at once.",
          GEMINI_ORDER, "2026-05-05", gemini.calls_are_answered, "layout", "check"),
    _rule("gemini", "call-ids", "Where calls have ids, responses have the same, and none repeats in a turn.",
          GEMINI_CALLS, "2026-11", gemini.call_ids, "layout", "client"),
    _rule("gemini", "calls", "A name begins with a letter or _, has a-z, A-Z, 0-9, _ . : - and at most 64 characters (Vertex AI: 128); arguments and responses are objects.",
          GEMINI_NAMES, "2026-11", gemini.call_shape, "check"),
    _rule("gemini", "signatures", "On Gemini 3 and later, the first call of each step of the current turn has its thought signature, as issued.",
          SIGNATURES, "2025-11-18", gemini.thought_signatures, "verbatim", "client"),
    _rule("gemini", "media", "Inline data has a MIME type and is base64.",
          GEMINI_REFERENCE, "2026-11", gemini.media, "adapted", "check", "client"),
    _rule("gemini", "size", "A request with inline data has at most 100 MB.",
          GEMINI_REFERENCE, "2026-11", shared.at_most_bytes(100_000_000), "budget"),
    _rule("gemini", "tools", "A declared name has the alphabet, is used once; parameters are an object, its names 1 to 64 of a-z, A-Z, 0-9, _.",
          GEMINI_CALLS, "2026-11", gemini.tools, "settings"),
)  # fmt: skip


def faults(provider: Provider, request: Request) -> list[str]:
    """Return every breach of the provider's rules, each with the rule's name."""
    rules = [rule for rule in RULES if rule.provider == provider]
    return [fault for rule in rules for fault in rule.faults(request)]
