FROM python:3.12-slim
COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /usr/local/bin/uv
WORKDIR /app
COPY pyproject.toml README.md LICENSE requirements.lock ./
RUN uv pip install --system --no-cache --require-hashes -r requirements.lock
COPY src ./src
RUN uv pip install --system --no-cache --no-deps --no-sources .
RUN useradd --create-home thalweg
USER thalweg
ENV THALWEG_HOME=/home/thalweg/.thalweg
EXPOSE 8001
ENTRYPOINT ["thalweg"]
CMD ["serve", "--host", "0.0.0.0", "--config", "/etc/thalweg/config.yaml"]
