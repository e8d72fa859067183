// Cells that are pasted into a field for what came back, or was spent, go down the column from there.
// Without this they can be pasted into the text field below the table.

document.addEventListener("paste", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement) || !field.dataset.pastes) return;
  const text = event.clipboardData?.getData("text/plain").replace(/\r\n?/g, "\n").replace(/\n+$/, "") ?? "";
  if (!/[\n\t]/.test(text)) return; // one cell: as everywhere
  const table = field.closest("table");
  const rows = [...table.querySelectorAll("tr[data-arm]")].filter((row) => row.querySelector("[data-pastes]"));
  const cells = text.split("\n").map((line) => line.split("\t").map((cell) => cell.trim()));
  const named = (cell) => rows.find((row) => row.dataset.arm.toLowerCase() === cell.toLowerCase());
  event.preventDefault();
  let first = rows.indexOf(field.closest("tr"));
  const numbers = /\d|^(no data|none|n\/a|-|–)?$/i;
  if (cells.length > 1 && cells[0].every((cell) => !numbers.test(cell)) && !named(cells[0][0])) cells.shift(); // a heading
  for (const line of cells) {
    const own = line.length > 1 ? named(line[0]) : undefined;
    const row = own ?? rows[first++];
    if (!row) break; // more cells than arms
    const values = own ? line.slice(1) : line;
    const kinds = field.dataset.pastes === "outcome" ? ["outcome", "spent"] : ["spent"];
    kinds.forEach((kind, n) => {
      if (values[n] === undefined) return;
      const nothing = kind === "outcome" && /^(no data|none|n\/a)$/i.test(values[n]);
      const box = row.querySelector("input[type=checkbox]");
      if (nothing && box) box.checked = true;
      row.querySelector(`[data-pastes=${kind}]`).value = nothing ? "" : values[n];
    });
  }
});
