"""A command whose output is stored in a file on its own machine, with a preview for the model."""

import shlex
from typing import Final

from thalweg_agent.backends.protocol import ExecuteOffloadResult, ExecuteResponse
from thalweg_agent.backends.text import TRUNCATION_MARKER_TEMPLATE

MAX_CAPTURE_BYTES: Final = 10 * 1024 * 1024
"""Default maximum of stored bytes of an output."""
_SIGN: Final = "__THALWEG_CAPTURED__"
_FIELDS: Final = 5
_LINES: Final = 5
"""Lines of the beginning and of the end in a preview."""
_BYTES: Final = 2000
"""Bytes of the same."""


def capturing(
    command: str, path: str, *, max_inline_bytes: int, max_capture_bytes: int | None
) -> str:
    """Return a script that runs a command and stores its output in a file.

    The pipe is read to its end even if little is kept, so that the command is not killed for
    printing; its exit code and whether output was lost are sent on a separate descriptor.
    If the file cannot be created, the command runs without the capture.
    """
    keep = MAX_CAPTURE_BYTES if max_capture_bytes is None else max_capture_bytes
    # `printf` takes its words as a format, in which they have no `%` of their own.
    marker = TRUNCATION_MARKER_TEMPLATE.format(omitted_lines="%s")
    return f"""\
kept={shlex.quote(path)}
asked={shlex.quote(command)}
if ! {{ mkdir -p -- "${{kept%/*}}/" && : >"$kept"; }} 2>/dev/null; then
  eval "$asked"
  exit $?
fi
ended=$({{
  {{ (eval "$asked") 2>&1 3>&-; echo "c$?" >&3; }} |
  {{ head -c {keep} >"$kept"; echo "r$(head -c 1 | wc -c | tr -d ' ')" >&3; cat >/dev/null; }}
}} 3>&1)
code=${{ended#*c}}; code=${{code%%[!0-9]*}}
case $ended in *r1*) cut=1;; *) cut=0;; esac
size=$(($(wc -c <"$kept")))
if [ "$size" -le {max_inline_bytes} ]; then
  printf '%s\\n' "{_SIGN} ${{code:-1}} 0 $cut 0"
  cat "$kept"; rm -f -- "$kept"
  exit 0
fi
missing=$(($(wc -l <"$kept") - {2 * _LINES}))
printf '%s\\n' "{_SIGN} ${{code:-1}} 1 $cut $missing"
if [ "$missing" -gt 0 ]; then
  head -n {_LINES} "$kept" | head -c {_BYTES}
  long=0
  [ "$(head -n {_LINES} "$kept" | wc -c)" -gt {_BYTES} ] && long=1
  [ "$(tail -n {_LINES} "$kept" | wc -c)" -gt {_BYTES} ] && long=1
  [ $long = 1 ] && printf '\\n%s\\n' '... [lines beside this are cut: they are too long] ...'
  printf '{marker}\\n' "$missing"
  tail -n {_LINES} "$kept" | tail -c {_BYTES}
else
  head -c {2 * _BYTES} "$kept"
  lost=''
  [ $cut = 1 ] && lost=', the rest is lost'
  [ "$size" -gt {2 * _BYTES} ] &&
    printf '\\n... [cut here; %s bytes are in the file%s] ...\\n' "$size" "$lost"
fi
exit 0
"""


def captured(response: ExecuteResponse) -> ExecuteOffloadResult:
    r"""Parse the output of the script of `capturing`; any other text is the command's output.

    Example:
        >>> captured(ExecuteResponse(f"{_SIGN} 3 0 0 0\nhello\n", 0)).response
        ExecuteResponse(output='hello\n', exit_code=3, truncated=False)
    """
    first, _, rest = response.output.partition("\n")
    fields = first.split(" ", _FIELDS) if first.startswith(_SIGN) else []
    if len(fields) != _FIELDS or not all(field.lstrip("-").isdecimal() for field in fields[1:]):
        return ExecuteOffloadResult(offloaded=False, response=response)
    code, offloaded, cut, missing = (int(field) for field in fields[1:])
    return ExecuteOffloadResult(
        offloaded=offloaded == 1,
        response=ExecuteResponse(rest, code, truncated=cut == 1 or response.truncated),
        preview_has_truncation_marker=offloaded == 1 and missing > 0,
    )
