/* Filters choose what is shown, and are kept in the address of the page. */

const AXES = ["dataset", "method"];
const sections = all("section.protocol");
const address = new URLSearchParams(location.search);
const chosen = { protocol: 0, machine: 0, dataset: new Set(), method: new Set() }; // none: all

/* The first press on a chip chooses it alone, further ones add and remove. */
for (const chip of all("#filters .chip"))
  chip.addEventListener("click", () => {
    const { axis } = chip.closest(".chips").dataset;
    if (axis === "protocol") Object.assign(chosen, { protocol: Number(chip.value), machine: 0 });
    else chosen[axis][chosen[axis].has(chip.value) ? "delete" : "add"](chip.value);
    remember();
    refresh();
  });
for (const chip of all("#filters [data-axis=method] .chip")) {
  const method = report.methods.findIndex(({ name }) => name === chip.value);
  chip.addEventListener("pointerenter", () => highlight(method));
  chip.addEventListener("pointerleave", () => highlight(null));
}
for (const select of all("select.machine"))
  select.addEventListener("change", () => {
    chosen.machine = select.selectedIndex;
    remember();
    refresh();
  });
document.getElementById("reset").addEventListener("click", () => {
  for (const axis of AXES) chosen[axis].clear();
  remember();
  refresh();
});

const shows = (axis, name) => !name || !chosen[axis].size || chosen[axis].has(name);

function remember() {
  const params = new URLSearchParams();
  if (chosen.protocol) params.set("protocol", report.protocols[chosen.protocol].name);
  for (const axis of AXES) for (const name of chosen[axis]) params.append(axis, name);
  if (chosen.machine) params.set("machine", chosen.machine + 1);
  const head = sections[chosen.protocol].querySelector(".board th[data-key]:not([aria-sort=none])");
  if (head) params.set("sort", (head.ariaSort === "descending" ? "-" : "") + head.dataset.key);
  const query = String(params);
  try {
    history.replaceState(null, "", (query ? `?${query}` : location.pathname) + location.hash);
  } catch {
    // some browsers do not let a page on disk change its address
  }
}

function recall() {
  const protocol = report.protocols.findIndex(({ name }) => name === address.get("protocol"));
  chosen.protocol = Math.max(0, protocol);
  for (const axis of AXES)
    for (const name of address.getAll(axis))
      if (all(`#filters [data-axis=${axis}] .chip`).some((chip) => chip.value === name))
        chosen[axis].add(name);
  const { machines } = report.protocols[chosen.protocol];
  const machine = Number(address.get("machine")) - 1;
  chosen.machine = machines[machine] ? machine : 0;
  const key = (address.get("sort") || "").replace(/^-/, "");
  const heads = all(".board th[data-key]", sections[chosen.protocol]);
  const head = heads.find((each) => each.dataset.key === key);
  if (head) sort(head, address.get("sort").startsWith("-") ? "descending" : "ascending");
}

function refresh() {
  sections.forEach((section, i) => (section.hidden = i !== chosen.protocol));
  const section = sections[chosen.protocol];
  for (const chip of all("#filters .chip")) {
    const { axis } = chip.closest(".chips").dataset;
    const on = axis === "protocol" ? chip.value === String(chosen.protocol) : chosen[axis].has(chip.value);
    chip.setAttribute("aria-pressed", String(on));
  }
  const filtered = AXES.some((axis) => chosen[axis].size);
  document.getElementById("reset").hidden = !filtered;
  section.classList.toggle("filtered", filtered);
  for (const part of all("[data-d], [data-m]", section)) {
    part.hidden = !shows("dataset", part.dataset.d) || !shows("method", part.dataset.m);
    if (part.below) part.below.hidden = part.hidden;
  }
  for (const body of all(".sortable tbody", section))
    body.hidden =
      !shows("dataset", body.dataset.d) || !body.querySelector("tr:not(.heading, .details, [hidden])");
  showTimes(section);
  for (const code of all("[data-report]", section)) code.textContent = commandOf(code.dataset.report);
  drawFigures(section);
}

/* The command that prints the table as it is filtered. */
function commandOf(base) {
  const words = AXES.flatMap((axis) =>
    [...chosen[axis]].map((name) => `--${axis} ${report.quoted[name] || name}`),
  );
  return [base, ...words].join(" ");
}

function showTimes(section) {
  const { seconds } = report.protocols[chosen.protocol];
  const select = section.querySelector("select.machine");
  if (!select) return;
  select.selectedIndex = chosen.machine;
  all("tr.row", section)
    .sort((a, b) => a.dataset.row - b.dataset.row)
    .forEach((row, i) => {
      const cell = row.querySelector(".seconds");
      const [text, value] = seconds[i][chosen.machine];
      cell.textContent = text;
      if (value === null) delete cell.dataset.v;
      else cell.dataset.v = value;
    });
}

function drawFigures(section) {
  const { figures } = report.protocols[chosen.protocol];
  for (const host of all("[data-figure]", section)) {
    const panels = figures[host.dataset.figure]
      .filter((panel) => shows("dataset", panel.d))
      .filter((panel) => panel.machine === undefined || panel.machine === chosen.machine)
      .map((panel) => ({
        ...panel,
        series: panel.series.filter(({ m }) => shows("method", report.methods[m].name)),
      }))
      .filter((panel) => panel.series.length);
    host.replaceChildren(...panels.map((panel) => panelHost(panel)));
    if (!panels.length) host.append(element("p", { class: "empty" }, "Nothing to draw."));
    drawPanels(host);
  }
}

function panelHost(panel, height) {
  const host = element("div", { class: "panel" }, panel.title ? element("h4", {}, panel.title) : null);
  host.draw = () => {
    const width = Math.max(260, Math.round(host.clientWidth));
    if (host.drawnAt === width) return;
    host.drawnAt = width;
    host.querySelector(".plot")?.remove();
    host.append(plot(panel, width, height));
  };
  return host;
}

function drawPanels(root) {
  for (const host of all(".panel", root)) host.draw();
}

recall();
refresh();
document.documentElement.classList.add("ready");
if (matchMedia("(max-width: 50rem)").matches) document.getElementById("filters").open = false;
new ResizeObserver(() => drawPanels(document)).observe(document.querySelector("main"));
addEventListener("beforeprint", () => all("details").forEach((each) => (each.open = true)));
