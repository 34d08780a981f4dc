// Requests and their sizes: every run in grey, two in colour, each compaction marked.

const GHOSTS = 600;
const PICKS = [
  { css: "pick p0", shape: "M-6,-4.5H6L0,6Z" },
  { css: "pick p1", shape: "M-4.4,-4.4H4.4V4.4H-4.4Z" },
];
const figure = { holder: byId("figure-chart"), step: 0, count: 0, runs: [], picks: [], byTurn: false };

// Where the k-th request of a run stands, in steps.
function stepOf(run, k) {
  return figure.byTurn ? run.places[k] : k;
}

// The requests of a turn share its room.
function placesByTurn(trial) {
  const sizes = new Map();
  for (const turn of trial.turns) sizes.set(turn, (sizes.get(turn) || 0) + 1);
  const seen = new Map();
  return trial.turns.map((turn) => {
    const k = seen.get(turn) || 0;
    seen.set(turn, k + 1);
    return turn + k / sizes.get(turn);
  });
}

// The last request of a run that stands at a step, or none.
function requestAt(run, step) {
  if (!figure.byTurn) return step < run.tokens.length ? step : -1;
  return run.turns.lastIndexOf(step);
}

function chooseRuns() {
  figure.runs = figureChooser.shown().filter((trial) => trial.tokens.length);
  const most = pickBy(figure.runs, (trial) => trial.drops.length);
  const rest = figure.runs.filter((trial) => trial !== most);
  const others = rest.filter((trial) => trial.probe !== most.probe || trial.variant !== most.variant);
  const steepest = pickBy(others.length ? others : rest, (trial) => largestDrop(trial).before - largestDrop(trial).after);
  figure.picks = [most, steepest];
  figure.latest = 0;
  redraw();
}

function pickBy(trials, read) {
  return trials.reduce((a, b) => (a === undefined || read(b) > read(a) ? b : a), undefined);
}

function redraw() {
  figure.count = figure.runs.reduce((most, run) =>
    Math.max(most, figure.byTurn ? run.turns.at(-1) + 1 : run.tokens.length), 0);
  figure.step = Math.max(0, Math.min(figure.count - 1, figure.step));
  if (figure.byTurn) for (const run of figure.runs) run.places ??= placesByTurn(run);
  byId("figure-about").textContent =
    `Each line is one trial: how large the agent's requests were, one after the other. Shown: ${whose(figureChooser.chosen)}. `
    + "Two are in colour: one that was compacted most often, and of the other cases one with the largest drop.";
  drawPicks();
  drawFigure();
}

function drawPicks() {
  fill("picks", PICKS.map((style, k) => {
    const run = figure.picks[k];
    if (!run) return null;
    const select = html("select", { "aria-label": `Highlighted run ${k + 1}`, on: {
      change: () => pick(figure.runs[Number(select.value)], k),
    } }, figure.runs.map((one, place) =>
      html("option", { value: place, selected: one === run }, runName(one))));
    return html("div", { class: "picked" },
      html("div", { class: "picked-head" }, pickSwatch(style), select),
      html("p", { class: "quiet" }, runInWords(run)));
  }));
}

function runName(run) {
  return figureChooser.chosen.subject === undefined ? `${run.subject}: ${run.name}` : run.name;
}

function runInWords(run) {
  const largest = largestDrop(run);
  const drops = run.drops.length
    ? `${plural(run.drops.length, "compaction")}, the largest ${dropInWords(largest)}` : "no compaction";
  return `${verdictInWords(run)}, ${plural(run.tokens.length, "request")}, ${drops}.`.replace(/^./, (c) => c.toUpperCase());
}

function pickSwatch(style) {
  return svg("svg", { class: "swatch", width: 40, height: 14, "aria-hidden": "true" },
    svg("line", { class: style.css, x1: 1, y1: 7, x2: 39, y2: 7 }),
    svg("path", { class: `${style.css} mark`, d: style.shape, transform: "translate(20 7)" }));
}

// Highlight a run; without a place, instead of the one that was highlighted longer ago.
function pick(run, place) {
  if (figure.picks.includes(run) && place === undefined) return;
  const k = place ?? figure.latest;
  if (figure.picks[1 - k] === run) figure.picks[1 - k] = figure.picks[k];
  figure.picks[k] = run;
  figure.latest = 1 - k;
  drawPicks();
  drawFigure();
}

function linePath(run, y) {
  const points = run.tokens.map((tokens, k) => {
    const begins = k === 0 || run.starts.has(k);
    return `${begins ? "M" : "L"}${figure.x(stepOf(run, k)).toFixed(1)},${y(tokens).toFixed(1)}`;
  });
  return points.join("") + (run.tokens.length === 1 ? "h0.01" : "");
}

function drawFigure(width) {
  figure.width = width || figure.holder.clientWidth;
  figure.x = figure.cursor = null;
  if (!figure.count) {
    figure.holder.replaceChildren(html("p", { class: "quiet" }, "No request was sent in these trials."));
    return;
  }
  if (!figure.width) return;
  const size = Math.max(240, figure.width);
  const peak = figure.runs.reduce((most, run) => run.tokens.reduce((a, b) => Math.max(a, b), most), 0);
  const windows = values((run) => run.window, figure.runs);
  const { trigger } = figureChooser.chosen;
  const limits = trigger ? windows.map((one) => one * trigger) : [];
  const needed = Math.max(peak, ...limits);
  const shownWindows = windows.filter((one) => one <= needed * 1.6);
  const top = Math.max(1, needed * 1.08, ...shownWindows.map((one) => one * 1.04));
  const { picture, left, right } = frame(figure, { width: size, height: size >= LABELS_FROM ? 400 : 300,
    count: figure.count, label: figure.byTurn ? "the user's turn" : "request", room: 24 });
  const y = amounts(figure, picture, { top, left, right });
  figure.y = y;
  const lines = clipped(figure, picture, { left, right });
  const ghosts = figure.runs.filter((run) => !figure.picks.includes(run)).slice(0, GHOSTS);
  for (const run of ghosts) lines.append(svg("path", { class: "ghost", d: linePath(run, y) }));
  figure.picks.forEach((run, k) => run && lines.append(
    svg("path", { class: PICKS[k].css, d: linePath(run, y) })));
  figure.hover = svg("path", { class: "ghost lit" });
  lines.append(figure.hover);
  picture.append(lines);
  const line = (name, at, words, above) => picture.append(
    svg("line", { class: name, x1: left, x2: right, y1: y(at), y2: y(at) }),
    svg("text", { class: name, x: left + 6, y: y(at) + (above ? -6 : 15) }, words));
  for (const one of shownWindows) line("window", one, `window ${number(one)}`, true);
  windows.forEach((one, k) => {
    if (trigger) line("limit", one * trigger, `trigger ${number(Math.round(one * trigger))}`, true);
    if (!shownWindows.includes(one)) {
      picture.append(svg("text", { class: "window", x: right, y: figure.top + 2 + 15 * k,
        "text-anchor": "end" }, `↑ window ${number(one)}`));
    }
  });
  figure.picks.forEach((run, k) => run && run.drops.forEach((drop) => {
    const [px, py] = [figure.x(stepOf(run, drop.at)), y(drop.after)];
    picture.append(svg("path", { class: `${PICKS[k].css} mark`, d: PICKS[k].shape,
      transform: `translate(${px.toFixed(1)} ${py.toFixed(1)}) scale(${size >= LABELS_FROM ? 1 : 0.7})` }));
  }));
  figure.cursor = svg("line", { class: "cursor", y1: figure.top, y2: figure.bottom });
  picture.append(figure.cursor);
  figure.holder.replaceChildren(picture);
  moveTo(figure.step);
}

function moveTo(step) {
  figure.step = Math.max(0, Math.min(figure.count - 1, step));
  if (!figure.cursor) return;
  const x = figure.x(figure.step);
  put(figure.cursor, { x1: x, x2: x });
  put(figure.holder, { "aria-valuemax": figure.count, "aria-valuenow": figure.step + 1,
    "aria-valuetext": spoken(figure.step) });
}

function stepName(step) {
  return `${figure.byTurn ? "Turn" : "Request"} ${number(step + 1)}`;
}

function told(run, step) {
  const k = requestAt(run, step);
  if (k < 0) return "has ended";
  return `${number(run.tokens[k])} tokens`;
}

function toldOfDrop(run, step) {
  const k = requestAt(run, step);
  const drop = run.drops.find((one) => one.at === k);
  return drop ? `compacted from ${number(drop.before)}` : "";
}

function spoken(step) {
  const words = figure.picks.filter(Boolean).map((run) => 
    [`${runName(run)}: ${told(run, step)}`, toldOfDrop(run, step)].filter(Boolean).join(", "));
  return `${stepName(step)} of ${number(figure.count)}. ${words.join(". ")}`;
}

function showTip(step, near) {
  if (!figure.x) return;
  put(figure.hover, { d: near && !figure.picks.includes(near) ? linePath(near, figure.y) : "" });
  openTip(figure, step,
    html("p", { class: "tip-head" }, stepName(step)),
    figure.picks.map((run, k) => run && tipRow(pickSwatch(PICKS[k]), run, step)),
    near && !figure.picks.includes(near) && [
      tipRow(svg("svg", { class: "swatch", width: 40, height: 14, "aria-hidden": "true" },
        svg("line", { class: "ghost lit", x1: 1, y1: 7, x2: 39, y2: 7 })), near, step),
      html("p", { class: "quiet tip-more" }, `${verdictInWords(near)}; click to highlight`)]);
}

function tipRow(sign, run, step) {
  const drop = toldOfDrop(run, step);
  return [html("p", { class: "tip-row" }, sign, html("span", {}, runName(run)), html("b", {}, told(run, step))),
    drop && html("p", { class: "quiet tip-more" }, drop)];
}

function hideFigureTip() {
  hideTip();
  if (figure.hover) put(figure.hover, { d: "" });
}

// The run whose line is nearest to the pointer, if one is near, and the step there.
function nearestRun(event) {
  if (!figure.x) return null;
  const [x, y] = pointIn(figure, event);
  const step = figure.stepAt(x);
  let best = null;
  for (const run of figure.runs) {
    const k = requestAt(run, step);
    if (k < 0) continue;
    const far = Math.abs(figure.y(run.tokens[k]) - y);
    if (far < 24 && (!best || far < best.far)) best = { far, run };
  }
  return { step, run: best && best.run };
}

function onFigureKey(event) {
  const stride = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  const page = { PageUp: -1, PageDown: 1 }[event.key];
  let step = null;
  if (stride) step = figure.step + stride * (event.shiftKey ? 10 : 1);
  if (page) step = dropBeside(page);
  if (event.key === "Home") step = 0;
  if (event.key === "End") step = figure.count - 1;
  if (event.key === "Escape") hideFigureTip();
  if (step === null) return;
  event.preventDefault();
  moveTo(step);
  showTip(figure.step);
}

function dropBeside(direction) {
  const found = figure.picks.filter(Boolean)
    .flatMap((run) => run.drops.map((drop) => Math.floor(stepOf(run, drop.at))))
    .filter((step) => (step - figure.step) * direction > 0);
  return found.length ? found.reduce((a, b) => ((b - a) * direction < 0 ? b : a)) : figure.step;
}

function makeFigure() {
  const axis = html("select", { id: "figure-axis", on: { change: () => {
    figure.byTurn = axis.value === "turn";
    figure.step = 0;
    redraw();
  } } }, html("option", { value: "request" }, "requests"), html("option", { value: "turn" }, "the user's turns"));
  byId("figure-controls").append(html("div", { class: "control" },
    html("label", { for: "figure-axis" }, "Along"), axis));
  put(figure.holder, { role: "slider", tabindex: "0", "aria-label": "Tokens over time", "aria-valuemin": "1", on: {
    keydown: onFigureKey,
    pointermove: (event) => {
      const found = nearestRun(event);
      if (found) showTip(found.step, found.run);
    },
    pointerleave: hideFigureTip,
    focus: () => figure.holder.matches(":focus-visible") && showTip(figure.step),
    blur: hideFigureTip,
    click: (event) => {
      const found = nearestRun(event);
      if (!found) return;
      moveTo(found.step);
      if (found.run) pick(found.run);
      showTip(figure.step);
    },
  } });
  new ResizeObserver(() => {
    if (figure.holder.clientWidth === figure.seen) return;
    figure.seen = figure.holder.clientWidth;
    drawFigure();
  }).observe(figure.holder);
}

// Show one trial among those it belongs to.
function showInFigure(trial) {
  figureChooser.choose({ model: trial.model, trigger: trial.trigger, subject: trial.subject, probe: undefined });
  pick(trial, figure.picks[1] === trial ? 1 : 0);
  byId("figure").scrollIntoView();
  figure.holder.focus({ preventScroll: true });
}
