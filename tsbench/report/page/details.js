/* What a row opens to: blocks that Python wrote, one view per seed. */

function details(row) {
  const views = report.rows[row];
  const body = element("div", { class: "blocks" });
  const tabs = views.map(([title], i) =>
    element("button", { type: "button", class: "chip", click: () => show(i) }, title),
  );
  function show(chosen) {
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === chosen)));
    body.innerHTML = views[chosen][1].map((number) => report.blocks[number]).join("");
    for (const cell of all(".matrix td", body))
      cell.style.setProperty("--share", `${Number(cell.textContent) * 0.6 || 0}%`);
    for (const host of all("[data-plot]", body))
      host.replaceWith(panelHost(report.plots[host.dataset.plot], 240));
    drawPanels(body);
  }
  const made = element(
    "div",
    { class: "opened" },
    tabs.length > 1 ? element("div", { class: "tabs", role: "group", "aria-label": "Seed" }, ...tabs) : null,
    body,
  );
  made.show = () => show(0); // after it is in the page, where its width is known
  return made;
}
