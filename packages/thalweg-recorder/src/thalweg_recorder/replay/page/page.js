// What is chosen, and keeping everything on the page in step with it.

const state = { recording: RECORDINGS[0], run: null, call: 0, count: 0, hidden: new Set() };

function shownRuns() {
  return state.recording.runs.filter((run) => !state.hidden.has(run.label));
}

function clampCall(call) {
  return Math.max(0, Math.min(state.count - 1, call));
}

// Choose a call, and with it a run when one is given.
function choose(call, run) {
  state.call = clampCall(call);
  if (run && run !== state.run) {
    chooseRun(run);
    return;
  }
  CHARTS.forEach(moveCursor);
  showRequest();
  history.replaceState(null, "", `#${addressOf(state)}`);
}

// What is chosen, as the fragment of the page's address: a link to one call of one recording.
function addressOf({ recording, run, call }) {
  const at = { recording: RECORDINGS.indexOf(recording) + 1, policy: run.label, call: call + 1 };
  return new URLSearchParams(at).toString();
}

function openAddress(fragment) {
  const asked = new URLSearchParams(fragment.slice(1));
  const recording = RECORDINGS[Number(asked.get("recording")) - 1];
  if (!recording) return false;
  chooseRecording(recording);
  const run = recording.runs.find(({ label }) => label === asked.get("policy"));
  choose(Number(asked.get("call")) - 1 || 0, run);
  byId("request").scrollIntoView();
  return true;
}

function chooseRun(run) {
  state.run = run;
  byId("policy-select").value = String(run.index);
  fill("edits-body", editsTable(run));
  fill("savings-body", savingsTable(run));
  byId("edits-about").textContent = run.edits.length
    ? `${plural(run.edits.length, "edit")} under ${run.label}, by the call that they were made for. Its number leads to its request.`
    : "";
  choose(state.call);
}

function showRequest() {
  const { run, call } = state;
  byId("call-number").value = String(call + 1);
  byId("call-range").value = String(call + 1);
  if (!run || !run.count) {
    fill("request-facts", html("p", { class: "quiet" }, NO_CALL));
    fill("request-outline");
    return;
  }
  fill("request-facts", requestFacts(run, call));
  fill("request-outline", outlineTable(run, call));
}

function chooseRecording(recording) {
  const kept = state.run && recording.runs.find((run) => run.label === state.run.label);
  state.recording = recording;
  state.count = Math.max(0, ...recording.runs.map((run) => run.count));
  const first = kept || recording.runs[0];
  byId("recording-title").textContent = recording.title;
  const { messages } = first.totals;
  byId("recording-facts").textContent =
    `${recording.about ? `${recording.about}. ` : ""}${plural(messages, "message")}, ${plural(state.count, "model call")}.`;
  fill("recording-totals", totalsTable(`Totals of ${recording.name}`,
    recording.runs.map((run) => ({ run, label: run.label, row: run.row }))));
  fill("recording-missing", recording.runs.filter((run) => run.missing.length).map(missingRequests));
  document.querySelector(".controls").hidden = !state.count;
  fill("policy-select", recording.runs.map((run) => html("option", { value: run.index }, run.label)));
  for (const id of ["call-number", "call-range"]) byId(id).max = String(Math.max(1, state.count));
  byId("call-last").textContent = `of ${number(state.count)}`;
  drawLegend();
  explain();
  fill("notes-body", notes(recording.notes));
  state.call = telling(first);
  drawCharts();
  chooseRun(first);
}

// The user's requests that are no longer in the final context of a run.
function missingRequests(run) {
  return html("details", {},
    html("summary", {}, `${plural(run.missing.length, "request")} of the user not in the context under ${run.label}`),
    html("ul", { class: "notes" }, run.missing.map((quote) => html("li", { dir: "auto" }, quote))));
}

// The call to begin with: the one after the largest edit, as there is most to see.
function telling(run) {
  const largest = run.edits.reduce((a, b) => (b.before - b.after > a.before - a.after ? b : a),
    run.edits[0] || { call: state.count - 1, before: 0, after: 0 });
  return Math.max(0, largest.call);
}

function drawCharts(width) {
  CHARTS.forEach((chart) => drawChart(chart, width));
}

function drawLegend() {
  const field = byId("legend");
  field.replaceChildren(field.firstElementChild);
  for (const run of state.recording.runs) {
    const box = html("input", { type: "checkbox", checked: !state.hidden.has(run.label), on: {
      change: () => {
        state.hidden[box.checked ? "delete" : "add"](run.label);
        drawCharts();
      },
    } });
    field.append(html("label", {}, box, swatch(run), run.label));
  }
  const kinds = new Set(state.recording.runs.flatMap((run) => run.edits.map((edit) => edit.kind)));
  fill("symbols", [...kinds].map((kind) => html("li", {}, symbol(kind),
    html("b", {}, (KINDS[kind] || { name: kind }).name), ` ${(KINDS[kind] || { about: "" }).about}`)));
}

function explain() {
  const { tariff } = state.recording.runs[0];
  byId("tokens-about").textContent =
    `Input tokens of every request. The window is what the model accepts; the limit leaves room for its answer. `
    + `A mark is an edit made for that call; point at it, or press Page Down in the chart, to read why.`;
  const priced = tariff && tariff.read !== undefined
    ? ` Of the price of an input token outside the cache, one read from it costs ${tariff.read}, one written to it ${tariff.write}, and an output token ${tariff.output} (prices: ${tariff.name}).`
    : ` Prices: ${tariff.name}.`;
  byId("cost-about").textContent = `${capital(COLUMNS[0].name)}: ${COLUMNS[0].about}.${priced}`;
  const cold = state.recording.runs[0].cold.size;
  const pause = tariff && tariff.lifetime_s ? ` (a pause of more than ${duration(tariff.lifetime_s)})` : "";
  byId("cache-about").textContent =
    "Share of each request that the provider's cache already held. After an edit of earlier messages, what follows them is not in the cache."
    + (cold ? ` A dotted line marks one of ${plural(cold, "call")} before which the cache had expired${pause}.` : "");
}

function duration(seconds) {
  return seconds < 3600 ? plural(Math.round(seconds / 60), "minute") : plural(seconds / 3600, "hour");
}

const NOTES_SHOWN = 20;

function notes(all) {
  if (!all.length) return html("p", { class: "quiet" }, "Nothing odd was found while reading it.");
  const list = (some) => html("ul", { class: "notes" }, some.map((note) => html("li", { dir: "auto" }, note)));
  return [list(all.slice(0, NOTES_SHOWN)), all.length > NOTES_SHOWN && html("details", {},
    html("summary", {}, `${number(all.length - NOTES_SHOWN)} more`), list(all.slice(NOTES_SHOWN)))];
}

function drawOverview() {
  if (RECORDINGS.length < 2) {
    byId("overview").hidden = true;
    return;
  }
  const runs = RECORDINGS.flatMap((recording) => recording.runs);
  const rows = PAYLOAD.all.map(({ policy, row }) =>
    ({ run: runs.find((run) => run.policy === policy), label: policy, row }));
  fill("overview-body",
    totalsTable("Totals of all recordings", rows),
    matrixTable([...new Set(runs.map((run) => run.label))], openRecording),
    html("p", { class: "quiet" }, "A triangle marks a problem: a request over the window or invalid, or something lost. A name leads to the recording."),
    html("details", { class: "each" },
      html("summary", {}, "All figures of each recording"),
      RECORDINGS.map((recording) => [
        html("h3", { class: "each-name" }, recording.title),
        totalsTable(`Totals of ${recording.name}`, recording.runs.map((run) =>
          ({ run, label: run.label, row: run.row }))),
      ])));
}

function openRecording(recording) {
  byId("recording-select").value = String(RECORDINGS.indexOf(recording));
  chooseRecording(recording);
  byId("recording").scrollIntoView();
}

function listen() {
  byId("recording-select").addEventListener("change", (event) =>
    chooseRecording(RECORDINGS[Number(event.target.value)]));
  byId("policy-select").addEventListener("change", (event) =>
    chooseRun(state.recording.runs[Number(event.target.value)]));
  byId("call-range").addEventListener("input", (event) => choose(Number(event.target.value) - 1));
  byId("call-number").addEventListener("change", (event) => choose(Number(event.target.value) - 1));
  byId("edit-before").addEventListener("click", () => choose(editBeside([state.run], -1)));
  byId("edit-after").addEventListener("click", () => choose(editBeside([state.run], 1)));
  window.addEventListener("hashchange", () => openAddress(location.hash));
  window.addEventListener("scroll", hideTip, { passive: true });
  printWith(drawCharts);
}

function begin() {
  const runs = RECORDINGS.flatMap((recording) => recording.runs);
  if (!runs.length) {
    byId("subtitle").textContent = "No run is in this report.";
    byId("main").hidden = true;
    return;
  }
  const policies = new Set(runs.map((run) => run.policy));
  const windows = [...new Set(runs.map((run) => number(run.window)))].join(" and ");
  const prices = [...new Set(runs.map((run) => run.tariff.name))].join(" and ");
  const title = RECORDINGS.length === 1 ? RECORDINGS[0].title : plural(RECORDINGS.length, "recording");
  byId("title").textContent = RECORDINGS.length === 1 ? `Session: “${title}”` : title;
  byId("subtitle").textContent =
    `${policies.size === 1 ? "One policy" : `${policies.size} policies`}, a window of ${windows} tokens, ${prices} prices.`;
  const [first, ...others] = PAYLOAD.verdict;
  byId("verdict").textContent = first || "Replay";
  fill("others", others.map((line) => html("li", {}, line)));
  document.title = `${title} – Thalweg replay`;
  byId("recording-chooser").hidden = RECORDINGS.length < 2;
  byId("recording-title").hidden = RECORDINGS.length < 2;
  fill("recording-select", RECORDINGS.map((recording, k) => html("option", { value: k }, [recording.title, recording.about].filter(Boolean).join(" – "))));
  fill("terms", COLUMNS.flatMap((column) => [html("dt", {}, column.name), html("dd", {}, column.about)]));
  const tokensAt = (run, call) => `${number(run.calls.tokens[call] || 0)} tokens`;
  makeChart("tokens-chart", "Tokens per call", drawTokens, tokensAt);
  makeChart("cost-chart", "Cost so far", drawCost, (run, call) => money(run.sums[call] || 0, run));
  makeChart("cache-chart", "Read from the cache", drawCache, (run, call) => percent(hitShare(run, call)));
  drawOverview();
  listen();
  const address = location.hash;
  if (!openAddress(address)) chooseRecording(RECORDINGS[0]);
}

begin();
