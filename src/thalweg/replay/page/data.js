// The payload, read into what the page speaks of: recordings, runs, calls, edits, lines.

const PAYLOAD = JSON.parse(document.getElementById("data").textContent);
const TEXTS = PAYLOAD.texts;
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

const KINDS = {
  fold: { name: "Fold", about: "older messages become one record" },
  evict: { name: "Evict", about: "a large message becomes a preview and a handle" },
  elide: { name: "Elide", about: "large arguments or finished reasoning are left out" },
  supersede: { name: "Supersede", about: "a stale read becomes one line" },
  pin: { name: "Pin", about: "a user's words stay word for word" },
  unpin: { name: "Unpin", about: "a pin is revoked" },
};

const RECORDINGS = PAYLOAD.trajectories.map((recording) => {
  const windows = new Set(recording.runs.map((run) => run.totals.window));
  const runs = recording.runs.map((run, index) => readRun(run, index, windows.size > 1));
  return { name: recording.name, notes: recording.notes, runs };
});

function readRun(run, index, namesWindow) {
  const { policy, window } = run.totals;
  const calls = run.calls;
  const spent = new Map();
  for (const [call, cost] of run.summaries) spent.set(call, (spent.get(call) || 0) + cost);
  let total = 0;
  const sums = calls.cost.map((cost, k) => (total += cost + (spent.get(k) || 0)));
  const edits = run.edits.map(readEdit);
  const byCall = new Map();
  for (const edit of edits) {
    if (!byCall.has(edit.call)) byCall.set(edit.call, []);
    byCall.get(edit.call).push(edit);
  }
  return {
    ...run, index, policy, window, calls, sums, edits, byCall,
    label: namesWindow ? `${policy}, ${number(window)}` : policy,
    isPlain: policy === "none",
    count: calls.tokens.length,
    cold: new Set(run.cold),
    problems: new Map(run.problems),
    requests: run.outlines.map(unroll),
  };
}

function readEdit([call, kind, reason, before, after, first, last, text, remark]) {
  return {
    call, kind: TEXTS[kind], reason: TEXTS[reason], before, after, first, last,
    text: TEXTS[text], remark: TEXTS[remark],
  };
}

function unroll(stretches) {
  const lines = [];
  for (let k = 0; k < stretches.length; k += 2) {
    for (let i = 0; i < stretches[k + 1]; i++) lines.push(stretches[k] + i);
  }
  return lines;
}

function readLine(index) {
  const [position, speaker, tokens, shown, head, handle] = PAYLOAD.lines[index];
  return {
    position, tokens, speaker: TEXTS[speaker], shown: TEXTS[shown], head: TEXTS[head],
    handle: TEXTS[handle],
  };
}

// The lines of the request of one call, in order.
function requestOf(run, call) {
  const lines = run.requests[run.calls.outline[call]] || [];
  return lines.slice(0, run.calls.length[call]).map(readLine);
}

function number(value) {
  return WHOLE.format(value);
}

// 950, 12,345, 1.24 M: what a person can take in at a glance.
function short(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value >= 1e7 ? 1 : 2)} M`;
  return number(value);
}

// For axes: 0, 50 k, 1.5 M.
function tick(value) {
  if (value >= 1e6) return `${trimmed(value / 1e6, 2)} M`;
  if (value >= 1e3) return `${trimmed(value / 1e3, 1)} k`;
  return trimmed(value, 0);
}

function trimmed(value, digits) {
  const text = value.toFixed(digits);
  return digits ? text.replace(/\.?0+$/, "") : text;
}

function percent(share) {
  const value = share * 100;
  return `${value > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
}

function plural(count, one, many) {
  return `${number(count)} ${count === 1 ? one : many || `${one}s`}`;
}

function place(edit) {
  return edit.first === edit.last ? `#${edit.first}` : `#${edit.first}–${edit.last}`;
}
