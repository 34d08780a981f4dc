// One request: every message of it, how large it is, and whether it is shown whole.

const SHOWN = {
  whole: { name: "whole", about: "unchanged" },
  record: { name: "summary", about: "replaces the compacted messages" },
  note: { name: "note", about: "added so that the request is valid" },
  evict: { name: "cleared", about: "a preview and a handle" },
  elide: { name: "shortened", about: "arguments or reasoning left out" },
  strip: { name: "stripped", about: "without reasoning that is bound to another prefix" },
  supersede: { name: "superseded", about: "stale, one line" },
};

function requestFacts(run, call) {
  const calls = run.calls;
  const cold = run.cold.has(call) ? ", as the cache had expired" : "";
  const room = calls.tokens[call] / run.window;
  const facts = [
    ["Request", `call ${number(call + 1)} under ${run.label}`],
    ["Tokens", `${number(calls.tokens[call])}, ${percent(room)} of the window`],
    ["Messages", number(calls.length[call])],
    ["Read from the cache", `${number(calls.cached[call])}, ${percent(hitShare(run, call))}${cold}`],
    [capital(COLUMNS[0].name), money(calls.bill[call], run)],
    ["Answered by", `message #${calls.position[call]}`],
  ];
  if (calls.steps[call]) {
    facts.push(["Steps", `the answer needs ${plural(calls.steps[call], "more call")} for content this request no longer shows`]);
  }
  const edits = run.byCall.get(call) || [];
  return [
    html("dl", { class: "facts" }, facts.map(([name, value]) =>
      html("div", {}, html("dt", {}, name), html("dd", {}, value)))),
    (run.problems.get(call) || []).map((problem) =>
      html("p", { class: "alarm" }, `A provider would refuse this request: ${problem}`)),
    edits.length > 0 && html("ul", { class: "made" }, edits.slice(0, 8).map((edit) =>
      html("li", {}, html("span", { class: `kind ${styleOf(run)}` }, symbol(edit.kind)),
        editInWords(edit), " tokens")),
      edits.length > 8 && html("li", {}, `and ${plural(edits.length - 8, "more edit")}, in the table below`)),
  ];
}

function outlineTable(run, call) {
  const lines = requestOf(run, call);
  const most = Math.max(1, ...lines.map((line) => line.tokens));
  const cached = run.calls.cached[call];
  let before = 0;
  let isMarked = !cached;
  const rows = lines.flatMap((line) => {
    const row = outlineRow(line, most);
    before += line.tokens;
    if (isMarked || before <= cached) return [row];
    isMarked = true;
    return [cacheEnd(run, call), row];
  });
  return [
    strip(lines, run),
    html("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Messages of the request" },
      html("table", { class: "outline", role: "table" },
        html("caption", { class: "unseen" }, `The request of call ${call + 1} under ${run.label}`),
        html("thead", { role: "rowgroup" }, html("tr", { role: "row" },
          ["Position", "Speaker", "Tokens", "Shown", "First words"].map((head) =>
            html("th", { scope: "col", role: "columnheader" }, head)))),
        html("tbody", { role: "rowgroup" }, rows))),
  ];
}

function outlineRow(line, most) {
  const shown = SHOWN[line.shown] || { name: line.shown, about: "" };
  return html("tr", { role: "row", class: `is-${line.shown}` },
    html("td", { role: "cell", class: "at" }, line.position < 0 ? "–" : `#${line.position}`),
    html("td", { role: "cell", class: "who" }, line.speaker),
    html("td", { role: "cell", class: "num" }, number(line.tokens),
      html("span", { class: "gauge", "aria-hidden": "true" },
        html("i", { css: { width: `${(100 * line.tokens) / most}%` } }))),
    html("td", { role: "cell", class: "how" },
      line.shown === "whole" ? html("span", { class: "quiet" }, "whole")
        : html("span", { class: "tag", title: shown.about }, shown.name)),
    html("td", { role: "cell", class: "words", dir: "auto" }, line.head,
      line.handle && html("span", { class: "handle" }, "handle ", html("code", {}, line.handle))));
}

function cacheEnd(run, call) {
  return html("tr", { role: "row", class: "cache-end" },
    html("td", { role: "cell", colspan: "5" },
      `Up to here read from the cache: ${number(run.calls.cached[call])} tokens. Below: paid in full.`));
}

// The request as one bar: each message as wide as its tokens.
function strip(lines, run) {
  const total = Math.max(run.window, sum(lines, (line) => line.tokens));
  let at = 0;
  const pieces = lines.map((line) => {
    const piece = svg("rect", { class: `piece is-${line.shown} by-${line.speaker.split(" ")[0]}`,
      x: (1000 * at) / total, width: Math.max(0.4, (1000 * line.tokens) / total), y: 0, height: 22 });
    at += line.tokens;
    return piece;
  });
  return html("figure", { class: "strip-figure" },
    svg("svg", { class: "request-strip", viewBox: "0 0 1000 22", preserveAspectRatio: "none",
      role: "img", "aria-label": stripInWords(lines, run) },
    svg("rect", { class: "strip", x: 0, y: 0, width: 1000, height: 22 }), pieces),
    html("figcaption", {}, ["system", "user", "assistant", "tool"].map((who) =>
      html("span", {}, html("i", { class: `dot by-${who}` }), who)),
    html("span", {}, html("i", { class: "dot is-record" }), "summary or rewritten"),
    html("span", {}, html("i", { class: "dot free" }), "free")));
}

function stripInWords(lines, run) {
  const rewritten = lines.filter((line) => line.shown !== "whole");
  const tokens = sum(lines, (line) => line.tokens);
  return `${plural(lines.length, "message")} with ${number(tokens)} of ${number(run.window)} tokens; `
    + `${number(rewritten.length)} not shown whole`;
}
