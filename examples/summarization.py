"""A long task in a small window: the request is compacted repeatedly, and the task continues."""

from langchain_core.messages import AIMessage

from scripted import REQUESTS, asks_for_summary, calls, model
from thalweg_agent import create_deep_agent

WINDOW = 16_000
PAGES = 60
RULE = "Never write a number with a comma."


def read_page(number: int) -> str:
    """Read a page of the ledger."""
    rows = (
        f"{number:03}-{row:02} paid {(number * 37 + row * 11) % 900} for item {row}"
        for row in range(60)
    )
    return f"Page {number} of {PAGES}\n" + "\n".join(rows)


def bookkeeper(_: list) -> AIMessage | str:
    """Read on from the last page that can be seen, or write down what there was."""
    if asks_for_summary():
        return f"## Goal\nAdd up the ledger.\n## Next\nPage {len(READ) + 1} of {PAGES}."
    if len(READ) == PAGES:
        return f"All {PAGES} pages are read."
    READ.append(len(READ) + 1)
    return calls("read_page", number=READ[-1])


READ: list[int] = []
agent = create_deep_agent(model=model(bookkeeper, window=WINDOW), tools=[read_page])
result = agent.invoke({"messages": f"Read all {PAGES} pages of the ledger. {RULE}"})

sizes = [request.tokens for request in REQUESTS if request.tools]
print(f"{len(sizes)} requests in a window of {WINDOW} tokens (each # is 500):")
for number, size in enumerate(sizes):
    folded = number and size < sizes[number - 1]
    if folded or number % 5 == 0:
        print(f"  {number:3}  {size:6}  {'#' * (size // 500)}{'   <- compacted' if folded else ''}")
asked = [request for request in REQUESTS if request.tools]
kept = sum(RULE in str([m.text for m in request.messages]) for request in asked)
print(f"\nThe user's rule stands word for word in {kept} of {len(asked)} requests.")
print("The answer:", result["messages"][-1].text)
