// Failures: what was missing, and the request that shows it, message by message.

const FAILURES_SHOWN = 15;

function showFailures(where) {
  failuresChooser.choose({ model: undefined, trigger: undefined, subject: undefined, probe: undefined, ...where });
  byId("failures-title").focus({ preventScroll: true });
  byId("failures").scrollIntoView();
}

function drawFailures(all) {
  const found = failuresChooser.shown();
  const { verdict } = failuresChooser.chosen;
  byId("failures-about").textContent = found.length
    ? `${plural(found.length, "trial")} ${verdict}${verdict === "failed" ? ". Open one to see the request that shows it." : ": what the probe is about did not happen."}`
    : "Nothing here: no trial of these failed.";
  const shown = all === true ? found : found.slice(0, FAILURES_SHOWN);
  fill("failures-body",
    html("ul", { class: "failures" }, shown.map(failureItem)),
    shown.length < found.length && html("button", { type: "button", on: {
      click: () => drawFailures(true),
    } }, `Show all ${number(found.length)}`));
}

function failureItem(trial) {
  const id = `trial-${trial.place}`;
  const about = [trial.subject, `trigger ${triggerName(trial.trigger)}`];
  if (values((one) => one.model).length > 1) about.push(trial.model);
  const body = html("div", { id, class: "failure-body", hidden: true });
  const failure = FAILED.get(trial.place);
  const words = html("span", { class: "failure-words" },
    html("span", { class: "failure-head" }, html("b", {}, trial.name),
      html("span", { class: "quiet" }, about.join(", ")),
      trial.judged && html("span", { class: "tag" }, "judged")),
    html("span", { class: "why", dir: "auto" }, markedIn(trial.why, (failure ? failure.sought : []).map(([word]) => word))));
  if (!failure) return html("li", {}, html("div", { class: "failure is-plain" }, words));
  const button = html("button", { type: "button", class: "failure", "aria-expanded": "false", "aria-controls": id,
    on: { click: () => {
      if (!body.firstChild) put(body, {}, failureBody(trial, failure));
      body.hidden = !body.hidden;
      button.setAttribute("aria-expanded", String(!body.hidden));
      if (!body.hidden) drawStory(body, trial, failure);
    } } }, words);
  return html("li", {}, button, body);
}

function failureBody(trial, failure) {
  const { request, sought } = failure;
  const figureButton = trial.tokens.length > 0 && html("button", { type: "button", class: "link",
    on: { click: () => showInFigure(trial) } }, "Show this run in the figure");
  if (!request) return [html("p", { class: "quiet" }, "No request was sent in this trial."), figureButton];
  return [
    requestFacts(trial, request),
    request.error && html("p", { class: "alarm", dir: "auto" }, `The model failed: ${request.error}`),
    sought.length > 0 && html("ul", { class: "trails" }, sought.map((one) => trail(trial, request, one))),
    trial.tokens.length > 1 && html("div", { class: "chart story" }),
    figureButton,
    requestMessages(trial, request, sought.map(([word]) => word)),
  ];
}

function requestName(request) {
  if (request.place !== null) return `request ${number(request.place + 1)}`;
  return request.kind === "subagent" ? "a subagent's request" : "a request of the harness itself";
}

function requestFacts(trial, request) {
  const before = trial.drops.filter((drop) => request.place === null || drop.at <= request.place);
  const facts = [
    ["Request", requestName(request)],
    ["In turn", number(request.turn + 1)],
    ["Tokens", `${number(request.tokens)}, ${percent(request.tokens / trial.window)} of the window`],
    ["Compactions before it", before.length
      ? before.slice(-3).map((drop) => `${number(drop.before)} → ${number(drop.after)} at request ${number(drop.at + 1)}`).join("; ")
        + (before.length > 3 ? `; and ${number(before.length - 3)} earlier` : "") : "none"],
    ["In the file of results", `--show ${trial.id}:${request.number}`],
    ["Tools", request.tools.length ? request.tools.join(", ") : "none"],
  ];
  return html("dl", { class: "facts" }, facts.map(([name, value]) =>
    html("div", {}, html("dt", {}, name), html("dd", { dir: "auto" }, value))));
}

// Where a word stood, and what took it away.
function trail(trial, request, [word, stretches, isHere]) {
  const where = stretches.map(([first, last]) => first === last ? number(first + 1) : `${number(first + 1)}–${number(last + 1)}`);
  const named = where.length > 6 ? [...where.slice(0, 5), `${number(where.length - 5)} more stretches`] : where;
  const stood = `stood in ${where.length === 1 && stretches[0][0] === stretches[0][1] ? "request" : "requests"} ${named.join(", ")}`;
  const place = request.place;
  const last = place === null ? null : stretches.filter(([first]) => first <= place).at(-1);
  const took = isHere || !last ? null : trial.drops.find((drop) => drop.at === last[1] + 1);
  return html("li", {}, html("mark", { dir: "auto" }, word), " ",
    isHere ? "stands in this request." : [stood, ", and ", html("b", {}, "does not stand in this one"),
      took ? `: it left with the compaction at request ${number(took.at + 1)}.` : "."]);
}

// The run as a small figure: its compactions, and where it failed.
function drawStory(body, trial, failure) {
  const holder = body.querySelector(".story");
  if (!holder || holder.firstChild || !holder.clientWidth) return;
  const chart = { holder, width: holder.clientWidth };
  const width = Math.max(240, holder.clientWidth);
  const top = Math.max(1, ...trial.tokens) * 1.12;
  const { picture, left, right } = frame(chart, { width, height: 190, count: trial.tokens.length, label: "request", room: 24 });
  const y = amounts(chart, picture, { top, left, right, most: 3 });
  const points = trial.tokens.map((tokens, k) =>
    `${k === 0 || trial.starts.has(k) ? "M" : "L"}${chart.x(k).toFixed(1)},${y(tokens).toFixed(1)}`);
  picture.append(svg("path", { class: PICKS[0].css, d: points.join("") }));
  for (const drop of trial.drops) {
    picture.append(svg("path", { class: `${PICKS[0].css} mark`, d: PICKS[0].shape,
      transform: `translate(${chart.x(drop.at)} ${y(drop.after)})` }));
  }
  const { place } = failure.request;
  if (place !== null) {
    const x = chart.x(place);
    const atEnd = x > (left + right) / 2;
    picture.append(svg("line", { class: "failed-here", x1: x, x2: x, y1: chart.top, y2: chart.bottom }),
      svg("text", { class: "window", x: x + (atEnd ? -6 : 6), y: chart.top + 6, "text-anchor": atEnd ? "end" : "start" }, "this request"));
  }
  put(holder, { role: "img", "aria-label": `${plural(trial.tokens.length, "request")}, compacted: ${trial.drops.map(dropInWords).join("; ") || "never"}` });
  holder.append(picture);
}

function requestMessages(trial, request, words) {
  if (request.messages === null) {
    return html("p", { class: "quiet" }, "So much failed that this page does not hold this request; the file of results does.");
  }
  const messages = request.messages.map(messageOf);
  const answer = request.answer === null ? null : messageOf(request.answer);
  const most = Math.max(1, ...messages.map((one) => one.tokens));
  return [
    html("h3", { class: "small" }, `What was sent: ${plural(messages.length, "message")}`),
    requestStrip(messages, trial.window),
    html("ol", { class: "messages" }, messages.map((one, k) => messageItem(one, k + 1, most, words))),
    html("h3", { class: "small" }, answer ? "What the model answered" : "The model gave no answer"),
    answer && html("ol", { class: "messages" }, messageItem(answer, null, Math.max(most, answer.tokens), words)),
  ];
}

function messageItem(message, place, most, words) {
  const whole = [message.text, ...message.calls].filter(Boolean).join("\n\n");
  const found = words.filter((word) => whole.includes(word));
  const body = html("div", { hidden: true });
  const first = message.text.trim() ? firstLine(message.text) : message.calls.map((call) => `calls ${firstLine(call.replaceAll("\n", " "))}`).join("; ");
  const button = html("button", { type: "button", class: "message", "aria-expanded": "false", on: { click: () => {
    if (!body.firstChild) put(body, {}, messageBody(message, words));
    body.hidden = !body.hidden;
    button.setAttribute("aria-expanded", String(!body.hidden));
  } } },
  html("span", { class: "at" }, place === null ? "" : number(place)),
  html("span", { class: "who" }, html("i", { class: `dot by-${message.role}` }),
    message.name ? `${message.role} ${message.name}` : message.role, message.isError && html("b", {}, " error")),
  html("span", { class: "size" }, number(message.tokens), html("span", { class: "unseen" }, " tokens"),
    html("span", { class: "gauge", "aria-hidden": "true" }, html("i", { css: { width: `${(100 * message.tokens) / most}%` } }))),
  html("span", { class: "words", dir: "auto" }, found.map((word) => [html("mark", {}, word), " "]), markedIn(first || "[nothing]", words)));
  return html("li", {}, button, body);
}

function messageBody(message, words) {
  return [
    message.text && html("pre", { dir: "auto", tabindex: "0", "aria-label": `Text of the ${message.role}'s message` }, markedIn(message.text, words)),
    message.calls.map((call) => html("pre", { dir: "auto", tabindex: "0", "aria-label": "Tool call" },
      html("b", {}, "calls "), markedIn(call, words))),
  ];
}

// A text with some words of it marked.
function markedIn(text, words) {
  const found = words.filter((word) => text.includes(word));
  if (!found.length) return [text];
  const parts = [];
  let rest = text;
  while (rest) {
    let [at, next] = [-1, ""];
    for (const word of found) {
      const k = rest.indexOf(word);
      if (k >= 0 && (at < 0 || k < at)) [at, next] = [k, word];
    }
    if (at < 0) break;
    parts.push(rest.slice(0, at), html("mark", {}, next));
    rest = rest.slice(at + next.length);
  }
  return [...parts, rest];
}

// The request as one bar: each message as wide as its tokens.
function requestStrip(messages, window) {
  const total = Math.max(window, sum(messages, (one) => one.tokens));
  let at = 0;
  const pieces = messages.map((one) => {
    const piece = svg("rect", { class: `piece by-${one.role}`, x: (1000 * at) / total,
      width: Math.max(0.4, (1000 * one.tokens) / total), y: 0, height: 22 });
    at += one.tokens;
    return piece;
  });
  return html("figure", { class: "strip-figure" },
    svg("svg", { class: "request-strip", viewBox: "0 0 1000 22", preserveAspectRatio: "none", role: "img",
      "aria-label": `${plural(messages.length, "message")} with ${number(at)} of ${number(window)} tokens` },
    svg("rect", { class: "strip", x: 0, y: 0, width: 1000, height: 22 }), pieces),
    html("figcaption", {}, ["system", "user", "assistant", "tool"].map((who) =>
      html("span", {}, html("i", { class: `dot by-${who}` }), who)),
    html("span", {}, html("i", { class: "dot free" }), "free in the window")));
}
