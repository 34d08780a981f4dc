r"""Secrets, which no memory may store, by the formats that their issuers document.

Every text passes `redact` before it is stored: turns, facts, quotes. A redaction names the kind of
secret, without any part of it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

_Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Secret:
    """A form that secrets have."""

    name: str
    """The text of a redaction."""
    form: re.Pattern[str]
    """Finds it; a group `secret` where only a part of the match is one."""
    source: str
    """Who documents the form."""
    check: _Check | None = None
    """Distinguishes secrets from other texts of the same form."""
    near: tuple[str, ...] = ()
    """Every secret of this form holds one of these, in any case: a text without them is not
    searched, which is what makes `redact` fast. Empty where nothing is common to all."""
    is_number: bool = False
    """Every secret of this form has nine digits in a row, blanks and dashes aside, likewise."""
    core: re.Pattern[str] | None = None
    """A part of every match, in lower case, that is found faster than `form`: a text without it is
    not searched."""


REDACTION = re.compile(r"\[redacted: [A-Za-z ]+\]")
"""The replacement of a secret."""


def redact(text: str) -> str:
    """Put `[redacted: NAME]` in the place of every secret.

    Example:
        >>> redact("the token is ghp_" + "a1B2" * 9)
        'the token is [redacted: GitHub token]'
    """
    # A dotted capital I is an i to patterns that ignore case, and folds to an i with a dot.
    folded = text.casefold().replace("i\u0307", "i")
    has_number = _NINE_DIGITS.search(text) is not None
    for secret in SECRETS:
        if secret.is_number and not has_number:
            continue
        for part in secret.near or ("",):
            if part in folded:
                if secret.core is None or secret.core.search(folded):
                    text = secret.form.sub(_redaction(secret), text)
                break
    return text


_NINE_DIGITS = re.compile(r"\d(?:[ -]?\d){8}")


def _redaction(secret: Secret) -> Callable[[re.Match[str]], str]:
    def replace(found: re.Match[str]) -> str:
        group = "secret" if "secret" in secret.form.groupindex else 0
        value = found[group]
        if value.startswith("[redacted") or (secret.check and not secret.check(value)):
            return found[0]
        start, end = (place - found.start() for place in found.span(group))
        return f"{found[0][:start]}[redacted: {secret.name}]{found[0][end:]}"

    return replace


def _is_card(digits: str) -> bool:
    """Check the last digit as ISO/IEC 7812-1 has it (Luhn)."""
    numbers = [int(digit) for digit in digits if digit.isdigit()]
    if len(set(numbers)) == 1:
        return False
    odd, even = numbers[-1::-2], numbers[-2::-2]
    return (sum(odd) + sum(sum(divmod(2 * n, 10)) for n in even)) % 10 == 0


_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def _is_chinese_id(number: str) -> bool:
    """Check the last place as GB 11643-1999 has it."""
    total = sum(int(n) * weight for n, weight in zip(number, _WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == number[-1].upper()


_PLACEHOLDER = re.compile(
    r"[<${%\[(]|(?:your|my|the|some|example|dummy|test)[-_]|(.)\1+$|(?:x{3,}|\*{3,}|\.{3,})"
    r"|(?:changeme|placeholder|none|null|true|false|undefined|string|str|int|os\.|process\.|env)\b",
    re.IGNORECASE,
)


def _is_value(value: str) -> bool:
    return not _PLACEHOLDER.match(value)


def _is_random(value: str) -> bool:
    """Return whether a value is no word and no name: digits among letters, and no address."""
    mixed = re.search("[0-9]", value) and re.search("[A-Za-z]", value)
    return bool(mixed) and _is_value(value) and "://" not in value


_NO_PASSWORD = frozenset(
    "not never too very wrong expired required invalid incorrect correct important secret safe "
    "stored the a an in on at my our based needed used sent hashed changed weak strong long short "
    "still no being set kept managed reset protected encrypted also always only now what that "
    "this it different same unique empty blank missing lost gone unknown easy hard here there "
    "something somewhere nothing rotated shared and or for from to by with due about".split()
)


def _is_told(value: str) -> bool:
    return value.lower().rstrip(".,;!?") not in _NO_PASSWORD and _is_value(value)


def _form(
    name: str,
    pattern: str,
    source: str,
    check: _Check | None = None,
    near: tuple[str, ...] = (),
    *,
    is_number: bool = False,
    core: str = "",
) -> Secret:
    found = re.compile(core) if core else None
    return Secret(name, re.compile(pattern), source, check, near, is_number, found)


_WORD = r"(?<![A-Za-z0-9_-])"
_WORDED = r"(?:pass(?:word|wd|phrase|code)|pwd|PIN)"
_KEY = (
    r"(?:(?:api|access|auth|app|client|secret|private|signing|encryption|account|shared|master"
    r"|service)[\w.-]{0,30}?[_\s-]?(?:key|token|secret)|secret|token|credential)"
)

SECRETS: tuple[Secret, ...] = (
    _form("private key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
          r"(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)",
          "RFC 7468; RFC 4880 for blocks", near=("-----begin ",)),
    _form("PuTTY key", r"PuTTY-User-Key-File-\d:[\s\S]*?Private-MAC: ?[0-9a-f]+", "putty.org",
          near=("putty-user-key-file-",)),
    _form("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "age-encryption.org/v1",
          near=("age-secret-key-1",)),
    _form("JSON web token", rf"{_WORD}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]*", "RFC 7519",
          near=(".eyj",)),
    _form("password", r"(?i)\b[a-z][a-z0-9+.-]{0,20}://[^\s:/@\"'<>]*:(?P<secret>[^\s/@\"'<>]{3,})@",
          "RFC 3986, section 3.2.1", _is_value, near=("://",)),
    _form("AWS key id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", "docs.aws.amazon.com: IAM ids",
          near=("akia", "asia", "abia", "acca")),
    _form("AWS secret key", r"(?i)\baws.{0,30}?(?:secret|key).{0,20}?[\s=:\"'](?P<secret>"
          r"[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "docs.aws.amazon.com: access keys", _is_random,
          near=("aws",)),
    _form("Azure key", r"(?i)\b(?:AccountKey|SharedAccessKey|sig)=(?P<secret>[\w+/%-]{40,}={0,2})",
          "learn.microsoft.com: connection strings, SAS",
          near=("accountkey=", "sharedaccesskey=", "sig=")),
    _form("Google key", r"\bAIza[\w-]{35}", "cloud.google.com: API keys", near=("aiza",)),
    _form("Google token", rf"{_WORD}(?:ya29\.[\w-]{{20,}}|GOCSPX-[\w-]{{28}})",
          "developers.google.com: OAuth", near=("gocspx-", "ya29.")),
    _form("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_\w{22,255})",
          "docs.github.com: token prefixes",
          near=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
    _form("GitLab token", rf"{_WORD}gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-"
          r"[\w.-]{20,}", "docs.gitlab.com: token prefixes",
          near=("glpat-", "gloas-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-",
                "glimt-", "glagent-", "glsoat-", "glffct-")),
    _form("Bitbucket token", rf"{_WORD}AT(?:ATT|CTT|BB)[\w=-]{{24,}}",
          "support.atlassian.com: API tokens", near=("atatt", "atctt", "atbb")),
    _form("Anthropic key", rf"{_WORD}sk-ant-[\w-]{{20,}}", "docs.anthropic.com: API keys",
          near=("sk-ant-",)),
    _form("API key", rf"{_WORD}sk-(?:proj-|svcacct-|admin-|or-v1-|lf-)?[A-Za-z0-9_-]{{20,}}",
          "platform.openai.com, openrouter.ai, deepseek.com, langfuse.com: API keys", _is_random,
          near=("sk-",)),
    _form("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}", "huggingface.co: user tokens",
          near=("hf_",)),
    _form("Groq key", r"\bgsk_[A-Za-z0-9]{40,}", "console.groq.com", near=("gsk_",)),
    _form("xAI key", rf"{_WORD}xai-[A-Za-z0-9]{{60,}}", "docs.x.ai", near=("xai-",)),
    _form("Perplexity key", rf"{_WORD}pplx-[A-Za-z0-9]{{40,}}", "docs.perplexity.ai",
          near=("pplx-",)),
    _form("Replicate token", r"\br8_[A-Za-z0-9]{37}", "replicate.com/docs", near=("r8_",)),
    _form("Tavily key", rf"{_WORD}tvly-[A-Za-z0-9-]{{20,}}", "docs.tavily.com", near=("tvly-",)),
    _form("LangSmith key", r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
          "docs.smith.langchain.com", near=("lsv2_",)),
    _form("Slack token", rf"{_WORD}(?:xox[a-z]|xapp-\d)(?:-[A-Za-z0-9]+){{2,}}",
          "api.slack.com: token types", near=("xox", "xapp-")),
    _form("webhook", r"https://(?:hooks\.slack\.com/(?:services|workflows)"
          r"|discord(?:app)?\.com/api/webhooks)/(?P<secret>[\w/-]{20,})",
          "api.slack.com, discord.com/developers: webhooks",
          near=("hooks.slack.com/", "/api/webhooks/")),
    _form("Discord token", rf"{_WORD}[MNO][A-Za-z\d_-]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,38}}",
          "discord.com/developers: bot tokens", core=r"\.[^\s.]{6,18}\.[^\s.]{27}"),
    _form("Telegram token", r"\b\d{8,10}:AA[\w-]{33}(?![\w-])", "core.telegram.org/bots",
          near=(":aa",)),
    _form("Stripe key", r"\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,})",
          "docs.stripe.com: keys", near=("k_live_", "k_test_", "whsec_")),
    _form("Square token", rf"{_WORD}(?:sq0[a-z]{{3}}-[\w-]{{22,}}|EAAA[\w-]{{60}})",
          "developer.squareup.com", near=("sq0", "eaaa")),
    _form("PayPal token", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
          "developer.paypal.com: Braintree", near=("access_token$",)),
    _form("Shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", "shopify.dev: access tokens",
          near=("shpat_", "shpca_", "shppa_", "shpss_")),
    _form("Twilio key", r"\bSK[0-9a-f]{32}\b", "twilio.com/docs: API keys", near=("sk",),
          core="sk[0-9a-f]{32}"),
    _form("SendGrid key", rf"{_WORD}SG\.[\w-]{{20,24}}\.[\w-]{{39,50}}", "docs.sendgrid.com",
          near=("sg.",)),
    _form("Mailgun key", rf"{_WORD}key-[0-9a-f]{{32}}\b", "documentation.mailgun.com",
          near=("key-",)),
    _form("Mailchimp key", r"\b[0-9a-f]{32}-us\d{1,2}\b", "mailchimp.com/developer", near=("-us",)),
    _form("npm token", r"\bnpm_[A-Za-z0-9]{36}", "docs.npmjs.com: token format", near=("npm_",)),
    _form("PyPI token", rf"{_WORD}pypi-[\w-]{{50,}}", "pypi.org/help: API tokens", near=("pypi-",)),
    _form("RubyGems key", r"\brubygems_[0-9a-f]{48}", "guides.rubygems.org", near=("rubygems_",)),
    _form("Docker token", r"\bdckr_(?:pat|oat)_[\w-]{20,}", "docs.docker.com: access tokens",
          near=("dckr_",)),
    _form("DigitalOcean token", r"\bdo[opr]_v1_[0-9a-f]{64}", "docs.digitalocean.com",
          near=("doo_v1_", "dop_v1_", "dor_v1_")),
    _form("Cloudflare key", rf"{_WORD}v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{146}}",
          "developers.cloudflare.com: origin CA keys", near=("v1.0-",)),
    _form("Heroku key", rf"{_WORD}HRKU-[\w-]{{36,}}", "devcenter.heroku.com", near=("hrku-",)),
    _form("Fly token", r"\b(?:FlyV1 )?fm[12]r?_[A-Za-z0-9+/=_-]{50,}", "fly.io/docs",
          near=("fm1", "fm2")),
    _form("Vault token", rf"{_WORD}hv[sbr]\.[\w-]{{24,}}", "developer.hashicorp.com/vault",
          near=("hvs.", "hvb.", "hvr.")),
    _form("Terraform token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}",
          "developer.hashicorp.com/terraform", near=(".atlasv1.",)),
    _form("Doppler token", rf"{_WORD}dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]+\.)?"
          r"[A-Za-z0-9]{40,}", "docs.doppler.com", near=("dp.",)),
    _form("OnePassword token", r"\bops_eyJ[\w+/=-]{50,}", "developer.1password.com",
          near=("ops_eyj",)),
    _form("Databricks token", r"\bdapi[0-9a-f]{32}(?:-\d)?\b", "docs.databricks.com",
          near=("dapi",)),
    _form("Grafana token", r"\bgl(?:c_[\w+/=]{32,}|sa_\w{32}_[0-9a-fA-F]{8})", "grafana.com/docs",
          near=("glc_", "glsa_")),
    _form("Sentry token", r"\bsntry[su]_[\w+/=]{40,}", "docs.sentry.io", near=("sntry",)),
    _form("New Relic key", rf"{_WORD}NRAK-[A-Z0-9]{{27}}", "docs.newrelic.com", near=("nrak-",)),
    _form("Postman key", rf"{_WORD}PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}", "learning.postman.com",
          near=("pmak-",)),
    _form("Notion token", r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})",
          "developers.notion.com", near=("ntn_", "secret_")),
    _form("Linear key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{40,}", "linear.app/developers",
          near=("lin_",)),
    _form("Figma token", r"\bfig[dor]_?[\w-]{40,}", "figma.com/developers", _is_random,
          near=("figd", "figo", "figr")),
    _form("Supabase token", r"\bsb(?:p_[0-9a-f]{40}|_secret_[\w-]{20,})", "supabase.com/docs",
          near=("sbp_", "sb_secret_")),
    _form("PlanetScale password", r"\bpscale_(?:pw|tkn|oauth)_[\w.-]{32,}", "planetscale.com/docs",
          near=("pscale_",)),
    _form("Dropbox token", rf"{_WORD}sl\.(?:u\.)?[\w-]{{100,}}", "dropbox.com/developers",
          near=("sl.",)),
    _form("card number", r"(?<![\d.,-])(?:[3-6]\d{3}|2[2-7]\d{2})(?:[ -]?\d){9,15}(?![\d-])",
          "ISO/IEC 7812-1", _is_card, is_number=True, core=r"[2-6]\d{3}(?:[ -]?\d){9}"),
    _form("social security number", r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}"
          r"(?![\d-])", "ssa.gov: structure of numbers", is_number=True,
          core=r"\d{3}-\d\d-\d{4}"),
    _form("identity number", r"(?<!\d)[1-9]\d{5}(?:19|20)\d{9}[\dXx](?![\dA-Za-z])",
          "GB 11643-1999", _is_chinese_id, is_number=True, core=r"[1-9]\d{5}(?:19|20)\d{9}"),
    _form("password", rf"(?i)\b[\w.-]{{0,40}}{_WORDED}\b[\"']?\s*(?:=|:|：)\s*[\"']?"
          r"(?P<secret>[^\s\"',;]{4,})", "key and value, in any configuration", _is_value,
          near=("pass", "pin", "pwd"), core=rf"{_WORDED.lower()}[\"']?\s*[=:：]"),
    _form("password", rf"(?i)\b(?:my|our|the|his|her|their|users?['’]s)\b[^.\n:=]{{0,40}}?"
          rf"\b{_WORDED}\s+"
          r"(?:is|was|=|to)\s+[\"'`]?(?P<secret>[^\s\"'`]{4,}?)(?=[\"'`.,;!?]*(?:\s|$))",
          "said in words", _is_told, near=("pass", "pin", "pwd"),
          core=rf"{_WORDED.lower()}\s+(?:is|was|=|to)\s"),
    _form("password", rf"(?i)\b{_WORDED}\b,\s*"
          r"(?P<secret>(?=\S*\d)(?=\S*[a-z])[\w!@#$%^&*+-]{6,})", "mentioned in passing",
          near=("pass", "pin", "pwd"), core=rf"{_WORDED.lower()},"),
    _form("password", r"(?i)\b\w{0,40}(?:_pass|_pwd|_secret)\s*=\s*[\"']?"
          r"(?P<secret>[^\s\"',;]{4,})",
          "a variable of an environment", _is_value, near=("pass", "pwd", "secret"),
          core=r"_(?:pass|pwd|secret)\s*="),
    _form("password", r"(?:密码|口令|パスワード|비밀번호)[^\s\d,，.。!?！？]{0,10}\s*"
          r"(?P<secret>[A-Za-z]*\d[A-Za-z0-9!@#$%^&*_+~.-]{3,})", "said in words", _is_value,
          near=("パスワード", "口令", "密码", "비밀번호")),
    _form("password", r"(?:密码|口令|パスワード|비밀번호)\s*(?:是|为|設定|は|:|：|=)?\s*"
          r"(?P<secret>[A-Za-z0-9!-/@#$%^&*_+~.-]{4,})", "said in words", _is_value,
          near=("パスワード", "口令", "密码", "비밀번호")),
    _form("password", r"(?i)\b(?:pass?wort|kennwort|pin|clave|contraseña|senha|mot de passe|пароль"
          r"|hasło)\b(?: (?:de|du|del|der|des|von|für|pour|para)\b[^.,:\n]{0,30}?)?"
          r"\s*(?:ist|is|es|é|est|c['’]est|lautet|это|to|:|=|-|—)?\s*[\"'«„]?"
          r"(?P<secret>\S*\d\S*)", "said in words", _is_value,
          near=("clave", "contraseña", "hasło", "kennwort", "mot de passe", "pin", "senha",
                "wort", "пароль")),
    _form("password", r"(?i)\b(?:log-?in|credentials?|zugangsdaten|identifiants?|credenciales)\b"
          r"\s*(?:is|are|ist|sind|est|sont|es|son|:|=)?\s*\S{2,40}\s*[/,:]\s*"
          r"(?P<secret>(?=\S*\d)\S{6,})", "a name and a password in one breath",
          near=("credenciales", "credential", "identifiant", "login", "log-in", "zugangsdaten")),
    _form("key", rf"(?i){_KEY}[\"']?\s*(?:=|:|：|\bis\b|是|为)\s*[\"'`]?"
          r"(?P<secret>[A-Za-z0-9_+/=.~-]{12,})", "key and value, in any configuration",
          _is_random, near=("credential", "key", "secret", "token"),
          core=r"(?:key|token|secret|credential)[\"']?\s*(?:=|:|：|is|是|为)\s*[\"'`]?"
               r"[a-z0-9_+/=.~-]{12}"),
    _form("token", r"(?i)\b(?:bearer|basic|token)\s+(?P<secret>[A-Za-z0-9_~+/.=-]{16,})",
          "RFC 6750, RFC 7617", _is_random, near=("basic", "bearer", "token"),
          core=r"(?:bearer|basic|token)\s+[a-z0-9_~+/.=-]{16}"),
)  # fmt: skip
"""The table, most specific first: text that matches an earlier row is hidden from later ones."""
