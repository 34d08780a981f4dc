// The page as a whole: what was evaluated, at a glance, and the parts put together.

let figureChooser;
let failuresChooser;
let costsChooser;

function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function drawHead() {
  const subjects = values((trial) => trial.subject);
  const probes = values((trial) => trial.probe);
  const triggers = values((trial) => trial.trigger);
  const windows = values((trial) => trial.window).map(number);
  const models = values((trial) => trial.model);
  byId("title").textContent = `${plural(probes.length, "probe")}, ${plural(subjects.length, "subject")}`;
  const forced = triggers.filter((one) => one !== null).map(percent);
  const when = [forced.length && `at ${listed(forced)} of the window`, triggers.includes(null) && "at subjects' own triggers"]
    .filter(Boolean).join(" and ");
  byId("subtitle").textContent = `${plural(TRIALS.length, "trial")} of ${listed(subjects)} with ${listed(models)}, `
    + `a window of ${listed(windows)} tokens, compacted ${when}.`;
  document.title = `${byId("title").textContent} – Thalweg evaluation`;
}

const COUNTS = ["passed", "failed", "untested", "not offered"];

function drawGlance() {
  const subjects = values((trial) => trial.subject);
  fill("glance-body", html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "At a glance" },
    html("table", { class: "totals glance" },
      html("caption", { class: "unseen" }, "Verdicts of all trials by subject"),
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Subject"),
        COUNTS.map((verdict) => html("th", { scope: "col" },
          html("i", { class: `dot is-${verdict.replace(" ", "-")}` }), `${verdict[0].toUpperCase()}${verdict.slice(1)}`)),
        html("th", { scope: "col" }, "Verdicts"))),
      html("tbody", {}, subjects.map((subject) => glanceRow(subject))))));
}

function glanceRow(subject) {
  const trials = TRIALS.filter((trial) => trial.subject === subject);
  const counts = COUNTS.map((verdict) => trials.filter((trial) => trial.verdict === verdict).length);
  let at = 0;
  return html("tr", {}, html("th", { scope: "row" }, subject),
    counts.map((count, k) => html("td", { class: k === 1 && count ? "bad" : count ? null : "none" },
      k === 1 && count ? html("button", { type: "button", class: "link", "aria-label": `Show ${plural(count, "failure")} of ${subject}`,
        on: { click: () => showFailures({ subject, verdict: "failed" }) } }, number(count)) : number(count))),
    html("td", { class: "bar-cell" }, svg("svg", { class: "verdict-bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      counts.map((count, k) => {
        const width = (100 * count) / trials.length;
        const piece = count > 0 && svg("rect", { class: `is-${COUNTS[k].replace(" ", "-")}`, x: at, y: 0, width, height: 10 });
        at += width;
        return piece;
      }))));
}

function begin() {
  if (!TRIALS.length) {
    byId("subtitle").textContent = "No trial is in this report.";
    byId("main").hidden = true;
    return;
  }
  drawHead();
  drawGlance();
  drawRates();
  figureChooser = makeChooser("figure-controls", ["model", "trigger", "subject", "probe"],
    { all: ["subject", "probe"], trials: TRIALS, change: chooseRuns });
  failuresChooser = makeChooser("failures-controls", ["verdict", "subject", "probe", "trigger", "model"],
    { all: ["subject", "probe", "trigger", "model"], trials: wrong(), change: drawFailures });
  costsChooser = makeChooser("costs-controls", ["model", "trigger"],
    { all: ["trigger"], trials: TRIALS.filter((trial) => trial.verdict !== "not offered"), change: drawCosts });
  makeFigure();
  makeCosts();
  figureChooser.choose(telling());
  drawFailures();
  drawCosts();
  window.addEventListener("scroll", hideFigureTip, { passive: true });
  printWith(drawFigure);
}

// What failed, and then what could not be told.
function wrong() {
  return ["failed", "untested"].flatMap((verdict) => TRIALS.filter((trial) => trial.verdict === verdict));
}

// The figure begins with the first subject, where it was compacted most.
function telling() {
  const [first] = TRIALS;
  const own = TRIALS.filter((trial) => trial.subject === first.subject && trial.model === first.model);
  const most = values((trial) => trial.trigger, own).map((trigger) => ({ trigger,
    count: sum(own.filter((trial) => trial.trigger === trigger), (trial) => trial.drops.length) }))
    .reduce((a, b) => (b.count > a.count ? b : a));
  return { model: first.model, subject: first.subject, trigger: most.trigger };
}

begin();
