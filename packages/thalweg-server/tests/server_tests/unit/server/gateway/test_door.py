"""Who comes in, as whom, and who does not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.routing import Mount

from server_tests.unit.server.gateway.asking import Answered, ask, echo
from thalweg.errors import ConfigError
from thalweg_server.app.metrics import Metrics
from thalweg_server.gateway.authentication import OWNER, Keys
from thalweg_server.gateway.budgets import Budgets
from thalweg_server.gateway.create import Admission, create_app
from thalweg_server.gateway.rules import rules_of
from thalweg_server.settings import GatewaySettings, Settings
from thalweg_server.settings.sections import GatewayKey, hash_key

KEYED = GatewaySettings.from_mapping(
    {
        "keys": [
            {"key": "ada-s-key", "owner": "ada"},
            {"key": "bob-s-key", "owner": "bob"},
            {"key": "oz-s-key", "owner": "oz", "role": "operator"},
        ]
    }
)
OPEN = GatewaySettings(cors_origins=("https://studio.example",))


def knock(settings: GatewaySettings, *, owner: str | None = None, **given: object) -> Answered:
    rules = rules_of(settings, owner)
    application = Admission(echo, lambda: rules, Budgets(rules.limits_of, Metrics()))
    return ask(application, **given)  # type: ignore[arg-type]  # as `ask` takes them


def owner_of(answered: Answered) -> object:
    assert answered.status == 200, answered.body
    return json.loads(answered.body)["owner"]


@pytest.mark.parametrize(
    ("headers", "owner"),
    [
        ({"Authorization": "Bearer ada-s-key"}, "ada"),
        ({"Authorization": "bearer  bob-s-key "}, "bob"),
        ({"X-API-Key": "bob-s-key"}, "bob"),
        ({"X-API-Key": "ada-s-key", "Authorization": "Basic eDp5"}, "ada"),
    ],
)
def test_a_key_says_who_comes(headers: dict[str, str], owner: str) -> None:
    assert owner_of(knock(KEYED, headers=headers, client=("10.1.2.3", 1))) == owner


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YWRhOmFkYS1zLWtleQ=="},
        {"Authorization": "ada-s-key"},
        {"X-Owner": "ada", "Cookie": "key=ada-s-key"},
    ],
)
def test_who_brings_no_key_is_asked_for_one(headers: dict[str, str]) -> None:
    answered = knock(KEYED, headers=headers)

    assert answered.status == 401
    assert answered.headers["www-authenticate"] == 'Bearer realm="thalweg"'
    assert answered.problem.code == "auth.missing"


@given(st.text(min_size=1, max_size=40))
def test_no_other_word_is_a_key(word: str) -> None:
    found = Keys([GatewayKey(key=SecretStr("ada-s-key"), owner="ada")]).find(word)
    assert (None if found is None else found.owner) == ("ada" if word == "ada-s-key" else None)


def test_a_wrong_key_is_told_so_in_the_header_that_clients_read() -> None:
    answered = knock(KEYED, headers={"X-API-Key": "ada-s-kex"})

    assert answered.status == 401
    assert 'error="invalid_token"' in answered.headers["www-authenticate"]


def test_two_keys_have_to_be_one_owner_s() -> None:
    right, other = {"X-API-Key": "ada-s-key"}, {"X-API-Key": "bob-s-key"}
    bearer = {"Authorization": "Bearer ada-s-key"}

    assert owner_of(knock(KEYED, headers={**right, **bearer})) == "ada"
    assert knock(KEYED, headers={**other, **bearer}).status == 401
    assert knock(KEYED, headers={**right, "Authorization": "Bearer x"}).status == 401


def test_an_owner_is_never_taken_from_the_request() -> None:
    headers = {"X-API-Key": "ada-s-key", "X-Owner": "bob", "X-User": "bob"}

    assert owner_of(knock(KEYED, path="/api/memory?owner=bob", headers=headers)) == "ada"


def test_without_keys_this_machine_is_the_owner_local() -> None:
    for client in (("127.0.0.1", 1), ("::1", 1), ("::ffff:127.0.0.1", 1), None):
        assert owner_of(knock(OPEN, client=client)) == "local"


@pytest.mark.parametrize("client", ["10.0.0.1", "192.168.1.7", "2001:db8::1", "::ffff:10.0.0.1"])
def test_without_keys_no_other_machine_comes_in(client: str) -> None:
    answered = knock(OPEN, client=(client, 1))

    assert (answered.status, answered.problem.code) == (403, "auth.not_local")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8001",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1/evil",
        "localhost:8001:80",
        "0x7f.0.0.1.evil",
        "[::1].evil.example",
        "",
    ],
)
def test_without_keys_a_name_that_resolves_here_is_not_enough(host: str) -> None:
    answered = knock(OPEN, headers={"Host": host})

    assert (answered.status, answered.problem.code) == (403, "auth.host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8001", "127.0.0.1:8001", "[::1]:8001"])
def test_without_keys_this_machine_s_own_names_do(host: str) -> None:
    assert owner_of(knock(OPEN, headers={"Host": host})) == "local"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost:8001"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_without_keys_no_page_of_another_origin_comes_in(headers: dict[str, str]) -> None:
    for method in ("GET", "POST"):
        answered = knock(OPEN, method=method, headers=headers)

        assert (answered.status, answered.problem.code) == (403, "auth.origin")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:8001"},
        {"Origin": "https://studio.example"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_without_keys_its_own_pages_and_named_ones_do(headers: dict[str, str]) -> None:
    assert owner_of(knock(OPEN, headers=headers)) == "local"


@pytest.mark.parametrize(
    "path", ["/healthz", "/docs", "/docs/assets/swagger-ui.css", "/openapi.json"]
)
def test_what_tells_of_nobody_is_open(path: str) -> None:
    assert owner_of(knock(KEYED, path=path)) is None


@pytest.mark.parametrize("path", ["/api/models", "/nothing", "//healthz", "/healthz/", "/docs2"])
def test_everything_else_is_not(path: str) -> None:
    assert knock(KEYED, path=path).status == 401


def test_metrics_are_for_whom_the_settings_name() -> None:
    elsewhere = ("10.0.0.1", 1)
    key = {"X-API-Key": "ada-s-key"}
    local = KEYED.model_copy(update={"metrics": "local"})
    anyone = KEYED.model_copy(update={"metrics": "anyone"})

    keyed = KEYED.model_copy(update={"metrics": "key"})
    operator = {"X-API-Key": "oz-s-key"}

    assert knock(KEYED, path="/metrics").status == 401
    refused = knock(KEYED, path="/metrics", headers=key, client=elsewhere)
    assert (refused.status, refused.problem.code) == (403, "auth.operator")
    assert knock(KEYED, path="/metrics", headers=operator, client=elsewhere).status == 200
    assert knock(keyed, path="/metrics", headers=key, client=elsewhere).status == 200
    assert knock(local, path="/metrics").status == 200
    assert knock(local, path="/metrics", headers=key, client=elsewhere).status == 403
    assert knock(local, path="/metrics", headers={"Host": "evil.example"}).status == 403
    assert knock(anyone, path="/metrics", client=elsewhere).status == 200


@pytest.mark.parametrize("root", ["", "/agents", "/docs", "/page"])
def test_a_path_has_its_lock_below_any_root_path(root: str) -> None:
    rules = rules_of(KEYED)
    admission = Admission(echo, lambda: rules, Budgets(rules.limits_of, Metrics()))
    outer = Starlette(routes=[Mount(root, admission)])
    key, operator = {"X-API-Key": "ada-s-key"}, {"X-API-Key": "oz-s-key"}

    assert ask(outer, f"{root}/metrics", headers=key).problem.code == "auth.operator"
    assert ask(outer, f"{root}/metrics", headers=operator).status == 200
    assert ask(outer, f"{root}/api/threads").problem.code == "auth.missing"
    assert ask(outer, f"{root}/healthz").status == 200


@pytest.mark.parametrize("root", ["", "/agents"])
def test_owners_are_listed_for_operators_alone(root: str) -> None:
    gateway = {"keys": [{"key": "ada-s-key", "owner": "ada"}], "metrics": "anyone"}
    application = create_app(Settings.from_mapping({"gateway": gateway}))
    outer = Starlette(routes=[Mount(root, application)])

    refused = ask(outer, f"{root}/api/page/owners", headers={"X-API-Key": "ada-s-key"})
    assert (refused.status, refused.problem.code) == (403, "auth.operator")
    assert refused.headers["cache-control"] == "no-store"


def test_an_operator_reads_as_an_owner_and_nobody_else_does() -> None:
    asked = {"X-Thalweg-Owner": "bob"}
    operator, owner = {"X-API-Key": "oz-s-key", **asked}, {"X-API-Key": "ada-s-key", **asked}
    unnamed = {**operator, "X-Thalweg-Owner": ""}
    refusals = ((owner, "GET"), (operator, "POST"), (operator, "DELETE"), (unnamed, "GET"))

    assert owner_of(knock(KEYED, headers=operator)) == "bob"
    for headers, method in refusals:
        refused = knock(KEYED, headers=headers, method=method)
        assert (refused.status, refused.problem.code) == (403, "auth.operator")


def test_a_key_is_kept_as_its_hash_and_ends_when_it_expires() -> None:
    digest = hash_key("eve-s-key")
    for expires, status in (("2000-01-01T00:00:00Z", 401), ("2100-01-01T00:00:00Z", 200)):
        keys = [{"sha256": digest, "owner": "eve", "expires": expires}]
        settings = GatewaySettings.from_mapping({"keys": keys})
        answered = knock(settings, headers={"X-API-Key": "eve-s-key"})
        assert answered.status == status
        assert knock(settings, headers={"X-API-Key": digest}).status == 401
        if status == 401:
            assert answered.problem.code == "auth.expired"


@pytest.mark.parametrize(
    "key",
    [
        {},
        {"key": "k", "sha256": "0" * 64},
        {"sha256": "x"},
        {"key": "k", "expires": "2027-01-31T00:00:00"},
    ],
)
def test_a_key_that_is_none_is_refused(key: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        GatewaySettings.from_mapping({"keys": [{"owner": "eve", **key}]})


def test_a_client_in_process_is_whom_its_process_says() -> None:
    assert owner_of(knock(KEYED, owner="eve", client=("in-process", 0))) == "eve"


def test_the_door_notes_the_owner_where_the_routes_look() -> None:
    assert OWNER == "thalweg.owner"
