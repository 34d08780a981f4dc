"""Skills: the prompt names them in a line each; the instructions are read when they apply."""

from scripted import REQUESTS, calls, model, show
from thalweg_agent import create_deep_agent
from thalweg_agent.backends.utils import create_file_data

RELEASE = """\
---
name: release-notes
description: Write release notes the way this project does. Use it before every release.
---
# Release notes

1. Group by Added, Changed, Fixed.
2. One line each, in the past tense.
3. Thank the contributors by name.
"""
SQL = """\
---
name: slow-queries
description: Find out why a query is slow. Use it when someone complains about the database.
---
# Slow queries

Ask for EXPLAIN ANALYZE first.
"""

agent = create_deep_agent(
    model=model(
        calls("read_file", file_path="/skills/release-notes/SKILL.md"),
        "## Fixed\n- Repaired the search for umlauts. Thanks, Jörg!",
    ),
    skills=["/skills/"],
)
result = agent.invoke(
    {
        "messages": "Write the release notes: Jörg repaired the search for umlauts.",
        "files": {
            "/skills/release-notes/SKILL.md": create_file_data(RELEASE),
            "/skills/slow-queries/SKILL.md": create_file_data(SQL),
        },
    }
)
show(result["messages"], lines=20)

first = REQUESTS[0].system
print("\nIn the first request:")
for text in ("release-notes", "slow-queries", "Thank the contributors", "EXPLAIN ANALYZE"):
    print(f"  {text:24}", "yes" if text in first else "not yet")
