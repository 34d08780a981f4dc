// Numbers in words, and the data of the page.

const PAYLOAD = JSON.parse(document.getElementById("data").textContent);
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

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

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

function plural(count, one, many) {
  return `${number(count)} ${count === 1 ? one : many || `${one}s`}`;
}

function sum(all, read) {
  return all.reduce((total, one) => total + read(one), 0);
}
