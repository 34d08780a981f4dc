// What the runs and the edits of a replay look like.

// A colour and a dash for each run: either alone tells them apart.
const STYLES = 7;

function styleOf(run) {
  return run.isPlain ? "series plain" : `series s${run.index % STYLES}`;
}

function swatch(run) {
  return svg("svg", { class: "swatch", width: 34, height: 10, "aria-hidden": "true" },
    svg("line", { class: styleOf(run), x1: 1, y1: 5, x2: 33, y2: 5 }));
}

const SHAPES = {
  fold: "M-6,-4.5H6L0,6Z",
  evict: "M-4.6,0A4.6,4.6 0 1 0 4.6,0A4.6,4.6 0 1 0 -4.6,0Z",
  elide: "M0,-6L6,0L0,6L-6,0Z",
  supersede: "M-4.4,-4.4H4.4V4.4H-4.4Z",
  strip: "M-5.5,-4.5H5.5V-1.5H-5.5ZM-5.5,1.5H5.5V4.5H-5.5Z",
  pin: "M-1.5,-5.5H1.5V-1.5H5.5V1.5H1.5V5.5H-1.5V1.5H-5.5V-1.5H-1.5Z",
  unpin: "M-5.5,-1.5H5.5V1.5H-5.5Z",
};

function mark(kind, attributes) {
  return svg("path", { d: SHAPES[kind] || SHAPES.evict, ...attributes });
}

function symbol(kind) {
  return svg("svg", { class: "symbol", width: 14, height: 14, viewBox: "-7 -7 14 14",
    "aria-hidden": "true" }, mark(kind, {}));
}
