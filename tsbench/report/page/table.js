/* Tables sort by the values that they were given; rows of the leaderboard open. */

for (const table of all("table.sortable")) {
  table.rows_ = all("tbody", table).map((body) => [body, all("tr:not(.heading)", body)]);
  all(".sort", table).forEach((button) => button.addEventListener("click", () => turn(button)));
}

/* A click sorts, best first; the next one turns the order; the third brings the first order back. */
function turn(button) {
  const head = button.closest("th");
  const first = button.textContent.includes("↑") ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  const now = head.getAttribute("aria-sort");
  sort(head, { none: first, [first]: second, [second]: "none" }[now]);
  if (head.dataset.key) remember();
}

function sort(head, way) {
  const table = head.closest("table");
  for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", way);
  const column = head.cellIndex;
  const sign = { ascending: 1, descending: -1 }[way];
  const value = (row) => row.cells[column].dataset.v ?? "";
  for (const [body, rows] of table.rows_) {
    const numbers = rows.every((row) => !isNaN(value(row)));
    const compare = (a, b) => {
      const [one, other] = [value(a), value(b)];
      if (one === "" || other === "") return (one === "") - (other === "");
      return sign * (numbers ? one - other : one.localeCompare(other, "en"));
    };
    const order = sign ? [...rows].sort(compare) : rows;
    body.append(...order.flatMap((row) => (row.below ? [row, row.below] : [row])));
  }
}

for (const board of all("table.board"))
  board.addEventListener("click", ({ target }) => {
    const row = target.closest("tr.row");
    if (row && !target.closest("a") && !String(getSelection())) toggle(row);
  });

function toggle(row) {
  const button = row.querySelector(".open");
  const opens = button.getAttribute("aria-expanded") === "false";
  button.setAttribute("aria-expanded", String(opens));
  if (!opens) {
    row.below.remove();
    row.below = null;
    return;
  }
  const inside = details(row.dataset.row);
  row.below = element("tr", { class: "details" }, element("td", { colspan: row.cells.length }, inside));
  row.after(row.below);
  inside.show();
}
