// The three charts. Each is one stop of the Tab key: arrows choose a call, Page Up and Page Down
// go to the edit before and after, and what stands there is spoken and shown.

const CHARTS = [];
const NO_CALL = "No model call is recorded here.";

function makeChart(id, name, draw, tell) {
  const holder = byId(id);
  const chart = { holder, name, draw, tell, x: null, at: () => null, marks: [] };
  put(holder, { role: "slider", tabindex: "0", "aria-label": name, "aria-valuemin": "1", on: {
    keydown: (event) => onKey(chart, event),
    pointermove: (event) => onPointer(chart, event),
    pointerleave: hideTip,
    focus: () => holder.matches(":focus-visible") && showTip(chart, state.call),
    blur: hideTip,
    click: (event) => {
      const found = nearest(chart, event);
      if (found) choose(found.call, found.run);
    },
  } });
  CHARTS.push(chart);
  new ResizeObserver(() => { if (holder.clientWidth !== chart.width) drawChart(chart); })
    .observe(holder);
}

function drawChart(chart, width) {
  chart.width = width || chart.holder.clientWidth;
  chart.marks = [];
  chart.x = chart.cursor = null;
  if (!state.count) {
    chart.holder.replaceChildren(html("p", { class: "quiet" }, NO_CALL));
  }
  if (!chart.width || !state.count) return;
  const picture = chart.draw(chart, Math.max(240, chart.width));
  chart.cursor = svg("line", { class: "cursor", y1: chart.top, y2: chart.bottom });
  picture.append(chart.cursor);
  chart.holder.replaceChildren(picture);
  chart.holder.setAttribute("aria-valuemax", state.count);
  moveCursor(chart);
}

function moveCursor(chart) {
  if (!chart.cursor) return;
  const x = chart.x(state.call);
  put(chart.cursor, { x1: x, x2: x });
  chart.holder.setAttribute("aria-valuenow", state.call + 1);
  chart.holder.setAttribute("aria-valuetext", spoken(chart, state.call));
}

function spoken(chart, call) {
  const told = shownRuns().map((run) => {
    const edits = (run.byCall.get(call) || []).map(editInWords).join("; ");
    return `${run.label} ${chart.tell(run, call)}${edits ? `, ${edits}` : ""}`;
  });
  return `Call ${call + 1} of ${state.count}: ${told.join(". ")}`;
}

function editInWords(edit) {
  const name = (KINDS[edit.kind] || { name: edit.kind }).name;
  return `${name} ${place(edit)}, ${edit.reason}: ${number(edit.before)} → ${number(edit.after)}`;
}

function onKey(chart, event) {
  const page = { PageUp: -1, PageDown: 1 }[event.key];
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  let call = null;
  if (step) call = state.call + step * (event.shiftKey ? 10 : 1);
  if (page) call = editBeside(shownRuns(), page);
  if (event.key === "Home") call = 0;
  if (event.key === "End") call = state.count - 1;
  if (event.key === "Escape") hideTip();
  if (call === null) return;
  event.preventDefault();
  choose(call);
  showTip(chart, state.call);
}

// The call of the next (1) or previous (-1) edit of these runs, or the call as it is.
function editBeside(runs, direction) {
  const calls = runs.flatMap((run) => [...run.byCall.keys()])
    .filter((call) => (call - state.call) * direction > 0);
  return calls.length ? calls.reduce((a, b) => ((b - a) * direction < 0 ? b : a)) : state.call;
}

function nearest(chart, event) {
  if (!chart.x || !state.count) return null;
  const [x, y] = pointIn(chart, event);
  let best = null;
  for (const mark of chart.marks) {
    const far = Math.hypot(mark.x - x, mark.y - y);
    if (far < 11 && (!best || far < best.far)) best = { far, call: mark.call, run: mark.run };
  }
  return best || { call: chart.stepAt(x), run: null };
}

function onPointer(chart, event) {
  const found = nearest(chart, event);
  if (found) showTip(chart, found.call, found.run);
}

function showTip(chart, call, only) {
  if (!chart.x) return;
  const runs = only ? [only] : shownRuns();
  openTip(chart, call,
    html("p", { class: "tip-head" }, `Call ${number(call + 1)}`),
    runs.map((run) => [
      html("p", { class: "tip-row" }, swatch(run), html("span", {}, run.label),
        html("b", {}, chart.tell(run, call))),
      (run.byCall.get(call) || []).slice(0, 4).map((edit) =>
        html("p", { class: `tip-edit ${styleOf(run)}` }, symbol(edit.kind), editInWords(edit))),
      more((run.byCall.get(call) || []).length - 4),
    ]));
}

function more(count) {
  return count > 0 && html("p", { class: "tip-edit" }, `and ${plural(count, "more edit")}`);
}

function callFrame(chart, width, height) {
  return frame(chart, { width, height, count: state.count, label: "model call" });
}

function drawLines(chart, width, { value, top, ending, references, name = tick }) {
  const height = width >= LABELS_FROM ? 340 : 270;
  const { picture, left, right, wide } = callFrame(chart, width, height);
  const y = amounts(chart, picture, { top, left, right, name });
  const lines = clipped(chart, picture, { left, right });
  const words = references(picture, { y, left, right });
  const labels = [];
  for (const run of [...shownRuns()].reverse()) {
    const points = run.calls.tokens.map((_, call) => [chart.x(call), y(value(run, call))]);
    lines.append(svg("path", { class: styleOf(run), d: path(points) }));
    if (points.length) labels.push({ run, y: Math.max(chart.top, points.at(-1)[1]) });
  }
  picture.append(lines, ...words);
  if (wide) {
    for (const label of spread(labels, 15, chart.top, chart.bottom)) {
      picture.append(svg("text", { class: `name ${styleOf(label.run)}`, x: right + 10,
        y: label.y + 4 }, ending(label.run)));
    }
  }
  return { picture, y };
}

function drawTokens(chart, width) {
  const runs = shownRuns();
  const peak = (some) => Math.max(0, ...some.map((run) => run.totals.peak_tokens));
  const widest = Math.max(0, ...runs.map((run) => run.window));
  const whole = Math.max(peak(runs), widest) * 1.04;
  const useful = Math.max(widest * 1.6, peak(runs.filter((run) => !run.isPlain)) * 1.04);
  const top = Math.min(whole, useful) || 1;
  const { picture, y } = drawLines(chart, width, {
    value: (run, call) => run.calls.tokens[call], top,
    ending: (run) => (run.calls.tokens.at(-1) > top ? `${run.label} ↑ ${tick(run.totals.peak_tokens)}`
      : run.label),
    references: (into, { y: at, left, right }) => {
      if (top > widest) {
        into.append(svg("rect", { class: "beyond", x: left, y: chart.top, width: right - left,
          height: Math.max(0, at(widest) - chart.top) }));
      }
      const line = (name, tokens) => svg("line", { class: name, x1: left, x2: right,
        y1: at(tokens), y2: at(tokens) });
      const limits = new Map(runs.map((run) => [run.window, run.limit]));
      for (const [size, limit] of limits) into.append(line("window", size), line("limit", limit));
      return [...limits].flatMap(([size, limit]) => [
        svg("text", { class: "window", x: left + 6, y: at(size) - 6 }, `window ${number(size)}`),
        svg("text", { class: "limit", x: left + 6, y: at(limit) + 15 }, `limit ${number(limit)}`),
      ]);
    },
  });
  const size = width >= LABELS_FROM ? 1 : 0.72;
  for (const run of [...runs].reverse()) {
    for (const [call, edits] of run.byCall) {
      [...new Set(edits.map((edit) => edit.kind))].forEach((kind, k) => {
        const [px, py] = [chart.x(call), y(run.calls.tokens[call]) - 11 * size * k];
        chart.marks.push({ x: px, y: py, call, run });
        picture.append(mark(kind, { class: `mark ${styleOf(run)}`,
          transform: `translate(${px.toFixed(1)} ${py.toFixed(1)}) scale(${size})` }));
      });
    }
  }
  return picture;
}

function drawCost(chart, width) {
  const runs = shownRuns();
  const whole = runs.some((run) => run.isPlain) || !runs.length ? 0 : runs[0].totals.bill.unmanaged;
  const top = (Math.max(whole, ...runs.map((run) => valueOf(run.sums.at(-1) || 0, run))) || 1) * 1.04;
  const usd = runs.length && runs[0].totals.usd_per_million;
  return drawLines(chart, width, {
    value: (run, call) => valueOf(run.sums[call], run), top,
    name: usd ? dollars : tick,
    ending: (run) => `${run.label} ${money(run.sums.at(-1), run)}`,
    references: (into, { y, left, right }) => {
      if (!whole) return [];
      into.append(svg("line", { class: "limit", x1: left, x2: right, y1: y(whole), y2: y(whole) }));
      return [svg("text", { class: "limit", x: left + 6, y: y(whole) + 15 },
        `every call sent whole ${usd ? dollars(whole) : short(whole)}`)];
    },
  }).picture;
}

function hitShare(run, call) {
  const tokens = run.calls.tokens[call];
  return tokens ? run.calls.cached[call] / tokens : 0;
}

function drawCache(chart, width) {
  const runs = shownRuns();
  const [row, gap] = [46, 30];
  const height = 68 + runs.length * (row + gap);
  const { picture, left, right } = callFrame(chart, width, height);
  chart.bottom = height - 34;
  const cold = new Set(runs.flatMap((run) => [...run.cold]));
  const step = (right - left) / Math.max(1, state.count - 1);
  const labels = [];
  runs.forEach((run, k) => {
    const [ceiling, floor] = [chart.top + k * (row + gap) + 32, chart.top + k * (row + gap) + 32 + row];
    const y = (share) => floor - row * share;
    const points = run.calls.tokens.flatMap((_, call) => {
      const x = chart.x(call);
      const at = y(hitShare(run, call));
      return [[Math.max(left, x - step / 2), at], [Math.min(right, x + step / 2), at]];
    });
    const area = `${path([[left, floor], ...points, [right, floor]])}Z`;
    const share = run.totals.input_tokens ? run.totals.cached_tokens / run.totals.input_tokens : 0;
    picture.append(
      svg("rect", { class: "strip", x: left, y: ceiling, width: right - left, height: row }),
      svg("path", { class: `area ${styleOf(run)}`, d: area }),
      svg("path", { class: `edge ${styleOf(run)}`, d: path(points) }));
    labels.push(
      svg("text", { class: `name ${styleOf(run)}`, x: left, y: ceiling - 6 }, run.label),
      svg("text", { x: right, y: ceiling - 6, "text-anchor": "end" }, `${percent(share)} of all input`),
      svg("text", { x: left - 8, y: ceiling + 9, "text-anchor": "end" }, "100 %"),
      svg("text", { x: left - 8, y: floor, "text-anchor": "end" }, "0"));
  });
  for (const call of cold) {
    const x = chart.x(call);
    picture.append(
      svg("line", { class: "cold", x1: x, x2: x, y1: chart.top, y2: chart.bottom }),
      svg("path", { class: "cold-mark", d: "M-4,-6H4L0,1Z", transform: `translate(${x} ${chart.top})` }));
  }
  picture.append(...labels);
  return picture;
}
