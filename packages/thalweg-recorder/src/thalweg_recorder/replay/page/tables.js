// The tables: totals by policy, and the edits of one run.

const UNITS = ["B", "kB", "MB", "GB"];

function bytes(count) {
  let k = 0;
  let size = count;
  while (size >= 1000 && k < UNITS.length - 1) {
    size /= 1000;
    k += 1;
  }
  return `${k ? trimmed(size, size < 10 ? 1 : 0) : number(size)} ${UNITS[k]}`;
}

const COLUMNS = [
  { head: "Cost", of: (t) => money(t.cost, t), bar: (t) => t.cost,
    about: "Input of all model calls, and the summaries that a model wrote, at the prices of the model. The agent's own answers cost the same under every policy and are left out." },
  { head: "Lost for good", of: (t) => bytes(t.unrecoverable_bytes), bad: (t) => t.unrecoverable_bytes > 0,
    about: "Text of the recording that the final context neither shows nor can read back." },
  { head: "User requests lost", of: (t) => goals(t.goals), bad: (t) => t.goals.lost > 0,
    about: "Goals and constraints of the user whose words are no longer in the final context." },
  { head: "Compared with sending all", of: (t) => (t.cost_unmanaged ? percent(t.cost / t.cost_unmanaged) : "–"),
    about: "The cost, compared with sending every call whole, as if the window had no end." },
  { head: "Details kept / searchable / lost", of: (t) => recall(t.recall), bad: (t) => t.recall.lost > 0,
    about: "Questions about the recording: answered by the final context itself, by one search from it, or lost." },
  { head: "Calls over the window", of: (t) => number(t.over_window), bad: (t) => t.over_window > 0,
    about: "Requests larger than the window. A provider rejects them." },
  { head: "Invalid calls", of: (t) => number(t.invalid_requests), bad: (t) => t.invalid_requests > 0,
    about: "Requests that a provider rejects for their form, for example a tool result without its call." },
  { head: "Largest call", of: (t) => number(t.peak_tokens), about: "Tokens of the largest request." },
  { head: "Compactions", of: (t) => number(t.compactions),
    about: "Calls before which something already sent was rewritten." },
  { head: "Steps", of: (t) => steps(t.steps), bad: (t) => t.steps.lost > 0,
    about: "More calls that later uses of removed content need to have it again. Content that no call brings is counted as lost." },
  { head: "Cost with steps", of: (t) => money(t.cost_with_steps, t),
    about: "The cost, when each step is paid as a whole call, and what it brings is part of later requests." },
];

// A cost in dollars, or in uncached input tokens where the prices are not in dollars.
function money(cost, totals) {
  if (!totals.usd_per_million) return short(cost);
  const usd = (cost * totals.usd_per_million) / 1e6;
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: usd < 0.01 ? 4 : 2 })}`;
}

function steps({ needed, lost }) {
  return lost ? `${number(needed)}, ${number(lost)} lost` : number(needed);
}

function recall({ inline, search, lost }) {
  if (!(inline + search + lost)) return "–";
  return `${number(inline)} / ${number(search)} / ${number(lost)}`;
}

function goals({ verbatim, lost }) {
  return verbatim + lost ? `${number(lost)} of ${number(verbatim + lost)}` : "–";
}

// Totals of several runs of one policy, in the form of one run's totals.
function together(runs) {
  const all = runs.map((run) => run.totals);
  const added = (...names) => Object.fromEntries(names.map((n) => [n, sum(all, (t) => t[n])]));
  const inside = (group, ...names) => ({ [group]: Object.fromEntries(
    names.map((n) => [n, sum(all, (t) => t[group][n])])) });
  return {
    ...added("cost", "cost_unmanaged", "cost_with_steps", "compactions", "over_window",
      "invalid_requests", "unrecoverable_bytes"),
    ...inside("steps", "needed", "lost"),
    ...inside("recall", "inline", "search", "lost"),
    ...inside("goals", "verbatim", "lost"),
    usd_per_million: all[0].usd_per_million,
    peak_tokens: Math.max(0, ...all.map((t) => t.peak_tokens)),
  };
}

// One row per policy. Rows are `{ run, label, totals }`.
function totalsTable(caption, rows) {
  const most = Math.max(1, ...rows.map((row) => row.totals.cost));
  return html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    html("table", { class: "totals" },
      html("caption", { class: "unseen" }, caption),
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Policy"),
        COLUMNS.map((column) => html("th", { scope: "col" }, column.head)))),
      html("tbody", {}, rows.map((row) => html("tr", {},
        html("th", { scope: "row" }, html("span", { class: "policy" }, swatch(row.run), row.label)),
        COLUMNS.map((column) => totalsCell(column, row.totals, most)))))));
}

function totalsCell(column, totals, most) {
  const isBad = column.bad && column.bad(totals);
  return html("td", { class: isBad ? "bad" : null }, column.of(totals),
    isBad && html("span", { class: "unseen" }, " (a problem)"),
    column.bar && html("span", { class: "gauge", "aria-hidden": "true" },
      html("i", { css: { width: `${(100 * column.bar(totals)) / most}%` } })));
}

// Recordings by policies: what each costs, compared with sending all.
function matrixTable(labels, open) {
  const caption = "Cost with steps, compared with sending every call whole";
  const samples = labels.map((label) => RECORDINGS.flatMap((one) => one.runs).find((run) => run.label === label));
  return [html("h3", { class: "each-name" }, caption), html("div", { class: "scroll tall free", tabindex: "0", role: "region", "aria-label": caption },
    html("table", { class: "totals matrix" },
      html("caption", { class: "unseen" }, caption),
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Recording"),
        samples.map((run) => html("th", { scope: "col" }, run.label)))),
      html("tbody", {}, RECORDINGS.map((recording) => html("tr", {},
        html("th", { scope: "row" }, html("button", { type: "button", class: "link",
          on: { click: () => open(recording) } }, recording.title)),
        labels.map((label) => matrixCell(recording.runs.find((run) => run.label === label))))))))];
}

function matrixCell(run) {
  if (!run) return html("td", {}, "–");
  const { totals } = run;
  const wrong = COLUMNS.filter((column) => column.bad && column.bad(totals))
    .map((column) => column.head.split(":")[0].toLowerCase());
  return html("td", { class: wrong.length ? "bad" : null, title: wrong.join(", ") || null },
    totals.cost_unmanaged ? percent(totals.cost_with_steps / totals.cost_unmanaged) : "–",
    wrong.length > 0 && html("span", { class: "unseen" }, ` (a problem: ${wrong.join(", ")})`));
}

const EDITS_SHOWN = 200;
const EDIT_HEADS = ["Call", "Edit", "Why", "Position", "Before", "After", "Freed", "Sent instead"];

function editsTable(run, all) {
  if (!run.edits.length) {
    return html("p", { class: "quiet" }, `${run.label} made no edits: every request shows all messages whole.`);
  }
  const shown = new Set(all ? run.edits : run.edits.slice(0, EDITS_SHOWN));
  const groups = [...run.byCall.values()].map((edits) => edits.filter((edit) => shown.has(edit)))
    .filter((edits) => edits.length);
  const table = html("table", { class: "edits", role: "table" },
    html("caption", { class: "unseen" }, `Edits under ${run.label}`),
    html("thead", { role: "rowgroup" }, html("tr", { role: "row" }, EDIT_HEADS.map((head) =>
      html("th", { scope: "col", role: "columnheader" }, head)))),
    html("tbody", { role: "rowgroup" }, groups.flatMap((edits, k) => groupRows(run, edits, k))));
  if (shown.size === run.edits.length) return table;
  return [table, html("button", { type: "button", on: {
    click: () => fill("edits-body", editsTable(run, true)),
  } }, `Show all ${number(run.edits.length)} edits`)];
}

// The edits before one call: one row, or one row that opens a row for each.
function groupRows(run, edits, group) {
  const pairs = edits.map((edit, k) => editRows(run, edit, `${group}-${k}`));
  if (edits.length === 1) return pairs[0];
  const kinds = [...new Set(edits.map((edit) => edit.kind))];
  const rows = pairs.map(([row]) => row);
  for (const row of rows) {
    row.hidden = true;
    row.classList.add("member");
  }
  const [{ call }] = edits;
  const button = html("button", { type: "button", class: "opener", "aria-expanded": "false",
    "aria-label": `The ${edits.length} edits for call ${call + 1}`,
    on: { click: () => openGroup(button, pairs, rows[0].hidden) } }, "Show each");
  const named = kinds.map((kind) => html("span", { class: `kind ${styleOf(run)}` }, symbol(kind),
    `${edits.filter((edit) => edit.kind === kind).length} × ${(KINDS[kind] || { name: kind }).name}`));
  const reasons = [...new Set(edits.map((edit) => edit.reason))].join("; ");
  return [editRow(call, [named, reasons, `${edits.length} places`,
    number(sum(edits, (edit) => edit.before)), number(sum(edits, (edit) => edit.after)),
    number(sum(edits, (edit) => edit.before - edit.after)), button]), ...pairs.flat()];
}

function openGroup(button, pairs, open) {
  for (const [row, text] of pairs) {
    row.hidden = !open;
    if (!open) text.hidden = true;
  }
  button.setAttribute("aria-expanded", String(open));
  button.textContent = open ? "Hide" : "Show each";
}

function editRow(call, cells) {
  const chosen = html("a", { href: `#call=${call + 1}`, class: "link", "aria-label": `Choose call ${call + 1}`,
    on: { click: (event) => {
      event.preventDefault();
      choose(call);
      byId("request").scrollIntoView();
    } } }, number(call + 1));
  return html("tr", { role: "row" }, [chosen, ...cells].map((cell, i) =>
    html("td", { role: "cell", "data-head": EDIT_HEADS[i], class: i > 3 && i < 7 ? "num" : null }, cell)));
}

function editRows(run, edit, k) {
  const id = `edit-${k}`;
  const name = (KINDS[edit.kind] || { name: edit.kind }).name;
  const text = html("tr", { role: "row", id, class: "stands", hidden: true });
  const button = html("button", { type: "button", class: "opener", "aria-expanded": "false",
    "aria-controls": id, "aria-label": `What is sent instead, ${name} for call ${edit.call + 1}`,
    on: { click: () => openEdit(button, text, edit, text.hidden) } }, "Show");
  return [editRow(edit.call, [
    html("span", { class: `kind ${styleOf(run)}` }, symbol(edit.kind), name),
    edit.reason, place(edit), number(edit.before), number(edit.after),
    number(edit.before - edit.after), button,
  ]), text];
}

function isLong(text) {
  return text.length > 900 || text.split("\n", 15).length > 12;
}

function openEdit(button, row, edit, open) {
  if (!row.firstChild) {
    row.append(html("td", { role: "cell", colspan: EDIT_HEADS.length },
      edit.remark && html("p", { class: "quiet" }, `${edit.remark[0].toUpperCase()}${edit.remark.slice(1)}.`),
      html("pre", { dir: "auto", tabindex: "0", "aria-label": "What is sent instead" },
        edit.text || "[nothing]"),
      isLong(edit.text) && html("p", { class: "paper quiet" }, "On paper, long texts end here; the page has them whole.")));
  }
  row.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
  button.textContent = open ? "Hide" : "Show";
}
