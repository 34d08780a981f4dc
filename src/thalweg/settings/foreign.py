"""Keys of DeerFlow's `config.yaml` that are not ours: what each stands for here.

What has an equivalent is moved there; what has none is taken out, and told.
"""

ABSENT = {
    "acp_agents": "",
    "agent_storage": "",
    "agents_api": "",
    "auth": "see gateway.keys and gateway.oidc",
    "authorization": "an owner reaches what is the owner's own, and nothing else",
    "channel_connections": "",
    "channels": "",
    "circuit_breaker": "",
    "config_version": "",
    "dedupe_storage": "",
    "extensions": "",
    "guardrails": "see agent.interrupt_on",
    "input_polish": "",
    "llm_call": "see max_retries of a model",
    "log_level": "",
    "logging": "",
    "loop_detection": "",
    "max_recursion_limit": "see agent.recursion_limit",
    "mcp_tasks": "",
    "read_before_write": "",
    "run_events": "events of runs are always kept",
    "run_ownership": "a run of a dead process is always taken over",
    "safety_finish_reason": "",
    "scheduler": "",
    "skill_evolution": "",
    "skill_scan": "",
    "stream_bridge": "streams are read from the storage",
    "suggestions": "",
    "title": "",
    "token_budget": "see subagents.max_tokens",
    "token_usage": "usage is always kept",
    "tool_output": "see summarization.offload",
    "tool_progress": "",
    "tool_search": "",
}
"""Sections that do nothing here, and what does something like it."""

INSTEAD: tuple[tuple[tuple[str, str], str], ...] = (
    (("memory", "consolidation_"), "facts are merged when they are written"),
    (("memory", "eviction_"), "memory.max_facts keeps the most valuable facts"),
    (("memory", "fact_eviction_"), "memory.max_facts keeps the most valuable facts"),
    (("memory", "manager_class"), "see memory.storage"),
    (("memory", "queue_"), "the queue is a table and has no limit"),
    (("memory", "shutdown_flush_"), "what waits is learned after the next start"),
    (("memory", "staleness_"), "a fact ends by its own dates, or when a later one replaces it"),
    (("memory", "storage_class"), "see memory.storage"),
    (("memory", "token_counting"), "tokens are counted exactly"),
    (("sandbox", "environment"), "see sandbox.env"),
    (("sandbox", "idle_timeout"), "each command has a sandbox of its own, which ends with it"),
    (("subagents", "token_budget"), "see subagents.max_tokens"),
    (("summarization", "preserve_recent_skill_"), "skills that were read stay word for word"),
    (("uploads", "auto_convert_documents"), "documents are always converted"),
)
"""What happens in place of a key that has no effect: section, and how the key begins."""

ABSENT_OF_MODELS = frozenset(
    (
        "cumulative_stream_usage",
        "supports_reasoning_effort",
        "thinking",
        "when_thinking_disabled",
        "when_thinking_enabled",
    )
)
"""Keys of a model that are not handed to its class."""

SHARED = ("memory", "sandbox", "skills", "subagents", "summarization")
"""Sections of both. A key that only DeerFlow has there does nothing here, whatever it is called."""

MOVED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("offload",), ("summarization", "offload")),
    (("pricing",), ("summarization", "pricing")),
    (("uploads", "max_file_size"), ("gateway", "max_upload_bytes")),
    (("database", "postgres_url"), ("storage", "url")),
    (("database", "sqlite_dir"), ("storage", "home")),
)
"""What stands elsewhere here. The first two are ours: they may stand in either place."""

CLASSES = {
    "PatchedChatDeepSeek": "langchain_deepseek:ChatDeepSeek",
    "PatchedChatMiMo": "langchain_openai:ChatOpenAI",
    "PatchedChatMiniMax": "langchain_openai:ChatOpenAI",
    "PatchedChatOpenAI": "langchain_openai:ChatOpenAI",
    "VllmChatModel": "langchain_openai:ChatOpenAI",
    "MindIEChatModel": "langchain_openai:ChatOpenAI",
    "ClaudeChatModel": "langchain_anthropic:ChatAnthropic",
}
"""DeerFlow's own chat models, and what they are made of."""

THEIRS = ("deerflow.", "src.", "app.")
"""Packages of DeerFlow."""

BUILT_IN = {
    "bash": "execute, with sandbox.use",
    "glob": "glob",
    "grep": "grep",
    "ls": "ls",
    "read_file": "read_file",
    "str_replace": "edit_file",
    "write_file": "write_file",
}
"""DeerFlow's tools, by name, that the agent has by itself."""
