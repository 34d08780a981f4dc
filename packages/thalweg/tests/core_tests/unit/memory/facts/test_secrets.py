"""Every form of a secret is redacted; what only looks like one is unchanged."""

import pytest

from thalweg.redaction.secrets import SECRETS, redact

HEX = "0123456789abcdef"
MIXED = "aB3dE5gH7jK9mN1pQ"


def mixed(count: int) -> str:
    """Write letters and digits as a key has them."""
    return (MIXED * 20)[:count]


def hexes(count: int) -> str:
    return (HEX * 20)[:count]


SAMPLES = {
    "private text": "<private>the salary of Ann</private>",
    "cookie": "Cookie: session=" + mixed(12),
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "PuTTY key": f"PuTTY-User-Key-File-3: ssh-ed25519\nLines: 1\nPrivate-MAC: {hexes(40)}",
    "age key": "AGE-SECRET-KEY-1" + "Q" * 58,
    "JSON web token": f"eyJ{mixed(20)}.eyJ{mixed(20)}.{mixed(30)}",
    "AWS key id": "AKIA" + "QWERTYUIOPASDFGH",
    "AWS secret key": f'aws_secret_access_key = "{mixed(40)}"',
    "Azure key": f"AccountKey={mixed(86)}==",
    "Google key": "AIza" + mixed(35),
    "Google token": "ya29." + mixed(60),
    "GitHub token": "ghp_" + mixed(36),
    "GitLab token": "glpat-" + mixed(20),
    "Bitbucket token": "ATATT" + mixed(60),
    "Anthropic key": "sk-ant-api03-" + mixed(60),
    "API key": "sk-proj-" + mixed(48),
    "Hugging Face token": "hf_" + mixed(34),
    "Groq key": "gsk_" + mixed(52),
    "xAI key": "xai-" + mixed(80),
    "Perplexity key": "pplx-" + mixed(48),
    "Replicate token": "r8_" + mixed(37),
    "Tavily key": "tvly-" + mixed(32),
    "LangSmith key": f"lsv2_pt_{hexes(32)}_{hexes(10)}",
    "Slack token": f"xoxb-{'1' * 12}-{'2' * 12}-{mixed(24)}",
    "webhook": f"https://hooks.slack.com/services/T000/B000/{mixed(24)}",
    "Discord token": f"M{mixed(25)}.{mixed(6)}.{mixed(30)}",
    "Telegram token": "123456789:AA" + mixed(33),
    "Stripe key": "sk_live_" + mixed(24),
    "Square token": "sq0atp-" + mixed(22),
    "PayPal token": f"access_token$production${hexes(16)}${hexes(32)}",
    "Shopify token": "shpat_" + hexes(32),
    "Twilio key": "SK" + hexes(32),
    "SendGrid key": f"SG.{mixed(22)}.{mixed(43)}",
    "Mailgun key": "key-" + hexes(32),
    "Mailchimp key": hexes(32) + "-us12",
    "npm token": "npm_" + mixed(36),
    "PyPI token": "pypi-" + mixed(80),
    "RubyGems key": "rubygems_" + hexes(48),
    "Docker token": "dckr_pat_" + mixed(27),
    "DigitalOcean token": "dop_v1_" + hexes(64),
    "Cloudflare key": f"v1.0-{hexes(24)}-{hexes(146)}",
    "Heroku key": "HRKU-" + mixed(40),
    "Fly token": "FlyV1 fm2_" + mixed(60),
    "Vault token": "hvs." + mixed(30),
    "Terraform token": f"{mixed(14)}.atlasv1.{mixed(64)}",
    "Doppler token": "dp.pt." + mixed(43),
    "OnePassword token": "ops_eyJ" + mixed(60),
    "Databricks token": "dapi" + hexes(32),
    "Grafana token": f"glsa_{mixed(32)}_{hexes(8)}",
    "Sentry token": "sntrys_" + mixed(50),
    "New Relic key": "NRAK-" + "ABCDEFGHIJKLMNOPQRSTUVWXY12",
    "Postman key": f"PMAK-{hexes(24)}-{hexes(34)}",
    "Notion token": "ntn_" + mixed(46),
    "Linear key": "lin_api_" + mixed(40),
    "Figma token": "figd_" + mixed(43),
    "Supabase token": "sbp_" + hexes(40),
    "PlanetScale password": "pscale_pw_" + mixed(43),
    "Dropbox token": "sl." + mixed(130),
    "card number": "4111 1111 1111 1111",
    "social security number": "219-09-9999",
    "identity number": "11010519491231002X",
    "password": "postgres://app:s3cr3tword@db.internal/x",
    "key": f"client_secret: {mixed(24)}",
    "token": f"Authorization: Bearer {mixed(30)}",
}


def test_every_row_of_the_table_has_a_sample() -> None:
    assert {secret.name for secret in SECRETS} == set(SAMPLES)
    assert len(SECRETS) >= 45
    assert all(secret.source for secret in SECRETS)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_secret_is_redacted_by_its_name_and_nothing_of_it_is_left(name: str) -> None:
    sample = SAMPLES[name]
    told = redact(f"Here it is: {sample} and so on.")
    assert f"[redacted: {name}]" in told
    assert sample not in told
    assert told.endswith(" and so on.")
    assert redact(told) == told


@pytest.mark.parametrize(
    "text",
    [
        "my password is hunter2",
        "my wifi password is sunshine.",
        "password: correcthorse",
        "我的密码是abc12345",
        "mein Passwort ist geheim123",
        "DB_PASSWORD=Tr0ub4dor&3",
        "gpg --batch --passphrase rosebud",
        "mysqldump --host=db --password=rosebud",
        "curl -s https://x.example/a -u ann:rosebud",
        "curl --user 'ann:rosebud",
        "mysql -h db -u root -prosebud",
        "sshpass -p rosebud",
        "docker login registry.example -u ann -p rosebud",
        "machine example.org login ann password rosebud",
    ],
)
def test_passwords_that_are_said_are_redacted(text: str) -> None:
    assert redact(text).rstrip(".").endswith("[redacted: password]")


@pytest.mark.parametrize(
    "text",
    [
        "My password is stored in Bitwarden.",
        "password: <your-password>",
        "export API_KEY=$MY_KEY",
        "api_key = os.environ['KEY']",
        "The API key is in Vault-managed storage.",
        "My key-bindings are vim-like, the token bucket has 10 tokens.",
        "commit 9d4b1e91af4f011c9fc004a8f7387456115935df",
        "uuid 123e4567-e89b-12d3-a456-426614174000",
        "call me on +49 170 1234567, order 4111111111111112",
        "I wrote sk-learn-something-quite-long with scikit-learn",
        "phone 219-555-0199, version 1.2.3-4567",
        "身份证上的名字是张三，电话 13800138000",
        "password = get_password(user)",
        "password: settings.password[user]",
        "gpg --passphrase $PASSPHRASE",
        "mysql -u root -p shop",
        "mysql -u root --password",
        "curl -u ann https://x.example",
        "mkdir -p src; docker login",
        "docker login -u ann --password-stdin",
        "cookie = parse(header)",
        "error: 1Password: failed to fill whole buffer",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


ESCAPED = (
    r"{\"api_key\": \"Zq7Abcd1234efgh5678\"}",
    r'curl -d "{\"password\": \"Zq7hunter2\"}" https://x.example',
    r"{\\\"api_key\\\": \\\"Zq7Abcd1234efgh5678\\\"}",
    r"{\"password\":\"Zq7hunter2\"}",
    r"export API_KEY=\"Zq7Abcd1234efgh5678\"",
    r'echo "DB_PASS=\"Zq7hunter2\"" >> .env',
    r"sh -c 'export PASSWORD=\'Zq7hunter2\''",
    r'"args": "{\"client_secret\":\"Zq7Abcd1234efgh5678\",\"scope\":\"all\"}"',
    r'level=info body="{\"access_token\": \"Zq7Abcd1234efgh5678\"}"',
    r"\"db_password\" : \"Zq7hunter2\",",
    r"\"passcode\":\"Zq71234\"",
    r"{\"user\":\"ada\",\"pwd\":\"Zq7hunter2\"}",
    r"\"secret\"=\"Zq7Abcd1234efgh5678\"",
    r"{\"token\":\"Zq7Abcd1234efgh5678\",\"n\":1}",
    r'psql -c "alter role x; -- password: \"Zq7hunter2\""',
)
ESCAPED_BUT_PUBLIC = (
    r"{\"password\": \"${DB_PASSWORD}\"}",
    r"{\"password\": \"<your password>\"}",
    r"{\"token\": \"max_tokens\"}",
    r"{\"api_key\": \"your-api-key-here\"}",
    r"{\"password\": null}",
    r"{\"password\": \"\"}",
    r"C:\keys\"secret plans\"",
    r"say \"the secret is out\" to Ann",
    r"{\"keyboard\": \"qwerty\", \"tokens\": 12}",
    r"a regex: [\"\'](?P<pin>\d+)[\"\']",
    r"{\"access\": \"read\", \"key\": \"id\"}",
    r"{\"password\": \"string\"}",
    r"{\"secret\": \"process.env.SECRET_VALUE1\"}",
    r'printf \"%s\" "$TOKEN"',
    r"{\"author\": \"Ada\", \"title\": \"The token economy\"}",
)
"""Both were written before quotation marks with backslashes were read: none of the first was found,
and none of the second."""


@pytest.mark.parametrize("text", ESCAPED)
def test_secrets_between_escaped_quotation_marks_are_redacted(text: str) -> None:
    redacted = redact(text)
    assert "Zq7" not in redacted
    assert redact(redacted) == redacted
    assert redacted.count('"') == text.count('"')


@pytest.mark.parametrize("text", ESCAPED_BUT_PUBLIC)
def test_escaped_text_without_a_secret_stays(text: str) -> None:
    assert redact(text) == text
