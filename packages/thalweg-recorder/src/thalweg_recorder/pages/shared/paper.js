// On paper nothing can be opened, so everything is; afterwards the page is as it was.

let closed = [];

function expand() {
  const details = [...document.querySelectorAll("details:not([open])")];
  const buttons = [...document.querySelectorAll(".opener[aria-expanded=false]")];
  details.forEach((element) => { element.open = true; });
  buttons.forEach((button) => button.click());
  closed = [...details.map((element) => () => { element.open = false; }),
    ...buttons.map((button) => () => button.click())];
}

function fold() {
  closed.forEach((close) => close());
  closed = [];
}

// Have charts drawn as wide as paper while the page is printed.
function printWith(draw) {
  window.addEventListener("beforeprint", () => {
    draw(PAPER_WIDTH);
    expand();
  });
  window.addEventListener("afterprint", () => {
    fold();
    draw();
  });
}
