// The payload, read into what the page speaks of: recordings, runs, calls, edits, lines.

const TEXTS = PAYLOAD.texts;

const KINDS = {
  fold: { name: "Compact", about: "older messages become a structured summary" },
  evict: { name: "Clear result", about: "a large result becomes a preview and a reference" },
  elide: { name: "Clear arguments", about: "large arguments or finished reasoning are left out" },
  supersede: { name: "Clear stale read", about: "an outdated read of a file becomes one line" },
  strip: { name: "Strip reasoning", about: "reasoning that is bound to another prefix is left out" },
  pin: { name: "Pin", about: "a user's words stay verbatim" },
  unpin: { name: "Unpin", about: "a pin is revoked" },
};

const RECORDINGS = PAYLOAD.trajectories.map((recording) => {
  const windows = new Set(recording.runs.map((run) => run.totals.window));
  const runs = recording.runs.map((run, index) => readRun(run, index, windows.size > 1));
  return { name: recording.name, title: recording.title, about: aboutOf(recording), notes: recording.notes, runs };
});

// The project, the day and the file name of a session, where its title does not have them.
function aboutOf({ name, title, project, started_at: at }) {
  const folder = project.split(/[\\/]/).filter(Boolean).pop();
  return [folder, at.slice(0, 10), title === name ? "" : name].filter(Boolean).join(", ");
}

function readRun(run, index, namesWindow) {
  const { policy, window } = run.totals;
  const calls = run.calls;
  let total = 0;
  const sums = calls.bill.map((cost) => (total += cost));
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

// A cost of a run: in dollars, or in uncached input tokens where its prices are not in dollars.
function valueOf(units, run) {
  const { usd_per_million: usd } = run.totals;
  return usd ? (units * usd) / 1e6 : units;
}

function money(units, run) {
  const value = valueOf(units, run);
  return run.totals.usd_per_million ? dollars(value) : short(value);
}

// As `dollars` of the table does: no cents from a thousand on, four digits below a cent.
function dollars(usd) {
  const digits = usd >= 1000 ? 0 : usd >= 0.01 || !usd ? 2 : 4;
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

// The lines of the request of one call, in order.
function requestOf(run, call) {
  const lines = run.requests[run.calls.outline[call]] || [];
  return lines.slice(0, run.calls.length[call]).map(readLine);
}

function place(edit) {
  return edit.first === edit.last ? `#${edit.first}` : `#${edit.first}–${edit.last}`;
}
