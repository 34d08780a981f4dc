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

ABSENT_BELOW: dict[tuple[str, ...], frozenset[str]] = {
    ("summarization",): frozenset(
        (
            "preserve_recent_skill_count",
            "preserve_recent_skill_tokens",
            "preserve_recent_skill_tokens_per_skill",
            "skill_file_read_tool_names",
        )
    ),
    ("memory",): frozenset(
        (
            "consolidation_enabled",
            "consolidation_max_groups_per_cycle",
            "consolidation_max_sources",
            "consolidation_min_facts",
            "file_lock_timeout_seconds",
            "guaranteed_categories",
            "guaranteed_token_budget",
            "manager_class",
            "manifest_filename",
            "model",
            "patterns_dir",
            "prompts_dir",
            "queue_max_depth",
            "retrieval_adapter",
            "shutdown_flush_timeout_seconds",
            "staleness_age_days",
            "staleness_max_extension_days",
            "staleness_max_lifetime_multiplier",
            "staleness_max_removals_per_cycle",
            "staleness_min_candidates",
            "staleness_protected_categories",
            "staleness_review_enabled",
            "storage_class",
            "strict_user_scope",
            "token_counting",
        )
    ),
    ("skills",): frozenset(("container_path", "deferred_discovery", "use")),
    ("subagents",): frozenset(("max_total_per_run", "token_budget")),
    ("uploads",): frozenset(
        ("auto_convert_documents", "max_files", "max_total_size", "pdf_converter")
    ),
}
"""Keys of sections that do nothing here."""

ABSENT_OF_MODELS = frozenset(
    (
        "cumulative_stream_usage",
        "supports_reasoning_effort",
        "thinking",
        "when_thinking_disabled",
        "when_thinking_enabled",
    )
)
ABSENT_OF_SUBAGENTS = frozenset(("disallowed_tools", "thinking_enabled", "token_budget"))

MOVED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("offload",), ("summarization", "offload")),
    (("pricing",), ("summarization", "pricing")),
    (("uploads", "max_file_size"), ("gateway", "max_upload_bytes")),
    (("sandbox", "allow_host_bash"), ("agent", "shell")),
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
    "bash": "execute, with agent.shell",
    "glob": "glob",
    "grep": "grep",
    "ls": "ls",
    "read_file": "read_file",
    "str_replace": "edit_file",
    "write_file": "write_file",
}
"""DeerFlow's tools, by name, that the agent has by itself."""
