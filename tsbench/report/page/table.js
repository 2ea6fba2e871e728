/* Tables: what the filters leave of them, who is best in it, and how they look and sort. */

const known = {
  dataset: [...new Set(report.datasets.map((d) => d.title))],
  method: [...new Set(report.methods.map((m) => m.title))],
  metric: report.metrics,
};
const chosen = Object.fromEntries(
  Object.entries(known).map(([axis, names]) => [axis, new Set(names)]),
);
const orders = new Map();
const UNSORTED = { by: -1, way: 0 };
const FOLD = 12;
const SMALL = 20; // rows of a table that is never folded

function isShown(keys) {
  return Object.entries(keys).every(
    ([axis, key]) => !known[axis].includes(key) || chosen[axis].has(key),
  );
}

/* The table without what the filters hide; a row that lost its head to a hidden one gets it back. */
function narrow(table) {
  const axis = table.columnAxis;
  const kept = table.columnKeys.map((key) => !axis || isShown({ [axis]: key }));
  const pick = (list) => list.filter((_, i) => kept[i]);
  const rows = [];
  let above = null;
  for (const row of table.rows.filter((r) => isShown(r.keys))) {
    const short = row.headers.map((header, i) =>
      row.blank[i] && above && above.headers[i] === header ? "" : header,
    );
    const first = row.rule || (row.blank[0] && short[0] !== "");
    rows.push({ ...row, short, rule: first, cells: pick(row.cells).map((cell) => ({ ...cell })) });
    above = row;
  }
  let start = 0;
  const groups = table.groups.map(([title, count]) => {
    start += count;
    return [title, kept.slice(start - count, start).filter(Boolean).length];
  });
  const left = { ...table, columns: pick(table.columns), rows, groups: groups.filter((g) => g[1]) };
  left.notes = table.notes.filter(([sign]) => uses(left, sign) || !uses(table, sign));
  if (axis === "method" && table.rows.some((r) => r.cells.some((c) => c.mark))) rank(left);
  return left;
}

function uses(table, sign) {
  return table.rows.some(
    (row) =>
      row.headers.some((h) => h.includes(sign)) ||
      row.cells.some((c) => (c.notes || []).includes(sign)),
  );
}

/* Best and second among the methods that are left; equal as shown is equal. */
function rank(table) {
  const outside = new Set(report.methods.filter((m) => !m.contest).map((m) => m.title));
  for (const row of table.rows) {
    const lower = row.headers.some((header) => header.includes("↓"));
    const inside = row.cells.filter((cell, i) => cell.seeds && !outside.has(table.columns[i]));
    const order = [...new Set(inside.map((cell) => Number(cell.text)))];
    order.sort((a, b) => (lower ? a - b : b - a));
    for (const cell of row.cells) delete cell.mark;
    for (const cell of inside) {
      const place = order.indexOf(Number(cell.text));
      if (place < 2) cell.mark = ["best", "second"][place];
    }
  }
}

/* Rows and columns for the screen: one sorts by a column, so some tables are turned. */
function grid(table) {
  const head = (text) => ({ text, head: true });
  if (!table.turned) {
    const columns = table.headers.map((title, i) => ({ ...head(title), axis: table.axes[i] }));
    return {
      columns: [...columns, ...table.columns.map((text) => ({ text }))],
      rows: table.rows.map((row) => ({
        cells: [...row.headers.map(head), ...row.cells],
        rule: row.rule,
      })),
    };
  }
  const starts = new Set();
  table.groups.reduce((at, [, count]) => (starts.add(at), at + count), 0);
  return {
    columns: [
      head(table.turned),
      ...table.rows.map((row) => ({
        text: row.headers[row.headers.length - 1],
        group: row.headers.slice(0, -1).join(" "),
      })),
    ],
    rows: table.columns.map((title, i) => ({
      cells: [head(title), ...table.rows.map((row) => row.cells[i])],
      rule: starts.has(i),
    })),
  };
}

/* A table that sorts; `opened(row)` makes the details of a row, if it has any. */
function sortable(content, caption, opened) {
  const { columns } = content;
  const sticky = Math.max(
    0,
    columns.findIndex((c) => c.axis === "method"),
  );
  const room = columns.map((_, i) => sideRoom(content.rows.map((row) => row.cells[i])));
  const heads = columns.map((column, i) => headCell(column, i === sticky, room[i]));
  const body = element("tbody");
  const more = element("button", { type: "button", class: "more", click: unfold });
  let sorted = remembered(caption, columns);
  let limit = content.rows.length > SMALL ? FOLD : SMALL;

  heads.forEach((th, i) => th.firstChild.addEventListener("click", () => sort(i)));
  const frame = element(
    "div",
    {
      class: classes({
        scroll: true,
        whole: content.rows.length <= SMALL,
        dense: columns.length > 9,
      }),
      tabindex: "0",
      role: "region",
      "aria-label": caption,
    },
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, caption),
      element("thead", {}, groupRow(columns, sticky), element("tr", {}, ...heads)),
      body,
    ),
  );

  function sort(i) {
    const first = columns[i].text.includes("↑") ? -1 : 1;
    if (sorted.by !== i) sorted = { by: i, way: first };
    else sorted = sorted.way === first ? { by: i, way: -first } : UNSORTED;
    orders.set(caption, { name: sorted.by < 0 ? null : fullName(columns[i]), way: sorted.way });
    show();
  }

  function unfold() {
    limit = opened ? limit + 50 : Infinity;
    show();
  }

  function show() {
    heads.forEach((th, j) => {
      const way = j === sorted.by ? sorted.way : 0;
      th.setAttribute("aria-sort", { "-1": "descending", 0: "none", 1: "ascending" }[way]);
    });
    const rows = inOrder(content.rows, sorted);
    const plain = sorted.by < 0;
    const made = [];
    let above = null;
    rows.slice(0, opened ? limit : rows.length).forEach((row, at) => {
      const tr = element("tr", {
        class:
          [plain && row.rule ? "rule" : "", at >= limit ? "folded" : ""].join(" ").trim() || null,
      });
      row.cells.forEach((cell, i) => {
        const same = cell.head && above && i < sticky && sameUpTo(above, row, i);
        tr.append(cell.head ? rowHead(cell, same, i === sticky) : bodyCell(cell, room[i]));
      });
      made.push(tr);
      if (opened) made.push(...expandable(tr, row, opened, columns.length));
      above = row;
    });
    body.replaceChildren(...made);
    const rest = rows.length - limit;
    more.hidden = rest <= 0;
    more.textContent = opened
      ? `Show ${Math.min(50, rest)} more of ${rows.length}`
      : `Show all ${rows.length} rows`;
  }

  show();
  return [frame, more];
}

/* The order that a table was sorted in outlives the filters, as long as its column is shown. */
function remembered(caption, columns) {
  const { name, way } = orders.get(caption) || {};
  const by = columns.findIndex((column) => fullName(column) === name);
  return by < 0 ? UNSORTED : { by, way };
}

function fullName({ group, text }) {
  return group ? `${group} ${text}` : text;
}

function sameUpTo(above, row, i) {
  return row.cells.slice(0, i + 1).every((cell, j) => cell.text === above.cells[j].text);
}

function inOrder(rows, { by, way }) {
  if (by < 0) return rows;
  const value = (row) => row.cells[by].value;
  const numbers = rows.some((row) => value(row) !== undefined);
  return [...rows].sort((a, b) => {
    if (!numbers) return way * a.cells[by].text.localeCompare(b.cells[by].text, "en");
    const [one, other] = [value(a), value(b)];
    if (one === undefined || other === undefined)
      return (one === undefined) - (other === undefined);
    return way * (one - other);
  });
}

function headCell(column, sticky, room) {
  const button = element("button", { type: "button", class: "sort" }, ...written(column.text));
  button.setAttribute("aria-label", `Sort by ${fullName(column)}`);
  return element(
    "th",
    { scope: "col", "aria-sort": "none", class: classes({ head: column.head, sticky }) },
    button,
    element("span", { class: "paper", "aria-hidden": "true" }, ...written(column.text)),
    aside("small", "", room.width),
    aside("sup", "", room.notes),
  );
}

/* The row above the heads: what a run of columns belongs to. */
function groupRow(columns, sticky) {
  if (!columns.some((column) => column.group)) return null;
  const row = element("tr", { class: "groups" });
  for (let i = 0; i < columns.length;) {
    let j = i + 1;
    while (columns[i].group && j < columns.length && columns[j].group === columns[i].group) j++;
    const title = columns[i].group || "";
    const name = title ? "th" : "td";
    const about = { colspan: j - i, scope: title ? "colgroup" : null };
    row.append(
      element(
        name,
        { ...about, class: classes({ sticky: i === sticky }) },
        element("span", {}, title),
      ),
    );
    i = j;
  }
  return row;
}

function rowHead(cell, same, sticky) {
  return element("th", { scope: "row", class: classes({ same, sticky }) }, ...written(cell.text));
}

/* How many characters stand behind the numbers of a column, so that the numbers align. */
function sideRoom(cells) {
  const longest = (length) => Math.max(...cells.map(length));
  return {
    width: longest((cell) => (cell.width ? cell.width.length + 1 : 0)),
    notes: longest((cell) => (cell.notes || []).join("").length),
  };
}

function bodyCell(cell, room) {
  const text = cell.text.replace(/^-/, "−");
  const mean = element({ best: "strong", second: "u" }[cell.mark] || "span", {}, text);
  return element(
    "td",
    { class: classes({ [cell.text.replace(" ", "-")]: VERDICTS.includes(cell.text) }) },
    mean,
    aside("small", cell.width ? `±${cell.width}` : "", room.width),
    aside("sup", (cell.notes || []).join(""), room.notes),
  );
}

function aside(name, text, room) {
  if (!room) return null;
  const made = element(name, {}, text);
  made.style.minWidth = `${room}ch`;
  return made;
}

const VERDICTS = ["match", "better", "worse", "partial data", "failed"];

function classes(which) {
  const names = Object.keys(which).filter((name) => which[name]);
  return names.length ? names.join(" ") : null;
}

/* A row that opens: its first cell becomes a button, and the details come into a row below. */
function expandable(tr, row, opened, width) {
  const below = element("tr", { class: "details", hidden: true });
  const first = tr.firstChild;
  const button = element(
    "button",
    { type: "button", class: "open", "aria-expanded": "false", click: toggle },
    ...first.childNodes,
  );
  first.append(button);
  function toggle() {
    if (!below.firstChild) below.append(element("td", { colspan: width }, opened(row)));
    below.hidden = !below.hidden;
    button.setAttribute("aria-expanded", String(!below.hidden));
  }
  return [below];
}
