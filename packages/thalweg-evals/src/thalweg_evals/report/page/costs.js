// What a trial took on average: one figure at a time, probes by subjects.

function dollars(value) {
  if (value === 0) return "$0";
  return `$${value < 0.01 ? Number(value.toPrecision(2)) : value.toFixed(value < 1 ? 3 : 2)}`;
}

const FIGURES = [
  { name: "Cost", of: (trial) => trial.cost, say: dollars, about: "Dollars that a trial cost, at the model's prices, summaries and subagents included." },
  { name: "Tokens sent", of: (trial) => trial.sent, say: (v) => short(Math.round(v)), about: "Input tokens of all requests of a trial, summaries and subagents included." },
  { name: "Tokens written", of: (trial) => trial.written, say: (v) => short(Math.round(v)), about: "Output tokens of all answers of a trial." },
  { name: "Read from the cache", of: (trial) => (trial.sent ? trial.cached / trial.sent : null), say: percent, about: "The share of what was sent that the provider had in its cache, as it reported." },
  { name: "Requests", of: (trial) => trial.requests, say: (v) => trimmed(v, 1), about: "Calls of the model in a trial, by whoever in the agent makes them." },
  { name: "Compactions", of: (trial) => trial.drops.length, say: (v) => trimmed(v, 1), about: "How often a request was smaller than the one before." },
  { name: "Largest request", of: (trial) => trial.tokens.reduce((a, b) => Math.max(a, b), 0), say: (v) => short(Math.round(v)), about: "Tokens of the largest request of a trial." },
  { name: "Seconds", of: (trial) => trial.seconds, say: (v) => trimmed(v, v < 10 ? 2 : 0), about: "How long a trial took." },
];
const costs = { figure: FIGURES[0] };

function mean(trials, read) {
  const known = trials.map(read).filter((value) => value !== null && value !== undefined);
  return known.length ? sum(known, (value) => value) / known.length : null;
}

function makeCosts() {
  const played = TRIALS.filter((trial) => trial.verdict !== "not offered");
  if (!played.some((trial) => trial.cost > 0)) costs.figure = FIGURES[1];
  const select = html("select", { id: "costs-figure", on: { change: () => {
    costs.figure = FIGURES[Number(select.value)];
    drawCosts();
  } } }, FIGURES.map((one, k) => html("option", { value: k, selected: one === costs.figure }, one.name)));
  byId("costs-controls").prepend(html("div", { class: "control" }, html("label", { for: "costs-figure" }, "Figure"), select));
}

function drawCosts() {
  const { figure: shown } = costs;
  const trials = costsChooser.shown();
  const subjects = values((trial) => trial.subject, trials);
  byId("costs-about").textContent = `${shown.about} Means of all trials that were played, whatever came of them: ${whose(costsChooser.chosen)}.`;
  const most = Math.max(0, ...values((trial) => trial.probe, trials).flatMap((probe) => subjects.map((subject) =>
    mean(trials.filter((one) => one.probe === probe && one.subject === subject), shown.of) || 0)));
  const caption = `${shown.name} of a trial`;
  fill("costs-body", html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    html("table", { class: "totals costs" },
      html("caption", { class: "unseen" }, caption),
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Probe"),
        subjects.map((subject) => html("th", { scope: "col" }, subject)))),
      html("tbody", {}, values((trial) => trial.probe, trials).map((probe) =>
        costRow(probe, subjects, trials.filter((one) => one.probe === probe), most))),
      html("tfoot", {}, costRow("All probes", subjects, trials, most)))));
}

function costRow(name, subjects, trials, most) {
  return html("tr", {}, html("th", { scope: "row" }, breakable(name)), subjects.map((subject) => {
    const value = mean(trials.filter((one) => one.subject === subject), costs.figure.of);
    return html("td", {}, value === null ? "–" : costs.figure.say(value),
      value !== null && most > 0 && html("span", { class: "gauge", "aria-hidden": "true" },
        html("i", { css: { width: `${Math.min(100, (100 * value) / most)}%` } })));
  }));
}
