"""Files in the agent's state: passed with the request, edited by the agent, handed back.

Nothing touches the disk. The files belong to the thread, as its messages do.
"""

from scripted import calls, model, show
from thalweg_agent import create_deep_agent
from thalweg_agent.backends.utils import create_file_data

agent = create_deep_agent(
    model=model(
        calls("grep", pattern="TODO", output_mode="content"),
        calls("read_file", file_path="/app/main.py"),
        calls(
            "edit_file",
            file_path="/app/main.py",
            old_string='name = "?"  # TODO: ask\n',
            new_string='name = input("Who are you? ")\n',
        ),
        "The name is asked for now.",
    ),
)
result = agent.invoke(
    {
        "messages": "Do what the TODO in /app says.",
        "files": {
            "/app/main.py": create_file_data('name = "?"  # TODO: ask\nprint(f"Hello, {name}!")\n'),
            "/app/README.md": create_file_data("Says hello.\n"),
        },
    }
)

show(result["messages"])
print("\n/app/main.py afterwards:")
print(result["files"]["/app/main.py"]["content"])
