"""Tools whose schema is made once a process."""

from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field
from pydantic.json_schema import GenerateJsonSchema

from thalweg.context.ready_tools import ReadyTool


class Words(BaseModel):
    """Some words."""

    words: list[str] = Field(default=["naïve"], description="What to shout.")
    loud: bool


class Untitled(GenerateJsonSchema):
    """A generator of schemas without titles of fields."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """See `GenerateJsonSchema`."""
        del schema
        return False


def shout(description: str) -> ReadyTool:
    def shouted(words: list[str], *, loud: bool) -> str:
        return " ".join(words).upper() if loud else ""

    return ReadyTool(name="shout", description=description, args_schema=Words, func=shouted)


def call_schema(tool: ReadyTool) -> type[BaseModel]:
    schema = tool.tool_call_schema
    assert isinstance(schema, type)
    assert issubclass(schema, BaseModel)
    return schema


def test_a_cached_schema_is_what_pydantic_generates() -> None:
    schema = call_schema(shout("Shout."))
    assert schema.model_json_schema() == {
        **Words.model_json_schema(),
        "title": "shout",
        "description": "Shout.",
    }
    other = schema.model_json_schema(schema_generator=Untitled)
    assert "title" not in other["properties"]["loud"]


def test_who_changes_a_schema_changes_it_for_nobody_else() -> None:
    schema = call_schema(shout("Shout."))
    schema.model_json_schema()["properties"].clear()
    written = convert_to_openai_tool(shout("Shout."))
    written["function"]["parameters"]["properties"].clear()
    assert list(convert_to_openai_tool(shout("Shout."))["function"]["parameters"]["properties"])


def test_tools_with_other_descriptions_have_schemas_of_their_own() -> None:
    assert call_schema(shout("One.")).model_json_schema()["description"] == "One."
    assert call_schema(shout("Two.")).model_json_schema()["description"] == "Two."
