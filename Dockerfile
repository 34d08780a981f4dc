FROM python:3.12-slim
COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /usr/local/bin/uv
WORKDIR /app
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src ./src
RUN uv sync --frozen --no-dev --extra server --extra postgres --extra documents --extra mcp \
    --extra openai --extra anthropic --extra ollama
RUN useradd --create-home thalweg
USER thalweg
ENV PATH=/app/.venv/bin:$PATH THALWEG_HOME=/home/thalweg/.thalweg
EXPOSE 8001
ENTRYPOINT ["thalweg"]
CMD ["serve", "--host", "0.0.0.0", "--config", "/etc/thalweg/config.yaml"]
