/* The page: sections, navigation, filters. */

const main = document.querySelector("main");
const FIGURES_OF = { curves: ["curves"], time: ["time", "pareto"], memory: ["memory"] };

function section(id, title, draw) {
  const body = element("div", { class: "body" });
  const made = element(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title),
    body,
  );
  made.refresh = () => {
    body.replaceChildren(...draw().filter(Boolean));
    body.querySelectorAll(".panels").forEach((host) => host.draw());
  };
  return made;
}

function tableSection(table) {
  return section(table.name, table.title, () => {
    const left = narrow(table);
    const figures = (FIGURES_OF[table.name] || []).map(figure);
    if (!left.rows.length || !left.columns.length)
      return [
        ...figures,
        element("p", { class: "empty" }, "Nothing is left of this table by the filters."),
      ];
    const notes = left.notes.map(([sign, note]) =>
      element("li", {}, `${sign} `, ...written(note)),
    );
    return [
      ...figures,
      element(
        "div",
        { class: "over" },
        element("p", { class: "caption" }, ...written(table.caption)),
        element(
          "p",
          { class: "copies" },
          copyButton("LaTeX", table.title, () => latex(left)),
          copyButton("Markdown", table.title, () => markdown(left)),
        ),
      ),
      ...sortable(grid(left), table.title),
      notes.length ? element("ul", { class: "notes" }, ...notes) : null,
    ];
  });
}

function summary() {
  return section("summary", "Summary", () => {
    const shown = runs.filter((run) =>
      isShown({
        dataset: report.datasets[run.dataset].title,
        method: report.methods[run.method].title,
      }),
    );
    const failed = shown.filter((run) => run.error !== null).length;
    const seeds = new Set(shown.map((run) => run.seed)).size;
    const tile = (value, name, small) =>
      element(
        "div",
        {},
        element("dt", {}, name),
        element("dd", {}, String(value), small ? element("small", {}, ` ${small}`) : null),
      );
    const verdict = report.tables.find((table) => table.name === "verdict");
    return [
      element(
        "p",
        { class: "lead" },
        "Protocol ",
        element("code", {}, report.protocol),
        `: ${protocolWords()}.`,
      ),
      element(
        "dl",
        { class: "tiles" },
        tile(shown.length, shown.length === 1 ? "run" : "runs", failed ? `${failed} failed` : null),
        tile(chosen.dataset.size, chosen.dataset.size === 1 ? "data set" : "data sets"),
        tile(chosen.method.size, chosen.method.size === 1 ? "method" : "methods"),
        tile(seeds, seeds === 1 ? "seed" : "seeds"),
        verdict ? verdictTile(narrow(verdict)) : null,
      ),
      winners(),
      notices(),
    ];
  });
}

function protocolWords() {
  const [stream, norm, epochs] = report.protocol.split("-");
  const streams = { exp: "experiment stream", val: "validation stream" };
  const norms = { ln: "layer norm", bn: "batch norm" };
  if (!streams[stream] || !norms[norm]) return "runs that can be compared";
  return `${streams[stream]}, ${norms[norm]} in the encoder, ${epochs} epochs at most`;
}

function verdictTile(table) {
  const last = table.columns.length - 1;
  const count = (word) => table.rows.filter((row) => row.cells[last].text === word).length;
  const parts = ["match", "better", "worse", "partial data", "not comparable"]
    .map((word) => [word, count(word)])
    .filter(([, n]) => n);
  if (!parts.length) return null;
  return element(
    "div",
    { class: "wide" },
    element("dt", {}, "cells of the paper"),
    element(
      "dd",
      {},
      ...parts.map(([word, n]) =>
        element("span", { class: word.replace(" ", "-") }, `${n} `, element("small", {}, word)),
      ),
    ),
  );
}

/* Who is best on each data set. */
function winners() {
  const table = narrow(report.tables.find((each) => each.name === "main"));
  const rows = table.rows.filter(
    (row) => row.keys.metric === "A_T" && row.cells.some((c) => c.mark === "best"),
  );
  if (!rows.length) return null;
  const who = (row, mark) =>
    row.cells.flatMap((cell, i) =>
      cell.mark === mark ? [{ title: table.columns[i], ...cell }] : [],
    );
  return element(
    "ul",
    { class: "winners" },
    ...rows.map((row) => {
      const [best, second] = [who(row, "best"), who(row, "second")];
      return element(
        "li",
        {},
        element("span", {}, row.headers[0]),
        element("b", {}, best.map((b) => b.title).join(", ")),
        element(
          "span",
          { class: "value" },
          best[0].text,
          element("small", {}, best[0].width ? ` ±${best[0].width}` : " one seed"),
        ),
        second.length
          ? element(
              "span",
              { class: "next" },
              `then ${second.map((s) => s.title).join(", ")} ${second[0].text}`,
            )
          : null,
      );
    }),
  );
}

function notices() {
  const lines = [
    ...report.datasets
      .filter((d) => d.coverage)
      .map((d) => `† ${d.title} is partial data: ${d.coverage}.`),
    ...report.problems.map((problem) => `Left out: ${problem}`),
  ];
  if (report.machines.length > 1)
    lines.push(`Runs of ${report.machines.length} kinds of machine; their times are never mixed.`);
  return lines.length
    ? element("ul", { class: "notes" }, ...lines.map((line) => element("li", {}, line)))
    : null;
}

function runsSection() {
  return section("runs", "Runs", () => {
    const content = runsGrid();
    if (!content.rows.length)
      return [element("p", { class: "empty" }, "No runs are left by the filters.")];
    return [
      element(
        "p",
        { class: "caption" },
        "Open a row for its hyper-parameters, environment, times and accuracy matrix.",
      ),
      ...sortable(content, "Runs", runDetails),
    ];
  });
}

const sections = [summary(), ...report.tables.map(tableSection), runsSection()];
main.append(
  element("header", {}, element("h1", {}, "Class-incremental learning on time series")),
  ...sections,
);
document
  .querySelector("nav")
  .append(
    element(
      "ul",
      {},
      ...sections.map((s) =>
        element("li", {}, element("a", { href: `#${s.id}` }, s.querySelector("h2").textContent)),
      ),
    ),
  );
const groups = Object.keys(known).map(filterGroup);
document.querySelector("#filters form").append(...groups);
if (matchMedia("(max-width: 60rem)").matches) document.getElementById("filters").open = false;

function refresh() {
  for (const each of sections) each.refresh();
  const parts = Object.keys(known)
    .filter((axis) => chosen[axis].size < known[axis].length)
    .map((axis) => `${chosen[axis].size} of ${known[axis].length} ${PLURALS[axis]}`);
  const line = document.getElementById("narrowed");
  line.hidden = !parts.length;
  line.replaceChildren(
    `Showing ${parts.join(", ")}. `,
    element(
      "button",
      { type: "button", click: () => groups.forEach((group) => group.all(true)) },
      "Show all",
    ),
  );
}

refresh();
new ResizeObserver(() =>
  document.querySelectorAll(".panels").forEach((host) => host.draw()),
).observe(main);
