/* Filters: a group of checkboxes an axis. */

const PLURALS = { dataset: "data sets", method: "methods", metric: "metrics" };

function filterGroup(axis) {
  const boxes = known[axis].map((name) => {
    const box = element("input", {
      type: "checkbox",
      checked: true,
      value: name,
      change: () => set(name, box.checked),
    });
    const method = axis === "method" ? report.methods.findIndex((m) => m.title === name) : -1;
    const label = element(
      "label",
      {},
      box,
      method < 0 ? null : swatch(method),
      element("span", {}, ...written(name)),
    );
    if (method >= 0) {
      label.addEventListener("pointerenter", () => highlight(method));
      label.addEventListener("pointerleave", () => highlight(null));
    }
    return label;
  });
  function set(name, on) {
    chosen[axis][on ? "add" : "delete"](name);
    refresh();
  }
  function all(on) {
    chosen[axis] = new Set(on ? known[axis] : []);
    for (const label of boxes) label.firstChild.checked = on;
    refresh();
  }
  const made = element(
    "fieldset",
    {},
    element("legend", {}, PLURALS[axis]),
    boxes.length > 2
      ? element(
          "p",
          { class: "quick" },
          ...[
            ["all", true],
            ["none", false],
          ].map(([word, on]) =>
            element(
              "button",
              { type: "button", "aria-label": `${word} ${PLURALS[axis]}`, click: () => all(on) },
              word,
            ),
          ),
        )
      : null,
    element("div", { class: "boxes" }, ...boxes),
  );
  made.all = all;
  return made;
}
