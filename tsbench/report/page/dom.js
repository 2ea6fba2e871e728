"use strict";
/* Elements, copying, messages. */

const report = JSON.parse(document.getElementById("contents").textContent);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/* Read aloud to people who do not see the screen. */
function announce(text) {
  document.getElementById("announced").textContent = text;
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.(".copy");
  if (!button) return;
  const done = await toClipboard(button.parentElement.querySelector("code").textContent);
  button.textContent = done ? "Copied" : "Copying is blocked";
  announce(button.textContent);
  setTimeout(() => (button.textContent = "Copy"), 1600);
});

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", { class: "unseen", readonly: "" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy"); // for pages that are not served over https
    area.remove();
    return done;
  }
}
