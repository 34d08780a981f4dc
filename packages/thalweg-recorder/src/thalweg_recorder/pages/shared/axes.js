// What every chart has: a scale of steps from 1, a grid of amounts, and a tip beside what is chosen.

const LABELS_FROM = 640;
const PAPER_WIDTH = 760;

// The frame of a chart of `count` steps; leaves room for names of lines where the page is wide.
function frame(chart, { width, height, count, label, room = 152 }) {
  const wide = width >= LABELS_FROM;
  const [left, right] = [wide ? 56 : 46, width - (wide ? room : 12)];
  const span = Math.max(1, count - 1);
  chart.top = 16;
  chart.bottom = height - 34;
  chart.x = (step) => left + ((right - left) * step) / span;
  chart.stepAt = (x) =>
    Math.max(0, Math.min(count - 1, Math.round(((x - left) / (right - left)) * span)));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height,
    "aria-hidden": "true", focusable: "false" });
  const named = steps(count, wide ? 10 : 5).map((k) => Math.max(1, Math.round(k)));
  for (const step of new Set(named)) {
    if (step > count) continue;
    const x = chart.x(step - 1);
    picture.append(
      svg("line", { class: "notch", x1: x, x2: x, y1: chart.bottom, y2: chart.bottom + 4 }),
      svg("text", { x, y: chart.bottom + 17, "text-anchor": "middle" }, number(step)));
  }
  picture.append(svg("text", { x: right, y: chart.bottom + 31, "text-anchor": "end" }, label));
  return { picture, left, right, wide };
}

// Lines for amounts from 0 to `top`, each with its name; gives where an amount stands.
function amounts(chart, picture, { top, left, right, most = 6, name = tick }) {
  const y = (amount) => chart.bottom - ((chart.bottom - chart.top) * amount) / top;
  for (const amount of steps(top, most)) {
    picture.append(
      svg("line", { class: "grid", x1: left, x2: right, y1: y(amount), y2: y(amount) }),
      svg("text", { x: left - 8, y: y(amount) + 4, "text-anchor": "end" }, name(amount)));
  }
  return y;
}

// A group that shows nothing outside the frame.
function clipped(chart, picture, { left, right }) {
  const id = `${chart.holder.id}-clip`;
  picture.append(svg("clipPath", { id }, svg("rect", { x: left - 8, y: chart.top - 8,
    width: right - left + 16, height: chart.bottom - chart.top + 10 })));
  return svg("g", { "clip-path": `url(#${id})` });
}

// Where a pointer is, in the measures of the chart.
function pointIn(chart, event) {
  const box = chart.holder.firstElementChild.getBoundingClientRect();
  const scale = chart.width / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

function openTip(chart, step, ...children) {
  const tip = fill("tip", ...children);
  tip.hidden = false;
  const box = chart.holder.firstElementChild.getBoundingClientRect();
  const x = box.left + chart.x(step) * (box.width / chart.width);
  const wide = tip.offsetWidth;
  const left = x + 14 + wide < document.documentElement.clientWidth ? x + 14 : x - 14 - wide;
  const down = Math.min(box.top + 14, window.innerHeight - tip.offsetHeight - 8);
  put(tip, { css: { left: `${Math.max(8, left)}px`, top: `${Math.max(8, down)}px` } });
}

function hideTip() {
  byId("tip").hidden = true;
}
