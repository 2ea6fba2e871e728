/* The runs one by one; a row opens to all that its record says. */

const runs = report.runs.map((row) =>
  Object.fromEntries(report.fields.map((name, i) => [name, row[i]])),
);
const shared = (number) => (number === null ? null : report.pool[number]);
const sum = (list) => list.reduce((a, b) => a + b, 0);

function runsGrid() {
  const shown = runs.filter((run) =>
    isShown({
      dataset: report.datasets[run.dataset].title,
      method: report.methods[run.method].title,
    }),
  );
  const number = (value, text) => (value === null ? { text: "–" } : { text, value });
  return {
    columns: [
      { text: "Data set", head: true },
      { text: "Method", head: true, axis: "method" },
      ...["seed", "A_T ↑", "F_T ↓", "learning", "kept", "peak", "status"].map((text) => ({ text })),
    ],
    rows: shown.map((run) => {
      const learning = run.learn && sum(run.learn);
      const kept = run.kept && sum(Object.values(run.kept));
      return {
        run,
        cells: [
          { text: report.datasets[run.dataset].title, head: true },
          { text: report.methods[run.method].title, head: true },
          { text: String(run.seed), value: run.seed },
          number(run.A_T, run.A_T !== null && rounded(run.A_T)),
          number(run.F_T, run.F_T !== null && rounded(run.F_T)),
          number(learning, seconds(learning)),
          number(kept, bytes(kept)),
          number(run.peak, bytes(run.peak)),
          { text: run.error === null ? "ok" : "failed" },
        ],
      };
    }),
  };
}

function runDetails({ run }) {
  const spec = shared(run.spec);
  const command = again(run, spec);
  return element(
    "div",
    { class: "run" },
    run.error === null ? null : block("Error", element("pre", {}, shared(run.error))),
    run.accuracy ? block("Accuracy by task, %", accuracyMatrix(run)) : null,
    run.learn ? block("Seconds by task", taskTimes(run)) : null,
    block(
      "Hyper-parameters",
      list({ ...shared(run.settings), ...shared(run.chosen) }, shared(run.changed)),
    ),
    Object.keys(shared(run.tuned)).length ? block("Tuned", list(shared(run.tuned))) : null,
    run.kept ? block("Memory", list(memoryWords(run))) : null,
    block("Environment", list(shared(run.environment))),
    block("Run", list(runWords(run, spec))),
    block(
      "The same again",
      element("pre", {}, command),
      copyButton("Copy", "the command", () => command),
    ),
  );
}

function block(title, ...inside) {
  return element("section", {}, element("h4", {}, title), ...inside);
}

function list(words, changed = {}) {
  const pairs = Object.entries(words).map(([name, value]) =>
    element(
      "div",
      {},
      element("dt", {}, name.replaceAll("_", " ")),
      element("dd", {}, value, name in changed ? element("em", {}, " by hand") : null),
    ),
  );
  return pairs.length ? element("dl", {}, ...pairs) : element("p", { class: "empty" }, "none");
}

function memoryWords(run) {
  const kept = Object.entries(run.kept).map(([kind, n]) => [`kept: ${kind}`, bytes(n)]);
  const count = run.parameters === null ? "–" : run.parameters.toLocaleString("en");
  return { ...Object.fromEntries(kept), weights: count, "peak of the process": bytes(run.peak) };
}

function runWords(run, spec) {
  const data = shared(run.data) || {};
  const words = { protocol: report.protocol, ...spec, "hash of the spec": run.hash };
  if (data.coverage)
    words.data = data.complete === "true" ? data.coverage : `${data.coverage}, partial`;
  if (data.digest) words["data digest"] = data.digest.slice(0, 16);
  if (shared(run.order)) words["class order"] = shared(run.order).join(" ");
  return words;
}

function again(run, spec) {
  const quote = (text) =>
    /^[\w.,:=+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  const sets = Object.entries(shared(run.changed)).map(
    ([name, value]) => `--set ${quote(`${name}=${value}`)}`,
  );
  const parts = [
    "tsbench run",
    `--method ${quote(spec.method)}`,
    `--dataset ${quote(report.datasets[run.dataset].name)}`,
    `--seed ${run.seed}`,
    `--stream ${spec.stream}`,
    `--epochs ${spec.epochs}`,
    `--norm ${spec.norm}`,
    ...(Object.keys(shared(run.tuned)).length ? ["--tuned"] : []),
    ...sets,
  ];
  return parts.join(" ");
}

/* Rows: after learning a task; columns: tested on a task. */
function accuracyMatrix(run) {
  const width = Math.max(...run.accuracy.map((row) => (row ? row.length : 0)));
  const columns = Array.from({ length: width }, (_, j) =>
    element("th", { scope: "col" }, String(j + 1)),
  );
  const rows = run.accuracy.flatMap((row, i) =>
    row
      ? [element("tr", {}, element("th", { scope: "row" }, `after ${i + 1}`), ...row.map(tinted))]
      : [],
  );
  return element(
    "table",
    { class: "matrix" },
    element("thead", {}, element("tr", {}, element("td", {}, "task"), ...columns)),
    element("tbody", {}, ...rows),
  );
}

function tinted(value) {
  const cell = element("td", {}, value === null ? "–" : value.toFixed(1));
  cell.style.setProperty("--share", `${Math.round((value || 0) * 0.55)}%`);
  return cell;
}

function taskTimes(run) {
  const line = (title, values) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, title),
      ...values.map((v) => element("td", {}, plain(v))),
    );
  const totals = { "first task shared": run.charged, tuning: run.tuning, "whole run": run.total };
  const words = Object.entries(totals)
    .filter(([, spent]) => spent > 0.001)
    .map(([name, spent]) => [name, seconds(spent)]);
  return element(
    "div",
    {},
    element(
      "table",
      { class: "matrix" },
      element(
        "tbody",
        {},
        line("learn", run.learn),
        run.evaluate ? line("test", run.evaluate) : null,
      ),
    ),
    list(Object.fromEntries(words)),
  );
}
