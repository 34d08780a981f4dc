FROM python:3.12-slim
COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /usr/local/bin/uv
WORKDIR /app
COPY requirements.lock ./
RUN uv pip install --system --no-cache --require-hashes -r requirements.lock
COPY packages ./packages
# Without their requirements, which the lock has: no index is searched for one of these names.
RUN uv pip install --system --no-cache --no-deps --no-sources \
    ./packages/thalweg ./packages/thalweg-memory ./packages/thalweg-agent \
    ./packages/thalweg-recorder ./packages/thalweg-server
RUN useradd --create-home thalweg
USER thalweg
ENV THALWEG_HOME=/home/thalweg/.thalweg
EXPOSE 8001
ENTRYPOINT ["thalweg"]
CMD ["serve", "--host", "0.0.0.0", "--config", "/etc/thalweg/config.yaml"]
