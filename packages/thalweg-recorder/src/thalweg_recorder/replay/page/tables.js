// The tables: totals by policy, and the edits of one run.

const COLUMNS = PAYLOAD.columns.map(([name, about]) => ({ name, about }));

// One row per policy. Rows are `{ run, label, row }`, with `row` as the payload has it.
function totalsTable(caption, rows) {
  const most = Math.max(...rows.map(({ row }) => row.cost)) || 1;
  return html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    html("table", { class: "totals" },
      html("caption", { class: "unseen" }, caption),
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "policy"),
        COLUMNS.map((column) => html("th", { scope: "col" }, column.name)))),
      html("tbody", {}, rows.map(({ run, label, row }) => html("tr", {},
        html("th", { scope: "row" }, html("span", { class: "policy" }, swatch(run), label)),
        row.cells.map((text, k) => totalsCell(text, row, k, most)))))));
}

// The first column is the cost, which has a bar.
function totalsCell(text, row, k, most) {
  const isBad = row.bad.includes(k);
  return html("td", { class: isBad ? "bad" : null }, text,
    isBad && html("span", { class: "unseen" }, " (a problem)"),
    k === 0 && html("span", { class: "gauge", "aria-hidden": "true" },
      html("i", { css: { width: `${(100 * row.cost) / most}%` } })));
}

const COMPARED = COLUMNS.findIndex(({ name }) => name === "vs. all");

// Recordings by policies: what each costs, compared with sending all.
function matrixTable(labels, open) {
  const caption = "Cost, divided by that of sending every call whole";
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
  const { cells, bad } = run.row;
  const wrong = bad.map((k) => COLUMNS[k].name).join(", ");
  return html("td", { class: wrong ? "bad" : null, title: wrong || null },
    cells[COMPARED],
    wrong && html("span", { class: "unseen" }, ` (a problem: ${wrong})`));
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
