"use strict";
/* What the page is made of. Text is only ever set as text, so nothing in it can be markup. */

const report = JSON.parse(document.getElementById("contents").textContent);

function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/* A_T, F_T and A_t as mathematics. */
function written(text) {
  return text
    .split(/\b([AF]_[Tt])\b/)
    .map((part, i) =>
      i % 2
        ? element("span", { class: "symbol" }, part[0], element("sub", {}, part[2]))
        : document.createTextNode(part),
    );
}

/* The colours of a method; which of the two holds, the style sheet decides. */
function coloured(made, method) {
  made.style.setProperty("--light", report.methods[method].colour);
  made.style.setProperty("--dark", report.methods[method].dark);
  made.classList.add("coloured");
  return made;
}

function bytes(n) {
  if (n === null || n === undefined) return "–";
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (n < 1000 || unit === "GB") return `${n.toFixed(unit === "B" ? 0 : 1)} ${unit}`;
    n /= 1000;
  }
}

function seconds(n) {
  if (n === null || n === undefined) return "–";
  if (n < 100) return `${Number(n.toPrecision(3))} s`;
  if (n < 6000) return `${Math.floor(n / 60)} min ${Math.round(n % 60)} s`;
  return `${Math.floor(n / 3600)} h ${Math.round((n % 3600) / 60)} min`;
}

/* Say something to people who do not see the screen. */
function tell(text) {
  document.getElementById("told").textContent = text;
}
