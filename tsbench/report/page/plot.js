/* One panel of a figure: axes, series of points, and a way to read every value. */

const REACH = 40; // pixels from which a point can be picked

function swatch(method) {
  const { marker: letter } = report.methods[method];
  const path = drawn("path", { d: marker(letter, 7, 7, 4.5) });
  return coloured(
    drawn("svg", { class: "swatch", viewBox: "0 0 14 14", "aria-hidden": "true" }, path),
    method,
  );
}

/* panel: {title, x, y, series, front, names}; an axis: {title, scale, range, format, names}. */
function plot(panel, width) {
  const named = Boolean(panel.y.names);
  const height = named ? panel.y.names.length * 22 + 44 : 250;
  const longest = named ? Math.max(...panel.y.names.map((name) => name.length)) : 0;
  const box = {
    left: named ? Math.min(width * 0.4, longest * 6.6 + 18) : 36,
    right: width - 14,
    top: 12,
    bottom: height - 40,
  };
  const scales = {
    x: panel.x.scale(panel.x.range, [box.left + 8, box.right - 8]),
    y: named
      ? (i) => box.top + (i + 0.5) * ((box.bottom - box.top) / panel.y.names.length)
      : panel.y.scale(panel.y.range, [box.bottom, box.top]),
  };
  const spots = [];
  const chart = drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "plot", tabindex: "0", role: "img" },
    ...axes(panel, scales, box),
    frontLine(panel, scales),
    ...panel.series.map((series) => drawnSeries(series, scales, spots)),
    ...(panel.named ? labels(spots, box) : []),
  );
  chart.setAttribute(
    "aria-label",
    `${panel.title}: ${panel.y.title} by ${panel.x.title}. Arrow keys read the values.`,
  );
  reading(chart, spots, width);
  return chart;
}

function axes(panel, scales, box) {
  const made = [];
  for (const tick of scales.x.ticks) {
    const x = scales.x(tick);
    made.push(drawn("line", { class: "grid", x1: x, x2: x, y1: box.top, y2: box.bottom }));
    made.push(
      drawn(
        "text",
        { class: "tick", x, y: box.bottom + 16, "text-anchor": "middle" },
        panel.x.format(tick),
      ),
    );
  }
  const rows = panel.y.names
    ? panel.y.names.map((name, i) => [scales.y(i), name])
    : scales.y.ticks.map((tick) => [scales.y(tick), panel.y.format(tick)]);
  for (const [y, text] of rows) {
    made.push(drawn("line", { class: "grid", x1: box.left, x2: box.right, y1: y, y2: y }));
    made.push(
      drawn("text", { class: "tick", x: box.left - 8, y: y + 4, "text-anchor": "end" }, text),
    );
  }
  const middle = (box.left + box.right) / 2;
  made.push(
    drawn(
      "text",
      { class: "axis", x: middle, y: box.bottom + 34, "text-anchor": "middle" },
      panel.x.title,
    ),
  );
  return made;
}

function frontLine(panel, scales) {
  if (!panel.front || panel.front.length < 2) return null;
  const [first, ...rest] = panel.front.map(([x, y]) => [scales.x(x), scales.y(y)]);
  const path = rest.map(([x, y]) => `H${x.toFixed(1)}V${y.toFixed(1)}`).join("");
  return drawn("path", {
    class: "front",
    d: `M${first[0].toFixed(1)},${first[1].toFixed(1)}${path}`,
  });
}

function drawnSeries(series, scales, spots) {
  const look = report.methods[series.method];
  const group = coloured(drawn("g", { class: "series" }), series.method);
  group.dataset.method = series.method;
  const places = series.points.map((point) => ({
    ...point,
    method: series.method,
    at: [scales.x(point.x), scales.y(point.y)],
  }));
  if (series.line && places.length > 1) {
    const path = places.map(({ at: [x, y] }) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");
    group.append(
      drawn("path", {
        class: "line",
        d: `M${path}`,
        "stroke-dasharray": look.dash.join(" ") || null,
      }),
    );
  }
  for (const {
    at: [x, y],
    from,
    to,
  } of places) {
    if (from !== undefined)
      group.append(
        drawn("line", { class: "whisker", x1: scales.x(from), x2: scales.x(to), y1: y, y2: y }),
      );
    group.append(
      drawn("path", { class: "marker", d: marker(look.marker, x, y, series.line ? 3.4 : 4.6) }),
    );
  }
  spots.push(...places);
  return group;
}

/* Names beside points, where there is room for them. */
function labels(spots, box) {
  const taken = spots.map(({ at: [x, y] }) => [x - 6, y - 6, x + 6, y + 6]);
  const made = [];
  for (const {
    at: [x, y],
    method,
  } of spots) {
    const name = report.methods[method].title;
    const wide = name.length * 6.2;
    const places = [
      [x + 9, y + 4, "start", [x + 8, y - 6, x + 9 + wide, y + 6]],
      [x - 9, y + 4, "end", [x - 9 - wide, y - 6, x - 8, y + 6]],
      [x, y - 9, "middle", [x - wide / 2, y - 20, x + wide / 2, y - 8]],
      [x, y + 17, "middle", [x - wide / 2, y + 8, x + wide / 2, y + 20]],
    ];
    const free = places.find(
      ([, , , r]) =>
        r[0] > box.left &&
        r[2] < box.right + 8 &&
        r[1] > 0 &&
        r[3] < box.bottom &&
        taken.every((t) => r[2] < t[0] || r[0] > t[2] || r[3] < t[1] || r[1] > t[3]),
    );
    if (!free) continue;
    taken.push(free[3]);
    made.push(
      drawn("text", { class: "name", x: free[0], y: free[1], "text-anchor": free[2] }, name),
    );
  }
  return made;
}

/* Pointing, tapping and the arrow keys show the value of a point. */
function reading(chart, spots, width) {
  let current = -1;
  let column = 0; // where the arrows up and down look for the next series
  const ring = drawn("circle", { class: "ring", r: 8, visibility: "hidden" });
  chart.append(ring);

  function show(i, aloud) {
    current = i;
    const spot = spots[i];
    ring.setAttribute("visibility", spot ? "visible" : "hidden");
    highlight(spot ? spot.method : null);
    if (!spot) return hideTip();
    const [x, y] = spot.at;
    fill(ring, { cx: x, cy: y }, []);
    const frame = chart.getBoundingClientRect();
    const scale = frame.width / width;
    showTip(spot, frame.left + x * scale, frame.top + y * scale);
    if (aloud) tell([report.methods[spot.method].title, ...spot.text].join(", "));
  }

  function nearest(event) {
    const frame = chart.getBoundingClientRect();
    const scale = frame.width / width;
    const [x, y] = [(event.clientX - frame.left) / scale, (event.clientY - frame.top) / scale];
    const far = spots.map(({ at }) => Math.hypot(at[0] - x, at[1] - y));
    const i = far.indexOf(Math.min(...far));
    return far[i] <= REACH ? i : -1;
  }

  function key(event) {
    const series = (way) => {
      const { method } = spots[current];
      const next =
        spots[spots[way > 0 ? "findLastIndex" : "findIndex"]((s) => s.method === method) + way];
      if (!next) return current;
      const away = spots.map((s) =>
        s.method === next.method ? Math.abs(s.at[0] - column) : Infinity,
      );
      return away.indexOf(Math.min(...away));
    };
    const moves = {
      ArrowRight: () => Math.min(current + 1, spots.length - 1),
      ArrowLeft: () => Math.max(current - 1, 0),
      ArrowDown: () => (current < 0 ? 0 : series(1)),
      ArrowUp: () => (current < 0 ? 0 : series(-1)),
      Home: () => 0,
      End: () => spots.length - 1,
      Escape: () => -1,
    };
    if (!moves[event.key] || !spots.length) return;
    event.preventDefault();
    show(moves[event.key](), true);
    if (spots[current] && !/Up|Down/.test(event.key)) column = spots[current].at[0];
  }

  chart.addEventListener(
    "pointermove",
    (event) => event.pointerType === "mouse" && show(nearest(event)),
  );
  chart.addEventListener("pointerdown", (event) => show(nearest(event)));
  chart.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(-1));
  chart.addEventListener("keydown", key);
  chart.addEventListener("blur", () => show(-1));
}

function showTip(spot, x, y) {
  const tip = document.getElementById("tip");
  const [first, ...rest] = spot.text;
  tip.replaceChildren(
    element("b", {}, swatch(spot.method), report.methods[spot.method].title),
    element("span", { class: "value" }, first),
    ...rest.map((line) => element("span", {}, line)),
  );
  tip.hidden = false;
  const { offsetWidth: wide, offsetHeight: tall } = tip;
  const left = Math.min(Math.max(8, x - wide / 2), document.documentElement.clientWidth - wide - 8);
  const top = y - tall - 14 > 4 ? y - tall - 14 : y + 16;
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${top + scrollY}px`;
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

/* Let one method stand out in every figure. */
function highlight(method) {
  const twins = method === null ? "" : report.methods[method].title;
  for (const series of document.querySelectorAll(".series"))
    series.classList.toggle(
      "faded",
      twins !== "" && report.methods[series.dataset.method].title !== twins,
    );
}
