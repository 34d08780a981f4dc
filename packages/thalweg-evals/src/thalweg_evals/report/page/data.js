// The payload, read into what the page speaks of: trials, their requests, failures.

const TRIALS = PAYLOAD.trials.map((trial, place) => ({
  ...trial, place,
  name: `${trial.probe} / ${trial.variant} #${trial.number}`,
  tokens: trial.line.tokens,
  turns: trial.line.turns,
  starts: new Set(trial.line.starts),
  drops: trial.line.drops.map(([at, before]) => ({ at, before, after: trial.line.tokens[at] })),
  sent: trial.tokens[0], cached: trial.tokens[1], written: trial.tokens[2],
}));
const FAILED = new Map(PAYLOAD.failures);

function triggerName(trigger) {
  return trigger === null ? "its own" : percent(trigger);
}

function values(read, trials) {
  return [...new Set((trials || TRIALS).map(read))];
}

function messageOf(index) {
  const [role, name, tokens, text, calls, isError] = PAYLOAD.messages[index];
  return { role, name, tokens, isError, text: PAYLOAD.texts[text],
    calls: calls.map((call) => PAYLOAD.texts[call]) };
}

function largestDrop(trial) {
  return trial.drops.reduce((a, b) => (b.before - b.after > a.before - a.after ? b : a),
    { at: 0, before: 0, after: 0 });
}

function dropInWords(drop) {
  return `${number(drop.before)} → ${number(drop.after)} tokens at request ${number(drop.at + 1)}`;
}

function verdictInWords(trial) {
  return `${trial.verdict}${trial.judged ? " (judged by a model)" : ""}`;
}

// A name of joined words, which may break where they join.
function breakable(name) {
  return name.split("_").flatMap((word, k) => (k ? [html("wbr"), `_${word}`] : [word]));
}

// Texts may say anything, so that even where they end is made sure of.
function firstLine(text, most = 160) {
  const line = text.trimStart().split("\n", 1)[0];
  return line.length > most ? `${[...line.slice(0, most)].join("")}…` : line;
}
