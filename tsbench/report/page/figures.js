/* The figures: which points stand in which panel. */

const plain = (n) => String(Number(n.toPrecision(4)));
const rounded = (n) => n.toFixed(report.digits);

/* A mean, its spread and its number of seeds in words. */
function spread([mean, width, seeds], format = rounded, unit = "") {
  const sign = report.spread === "ci95" ? "± (95 %)" : "±";
  const wide = width === null ? "" : ` ${sign} ${format(width)}`;
  return `${format(mean)}${wide}${unit} · ${seeds} seed${seeds > 1 ? "s" : ""}`;
}

/* Groups that the filters leave, by data set. */
function shownGroups() {
  return report.datasets
    .map((about, i) => ({
      title: about.title + (about.coverage ? "†" : ""),
      shown: chosen.dataset.has(about.title),
      groups: report.groups
        .filter((g) => g.dataset === i && chosen.method.has(report.methods[g.method].title))
        .sort((a, b) => a.method - b.method),
    }))
    .filter((panel) => panel.shown && panel.groups.length);
}

/* A panel a data set and machine: times of two machines never share one. */
function shownTimes() {
  return shownGroups().flatMap(({ title, groups }) =>
    report.machines
      .map((_, i) => ({
        title: report.machines.length > 1 ? `${title} [${i + 1}]` : title,
        groups: groups.filter((g) => g.seconds[i]).map((g) => ({ ...g, cost: g.seconds[i] })),
      }))
      .filter((panel) => panel.groups.length),
  );
}

function curvePanels() {
  return shownGroups()
    .map(({ title, groups }) => {
      const series = groups.map((g) => ({
        method: g.method,
        line: true,
        points: g.curve.flatMap((point, t) =>
          point ? [{ x: t + 1, y: point[0], text: [spread(point), `after task ${t + 1}`] }] : [],
        ),
      }));
      const points = series.flatMap((s) => s.points);
      const tasks = Math.max(2, ...points.map((p) => p.x));
      const low = Math.min(90, ...points.map((p) => p.y));
      const x = { title: "tasks learned", scale: whole, range: [1, tasks], format: plain };
      const y = {
        title: "average accuracy in %",
        scale: linear,
        range: [Math.floor(low / 10) * 10, 100],
        format: plain,
      };
      return { title, x, y, series: series.filter((s) => s.points.length) };
    })
    .filter((panel) => panel.series.length);
}

/* A scale with a tick at every whole number, or at some of them where they are many. */
function whole(domain, range) {
  const at = linear(domain, range);
  const every = Math.ceil((domain[1] - domain[0] + 1) / 10);
  const count = Math.floor((domain[1] - domain[0]) / every) + 1;
  return Object.assign(at, {
    ticks: Array.from({ length: count }, (_, i) => domain[0] + i * every),
  });
}

function timePanels() {
  return shownTimes().map(({ title, groups }) => {
    const names = groups.map((g) => report.methods[g.method].title);
    const series = groups.map((g, i) => {
      const [mean, width] = g.cost;
      const from = width === null ? undefined : Math.max(mean - width, mean / 10);
      const to = width === null ? undefined : mean + width;
      const text = [spread(g.cost, plain, " s")];
      return { method: g.method, points: [{ x: mean, y: i, from, to, text }] };
    });
    const ends = series.flatMap(({ points: [p] }) => [p.x, p.from || p.x, p.to || p.x]);
    return {
      title,
      x: costAxis("seconds of learning, log scale", ends, plain),
      y: { title: "method", names },
      series,
    };
  });
}

function costAxis(title, values, format) {
  const positive = values.filter((v) => v > 0);
  const range = [Math.min(...positive) / 1.25, Math.max(...positive) * 1.25];
  return { title, scale: logarithmic, range, format };
}

/* Accuracy, or forgetting if that alone is chosen, against what it costs. */
function costPanels(panels, title, format, told) {
  const metric = chosen.metric.has("A_T") || !chosen.metric.has("F_T") ? "A_T" : "F_T";
  const better = metric === "A_T" ? 1 : -1;
  return panels
    .map((panel) => {
      const groups = panel.groups.filter((g) => g[metric] && g.cost && g.cost[0] > 0);
      if (!groups.length) return null;
      const series = groups.map((g) => ({
        method: g.method,
        points: [
          {
            x: g.cost[0],
            y: g[metric][0],
            text: [`${metric} ${spread(g[metric])}`, told(g.cost[0])],
          },
        ],
      }));
      const heights = series.map((s) => s.points[0].y);
      const [low, high] = [Math.min(...heights), Math.max(...heights)];
      const room = Math.max(2, (high - low) * 0.12);
      return {
        title: panel.title,
        named: true,
        x: costAxis(
          title,
          series.map((s) => s.points[0].x),
          format,
        ),
        y: {
          title: `${metric} in %`,
          scale: linear,
          range: [Math.max(0, low - room), Math.min(100, high + room)],
          format: plain,
        },
        series,
        front: paretoFront(series, better),
      };
    })
    .filter(Boolean);
}

/* Points of the contest that no other beats in one way without losing in the other. */
function paretoFront(series, better) {
  const inside = series.filter((s) => report.methods[s.method].contest).map((s) => s.points[0]);
  inside.sort((a, b) => a.x - b.x || better * (b.y - a.y));
  const front = [];
  for (const { x, y } of inside)
    if (!front.length || better * (y - front[front.length - 1][1]) > 0) front.push([x, y]);
  return front;
}

const FIGURES = {
  curves: {
    about:
      "Average accuracy in % on all tasks so far; a star is Offline, which learns all at once.",
    legend: true,
    panels: curvePanels,
  },
  time: {
    about: "Mean and spread on a logarithmic scale.",
    panels: timePanels,
  },
  pareto: {
    title: "Accuracy against learning time",
    about: "The line is the Pareto front: no method in the contest is both cheaper and better.",
    legend: true,
    panels: () => costPanels(shownTimes(), "seconds of learning, log scale", plain, seconds),
  },
  memory: {
    title: "Accuracy against kept bytes",
    about: "What a method keeps between tasks: samples, generator, statistics, weights.",
    legend: true,
    panels: () => {
      const kept = shownGroups().map(({ title, groups }) => ({
        title,
        groups: groups.map((g) => ({ ...g, cost: g.kept })),
      }));
      return costPanels(kept, "bytes kept between tasks, log scale", bytes, bytes);
    },
  },
};

function figure(name) {
  const { title, about, legend, panels } = FIGURES[name];
  const shown = panels();
  const host = element("div", { class: "panels" });
  host.style.setProperty("--panels", shown.length);
  const holders = shown.map((panel) =>
    element("div", { class: "panel" }, element("h4", {}, panel.title)),
  );
  host.append(...holders);
  host.draw = () =>
    holders.forEach((holder, i) => {
      const width = Math.max(240, Math.round(holder.clientWidth));
      if (holder.width === width) return;
      holder.width = width;
      if (holder.children[1]) holder.children[1].remove();
      holder.append(plot(shown[i], width));
    });
  const methods = [...new Set(shown.flatMap((panel) => panel.series.map((s) => s.method)))].sort(
    (a, b) => a - b,
  );
  const keys = methods.map((m) => element("li", {}, swatch(m), report.methods[m].title));
  return element(
    "figure",
    { class: name },
    element(
      "figcaption",
      {},
      title ? element("h3", {}, title) : null,
      element("p", {}, ...written(about)),
    ),
    legend && keys.length ? element("ul", { class: "legend" }, ...keys) : null,
    shown.length ? host : element("p", { class: "empty" }, "Nothing to draw of what is chosen."),
  );
}
