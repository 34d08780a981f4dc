// Probes by subjects: how often each passed, between what that lies, and how far from the first.

const TERMS = [
  ["Rate", "Of the trials that tested something, how many passed; the bar below it is the range in which the true rate lies with 95 % confidence (Wilson's interval). Few trials make a wide bar."],
  ["Against the first", "Percentage points above or below the first subject, on the trials that both played, with a 95 % interval (paired bootstrap). It is in colour where the interval leaves 0 out and there are six pairs or more."],
  ["untested", "What the probe is about did not happen, such as a compaction. Such a trial counts neither way."],
  ["not offered", "The subject lacks what the probe needs, such as files or a memory, so that it was not tried."],
  ["figure", "What some probes measure beside the verdict, on average; what it counts is told by thalweg eval --list."],
  ["judged", "A model was asked for the verdict, because no exact check could tell."],
];

// Fewer pairs could all differ by chance, whatever their interval says (a sign test at 5 %).
const TELLING_PAIRS = 6;

function signed(share) {
  const points = Math.round(share * 100);
  return points === 0 ? "0" : `${points < 0 ? "−" : "+"}${Math.abs(points)}`;
}

function drawRates() {
  const compares = PAYLOAD.rates.some((table) => table.subjects.length > 1);
  byId("rates-about").textContent = "The share of trials that passed, with its 95 % interval."
    + (compares ? " Below it the difference to the first subject, on the same trials." : "");
  fill("terms", TERMS.filter(([term]) => compares || term !== "Against the first")
    .flatMap(([term, about]) => [html("dt", {}, term), html("dd", {}, about)]));
  fill("rates-body", PAYLOAD.rates.map(rateTable));
}

function rateTable(table) {
  const caption = groupName(table);
  const rows = table.rows.map((row) => rateRow(table, row.probe, row.cells));
  return [
    PAYLOAD.rates.length > 1 && html("h3", { class: "group" }, caption),
    html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      html("table", { class: "rates" },
        html("caption", { class: "unseen" }, `What passed. ${caption}`),
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Probe"),
          table.subjects.map((subject) => html("th", { scope: "col" }, subject)))),
        html("tbody", {}, rows),
        table.rows.length > 1 && html("tfoot", {}, rateRow(table, "", table.all)))),
  ];
}

function groupName({ model, trigger }) {
  const words = trigger === null ? "compacting at the subject's own trigger"
    : `compacting at ${percent(trigger)} of the window`;
  return values((trial) => trial.model).length > 1 ? `${model}, ${words}`
    : `${words[0].toUpperCase()}${words.slice(1)}`;
}

function rateRow(table, probe, cells) {
  return html("tr", {},
    html("th", { scope: "row" }, probe ? breakable(probe) : "All probes"),
    cells.map((cell, k) => html("td", {}, rateCell(cell, {
      model: table.model, trigger: table.trigger, subject: table.subjects[k],
      probe: probe || undefined,
    }))));
}

function rateCell(cell, where) {
  const { passed, failed, untested, absent } = cell;
  if (!passed && !failed && !untested && !absent) return html("span", { class: "quiet" }, "–");
  const [value, low, high, n] = cell.rate || [];
  return [
    n && html("p", { class: "rate" },
      html("b", { class: failed ? "is-short" : "is-full" }, percent(value)),
      html("span", { class: "quiet" }, ` ${number(passed)} of ${number(n)}`),
      cell.judged > 0 && html("span", { class: "tag" }, cell.judged < n ? `${number(cell.judged)} judged` : "judged")),
    n && rangeBar(value, low, high),
    html("p", { class: "range" },
      n && html("span", {}, `${Math.round(low * 100)}–${Math.round(high * 100)} %`),
      cell.gap && gapInWords(cell.gap),
      where.probe && cell.value !== null && html("span", { title: "the probe's own figure, on average" }, `figure ${trimmed(cell.value, 1)}`),
      failed > 0 && html("button", { type: "button", class: "link",
        "aria-label": `Show ${plural(failed, "failure")} of ${where.subject}${where.probe ? ` in ${where.probe}` : ""}`,
        on: { click: () => showFailures({ ...where, verdict: "failed" }) } }, `${number(failed)} failed`),
      untested > 0 && html("button", { type: "button", class: "link",
        "aria-label": `Show ${plural(untested, "untested trial")} of ${where.subject}${where.probe ? ` in ${where.probe}` : ""}`,
        on: { click: () => showFailures({ ...where, verdict: "untested" }) } }, `${number(untested)} untested`),
      absent > 0 && html("span", {}, n || untested ? `${number(absent)} not offered` : "not offered")),
  ];
}

function gapInWords([value, low, high, n]) {
  const range = low === high ? "" : `${signed(low)} to ${signed(high)}, `;
  const points = value === 0 && low === high ? "no difference" : `${signed(value)} points`;
  const side = low > 0 ? "above" : high < 0 ? "below" : null;
  return html("span", { class: n < TELLING_PAIRS ? null : side, title: "to the first subject" },
    `${points} (${range}${plural(n, "pair")})`);
}

// From 0 to 100 %: what is likely, and what was seen.
function rangeBar(value, low, high) {
  return svg("svg", { class: "range-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "strip", x: 0, y: 2.5, width: 100, height: 3 }),
    svg("rect", { class: "likely", x: 100 * low, y: 2.5, width: Math.max(0.5, 100 * (high - low)), height: 3 }),
    svg("rect", { class: "seen", x: Math.min(98, Math.max(0, 100 * value - 1)), y: 0, width: 2, height: 8 }));
}
