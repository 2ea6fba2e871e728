/* Tables as LaTeX and Markdown: the same text as `tsbench report` writes, of what is shown. */

function markdown(table) {
  const escape = (text) =>
    text
      .replace(/&/g, "&amp;")
      .replace(/</g, "&lt;")
      .replace(/>/g, "&gt;")
      .replace(/([\\`*_{}[\]|~$])/g, "\\$1");
  const cell = ({ text, width, mark, notes = [] }) => {
    const mean = escape(text);
    const shown = { best: `**${mean}**`, second: `<u>${mean}</u>` }[mark] || mean;
    const signs = notes.map((sign) => `<sup>${sign}</sup>`).join("");
    return shown + (width ? ` ± ${width}` : "") + signs;
  };
  const line = (parts) => `| ${parts.join(" | ")} |`;
  const lines = [
    `**${escape(table.caption)}**`,
    "",
    line([...table.headers, ...table.columns].map(escape)),
    `|${"---|".repeat(table.headers.length)}${"---:|".repeat(table.columns.length)}`,
    ...table.rows.map((row) => line([...row.short.map(escape), ...row.cells.map(cell)])),
  ];
  if (table.notes.length)
    lines.push("", table.notes.map(([sign, note]) => `${sign} ${escape(note)}`).join("  \n"));
  return lines.join("\n") + "\n";
}

function latex(table) {
  const parts = pageFuls(table.rows);
  const made = parts.map((rows, i) =>
    parts.length === 1
      ? latexPart(table)
      : latexPart({
          ...table,
          rows,
          name: `${table.name}-${i + 1}`,
          caption: `${table.caption} Part ${i + 1} of ${parts.length}.`,
        }),
  );
  return made.join("\n");
}

function pageFuls(all) {
  const { rows: most } = report.latex;
  const parts = [];
  let rows = all;
  while (rows.length > most) {
    const rules = rows.flatMap((row, i) => (row.rule && i && i <= most ? [i] : []));
    const cut = rules.length ? rules[rules.length - 1] : most;
    parts.push(rows.slice(0, cut));
    rows = rows.slice(cut);
  }
  return [...parts, rows];
}

function latexPart(table) {
  const { characters, superscripts, knows } = report.latex;
  const escape = (text) =>
    [...text]
      .map((c) => characters[c] || (c.codePointAt(0) < knows ? c : "?"))
      .join("")
      .replace(/\b([AF])\\_([Tt])\b/g, "$$$1_$2$$")
      .replace(/(?<![\w-])-(?=\d)/g, "$$-$$");
  const cell = ({ text, width, mark, notes = [] }) => {
    const mean = escape(text);
    const shown = { best: `\\textbf{${mean}}`, second: `\\underline{${mean}}` }[mark] || mean;
    const signs = notes.map((sign) => superscripts[sign] || escape(sign)).join("");
    return shown + (width ? `{\\tiny$\\pm$${escape(width)}}` : "") + (signs ? `$^{${signs}}$` : "");
  };
  const line = (parts) => `${parts.join(" & ")} \\\\`;
  const left = table.headers.length;
  const spans = table.groups.length ? table.groups.map((g) => g[1]) : [table.columns.length];
  const head = [line([...table.headers, ...table.columns].map(escape))];
  if (table.groups.length) {
    const titles = table.groups.map(
      ([title, count]) => `\\multicolumn{${count}}{c}{${escape(title)}}`,
    );
    head.unshift(line([...Array(left).fill(""), ...titles]));
  }
  const body = table.rows.flatMap((row, i) => [
    ...(row.rule && i ? ["\\midrule"] : []),
    line([...row.short.map(escape), ...row.cells.map(cell)]),
  ]);
  const notes = table.notes.map(([sign, note]) => `${escape(sign)} ${escape(note)}`);
  return [
    "% needs \\usepackage{booktabs,graphicx}",
    "\\begin{table*}[htbp]",
    "\\centering",
    `\\caption{${escape(table.caption)}}`,
    `\\label{tab:tsbench-${table.name}}`,
    "\\resizebox{\\ifdim\\width>\\textwidth\\textwidth\\else\\width\\fi}{!}{%",
    `\\begin{tabular}{${"l".repeat(left)}|${spans.map((n) => "c".repeat(n)).join("|")}}`,
    "\\toprule",
    ...head,
    "\\midrule",
    ...body,
    "\\bottomrule",
    "\\end{tabular}}",
    ...(notes.length ? [`\\par\\smallskip\\footnotesize ${notes.join("\\quad ")}`] : []),
    "\\end{table*}",
    "",
  ].join("\n");
}

function copyButton(label, what, text) {
  const button = element("button", { type: "button", class: "copy", click: copy }, label);
  button.setAttribute("aria-label", `Copy ${what} as ${label}`);
  async function copy() {
    const done = await toClipboard(text());
    button.textContent = done ? "Copied" : "Copying is blocked";
    button.focus();
    tell(button.textContent);
    setTimeout(() => (button.textContent = label), 1600);
  }
  return button;
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", { class: "unseen", readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
