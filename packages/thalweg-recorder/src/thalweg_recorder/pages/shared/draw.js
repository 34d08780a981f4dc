// Elements, and the few shapes that charts are made of. Texts are only ever set as text.

const SVG = "http://www.w3.org/2000/svg";

function put(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else if (name === "css") {
      for (const [key, what] of Object.entries(value)) element.style.setProperty(key, what);
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  for (const child of [children].flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false && child !== "") {
      element.append(child);
    }
  }
  return element;
}

function html(name, attributes, ...children) {
  return put(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return put(document.createElementNS(SVG, name), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

function fill(id, ...children) {
  const element = byId(id);
  element.replaceChildren();
  return put(element, {}, children);
}

// Round steps for an axis: at most `most` of them from 0 to `top`.
function steps(top, most) {
  if (!(top > 0)) return [0];
  const raw = top / most;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * unit).find((size) => size >= raw);
  const found = [];
  for (let value = 0; value <= top * 1.0001; value += step) found.push(value);
  return found;
}

// Push labels apart so that none covers another; keeps their order.
function spread(labels, gap, low, high) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((label, k) => {
    label.y = Math.max(label.y, k ? labels[k - 1].y + gap : low);
  });
  for (let k = labels.length - 1; k >= 0; k--) {
    const most = k === labels.length - 1 ? high : labels[k + 1].y - gap;
    labels[k].y = Math.min(labels[k].y, most);
  }
  return labels;
}

function path(points) {
  return points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
}
