// The ledger of savings: what each change of what is sent was predicted to save, and what it has.

const SAVINGS_SHOWN = 60;
const SAVINGS_HEADS = ["Call", "Predicted", "So far", "Break-even", "Price", "Saves a call", "Freed", "Why"];

// With its sign, as a gain may be a loss.
function gain(value, run) {
  const size = money(Math.abs(value), run);
  if (!/[1-9]/.test(size)) return size;
  return `${value < 0 ? "−" : "+"}${size}`;
}

function breakEven(line) {
  if (line.break_even === null) return "never";
  return line.break_even < 1 ? "at once" : `after ${plural(Math.ceil(line.break_even), "call")}`;
}

function savingsTable(run, all) {
  const lines = run.totals.savings;
  if (!lines.length) {
    return html("p", { class: "quiet" }, `${run.label} sent every message whole: there was nothing to gain or to lose.`);
  }
  const shown = all ? lines : lines.slice(0, SAVINGS_SHOWN);
  const caption = `Predicted and realised savings under ${run.label}`;
  return [
    html("p", {}, savingsInWords(run)),
    html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      html("table", { class: "totals gains" },
        html("caption", { class: "unseen" }, caption),
        html("thead", {}, html("tr", {}, SAVINGS_HEADS.map((head) => html("th", { scope: "col" }, head)))),
        html("tbody", {}, shown.map((line) => savingsRow(line, run))),
        html("tfoot", {}, savingsSum(run)))),
    shown.length < lines.length && html("button", { type: "button", on: {
      click: () => fill("savings-body", savingsTable(run, true)),
    } }, `Show all ${number(lines.length)} changes`),
  ];
}

function savingsRow(line, run) {
  const call = line.turn - 1;
  return html("tr", {},
    html("th", { scope: "row" }, html("button", { type: "button", class: "link",
      "aria-label": `Choose call ${line.turn}, which made this change`,
      on: { click: () => { choose(call); byId("request").scrollIntoView(); } } }, number(line.turn))),
    html("td", {}, gain(line.predicted, run), afterCalls(line.predicted_calls)),
    html("td", { class: line.realised < 0 ? "loss" : null }, gain(line.realised, run), afterCalls(line.calls)),
    html("td", {}, breakEven(line)),
    html("td", {}, money(line.price, run)),
    html("td", {}, gain(line.saving_per_call, run)),
    html("td", {}, number(line.freed)),
    html("td", { class: "why" }, line.reason));
}

function afterCalls(count) {
  return html("span", { class: "quiet after" }, `after ${plural(count, "call")}`);
}

function savingsSum(run) {
  const lines = run.totals.savings;
  return html("tr", {},
    html("th", { scope: "row" }, "All"),
    html("td", {}),
    html("td", { class: run.totals.saved < 0 ? "loss" : null }, gain(run.totals.saved, run)),
    html("td", {}),
    html("td", {}, money(sum(lines, (line) => line.price), run)),
    html("td", {}),
    html("td", {}, number(sum(lines, (line) => line.freed))),
    html("td", {}));
}

function savingsInWords(run) {
  const { saved, cost_beyond_window: beyond } = run.totals;
  const paid = run.totals.savings.filter((line) => line.realised > 0).length;
  const over = beyond >= 1
    ? `; ${money(beyond, run)} of what that costs is for tokens over the window, which no request could hold` : "";
  const together = saved < 0 ? `they cost ${money(-saved, run)} of input more than they saved` : `they saved ${money(saved, run)} of input`;
  return `${number(paid)} of ${plural(run.totals.savings.length, "change")} paid for themselves. `
    + `Together ${together}, compared with sending every message whole${over}.`;
}
