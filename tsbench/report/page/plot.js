/* One panel of a figure from numbers and ready words: axes, points, lines, and their values. */

const REACH = 40; // pixels from which a point can be picked
const MARKER = 15;

function plot(panel, width, height = 320) {
  const lines = panel.series.some((series) => series.line);
  const names = panel.series.map((series) => nameOf(series));
  const room = lines ? 6.3 * Math.max(...names.map((name) => name.length)) + 22 : 12;
  const box = { left: 50, right: width - Math.min(room, width * 0.4), top: 10, bottom: height - 42 };
  const at = {
    x: scale(panel.x, box.left + 8, box.right - 8),
    y: scale(panel.y, box.bottom, box.top),
  };
  const spots = panel.series.flatMap((series) =>
    series.points.map(([x, y, ...text]) => ({ series, x: at.x(x), y: at.y(y), text })),
  );
  const label = `${panel.title} ${panel.y.title} by ${panel.x.title}. Arrow keys read the values.`;
  const chart = drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "plot", tabindex: "0", role: "img", "aria-label": label },
    ...axes(panel, at, box),
    frontLine(panel, at, box),
    ...inDepth(panel.series).map((series) => drawnSeries(series, spots)),
    ...(lines ? endLabels(panel, spots, box) : pointLabels(spots, box)),
  );
  reading(chart, spots, width);
  return chart;
}

function nameOf(series) {
  return series.name || report.methods[series.m].title;
}

function scale({ range: [low, high], log }, from, to) {
  const f = log ? Math.log10 : Number;
  return (value) => from + ((f(value) - f(low)) / (f(high) - f(low) || 1)) * (to - from);
}

function axes(panel, at, box) {
  const made = [];
  const text = (name, x, y, anchor, words, transform = null) =>
    made.push(drawn("text", { class: name, x, y, "text-anchor": anchor, transform }, words));
  for (const [value, words] of panel.x.ticks) {
    const x = at.x(value);
    made.push(drawn("path", { class: "grid", d: `M${x},${box.top}V${box.bottom}` }));
    text("tick", x, box.bottom + 16, "middle", words);
  }
  for (const [value, words] of panel.y.ticks) {
    const y = at.y(value);
    made.push(drawn("path", { class: "grid", d: `M${box.left},${y}H${box.right}` }));
    text("tick", box.left - 6, y + 4, "end", words);
  }
  text("axis", (box.left + box.right) / 2, box.bottom + 35, "middle", panel.x.title);
  const middle = (box.top + box.bottom) / 2;
  text("axis", 12, middle, "middle", panel.y.title, `rotate(-90 12 ${middle})`);
  return made;
}

/* The stairs below and right of which every ranked method is beaten. */
function frontLine(panel, at, box) {
  if (!panel.front?.length) return null;
  const steps = panel.front.map(([x, y]) => `H${at.x(x).toFixed(1)}V${at.y(y).toFixed(1)}`).join("");
  const start = at.x(panel.front[0][0]).toFixed(1);
  return drawn("path", { class: "front", d: `M${start},${box.bottom}${steps}H${box.right}` });
}

/* From the back to the front: pale series first, best methods last, Offline's star on top. */
function inDepth(series) {
  const depth = ({ big, pale }) => (big ? 2 : pale ? 0 : 1);
  return [...series].reverse().sort((a, b) => depth(a) - depth(b));
}

function drawnSeries(series, spots) {
  const mine = spots.filter((spot) => spot.series === series);
  const group = drawn("g", {
    class: `series own m${series.m}${series.pale ? " pale" : ""}`,
    "data-method": series.m,
  });
  if (series.line && mine.length > 1)
    group.append(drawn("path", { class: "line", d: `M${mine.map((s) => `${s.x},${s.y}`).join("L")}` }));
  const size = (series.line ? MARKER - 2 : MARKER + 3) + (series.big ? 5 : 0);
  const href = `#${report.methods[series.m].symbol}`;
  for (const { x, y } of mine)
    group.append(
      drawn("use", { class: "marker", href, x: x - size / 2, y: y - size / 2, width: size, height: size }),
    );
  return group;
}

/* Names at the ends of lines, pushed apart. */
function endLabels(panel, spots, box) {
  const ends = panel.series.map((series) => spots.filter((s) => s.series === series).pop());
  const sorted = ends.sort((a, b) => a.y - b.y).map((end) => ({ end, y: end.y }));
  const gap = Math.min(13, (box.bottom - box.top + 16) / sorted.length);
  sorted.forEach((label, i) => {
    if (i) label.y = Math.max(label.y, sorted[i - 1].y + gap);
  });
  let limit = box.bottom + 6;
  for (const label of [...sorted].reverse()) {
    label.y = Math.min(label.y, limit);
    limit = label.y - gap;
  }
  return sorted.flatMap(({ end, y }) => [
    drawn("path", {
      class: `leader own m${end.series.m}`,
      d: `M${end.x + 7},${end.y}L${box.right + 6},${y}`,
    }),
    drawn("text", { class: "name", x: box.right + 9, y: y + 4 }, nameOf(end.series)),
  ]);
}

/* Names beside points: of the front always, of the others where there is room. */
function pointLabels(spots, box) {
  const taken = spots.map(({ x, y }) => [x - 6, y - 6, x + 6, y + 6]);
  const made = [];
  const overlap = (a) =>
    taken.reduce((sum, b) => {
      const wide = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
      const high = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
      return sum + (wide > 0 && high > 0 ? wide * high : 0);
    }, 0);
  const front = spots.filter((spot) => spot.series.front);
  for (const spot of [...front, ...spots.filter((each) => !each.series.front)]) {
    const { x, y, series } = spot;
    const name = nameOf(series);
    const wide = name.length * 6.4;
    const places = [
      [x + 10, y + 4, "start", x + 9],
      [x - 10, y + 4, "end", x - 9 - wide],
      [x, y - 10, "middle", x - wide / 2],
      [x, y + 18, "middle", x - wide / 2],
      [x + 8, y - 8, "start", x + 8],
      [x - 8, y - 8, "end", x - 8 - wide],
    ].map(([tx, ty, anchor, left]) => ({ tx, ty, anchor, area: [left, ty - 10, left + wide, ty + 2] }));
    const inside = places.filter(
      ({ area }) => area[0] > box.left && area[2] < box.right + 10 && area[1] > 0 && area[3] < box.bottom,
    );
    const best = inside.sort((a, b) => overlap(a.area) - overlap(b.area))[0];
    if (!best || (!series.front && overlap(best.area) > 0)) continue;
    taken.push(best.area);
    made.push(
      drawn(
        "text",
        { class: `name${series.front ? " winner" : ""}`, x: best.tx, y: best.ty, "text-anchor": best.anchor },
        name,
      ),
    );
  }
  return made;
}

/* Pointing, tapping and the arrow keys show the value of a point. */
function reading(chart, spots, width) {
  let current = -1;
  const ring = drawn("circle", { class: "ring", r: 9, visibility: "hidden" });
  chart.append(ring);

  function show(i, aloud) {
    current = i;
    const spot = spots[i];
    ring.setAttribute("visibility", spot ? "visible" : "hidden");
    highlight(spot && !spot.series.name ? spot.series.m : null);
    const tip = document.getElementById("tip");
    tip.hidden = !spot;
    if (!spot) return;
    fill(ring, { cx: spot.x, cy: spot.y }, []);
    const frame = chart.getBoundingClientRect();
    const zoom = frame.width / width;
    const lines = spot.text.map((line) => element("span", {}, line));
    tip.replaceChildren(element("b", {}, nameOf(spot.series)), ...lines);
    const [x, y] = [frame.left + spot.x * zoom, frame.top + spot.y * zoom];
    const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const above = y - tip.offsetHeight - 14;
    tip.style.left = `${Math.min(Math.max(8, x - tip.offsetWidth / 2), most) + scrollX}px`;
    tip.style.top = `${(above > 4 ? above : y + 16) + scrollY}px`;
    if (aloud) announce([nameOf(spot.series), ...spot.text].join(", "));
  }

  function nearest(event) {
    const frame = chart.getBoundingClientRect();
    const zoom = frame.width / width;
    const [x, y] = [(event.clientX - frame.left) / zoom, (event.clientY - frame.top) / zoom];
    const far = spots.map((spot) => Math.hypot(spot.x - x, spot.y - y));
    const i = far.indexOf(Math.min(...far));
    return far[i] <= REACH ? i : -1;
  }

  chart.addEventListener("pointermove", (event) => event.pointerType === "mouse" && show(nearest(event)));
  chart.addEventListener("pointerdown", (event) => show(nearest(event)));
  chart.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(-1));
  chart.addEventListener("blur", () => show(-1));
  chart.addEventListener("keydown", (event) => {
    const last = spots.length - 1;
    const next = {
      ArrowRight: Math.min(current + 1, last),
      ArrowLeft: Math.max(current - 1, 0),
      ArrowDown: spots.findIndex((s, i) => i > current && s.series !== spots[current]?.series),
      ArrowUp: spots.findLastIndex((s, i) => i < current && s.series !== spots[current]?.series),
      Home: 0,
      End: last,
      Escape: -1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (next >= 0 || event.key === "Escape") show(next, true);
  });
}

/* Let one method stand out in every figure. */
function highlight(method) {
  for (const series of all(".panels .series"))
    series.classList.toggle("faded", method !== null && series.dataset.method !== String(method));
}
