"""Three subagents at once, in the same files: what each of them wrote is there afterwards."""

from scripted import calls, model, show, together
from thalweg_agent import create_deep_agent
from thalweg_agent.backends.utils import create_file_data

LANGUAGES = {"german": "Guten Tag", "french": "Bonjour", "spanish": "Buenos días"}

translators = [
    {
        "name": f"{language}-translator",
        "description": f"Translates a file into {language}.",
        "system_prompt": "Edit the file you are told to.",
        "model": model(
            calls(
                "edit_file",
                file_path=f"/greetings/{language}.txt",
                old_string="Good day",
                new_string=greeting,
            ),
            f"/greetings/{language}.txt is done.",
        ),
    }
    for language, greeting in LANGUAGES.items()
]
agent = create_deep_agent(
    model=model(
        together(
            *(
                calls(
                    "task",
                    description=f"Translate /greetings/{language}.txt.",
                    subagent_type=f"{language}-translator",
                )
                for language in LANGUAGES
            )
        ),
        "All three are translated.",
    ),
    subagents=translators,
)
result = agent.invoke(
    {
        "messages": "Translate the greetings.",
        "files": {
            f"/greetings/{language}.txt": create_file_data("Good day!\n") for language in LANGUAGES
        },
    }
)
show(result["messages"])
print("\nThe files:")
for path, file in sorted(result["files"].items()):
    print(f"  {path:24} {file['content'].strip()}")
