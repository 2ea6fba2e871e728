/* Scales with their ticks, and the shapes of markers. */

function linear([low, high], [from, to]) {
  const at = (v) => from + ((v - low) / (high - low || 1)) * (to - from);
  return Object.assign(at, { ticks: linearTicks(low, high) });
}

function logarithmic([low, high], [from, to]) {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  const at = (v) => from + ((Math.log10(v) - a) / (b - a || 1)) * (to - from);
  return Object.assign(at, { ticks: logTicks(low, high) });
}

function linearTicks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((s) => s >= rough) || 1;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
    ticks.push(i * step);
  return ticks;
}

function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const within = decades > 2 ? [1] : decades > 1 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const n of within) ticks.push(n * 10 ** power);
  const inside = ticks.filter((t) => t >= low && t <= high);
  const every = Math.ceil(inside.length / 5);
  return inside.filter((_, i) => i % every === 0);
}

/* Markers by matplotlib's letters, about as large as a circle of radius r. */
function marker(letter, x, y, r) {
  const polygon = (sides, turn, inner = 1, grow = 1.15) => {
    const points = [];
    const corners = inner === 1 ? sides : 2 * sides;
    for (let i = 0; i < corners; i++) {
      const angle = turn + (2 * Math.PI * i) / corners;
      const reach = r * grow * (i % 2 && inner !== 1 ? inner : 1);
      points.push(
        `${(x + reach * Math.sin(angle)).toFixed(1)},${(y - reach * Math.cos(angle)).toFixed(1)}`,
      );
    }
    return `M${points.join("L")}Z`;
  };
  const cross = (turn) => {
    const w = 0.38;
    const outline = [
      [-w, -1],
      [w, -1],
      [w, -w],
      [1, -w],
      [1, w],
      [w, w],
      [w, 1],
      [-w, 1],
      [-w, w],
      [-1, w],
      [-1, -w],
      [-w, -w],
    ];
    const [c, s] = [Math.cos(turn) * r * 1.1, Math.sin(turn) * r * 1.1];
    return `M${outline.map(([a, b]) => `${(x + a * c - b * s).toFixed(1)},${(y + a * s + b * c).toFixed(1)}`).join("L")}Z`;
  };
  const shapes = {
    s: () => polygon(4, Math.PI / 4, 1, 1.25),
    D: () => polygon(4, 0, 1, 1.25),
    d: () => `M${x},${y - 1.4 * r}L${x + 0.8 * r},${y}L${x},${y + 1.4 * r}L${x - 0.8 * r},${y}Z`,
    "^": () => polygon(3, 0, 1, 1.35),
    v: () => polygon(3, Math.PI, 1, 1.35),
    ">": () => polygon(3, Math.PI / 2, 1, 1.35),
    "<": () => polygon(3, -Math.PI / 2, 1, 1.35),
    p: () => polygon(5, 0, 1, 1.2),
    h: () => polygon(6, 0),
    "*": () => polygon(5, 0, 0.45, 1.7),
    P: () => cross(0),
    X: () => cross(Math.PI / 4),
  };
  const circle = () => `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`;
  return (shapes[letter] || circle)();
}
