"""Arguments of the tools for background subagents, as the model receives them."""

from pydantic import BaseModel, Field

from thalweg.agent.subagents.background import (
    Status,
)


class StartAsyncTaskSchema(BaseModel):
    """Arguments of `start_async_task`."""

    description: str = Field(description="The task, with all that the subagent has to know.")
    subagent_type: str = Field(description="The name of the subagent.")


class CheckAsyncTaskSchema(BaseModel):
    """Arguments of `check_async_task`."""

    task_id: str = Field(description="The id of the task, as start_async_task returned it.")


class UpdateAsyncTaskSchema(CheckAsyncTaskSchema):
    """Arguments of `update_async_task`."""

    message: str = Field(description="The further instructions.")


class CancelAsyncTaskSchema(CheckAsyncTaskSchema):
    """Arguments of `cancel_async_task`."""


class ListAsyncTasksSchema(BaseModel):
    """Arguments of `list_async_tasks`."""

    status_filter: Status | None = Field(None, description="Only tasks with this status.")
